package metadata

import (
	"encoding/json"
	"sync/atomic"

	"piedmont/cache/rawjson"
)

// Document is the metadata of a table at one moment. It never changes once returned,
// and any number of goroutines may use it.
type Document struct {
	raw []byte
	top rawjson.Object // its values lie in raw
	header
	snaps atomic.Pointer[snapshots] // found on first use
	logs  atomic.Pointer[logs]      // as above
}

// Parse reads a table metadata document. It keeps raw, which must not be modified.
//
// The error is a BadRequest *mounts.Error that names the member: text that isn't
// exactly one JSON object, a top-level key that occurs twice, a required member that is
// missing, one of a wrong JSON type. What lies inside the arrays isn't looked at; see
// Validate. Any format version is read, so that newer tables can be served; Apply
// refuses those it doesn't know.
func Parse(raw []byte) (*Document, error) {
	r := &reader{what: "table metadata"}
	o := r.object(raw, "")
	h := readHeader(o)
	if r.err != nil {
		return nil, r.err
	}
	return &Document{raw: raw, top: o.Object, header: h}, nil
}

// Bytes is the document's text: for a parsed one the very bytes it was parsed from. The
// caller must not modify it.
func (d *Document) Bytes() []byte { return d.raw }

// FormatVersion is the format version, 1 or more.
func (d *Document) FormatVersion() int { return d.version }

// UUID is the table's uuid, empty only in v1 documents that have none.
func (d *Document) UUID() string { return d.uuid }

// Location is the table's base location, empty only from v4 on.
func (d *Document) Location() string { return d.location }

// LastUpdatedMillis is when the document was made.
func (d *Document) LastUpdatedMillis() int64 { return d.lastUpdated }

// LastSequenceNumber is the highest sequence number the table has given out, 0 in v1.
func (d *Document) LastSequenceNumber() int64 { return d.lastSequence }

// CurrentSnapshotID is the snapshot that main points to; ok is false if there is none.
func (d *Document) CurrentSnapshotID() (id int64, ok bool) {
	return d.currentSnapshot, d.currentSnapshot != noSnapshot
}

// RefSnapshotID is the snapshot that a branch or tag points to; ok is false where there
// is no such ref. A document without refs has a main if it has a current snapshot.
func (d *Document) RefSnapshotID(ref string) (id int64, ok bool) {
	found, ok := d.ref(ref)
	return found.id, ok
}

// ref is what a requirement must know of a ref.
type ref struct {
	id  int64
	tag bool
}

func (d *Document) ref(name string) (ref, bool) {
	refs, _ := d.top.Get("refs")
	if rawjson.IsNull(refs) {
		id, ok := d.CurrentSnapshotID()
		return ref{id: id}, ok && name == mainBranch
	}
	raw, ok, err := rawjson.Member(refs, name)
	if err != nil || !ok {
		return ref{}, false
	}
	o := (&reader{}).object(raw, "")
	id, ok := o.optLong("snapshot-id")
	kind := o.optStr("type")
	return ref{id: id, tag: kind == "tag"}, ok
}

// Property is one table property; ok is false where it isn't set.
func (d *Document) Property(name string) (value string, ok bool) { return property(&d.top, name) }

// Properties is a new map of all table properties. Values that aren't strings, which no
// writer may write, are left out.
func (d *Document) Properties() map[string]string { return properties(&d.top) }

// MetadataLog is the locations of the metadata files before this one that the document
// still lists, oldest first.
func (d *Document) MetadataLog() []string {
	var files []string
	for _, e := range arrayOf(&d.top, "metadata-log") {
		if raw, ok, err := rawjson.Member(e, "metadata-file"); err == nil && ok {
			if s, ok := rawjson.String(raw); ok {
				files = append(files, s)
			}
		}
	}
	return files
}

// Size is about how many bytes of memory the document holds, for a cache's bookkeeping:
// the text, and what finding its snapshots by id takes.
func (d *Document) Size() int64 {
	snaps, _ := d.top.Get("snapshots")
	return int64(len(d.raw)) + int64(len(snaps)/12) + 4096
}

// arrayOf is the elements of a top-level array, none where it is absent or broken.
func arrayOf(top *rawjson.Object, key string) []json.RawMessage {
	raw, _ := top.Get(key)
	all, _ := rawjson.Elements(raw)
	return all
}
