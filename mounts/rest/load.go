package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"piedmont/cache"
	"piedmont/mounts"
)

// Documents keeps the tables that mounts loaded last.
type Documents = cache.Cache[DocumentKey, *Entry]

// DocumentKey names a table: which mount, by an identity that each Catalog makes up anew,
// and the table's name in it.
type DocumentKey struct{ Mount, Table string }

// Entry is a table as the upstream answered it last. It never changes.
type Entry struct {
	etag     string // verbatim; empty where the upstream gives none
	location string // of the metadata
	version  string
	document *cache.Document
	asked    time.Time // when the question was sent that this answers
}

// NewDocuments makes a cache of at most maxBytes.
func NewDocuments(maxBytes int64) *Documents {
	return cache.New(maxBytes, func(k DocumentKey, e *Entry) int64 {
		return e.document.Size() + int64(len(k.Mount)+len(k.Table)+len(e.etag)+len(e.location)+len(e.version))
	})
}

// LoadTable asks the upstream for the table, unless FreshFor lets an earlier answer do.
// With the tag of what is known already the answer is mostly a 304. The document is at
// hand then. Beside Mount's errors it is BadGateway for an answer that is no table, and
// Unavailable or Timeout where the upstream didn't answer or refused our credential.
func (c *Catalog) LoadTable(ctx context.Context, _ mounts.Caller, id mounts.Identifier, o mounts.LoadOptions) (*mounts.Table, error) {
	const op = "loadTable"
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began := c.now()
	e, err := c.entry(ctx, id, o.NoCache)
	switch {
	case noTable(err):
		return nil, noSuchTable(op, id, err)
	case absent(err, typeNoFile):
		return nil, &mounts.Error{
			Kind: mounts.NotFound, Op: op, Name: id.String(),
			Detail: "The metadata file of {name} is gone: the catalog behind " + describe(c.name) + " can't find it", Err: err,
		}
	case err != nil:
		return nil, c.fail(op, id.String(), err)
	}
	t := &mounts.Table{MetadataLocation: e.location, Version: e.version}
	if c.freshFor > 0 && e.asked.Before(began) {
		t.Asked = e.asked
	}
	if c.storage != nil {
		t.Storage, _ = c.storage(e.location)
	}
	t.Metadata = func(context.Context) (mounts.Document, error) {
		if o.Snapshots == mounts.SnapshotsAll {
			return e.document, nil
		}
		reduced, err := e.document.Refs()
		if err != nil {
			return nil, c.fail(op, id.String(), broken("gave a document whose snapshots can't be read", err))
		}
		return reduced, nil
	}
	return t, nil
}

// noTable says whether the upstream itself said that there is no such table.
func noTable(err error) bool {
	return absent(err, typeNoTable, typeNoNamespace, typeNoIcebergTable) || errors.Is(err, errOtherName)
}

// noSuchTable says why, where the table isn't of Iceberg.
func noSuchTable(op string, id mounts.Identifier, cause error) error {
	e := &mounts.Error{Kind: mounts.NoSuchTable, Op: op, Name: id.String(), Err: cause}
	if absent(cause, typeNoIcebergTable) {
		e.Detail = "Table does not exist: {name} is not an Iceberg table"
	}
	return e
}

// TableExists asks by HEAD where the upstream offers it. A 404 to that has no body, so a
// load says whether the table or the route is missing. A table exists also where its
// metadata file is gone.
func (c *Catalog) TableExists(ctx context.Context, _ mounts.Caller, id mounts.Identifier) error {
	const op = "tableExists"
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	found, err := c.head(ctx, id)
	if found {
		return nil
	}
	if err == nil {
		_, err = c.entry(ctx, id, false)
	}
	switch {
	case absent(err, typeNoFile):
		return nil
	case noTable(err):
		return noSuchTable(op, id, err)
	}
	return c.fail(op, id.String(), err)
}

// head is false where a load must decide.
func (c *Catalog) head(ctx context.Context, id mounts.Identifier) (bool, error) {
	s, err := c.settings(ctx)
	if err != nil || !s.offers[tableExists] {
		return false, err
	}
	if err := c.certain(ctx, s, id.Namespace); err != nil {
		return false, err
	}
	_, err = c.client.ask(ctx, question{method: http.MethodHead, url: s.table(id), limit: maxSmall})
	if untypedMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// entry is the table by an answer that is as fresh as the mount promises, or of this moment.
func (c *Catalog) entry(ctx context.Context, id mounts.Identifier, now bool) (*Entry, error) {
	key := DocumentKey{Mount: c.identity, Table: id.Namespace.Encode() + mounts.Separator + id.Name}
	if c.freshFor <= 0 || now {
		return c.loading.DoFresh(ctx, key, func(ctx context.Context) (*Entry, error) { return c.load(ctx, key, id) })
	}
	if e, ok := c.fresh(key); ok {
		return e, nil
	}
	return c.loading.Do(ctx, key, func(ctx context.Context) (*Entry, error) {
		if e, ok := c.fresh(key); ok { // another load ended since the look above
			return e, nil
		}
		return c.load(ctx, key, id)
	})
}

func (c *Catalog) fresh(key DocumentKey) (*Entry, bool) {
	e, ok := c.documents.Get(key)
	return e, ok && c.now().Sub(e.asked) < c.freshFor
}

// load asks the upstream, with the tag of what is known. Its context is no caller's, so it
// has a deadline of its own.
func (c *Catalog) load(ctx context.Context, key DocumentKey, id mounts.Identifier) (*Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, err := c.needs(ctx, loadTable)
	if err != nil {
		return nil, err
	}
	if err := c.certain(ctx, s, id.Namespace); err != nil {
		return nil, err
	}
	q := question{method: http.MethodGet, url: s.table(id), limit: maxLoad}
	known, _ := c.documents.Get(key)
	if known != nil {
		q.etag = known.etag
	}
	asked := c.now()
	got, err := c.client.ask(ctx, q)
	if err != nil {
		if noTable(err) || absent(err, typeNoFile) {
			c.documents.Remove(key)
		}
		return nil, c.noticed(err)
	}
	e := known
	if !got.unchanged {
		if e, err = newEntry(got, known); err != nil {
			return nil, broken("gave an answer that is no table", err)
		}
	}
	if e == known && c.freshFor <= 0 {
		return e, nil // it is in the cache, and its age doesn't matter
	}
	aged := *e
	aged.asked = asked
	c.documents.Add(key, &aged)
	return &aged, nil
}

// newEntry makes an entry of an answer, or is the known one where nothing changed. A
// document that is the known one stays that very one, so that what was made of it
// (deflated, reduced) serves on.
func newEntry(got *answer, known *Entry) (*Entry, error) {
	location, metadata, err := parseLoad(got.body)
	if err != nil {
		return nil, err
	}
	e := &Entry{etag: got.etag, location: location}
	immutable := cache.Immutable(location)
	if known != nil && (immutable && known.location == location || bytes.Equal(known.document.Raw(), metadata)) {
		e.document = known.document
	} else {
		// A copy, so that the rest of the answer, credentials perhaps, leaves memory. It was
		// checked as a part of the whole.
		e.document = cache.TrustedDocument(bytes.Clone(metadata))
	}
	switch {
	case got.etag != "":
		e.version = got.etag
	case immutable:
		e.version = location
	default:
		e.version = fmt.Sprintf("%x", sha256.Sum256(e.document.Raw()))
	}
	if known != nil && e.document == known.document && e.etag == known.etag && e.location == known.location {
		return known, nil
	}
	return e, nil
}
