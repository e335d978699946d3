package native

import (
	"context"

	"piedmont/mounts"
	"piedmont/vend"
)

// table reads the pointer of a table. A view of that name is no table.
func (c *Catalog) table(ctx context.Context, op string, id mounts.Identifier) (pointer, Record, error) {
	return c.object(ctx, op, id, typeTable)
}

func (c *Catalog) object(ctx context.Context, op string, id mounts.Identifier, t objectType) (pointer, Record, error) {
	r, ok, err := c.registry.Get(ctx, objectKey(c.id, id))
	if err != nil {
		return pointer{}, r, unavailable(op, id.String(), err)
	}
	missing := &mounts.Error{Kind: mounts.NoSuchTable, Op: op, Name: id.String()}
	if t == typeView {
		missing.Kind = mounts.NoSuchView
	}
	if !ok {
		return pointer{}, r, missing
	}
	p, err := decodePointer(r)
	if err == nil && p.Type != t {
		return pointer{}, r, missing
	}
	return p, r, err
}

// TableExists reads the pointer only: a table whose metadata file is gone exists.
func (c *Catalog) TableExists(ctx context.Context, _ mounts.Caller, id mounts.Identifier) error {
	_, _, err := c.table(ctx, "tableExists", id)
	return err
}

// LoadTable reads the pointer from the registry, always, so that a writer reads its own
// write through any replica; the document behind it is immutable and comes from the cache.
func (c *Catalog) LoadTable(ctx context.Context, _ mounts.Caller, id mounts.Identifier, o mounts.LoadOptions) (*mounts.Table, error) {
	p, _, err := c.table(ctx, "loadTable", id)
	if err != nil {
		return nil, err
	}
	profile, l, err := c.find(p.Metadata)
	if err != nil {
		return nil, misplaced("loadTable", id, err)
	}
	if s, ok := profile.Files.(vend.Stater); ok {
		if err := s.Stat(ctx, l); err != nil {
			return nil, err
		}
	}
	return &mounts.Table{
		MetadataLocation: p.Metadata, Version: p.Metadata, Storage: profile.Name,
		Metadata: func(ctx context.Context) (mounts.Document, error) {
			d, err := c.document(ctx, profile, l)
			if err == nil {
				err = c.checkOwn(id, p, d)
			}
			if err != nil || o.Snapshots == mounts.SnapshotsAll {
				return d, err
			}
			return vend.Refs(d)
		},
	}, nil
}

// find is storage.Find for the metadata file of a table, which each load asks for.
func (c *Catalog) find(location string) (*vend.Profile, vend.Location, error) {
	if f, ok := c.placed.Get(location); ok {
		return f.profile, f.location, nil
	}
	profile, l, err := c.storage.Find(location)
	if err == nil {
		c.placed.Add(location, placed{profile, l})
	}
	return profile, l, err
}

// misplaced is the error for a table whose files no profile of the mount reaches any more.
func misplaced(op string, id mounts.Identifier, err error) error {
	return &mounts.Error{Kind: mounts.Internal, Op: op, Name: id.String(), Detail: "The metadata of {name} lies under no storage profile of its mount", Err: err}
}

// DropTable takes the table's name, index entry and location out of the registry, and keeps
// a record by which RestoreTable brings it back for some time. Its files stay at least that
// long; see Tend for what purge makes of them then.
func (c *Catalog) DropTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier, purge bool) error {
	const op = "dropTable"
	return retry(ctx, op, id.String(), func() error {
		p, r, err := c.table(ctx, op, id)
		if err != nil {
			return err
		}
		left, err := c.leaving(id, caller, p, purge)
		if err != nil {
			return err
		}
		return c.forget(ctx, op, id, caller, p, r, left)
	})
}

// RenameTable moves a table's name, also into another native mount of this registry that
// may hold its location. Errors carry the names of the tree.
func (c *Catalog) RenameTable(ctx context.Context, caller mounts.Caller, from, to mounts.Target) error {
	return c.rename(ctx, "renameTable", typeTable, caller, from, to)
}

func (c *Catalog) rename(ctx context.Context, op string, t objectType, caller mounts.Caller, from, to mounts.Target) error {
	target, ok := to.Point.Mount.(*Catalog)
	if !ok || target.registry != c.registry {
		return &mounts.Error{
			Kind: mounts.Unsupported, Op: op, Name: from.Identifier().String(), Other: to.Identifier().String(),
			Detail: "Cannot rename {name} to {other}: their mounts have no registry in common",
		}
	}
	name := from.Identifier().String()
	return retry(ctx, op, name, func() error {
		p, r, err := c.object(ctx, op, from.Inner(), t)
		if err != nil {
			return from.Restore(err)
		}
		if target == c && from.Inner().Equal(to.Inner()) {
			return renameTaken(op, from, to, p) // one commit can't delete and write a key
		}
		if target != c {
			if err := c.mayEnter(ctx, target, from.Inner(), p); err != nil {
				return from.Restore(err)
			}
		}
		s, err := c.move(p, r, from, to, target)
		if err != nil {
			return err
		}
		return c.commit(ctx, op, name, caller, s, receipt{}, func(lost *ConflictError) error { return renameConflict(op, from, to, lost) })
	})
}

// mayEnter refuses a table or view that leads outside the storage profiles of another mount.
func (c *Catalog) mayEnter(ctx context.Context, target *Catalog, id mounts.Identifier, p pointer) error {
	if _, _, err := target.storage.Find(p.Metadata); err != nil {
		return err
	}
	d, err := c.opened(ctx, id, p)
	if err != nil {
		return err
	}
	_, err = target.checkPlaces(d)
	return err
}

// opened is the document of a table or view.
func (c *Catalog) opened(ctx context.Context, id mounts.Identifier, p pointer) (document, error) {
	if p.Type == typeView {
		base, err := c.asLoaded(ctx, id, p)
		if err != nil {
			return nil, err
		}
		return viewOf(ctx, base)
	}
	return c.open(ctx, id, p.Metadata)
}

func (c *Catalog) move(p pointer, r Record, from, to mounts.Target, target *Catalog) (changeset, error) {
	value, err := p.encode()
	if err != nil {
		return changeset{}, err
	}
	s := changeset{
		conditions: []Condition{
			{Kind: Absent, Key: objectKey(target.id, to.Inner())},
			{Kind: Exists, Key: namespaceKey(target.id, to.Namespace)},
			{Kind: AtVersion, Key: r.Key, Version: r.Version},
		},
		changes: []Change{
			remove(r.Key), remove(listKey(p.Type, c.id, from.Inner())),
			put(objectKey(target.id, to.Inner()), value), put(listKey(p.Type, target.id, to.Inner()), nil),
		},
	}
	if target.id == c.id || p.Type == typeView {
		return s, nil
	}
	l, err := vend.ParseLocation(p.Location)
	if err != nil {
		return changeset{}, misplaced("renameTable", from.Inner(), err)
	}
	where, err := encode(place{UUID: p.UUID})
	s.changes = append(s.changes, remove(locationKey(kindLocation, l, c.id, p.Object)), put(locationKey(kindLocation, l, target.id, p.Object), where))
	return s, err
}

// renameConflict: a taken target is final, a missing namespace too; a source that moved
// on is looked at again.
func renameConflict(op string, from, to mounts.Target, lost *ConflictError) error {
	for _, f := range lost.Failures {
		switch f.Condition.Kind {
		case Absent:
			taken, err := decodePointer(*f.Found)
			if err != nil {
				return err
			}
			return renameTaken(op, from, to, taken)
		case Exists:
			return &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: to.Path.String()}
		case AtVersion, PrefixEmpty:
		}
	}
	return errLost
}

func renameTaken(op string, from, to mounts.Target, taken pointer) error {
	return &mounts.Error{
		Kind: mounts.AlreadyExists, Op: op, Name: from.Identifier().String(), Other: to.Identifier().String(),
		Detail: "Cannot rename {name} to {other}. " + taken.Type.title() + " already exists",
	}
}
