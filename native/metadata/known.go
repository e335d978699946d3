package metadata

import (
	"encoding/json"
	"slices"
)

// known is the schemas, specs or orders there are, so that adding one again reuses its
// id. It is made once: a commit may add thousands.
func (b *builder) known(list string) *identities {
	if k := b.reuse[list]; k != nil {
		return k
	}
	k := identitiesOf(b.list(list), func(raw json.RawMessage) identity { return b.identityOf(list, raw) })
	b.reuse[list] = k
	return k
}

func (b *builder) identityOf(list string, raw json.RawMessage) identity {
	if list == "schemas" {
		return schemaIdentity(raw)
	}
	s := b.readSpec(list, b.r.object(raw, list))
	if list == "partition-specs" {
		for _, f := range s.fields {
			b.fieldIDs[f.key()] = max(b.fieldIDs[f.key()], f.id)
		}
	}
	return s.identity()
}

// forget removes elements of a list.
func (b *builder) forget(list string, ids []int64) {
	if !b.list(list).removeAll(ids) {
		return
	}
	b.changed = true
	if list == "schemas" {
		b.decoded = nil // its id may be given out again
	}
	if k := b.reuse[list]; k != nil {
		k.forget(ids)
	}
}

// schema decodes the current schema, once for as long as it is the current one.
func (b *builder) schema() (*schema, error) {
	if b.decoded != nil && b.decodedID == b.currentSchema {
		return b.decoded, nil
	}
	raw := b.list("schemas").get(int64(b.currentSchema))
	if raw == nil {
		return nil, badRequest("Cannot find the current schema: " + itoa(b.currentSchema))
	}
	s := b.r.schema(raw, "schemas")
	if b.r.err != nil {
		return nil, b.r.err
	}
	b.decoded, b.decodedID = s, b.currentSchema
	return s, nil
}

// readSpec decodes an element of partition-specs or sort-orders.
func (b *builder) readSpec(list string, o *object) *spec {
	if list == "partition-specs" {
		return b.r.partitionSpec(o)
	}
	return b.r.sortOrder(o)
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
		field.object, field.sources = f.clone(), slices.Clone(f.sources)
		c.fields = append(c.fields, &field)
	}
	return c
}

func (o *object) clone() *object {
	return &object{Object: o.Clone(), r: o.r, path: o.path}
}
