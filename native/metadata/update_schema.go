package metadata

import (
	"math"
	"slices"
)

type (
	addSchema struct {
		schema   *schema
		identity identity
	}
	setCurrentSchema struct{ id int }
	removeSchemas    struct{ ids []int64 }
)

func (addSchema) Action() string        { return "add-schema" }
func (setCurrentSchema) Action() string { return "set-current-schema" }
func (removeSchemas) Action() string    { return "remove-schemas" }

// apply adds a schema under the next free id, or reuses the id of one that is the same.
// The client's last-column-id isn't asked: Java clients send it too low (iceberg
// #13850, #16927), DuckDB not at all.
func (u addSchema) apply(b *builder) error {
	if err := checkSchema(u.schema, b.version); err != nil {
		return err
	}
	if u.schema.highest > b.lastColumn {
		b.lastColumn, b.changed = u.schema.highest, true
	}
	id, added, err := u.addTo(b.list("schemas"), b.known("schemas"))
	if err != nil {
		return err
	}
	b.lastSchema = id
	b.changed, b.structure = b.changed || added, b.structure || added
	return nil
}

// addTo adds the schema to a document's, or finds the id of the one that is the same.
func (u addSchema) addTo(schemas *list, known *identities) (id int, added bool, err error) {
	if id, ok := known.find(u.identity); ok {
		return int(id), false, nil
	}
	next := schemas.nextID(0)
	if next > math.MaxInt32 {
		return 0, false, noIDsLeft("schema")
	}
	schemas.add(next, u.schema.withID(next))
	known.add(u.identity, next)
	return int(next), true, nil
}

// noIDsLeft is the answer to who has used up all ids of 32 bits.
func noIDsLeft(what string) error { return badRequest("Cannot add a " + what + ": no ids are left") }

// apply makes a schema the current one. Whether the default spec and order still find
// their columns is checked at the end of the commit, which may change them too.
func (u setCurrentSchema) apply(b *builder) error {
	id := u.id
	if id == lastAdded {
		if id = b.lastSchema; id == lastAdded {
			return badRequest("Cannot set last added schema: no schema has been added")
		}
	}
	if id == b.currentSchema {
		return nil
	}
	if !b.list("schemas").has(int64(id)) {
		return badRequest("Cannot set current schema to unknown schema: " + itoa(id))
	}
	b.currentSchema, b.changed, b.structure = id, true, true
	return nil
}

// apply removes schemas that nothing needs any more; the current one is refused.
func (u removeSchemas) apply(b *builder) error {
	if slices.Contains(u.ids, int64(b.currentSchema)) {
		return badRequest("Cannot remove the current schema")
	}
	b.forget("schemas", u.ids)
	return nil
}
