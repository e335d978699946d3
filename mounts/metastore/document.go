package metastore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/vend"
)

// file is the metadata file that a pointer leads to.
type file struct {
	c        *Catalog
	op       string
	id       mounts.Identifier
	location string
	// remembered: the pointer is from memory, so that the file may be gone for a good reason.
	remembered bool
}

// open makes a table whose document is read when it is asked for, or at once where only its
// content tells its version. A file on a local disk must be there.
func (f file) open(ctx context.Context, s mounts.Snapshots) (*mounts.Table, error) {
	if f.location == "" {
		return nil, f.error(mounts.NotFound, "{name} has no metadata: "+f.c.mount+" knows it as an Iceberg table without a metadata_location", nil)
	}
	profile, l, err := f.c.storage.Find(f.location)
	if err != nil {
		return nil, f.error(mounts.Unsupported, "The metadata of {name} lies under no storage profile of "+f.c.mount+", so it can't be read", err)
	}
	t := &mounts.Table{MetadataLocation: f.location, Version: f.location, Storage: profile.Name}
	var known *cache.Document // where it had to be read already
	if !vend.IsImmutable(l) {
		if known, err = f.c.reread(ctx, profile, l); err != nil {
			return nil, f.fail(err)
		}
		t.Version = fmt.Sprintf("%s#%x", f.location, sha256.Sum256(known.Raw()))
	} else if disk, ok := profile.Files.(vend.Stater); ok {
		if err := disk.Stat(ctx, l); err != nil {
			return nil, f.fail(err)
		}
	}
	t.Metadata = func(ctx context.Context) (mounts.Document, error) {
		d := known
		if d == nil {
			var err error
			if d, err = vend.ReadDocument(ctx, f.c.documents, profile, l); err != nil {
				return nil, f.outdated(f.fail(err))
			}
		}
		if s == mounts.SnapshotsAll {
			return d, nil
		}
		reduced, err := vend.Refs(d)
		if err != nil {
			return nil, f.fail(err)
		}
		return reduced, nil
	}
	return t, nil
}

// reread reads a file that may be written again. A document that is the known one stays that
// very one, so that what was made of it (deflated, reduced) serves on.
func (c *Catalog) reread(ctx context.Context, p *vend.Profile, l vend.Location) (*cache.Document, error) {
	d, err := vend.ReadDocument(ctx, c.documents, p, l)
	if err != nil {
		return nil, err
	}
	key := vend.DocumentKey{Profile: p.Name, Location: l.String()}
	if known, ok := c.documents.Get(key); ok && bytes.Equal(known.Raw(), d.Raw()) {
		return known, nil
	}
	c.documents.Add(key, d)
	return d, nil
}

// fail is the error of a file that can't be read, about the table.
func (f file) fail(err error) error {
	var e *mounts.Error
	switch {
	case !errors.As(err, &e):
		return f.error(mounts.Internal, "The metadata of {name} in "+f.c.mount+" could not be read: a fault in this server", err)
	case e.Kind == mounts.NotFound:
		return f.error(mounts.NotFound, "The metadata file of {name} is gone, though "+f.c.mount+" still points to it", err)
	case e.Kind == mounts.BadRequest:
		return f.error(mounts.BadGateway, "The metadata_location of {name} in "+f.c.mount+" can't be that of a file", err)
	}
	return f.error(e.Kind, "The metadata of {name} in "+f.c.mount+" can't be read: "+e.Detail, err)
}

// outdated takes back that a file is surely gone where only a remembered pointer leads to it.
func (f file) outdated(err error) error {
	if !f.remembered || !mounts.Is(err, mounts.NotFound) {
		return err
	}
	f.c.forget(f.id)
	return f.error(mounts.Unavailable, "The metadata of {name} has moved on since "+f.c.mount+" was asked: try again", err)
}

func (f file) error(kind mounts.Kind, detail string, cause error) error {
	return &mounts.Error{Kind: kind, Op: f.op, Name: f.id.String(), Detail: detail, Err: cause}
}
