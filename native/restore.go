package native

import (
	"context"

	"piedmont/mounts"
)

// RestoreTable brings back a table that was dropped under a name, under the same or another
// one. Of several dropped under the name it is the last, or the one of that Dropped.ID. It
// returns what was restored.
//
// Errors are *mounts.Error: NoSuchTable where no such table can be restored (any more),
// AlreadyExists where the name it is to get is taken, NoSuchNamespace where that name's
// namespace is gone, BadRequest where another table lies in its place now, NotFound where its
// metadata file is gone, CommitStateUnknown where it may have come back.
func (c *Catalog) RestoreTable(ctx context.Context, from mounts.Identifier, id string, to mounts.Identifier) (Dropped, error) {
	const op = "restoreTable"
	var restored Dropped
	err := retry(ctx, op, from.String(), func() error {
		d, err := c.restorable(ctx, op, from, id)
		if err != nil {
			return err
		}
		restored = d.public()
		if err := c.mustBeFree(ctx, op, to, typeTable); err != nil {
			return err
		}
		document, err := c.base(ctx, from, d.pointer)
		if err != nil {
			return err
		}
		if _, err := c.checkPlaces(document); err != nil { // its neighbors it had before
			return err
		}
		s, err := c.returning(ctx, op, d, to)
		if err != nil {
			return err
		}
		return committed(op, from.String(), c.registry.Commit(ctx, s.conditions, s.changes), func(lost *ConflictError) error {
			if lost.names(d.record.Key) {
				return errLost
			}
			return enterConflict(op, to, typeTable, lost)
		})
	})
	return restored, err
}

// restorable finds the table that is to be restored.
func (c *Catalog) restorable(ctx context.Context, op string, name mounts.Identifier, id string) (droppedTable, error) {
	var last droppedTable
	prefix := droppedAs(c.id, name) + Key(id)
	for after, page := Key(""), MaxScan; page == MaxScan; {
		records, err := c.registry.Scan(ctx, prefix, after, MaxScan)
		if err != nil {
			return last, unavailable(op, name.String(), err)
		}
		for _, r := range records {
			after = r.Key
			d, err := c.decodeDropped(r)
			if err != nil {
				return last, err
			}
			if d.State != Restorable || !d.Due.After(c.now()) || id != "" && d.pointer.Object != id {
				continue
			}
			if last.record.Key == "" || d.DroppedAt.After(last.DroppedAt) {
				last = d
			}
		}
		page = len(records)
	}
	if last.record.Key == "" {
		return last, &mounts.Error{Kind: mounts.NoSuchTable, Op: op, Name: name.String(), Detail: unrestorable(id)}
	}
	return last, nil
}

func unrestorable(id string) string {
	if id == "" {
		return "No dropped table {name} can be restored"
	}
	return "No dropped table {name} with the id " + id + " can be restored"
}

// returning makes a dropped table's name, index entry and location again, and removes its
// record. It stays the object it was.
func (c *Catalog) returning(ctx context.Context, op string, d droppedTable, to mounts.Identifier) (changeset, error) {
	s := c.forgetting(d)
	value, err := d.pointer.encode()
	if err != nil {
		return s, err
	}
	s.add(c.naming(typeTable, to, value))
	taking, err := c.taking(ctx, op, d.pointer)
	s.add(taking)
	return s, err
}
