package native

import (
	"context"
	"errors"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/native/metadata"
	"piedmont/vend"
)

// RegisterTable enters an existing metadata file as a table. Its uuid is kept. Over a table
// that exists it moves that table's pointer to the file, where the request says so.
func (c *Catalog) RegisterTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier, r mounts.RegisterRequest) (*mounts.Table, error) {
	const op = "registerTable"
	profile, l, err := c.storage.Find(r.MetadataLocation)
	if err != nil {
		return nil, err
	}
	if !r.Overwrite {
		if err := c.mustBeFree(ctx, op, id, typeTable); err != nil {
			return nil, err
		}
	}
	raw, d, err := c.foreign(ctx, profile, l)
	if err != nil {
		return nil, err
	}
	if r.Overwrite {
		err = c.enterOver(ctx, op, id, caller, d, &file{profile: profile, location: l, document: d})
	} else if err = c.checkNewPlaces(ctx, op, d, nil, ""); err == nil {
		err = c.enter(ctx, op, id, typeTable, caller, d, l.Verbatim(), adopting(d))
	}
	if err != nil {
		return nil, err
	}
	return tableOf(l.Verbatim(), profile.Name, raw), nil
}

// adopting notes that a table's files may be another's too, for good: no purge removes them.
func adopting(d *metadata.Document) Change { return put(adoptedKey(d.UUID()), nil) }

// foreign reads a metadata file that somebody else wrote. One that no commit could build
// on is refused at once.
func (c *Catalog) foreign(ctx context.Context, profile *vend.Profile, l vend.Location) (*cache.Document, *metadata.Document, error) {
	raw, err := vend.ReadDocument(ctx, nil, profile, l) // what is remembered of it may be gone
	if err != nil {
		return nil, nil, registerError(err)
	}
	d, err := metadata.Parse(raw.Raw())
	if err == nil {
		err = d.Validate()
	}
	return raw, d, err
}

// registerError: a file that is no metadata document is the caller's mistake here.
func registerError(err error) error {
	var e *mounts.Error
	if errors.As(err, &e) && e.Kind == mounts.Internal {
		return &mounts.Error{Kind: mounts.BadRequest, Op: "registerTable", Detail: e.Detail, Err: err}
	}
	return err
}

// enterOver moves the pointer of a table to a file, or enters it where there is none.
func (c *Catalog) enterOver(ctx context.Context, op string, id mounts.Identifier, caller mounts.Caller, d *metadata.Document, f *file) error {
	object := newObject()
	return retry(ctx, op, id.String(), func() error {
		r, ok, err := c.registry.Get(ctx, objectKey(c.id, id))
		if err != nil {
			return unavailable(op, id.String(), err)
		}
		var s changeset
		if ok {
			s, err = c.swappingOver(ctx, op, id, r, f)
		} else if err = c.checkNewPlaces(ctx, op, d, nil, ""); err == nil {
			s, err = c.entering(ctx, op, id, typeTable, object, d, f.location.Verbatim())
		}
		if err != nil {
			return err
		}
		s.changes = append(s.changes, adopting(d))
		return c.commit(ctx, op, id.String(), caller, s, receipt{MetadataLocation: f.location.Verbatim()}, func(lost *ConflictError) error {
			if err := enterConflict(op, id, typeTable, lost); !mounts.Is(err, mounts.AlreadyExists) {
				return err
			}
			return errLost // it came to be meanwhile: move it
		})
	})
}

func (c *Catalog) swappingOver(ctx context.Context, op string, id mounts.Identifier, r Record, f *file) (changeset, error) {
	p, err := decodePointer(r)
	if err != nil {
		return changeset{}, err
	}
	if p.Type != typeTable {
		return changeset{}, taken(op, id, typeTable, r)
	}
	if err := c.checkNewPlaces(ctx, op, f.document, nil, c.placeKey(kindLocation, p)); err != nil {
		return changeset{}, err
	}
	return c.swapping(ctx, p, r, f)
}

// UnregisterTable takes a table out of the registry, as DropTable does, and says what it
// was. Its files stay: they belong to whoever registers them next.
func (c *Catalog) UnregisterTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier) (*mounts.Table, error) {
	const op = "unregisterTable"
	var last *mounts.Table
	err := retry(ctx, op, id.String(), func() error {
		p, r, err := c.table(ctx, op, id)
		if err != nil {
			return err
		}
		if last, err = c.asLoaded(ctx, id, p); err != nil {
			return err
		}
		return c.forget(ctx, op, id, caller, p, r, changeset{})
	})
	return last, err
}

// forget removes a table's or view's name, its index entry and a table's location; left is
// what stays of it.
func (c *Catalog) forget(ctx context.Context, op string, id mounts.Identifier, caller mounts.Caller, p pointer, r Record, left changeset) error {
	changes := []Change{remove(r.Key), remove(listKey(p.Type, c.id, id))}
	if own := c.placeKey(kindLocation, p); own != "" && p.Type == typeTable {
		changes = append(changes, remove(own))
	}
	s := changeset{conditions: []Condition{{Kind: AtVersion, Key: r.Key, Version: r.Version}}, changes: changes}
	s.add(left)
	return c.commit(ctx, op, id.String(), caller, s, receipt{MetadataLocation: p.Metadata}, func(*ConflictError) error { return errLost })
}
