package native

import (
	"context"

	"github.com/google/uuid"

	"piedmont/mounts"
	"piedmont/native/metadata"
	"piedmont/vend"
)

// changeset is what one registry commit asks for and does.
type changeset struct {
	conditions []Condition
	changes    []Change
}

func (s *changeset) add(o changeset) {
	s.conditions = append(s.conditions, o.conditions...)
	s.changes = append(s.changes, o.changes...)
}

// entering makes a name, its index entry and its location. object tells the table from
// all others there ever were.
func (c *Catalog) entering(ctx context.Context, op string, id mounts.Identifier, object string, d *metadata.Document, location string) (changeset, error) {
	l, err := vend.ParseLocation(d.Location())
	if err != nil {
		return changeset{}, err
	}
	p := pointer{Type: typeTable, Object: object, UUID: d.UUID(), Location: d.Location(), Metadata: location}
	value, err := p.encode()
	if err != nil {
		return changeset{}, err
	}
	where, err := encode(place{UUID: p.UUID})
	if err != nil {
		return changeset{}, err
	}
	apart, err := c.apart(ctx, op, l, p.UUID, "")
	if err != nil {
		return changeset{}, err
	}
	return changeset{
		conditions: append([]Condition{
			{Kind: Absent, Key: objectKey(c.id, id)},
			{Kind: Exists, Key: namespaceKey(c.id, id.Namespace)},
		}, apart...),
		changes: []Change{
			put(objectKey(c.id, id), value), put(tableKey(c.id, id), nil), put(locationKey(l, c.id, p.Object), where),
		},
	}, nil
}

// newObject makes the name by which entering knows a table.
func newObject() string { return uuid.NewString() }

// swapping moves a pointer from the record read to the document of a file.
func (c *Catalog) swapping(ctx context.Context, p pointer, r Record, f *file) (changeset, error) {
	next := p
	next.Metadata, next.UUID, next.Location = f.location.Verbatim(), f.document.UUID(), f.document.Location()
	value, err := next.encode()
	if err != nil {
		return changeset{}, err
	}
	s := changeset{
		conditions: []Condition{{Kind: AtVersion, Key: r.Key, Version: r.Version}},
		changes:    []Change{put(r.Key, value)},
	}
	if next.Location == p.Location {
		return s, nil
	}
	moved, err := c.relocating(ctx, p, next)
	s.add(moved)
	return s, err
}

// relocating moves a table's entry in the index of locations.
func (c *Catalog) relocating(ctx context.Context, from, to pointer) (changeset, error) {
	target, err := vend.ParseLocation(to.Location)
	if err != nil {
		return changeset{}, err
	}
	source, err := vend.ParseLocation(from.Location)
	if err == nil && source.Equal(target) {
		return changeset{}, nil // another spelling of the same place
	}
	var s changeset
	var own Key
	if err == nil {
		own = locationKey(source, c.id, from.Object)
		s.changes = append(s.changes, remove(own))
	}
	if s.conditions, err = c.apart(ctx, "updateTable", target, to.UUID, own); err != nil {
		return changeset{}, err
	}
	where, err := encode(place{UUID: to.UUID})
	s.changes = append(s.changes, put(locationKey(target, c.id, from.Object), where))
	return s, err
}
