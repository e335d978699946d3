package metastore

import (
	"context"

	"piedmont/mounts"
)

// LoadTable asks the source for the table's pointer, unless FreshFor lets an earlier answer
// do. Beside Mount's errors it is Unsupported for a table whose metadata lies under no storage
// profile of the mount, and NotFound for one of which the metastore doesn't say where that is.
func (c *Catalog) LoadTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier, o mounts.LoadOptions) (*mounts.Table, error) {
	return c.load(ctx, "loadTable", id, Table, o.Snapshots, caller.NoCache)
}

// LoadView is LoadTable for views.
func (c *Catalog) LoadView(ctx context.Context, caller mounts.Caller, id mounts.Identifier) (*mounts.View, error) {
	t, err := c.load(ctx, "loadView", id, View, mounts.SnapshotsAll, caller.NoCache)
	return (*mounts.View)(t), err
}

// TableExists asks for the pointer only: a table exists also where its metadata can't be read.
func (c *Catalog) TableExists(ctx context.Context, caller mounts.Caller, id mounts.Identifier) error {
	_, err := c.pointer(ctx, "tableExists", id, Table, caller.NoCache)
	return err
}

// ViewExists is TableExists for views.
func (c *Catalog) ViewExists(ctx context.Context, caller mounts.Caller, id mounts.Identifier) error {
	_, err := c.pointer(ctx, "viewExists", id, View, caller.NoCache)
	return err
}

func (c *Catalog) load(ctx context.Context, op string, id mounts.Identifier, kind Kind, s mounts.Snapshots, now bool) (*mounts.Table, error) {
	began := c.now()
	p, err := c.pointer(ctx, op, id, kind, now)
	if err != nil {
		return nil, err
	}
	f := file{c: c, op: op, id: id, location: p.location, remembered: p.asked.Before(began)}
	t, err := f.open(ctx, s)
	if mounts.Is(err, mounts.NotFound) && f.remembered && !now { // the pointer may have moved on
		return c.load(ctx, op, id, kind, s, true)
	}
	if err != nil {
		return nil, err
	}
	if f.remembered {
		t.Asked = p.asked
	}
	return t, nil
}

// pointer is the object, where it is of that kind.
func (c *Catalog) pointer(ctx context.Context, op string, id mounts.Identifier, kind Kind, now bool) (pointer, error) {
	p, err := c.object(ctx, op, id, now)
	if err == nil && (p.absent || p.kind != kind) {
		err = missing(op, id, kind, p)
	}
	return p, err
}

// missing says why there is no table or view of that name.
func missing(op string, id mounts.Identifier, kind Kind, p pointer) error {
	e := &mounts.Error{Kind: mounts.NoSuchTable, Op: op, Name: id.String()}
	what, sort := "Table", "table"
	if kind == View {
		e.Kind, what, sort = mounts.NoSuchView, "View", "view"
	}
	switch {
	case p.absent:
	case p.kind == Other && p.is != "":
		e.Detail = what + " does not exist: {name} is " + p.is + ", not an Iceberg " + sort
	case p.kind == Other:
		e.Detail = what + " does not exist: {name} is not an Iceberg " + sort
	case p.kind == View:
		e.Detail = what + " does not exist: {name} is an Iceberg view"
	default:
		e.Detail = what + " does not exist: {name} is an Iceberg table"
	}
	return e
}
