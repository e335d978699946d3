package metadata

import (
	"encoding/json"
	"slices"
	"time"

	"piedmont/cache/rawjson"
)

// Options is what a commit needs beyond its updates.
type Options struct {
	// Now is the time of the commit.
	Now time.Time
	// MetadataLocation is the metadata file that the base lies in. It goes into the new
	// document's metadata-log; where it is empty, nothing does.
	MetadataLocation string
	// FormatVersions are the versions a table may have or be upgraded to. None means all
	// that this package knows.
	FormatVersions []int
}

// builder is a document under construction: the members of the base, and of those that
// updates touched a decoded form. Nothing is decoded before it is touched.
type builder struct {
	members
	header
	base *Document
	opt  Options
	now  int64

	fieldIDs  map[string]int // of partition fields, by specField.key
	decoded   *schema        // the current schema, if it is decodedID
	decodedID int
	keys      *keyList
	gone      map[int64]bool // removed snapshots that something may still refer to

	props *rawjson.Object
	refs  *rawjson.Object
	snaps *snapshotEdit

	logs                            logs // of the base, then of the document
	lastSchema, lastSpec, lastOrder int  // ids last added or reused, lastAdded if none
	moves                           []logEntry
	changed                         bool
	structure                       bool // schema, spec or order changed: they must fit again
	propsChanged, refsChanged       bool
	keysChanged                     bool
}

// logEntry is an entry of the snapshot-log that this commit makes.
type logEntry struct {
	timestamp int64
	id        int64
	added     bool // the snapshot was added in this commit
}

// Apply makes the document that follows d: the updates done in their order, the logs
// and last-updated-ms moved on. Where they come to nothing, changed is false and next
// is d itself; no file needs writing. d is not modified.
//
// The cost is that of what the updates name, plus one copy of the text.
//
// Errors are *mounts.Errors: CommitFailed where a refresh may help (a sequence number
// or first-row-id that has been overtaken), else BadRequest; nothing may be concluded
// from next then. A document of a format version that isn't known is refused.
func (d *Document) Apply(updates []Update, o Options) (next *Document, changed bool, err error) {
	if len(updates) == 0 {
		return d, false, nil
	}
	if d.version > maxFormatVersion {
		return nil, false, badRequest("Cannot update a table of format version " + itoa(d.version) +
			" (supported: up to " + itoa(maxFormatVersion) + ")")
	}
	b := newBuilder(d, o)
	if err := b.apply(updates); err != nil {
		return nil, false, err
	}
	if !b.changed {
		return d, false, nil
	}
	next, err = b.finish()
	return next, err == nil, err
}

func newBuilder(base *Document, o Options) *builder {
	b := &builder{
		members: newMembers("table metadata"),
		base:    base, opt: o, now: o.Now.UnixMilli(),
		fieldIDs: map[string]int{}, gone: map[int64]bool{},
		lastSchema: lastAdded, lastSpec: lastAdded, lastOrder: lastAdded,
	}
	if base != nil {
		b.top, b.header = base.top.Clone(), base.header
		// The clock of another replica may be ahead of ours; time must not go back.
		b.now = max(b.now, base.lastUpdated)
	} else {
		b.header = header{currentSnapshot: noSnapshot, lastPartition: firstPartitionID - 1}
	}
	return b
}

func (b *builder) apply(updates []Update) error {
	for _, u := range updates {
		if _, ok := u.(removeSnapshots); !ok {
			b.dropDangling()
		}
		if err := u.apply(b); err != nil {
			return err
		}
		if b.r.err != nil {
			return b.r.err
		}
	}
	b.dropDangling()
	return b.r.err
}

// list is one of the arrays of objects with an id, which v1 may keep in older forms.
func (b *builder) list(name string) *list {
	if l := b.lists[name]; l != nil {
		return l
	}
	l := b.members.list(name)
	if b.version == 1 && l.live == 0 {
		b.readLegacy(name, l)
	}
	return l
}

// readLegacy fills a list that a v1 document keeps in the form from before there were
// lists. It counts as changed only once something changes it.
func (b *builder) readLegacy(name string, l *list) {
	switch name {
	case "schemas":
		if raw, ok := b.top.Get("schema"); ok {
			o := b.r.object(raw, "schema")
			o.Set("schema-id", rawjson.AppendInt(nil, int64(b.currentSchema)))
			l.push(int64(b.currentSchema), o.AppendTo(nil))
		}
	case "partition-specs":
		if raw, ok := b.top.Get("partition-spec"); ok {
			l.push(0, legacySpec(b.r, raw))
		}
	case "sort-orders":
		if b.base != nil {
			l.push(unsortedOrderID, json.RawMessage(`{"order-id":0,"fields":[]}`))
		}
	}
}

// legacySpec makes a spec of v1's bare array of fields, whose ids count from 1000 where
// they are missing.
func legacySpec(r *reader, fields json.RawMessage) json.RawMessage {
	s := &spec{object: &object{r: r}}
	for i, e := range r.elements(fields, "partition-spec") {
		f := r.object(e, "partition-spec["+itoa(i)+"]")
		if !f.has("field-id") {
			f.Set("field-id", rawjson.AppendInt(nil, int64(firstPartitionID+i)))
		}
		s.fields = append(s.fields, &specField{object: f})
	}
	return s.render("spec-id", 0)
}

func (b *builder) properties() *rawjson.Object { return b.member(&b.props, "properties") }

// references is the refs. A document without any, as v1 writers leave it, has a main
// if it has a current snapshot.
func (b *builder) references() *rawjson.Object {
	if b.refs != nil {
		return b.refs
	}
	refs := b.member(&b.refs, "refs")
	if raw, _ := b.top.Get("refs"); rawjson.IsNull(raw) && b.currentSnapshot != noSnapshot {
		refs.Set(mainBranch, json.RawMessage(`{"snapshot-id":`+ltoa(b.currentSnapshot)+`,"type":"branch"}`))
	}
	return refs
}

func (b *builder) snapshots() *snapshotEdit {
	if b.snaps == nil {
		b.snaps = &snapshotEdit{base: &snapshots{}, removed: map[int64]bool{}, at: map[int64]int{}}
		if b.base != nil {
			found, err := b.base.snapshots()
			if err != nil {
				b.r.fail("snapshots", "can't be read")
				return b.snaps
			}
			b.snaps.base = found
			b.snaps.text, _ = b.base.top.Get("snapshots")
		}
	}
	return b.snaps
}

// allowed says whether a table may have that format version.
func allowed(versions []int, v int) bool {
	if len(versions) == 0 {
		return v >= 1 && v <= maxFormatVersion
	}
	return v <= maxFormatVersion && slices.Contains(versions, v)
}
