package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// Documents keeps the tables and views that mounts loaded last.
type Documents = cache.Cache[DocumentKey, *Entry]

// DocumentKey names what was loaded: of which mount, by an identity that each Catalog makes
// up anew, under which name in it, and in which form.
type DocumentKey struct {
	Mount, Name string
	form        form
}

// form is what an upstream is asked for under a name. Answers to one are none to another.
type form uint8

const (
	whole form = iota // a table
	refs              // a table with those snapshots alone that branches and tags name
	view
)

// object is what a load is about.
type object struct {
	id   mounts.Identifier
	form form
}

func (c *Catalog) key(o object) DocumentKey {
	return DocumentKey{Mount: c.identity, Name: o.id.Namespace.Encode() + mounts.Separator + o.id.Name, form: o.form}
}

// Entry is a table or view as the upstream answered it last. It never changes.
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
		return e.document.Size() + int64(len(k.Mount)+len(k.Name)+len(e.etag)+len(e.location)+len(e.version))
	})
}

// LoadTable asks the upstream for the table, unless FreshFor lets an earlier answer do.
// With the tag of what is known already the answer is mostly a 304. The document is at
// hand then. Beside Mount's errors it is BadGateway for an answer that is no table, and
// Unavailable or Timeout where the upstream didn't answer or refused our credential.
func (c *Catalog) LoadTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier, o mounts.LoadOptions) (*mounts.Table, error) {
	const op = "loadTable"
	began := c.now()
	what := object{id: id, form: whole}
	if o.Snapshots == mounts.SnapshotsRefs {
		what.form = c.refsForm(id)
	}
	e, err := c.entry(ctx, op, what, caller.NoCache)
	if err != nil {
		return nil, c.failObject(op, what, err)
	}
	t := c.table(e, began)
	if o.Snapshots == mounts.SnapshotsAll {
		return t, nil
	}
	t.Metadata = func(context.Context) (mounts.Document, error) {
		reduced, err := e.document.Refs() // of an upstream that knows no modes, too
		if err != nil {
			return nil, c.fail(op, id.String(), guard.Broken("gave a document whose snapshots can't be read", err))
		}
		return reduced, nil
	}
	return t, nil
}

// refsForm is how to ask for a table of which only some snapshots are wanted. Where it is
// known whole a 304 is all it takes, and who wants it whole has it at hand.
func (c *Catalog) refsForm(id mounts.Identifier) form {
	if _, ok := c.documents.Get(c.key(object{id: id, form: whole})); ok {
		return whole
	}
	return refs
}

// table is what an operation that began at that time answers of an entry.
func (c *Catalog) table(e *Entry, began time.Time) *mounts.Table {
	t := &mounts.Table{MetadataLocation: e.location, Version: e.version}
	if c.freshFor > 0 && e.asked.Before(began) {
		t.Asked = e.asked
	}
	if c.storage != nil {
		if profile, ok := c.storage(e.location); ok {
			t.Storage = profile
		}
	}
	t.Metadata = func(context.Context) (mounts.Document, error) { return e.document, nil }
	return t
}

// TableExists asks by HEAD where the upstream offers it. A 404 to that has no body, so a
// load says whether the table or the route is missing. A table exists also where its
// metadata file is gone.
func (c *Catalog) TableExists(ctx context.Context, caller mounts.Caller, id mounts.Identifier) error {
	return c.exists(ctx, caller, "tableExists", object{id: id, form: whole}, tableExists)
}

func (c *Catalog) exists(ctx context.Context, caller mounts.Caller, op string, o object, endpoint string) error {
	if err := askable(o.id.Namespace, o.id.Name); err != nil {
		return c.failObject(op, o, err)
	}
	found, err := guarded(ctx, c, op, o.id.String(), func(ctx context.Context) (bool, error) { return c.head(ctx, o, endpoint) })
	if found {
		return nil
	}
	if err == nil {
		_, err = c.entry(ctx, op, o, caller.NoCache)
	}
	if absent(err, typeNoFile) {
		return nil
	}
	return c.failObject(op, o, err)
}

// head is false where a load must decide.
func (c *Catalog) head(ctx context.Context, o object, endpoint string) (bool, error) {
	s, err := c.settings(ctx)
	if err != nil || !s.offers[endpoint] || !s.readable(o.id.Name) {
		return false, err
	}
	if err := c.certain(ctx, s, o.id.Namespace); err != nil {
		return false, err
	}
	_, err = c.client.ask(ctx, question{method: http.MethodHead, url: s.object(o), limit: maxSmall})
	if untypedMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// entry is the table or view by an answer that is as fresh as the mount promises, or of this
// moment.
func (c *Catalog) entry(ctx context.Context, op string, o object, now bool) (*Entry, error) {
	if err := askable(o.id.Namespace, o.id.Name); err != nil {
		return nil, err
	}
	key := c.key(o)
	load := func(ctx context.Context) (*Entry, error) {
		return guarded(ctx, c, op, o.id.String(), func(ctx context.Context) (*Entry, error) { return c.load(ctx, key, o) })
	}
	remembers := c.freshFor > 0 && !now
	if remembers {
		if e, ok := c.fresh(key); ok {
			return e, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if !remembers {
		return c.loading.DoFresh(ctx, key, load)
	}
	answered := c.underWay.answered(key)
	e, err := c.loading.Do(ctx, key, func(ctx context.Context) (*Entry, error) {
		if e, ok := c.fresh(key); ok { // another load ended since the look above
			return e, nil
		}
		return load(ctx)
	})
	if err == nil && e.asked.Before(answered) { // it joined a question that was overtaken when it came
		return c.loading.DoFresh(ctx, key, load)
	}
	return e, err
}

func (c *Catalog) fresh(key DocumentKey) (*Entry, bool) {
	e, ok := c.documents.Get(key)
	return e, ok && c.now().Sub(e.asked) < c.freshFor
}

// load asks the upstream, with the tag of what is known.
func (c *Catalog) load(ctx context.Context, key DocumentKey, o object) (*Entry, error) {
	s, err := c.settings(ctx)
	if err == nil {
		err = s.loads(o)
	}
	if err != nil {
		return nil, err
	}
	defer c.underWay.begin(key)()
	asked := c.now()
	known, _ := c.documents.Get(key)
	got, err := c.ask(ctx, s, o, known)
	if err != nil {
		if o.missing(err) || absent(err, typeNoFile) {
			c.forget(key, asked)
		}
		return nil, c.noticed(err)
	}
	e := known
	if !got.unchanged {
		if e, err = newEntry(got, known); err != nil {
			return nil, guard.Broken("gave an answer that is no "+o.noun(), err)
		}
	}
	if e == known && c.freshFor <= 0 {
		return e, nil // it is in the cache, and its age doesn't matter
	}
	aged := *e
	aged.asked = asked
	c.keep(key, &aged)
	return &aged, nil
}

// ask asks for a table or view of which an entry is known, nil for none.
func (c *Catalog) ask(ctx context.Context, s *settings, o object, known *Entry) (*answer, error) {
	if err := c.certain(ctx, s, o.id.Namespace); err != nil {
		return nil, err
	}
	q := question{method: http.MethodGet, url: s.object(o), limit: maxLoad}
	if o.form == refs {
		q.url += "?snapshots=refs"
	}
	if known != nil {
		q.etag = known.etag
	}
	got, err := c.client.ask(ctx, q)
	if o.form == view {
		err = c.aboutViews(s, err)
	}
	return got, err
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
