package metadata

import (
	"bytes"
	"encoding/json"
	"slices"

	"piedmont/cache/rawjson"
)

type (
	addSchema struct {
		schema    *schema
		canonical []byte
	}
	setCurrentSchema    struct{ id int }
	removeSchemas       struct{ ids map[int64]bool }
	addSpec             struct{ spec *spec }
	setDefaultSpec      struct{ id int }
	removeSpecs         struct{ ids map[int64]bool }
	addSortOrder        struct{ order *spec }
	setDefaultSortOrder struct{ id int }
)

func (addSchema) Action() string           { return "add-schema" }
func (setCurrentSchema) Action() string    { return "set-current-schema" }
func (removeSchemas) Action() string       { return "remove-schemas" }
func (addSpec) Action() string             { return "add-spec" }
func (setDefaultSpec) Action() string      { return "set-default-spec" }
func (removeSpecs) Action() string         { return "remove-partition-specs" }
func (addSortOrder) Action() string        { return "add-sort-order" }
func (setDefaultSortOrder) Action() string { return "set-default-sort-order" }

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
	schemas := b.list("schemas")
	for i, raw := range schemas.raws {
		if bytes.Equal(canonicalSchema(raw), u.canonical) {
			b.lastSchema = int(schemas.ids[i])
			return nil
		}
	}
	id := schemas.nextID(0)
	raw, err := withID(u.schema.tree.Raw, "schema-id", id)
	if err != nil {
		return err
	}
	schemas.add(id, raw)
	b.lastSchema, b.changed, b.structure = int(id), true, true
	return nil
}

// withID is an object's text with one number set.
func withID(raw json.RawMessage, key string, id int64) (json.RawMessage, error) {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, badRequest("Invalid object: " + reasonOf(err))
	}
	o.Set(key, rawjson.AppendInt(nil, id))
	return o.AppendTo(nil), nil
}

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
	if b.list("schemas").find(int64(id)) < 0 {
		return badRequest("Cannot set current schema to unknown schema: " + itoa(id))
	}
	b.currentSchema, b.changed, b.structure = id, true, true
	return nil
}

// apply removes schemas that nothing needs any more; the current one is refused.
func (u removeSchemas) apply(b *builder) error {
	if u.ids[int64(b.currentSchema)] {
		return badRequest("Cannot remove the current schema")
	}
	b.changed = b.list("schemas").remove(u.ids) || b.changed
	return nil
}

// currentSchemaOf decodes the current schema.
func (b *builder) currentSchemaOf() (*schema, error) {
	raw := b.list("schemas").get(int64(b.currentSchema))
	if raw == nil {
		return nil, badRequest("Cannot find the current schema: " + itoa(b.currentSchema))
	}
	s := b.r.schema(raw, "schemas")
	return s, b.r.err
}

// specs decodes the partition specs or sort orders.
func (b *builder) specs(name string) ([]*spec, error) {
	var all []*spec
	for i, raw := range b.list(name).raws {
		all = append(all, b.readSpec(name, b.r.object(raw, name+"["+itoa(i)+"]")))
	}
	return all, b.r.err
}

// apply adds a partition spec for the current schema, or reuses the id of one with the
// same fields.
func (u addSpec) apply(b *builder) error {
	specs, err := b.specs("partition-specs")
	if err != nil {
		return err
	}
	list := b.list("partition-specs")
	for i, s := range specs {
		if s.same(u.spec) {
			b.lastSpec = int(list.ids[i])
			return nil
		}
	}
	current, err := b.currentSchemaOf()
	if err != nil {
		return err
	}
	added := u.spec.clone()
	if err := added.checkNew(current, "partition"); err != nil {
		return err
	}
	if err := b.numberFields(added, specs); err != nil {
		return err
	}
	id := list.nextID(0)
	list.add(id, added.render("spec-id", int(id)))
	b.lastSpec, b.changed, b.structure = int(id), true, true
	return nil
}

// numberFields gives the partition fields that have no id one: in v1 they count from
// 1000, after that the id that an equal field of an earlier spec has, else the next
// (spec, "Partition Evolution").
func (b *builder) numberFields(s *spec, earlier []*spec) error {
	known := map[string]int{}
	for _, e := range earlier {
		for _, f := range e.fields {
			known[f.key()] = max(known[f.key()], f.id)
		}
	}
	for i, f := range s.fields {
		switch {
		case b.version == 1:
			if f.id != 0 && f.id != firstPartitionID+i {
				return badRequest("Spec does not use sequential IDs that are required in v1: " + f.describe())
			}
			f.id = firstPartitionID + i
		case f.id == 0 && known[f.key()] != 0:
			f.id = known[f.key()]
		case f.id == 0:
			f.id = max(b.lastPartition, s.highestID()) + 1
		}
		f.Set("field-id", rawjson.AppendInt(nil, int64(f.id)))
	}
	b.lastPartition = max(b.lastPartition, s.highestID())
	return nil
}

// key is what makes two partition fields equal: sources and transform.
func (f *specField) key() string {
	key := f.text
	for _, id := range f.sources {
		key += "," + itoa(id)
	}
	return key
}

func (s *spec) highestID() int {
	highest := firstPartitionID - 1
	for _, f := range s.fields {
		highest = max(highest, f.id)
	}
	return highest
}

// clone is a spec that can be changed without changing s.
func (s *spec) clone() *spec {
	c := &spec{object: s.object.clone()}
	for _, f := range s.fields {
		field := *f
		field.object, field.sources = f.object.clone(), slices.Clone(f.sources)
		c.fields = append(c.fields, &field)
	}
	return c
}

func (o *object) clone() *object {
	return &object{Object: o.Clone(), r: o.r, path: o.path}
}

// apply makes a spec the default one.
func (u setDefaultSpec) apply(b *builder) error {
	id := u.id
	if id == lastAdded {
		if id = b.lastSpec; id == lastAdded {
			return badRequest("Cannot set last added spec: no spec has been added")
		}
	}
	if id == b.defaultSpec {
		return nil
	}
	if b.list("partition-specs").find(int64(id)) < 0 {
		return badRequest("Cannot set default partition spec to unknown spec: " + itoa(id))
	}
	b.defaultSpec, b.changed, b.structure = id, true, true
	return nil
}

// apply removes specs that nothing needs any more; the default one is refused.
func (u removeSpecs) apply(b *builder) error {
	if u.ids[int64(b.defaultSpec)] {
		return badRequest("Cannot remove the default partition spec")
	}
	b.changed = b.list("partition-specs").remove(u.ids) || b.changed
	return nil
}

// apply adds a sort order for the current schema, or reuses the id of one with the same
// fields. The order without fields has id 0, whatever the client calls it.
func (u addSortOrder) apply(b *builder) error {
	orders, err := b.specs("sort-orders")
	if err != nil {
		return err
	}
	list := b.list("sort-orders")
	for i, o := range orders {
		if o.same(u.order) {
			b.lastOrder = int(list.ids[i])
			return nil
		}
	}
	id := int64(unsortedOrderID)
	added := u.order.clone()
	if len(added.fields) > 0 {
		current, err := b.currentSchemaOf()
		if err != nil {
			return err
		}
		if err := added.checkNew(current, "sort"); err != nil {
			return err
		}
		id = list.nextID(firstSortOrderID)
	}
	list.add(id, added.render("order-id", int(id)))
	b.lastOrder, b.changed, b.structure = int(id), true, true
	return nil
}

// apply makes a sort order the default one.
func (u setDefaultSortOrder) apply(b *builder) error {
	id := u.id
	if id == lastAdded {
		if id = b.lastOrder; id == lastAdded {
			return badRequest("Cannot set last added sort order: no sort order has been added")
		}
	}
	if id == b.defaultOrder {
		return nil
	}
	if b.list("sort-orders").find(int64(id)) < 0 {
		return badRequest("Cannot set default sort order to unknown order: " + itoa(id))
	}
	b.defaultOrder, b.changed, b.structure = id, true, true
	return nil
}
