package native

import (
	"context"

	"github.com/google/uuid"

	"piedmont/mounts"
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

// entering makes a table's or view's name, its index entry and, for a table, its location.
// object tells it from all others there ever were.
func (c *Catalog) entering(ctx context.Context, op string, id mounts.Identifier, t objectType, object string, d document, location string) (changeset, error) {
	p := pointer{Type: t, Object: object, UUID: d.UUID(), Location: d.Location(), Metadata: location}
	value, err := p.encode()
	if err != nil {
		return changeset{}, err
	}
	s := c.naming(t, id, value)
	if t == typeView {
		return s, nil // it has no files but its metadata, which lie where it likes
	}
	taking, err := c.taking(ctx, op, p)
	s.add(taking)
	return s, err
}

// naming makes a name and its index entry, where the name is free and has a namespace.
func (c *Catalog) naming(t objectType, id mounts.Identifier, value []byte) changeset {
	return changeset{
		conditions: []Condition{
			{Kind: Absent, Key: objectKey(c.id, id)},
			{Kind: Exists, Key: namespaceKey(c.id, id.Namespace)},
		},
		changes: []Change{put(objectKey(c.id, id), value), put(listKey(t, c.id, id), nil)},
	}
}

// taking makes a table's entry in the index of locations.
func (c *Catalog) taking(ctx context.Context, op string, p pointer) (changeset, error) {
	l, err := vend.ParseLocation(p.Location)
	if err != nil {
		return changeset{}, err
	}
	where, err := encode(place{UUID: p.UUID})
	if err != nil {
		return changeset{}, err
	}
	apart, err := c.apart(ctx, op, kindLocation, l, p.UUID, "")
	return changeset{conditions: apart, changes: []Change{put(locationKey(kindLocation, l, c.id, p.Object), where)}}, err
}

// newObject makes the name by which entering knows a table.
func newObject() string { return uuid.NewString() }

// at is the pointer where it points to a file.
func (p pointer) at(f *file) pointer {
	p.Metadata, p.UUID, p.Location = f.location.Verbatim(), f.document.UUID(), f.document.Location()
	return p
}

// swapping moves a pointer from the record read to the document of a file.
func (c *Catalog) swapping(ctx context.Context, p pointer, r Record, f *file) (changeset, error) {
	next := p.at(f)
	value, err := next.encode()
	if err != nil {
		return changeset{}, err
	}
	s := changeset{
		conditions: []Condition{{Kind: AtVersion, Key: r.Key, Version: r.Version}},
		changes:    []Change{put(r.Key, value)},
	}
	if next.Location == p.Location && next.UUID == p.UUID || p.Type == typeView {
		return s, nil
	}
	moved, err := c.relocating(ctx, p, next)
	s.add(moved)
	return s, err
}

// relocating moves a table's entry in the index of locations. A table that stays where it
// is but becomes another, which only a file registered over it brings about, takes its
// place anew: the tables that shared it must not be there.
func (c *Catalog) relocating(ctx context.Context, from, to pointer) (changeset, error) {
	target, err := vend.ParseLocation(to.Location)
	if err != nil {
		return changeset{}, err
	}
	source, err := vend.ParseLocation(from.Location)
	stays := err == nil && source.Equal(target)
	if stays && from.UUID == to.UUID {
		return changeset{}, nil // another spelling of the same place
	}
	var s changeset
	own := c.placeKey(kindLocation, from)
	if own != "" && !stays {
		s.changes = append(s.changes, remove(own))
	}
	if s.conditions, err = c.apart(ctx, "updateTable", kindLocation, target, to.UUID, own); err != nil {
		return changeset{}, err
	}
	where, err := encode(place{UUID: to.UUID})
	s.changes = append(s.changes, put(locationKey(kindLocation, target, c.id, from.Object), where))
	return s, err
}
