package metastore

import (
	"context"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// Inventory is a Source that can list what it has besides Iceberg's, without reading each
// object. Names may be any: nobody asks for them.
type Inventory interface {
	// Others lists, page by page as Objects does, the objects that aren't of Iceberg. Tables and
	// views of Iceberg may be among them where the metastore can't tell them apart so cheaply.
	// A missing database may have an empty list.
	Others(ctx context.Context, database, token string, size int) (others []mounts.OtherObject, next string, err error)
}

// OtherObjects lists what a database holds besides tables and views of Iceberg, for those who
// look after a catalog: clients are shown nothing of it. Some of Iceberg's may be among them, as
// ListTables and ListViews tell. Each page is one question to the source, whose tokens these are.
// Unsupported where the source can't tell.
func (c *Catalog) OtherObjects(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.OtherObject, string, error) {
	const op = "list other objects"
	source, ok := c.source.(Inventory)
	switch {
	case !ok:
		return nil, "", c.error(mounts.Unsupported, op, n.String(), "can't list what isn't of Iceberg", nil)
	case n.IsRoot():
		return nil, "", nil
	case len(n) != 1:
		return nil, "", &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.String()}
	}
	type listed struct {
		others []mounts.OtherObject
		next   string
	}
	l, err := guard.Do(ctx, c.guard, op, n.String(), func(ctx context.Context) (l listed, err error) {
		l.others, l.next, err = source.Others(ctx, n[0], p.Token, p.Size)
		return l, err
	})
	switch {
	case err != nil:
		return nil, "", c.fail(op, n.String(), err)
	case len(l.others) > maxListNames:
		return nil, "", c.broken(op, n.String(), "has a list of names that is too large")
	case len(l.next) > maxToken:
		return nil, "", c.broken(op, n.String(), "gave a page token that is too long")
	case l.next != "" && l.next == p.Token:
		return nil, "", c.broken(op, n.String(), "gave a list that does not end")
	}
	return l.others, l.next, nil
}

// MetadataLocation asks where the metadata file of a table or view lies, for those who want to
// know why it can't be loaded. It is empty where the metastore doesn't say. NoSuchTable where there
// is none of that name.
func (c *Catalog) MetadataLocation(ctx context.Context, _ mounts.Caller, id mounts.Identifier) (string, error) {
	const op = "find metadata"
	p, err := c.object(ctx, op, id, true)
	if err == nil && (p.absent || p.kind == Other) {
		err = missing(op, id, Table, p)
	}
	return p.location, err
}
