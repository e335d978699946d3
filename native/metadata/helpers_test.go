package metadata

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

const (
	testUUID  = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
	otherUUID = "aaaaaaaa-03fe-4693-9a96-a0705ddf69c1"
)

// at is the clock of the tests: what ms means as a time.
func at(ms int64) time.Time { return time.UnixMilli(ms) }

// tableV2 is a table with two snapshots, a branch, a tag, statistics, and members at
// every level that nobody knows.
const tableV2 = `{
  "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://bucket/db/t",
  "last-sequence-number": 2, "last-updated-ms": 2000, "last-column-id": 3, "x-top": {"a": 1.10},
  "current-schema-id": 0,
  "schemas": [{"type":"struct","schema-id":0,"x-schema":true,"fields":[
     {"id":1,"name":"id","required":true,"type":"long","x-field":9007199254740993},
     {"id":2,"name":"data","required":false,"type":"string"},
     {"id":3,"name":"ts","required":false,"type":"timestamptz"}]}],
  "default-spec-id": 0,
  "partition-specs": [{"spec-id":0,"x-spec":1,"fields":[{"source-id":3,"field-id":1000,"transform":"day","name":"ts_day","x":1}]}],
  "last-partition-id": 1000, "default-sort-order-id": 0, "sort-orders": [{"order-id":0,"fields":[]}],
  "properties": {"owner":"a","comment":"\u00e9"},
  "current-snapshot-id": 6190000000000000002,
  "refs": {"main":{"snapshot-id":6190000000000000002,"type":"branch","x-ref":1},
           "v1":{"snapshot-id":6190000000000000001,"type":"tag","max-ref-age-ms":5}},
  "snapshots": [
    {"snapshot-id":6190000000000000001,"sequence-number":1,"timestamp-ms":1000,"manifest-list":"s3://bucket/a","summary":{"operation":"append"},"key-id":"k1"},
    {"snapshot-id":6190000000000000002,"parent-snapshot-id":6190000000000000001,"sequence-number":2,"timestamp-ms":2000,"manifest-list":"s3://bucket/b","summary":{"operation":"append"},"x-snap":[1]}
  ],
  "statistics": [{"snapshot-id":6190000000000000001,"statistics-path":"p","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[],"x-stat":1}],
  "partition-statistics": [{"snapshot-id":6190000000000000001,"statistics-path":"pp","file-size-in-bytes":1}],
  "snapshot-log": [{"timestamp-ms":1000,"snapshot-id":6190000000000000001},{"timestamp-ms":2000,"snapshot-id":6190000000000000002}],
  "metadata-log": [{"timestamp-ms":1000,"metadata-file":"s3://bucket/m0","x-log":1}]
}`

func mustParse(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// updates decodes updates, given as JSON objects.
func updates(t testing.TB, list ...string) []Update {
	t.Helper()
	c, err := ParseCommit([]byte(`{"updates":[` + strings.Join(list, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return c.Updates
}

// apply applies updates at time 5000 and expects a change. The result must parse and
// must say of itself what a fresh reading says.
func apply(t testing.TB, d *Document, list ...string) *Document {
	t.Helper()
	next, changed, err := d.Apply(updates(t, list...), Options{Now: at(5000), MetadataLocation: "s3://bucket/m1"})
	if err != nil {
		t.Fatal(err)
	}
	if !changed {
		t.Fatal("no change")
	}
	checkSelf(t, next)
	return next
}

// checkSelf verifies that what a built document remembers is what its text says.
func checkSelf(t testing.TB, d *Document) {
	t.Helper()
	again, err := Parse(d.Bytes())
	if err != nil {
		t.Fatalf("own text doesn't parse: %v\n%s", err, d.Bytes())
	}
	if again.header != d.header {
		t.Fatalf("header %+v, text says %+v", d.header, again.header)
	}
	if err := d.Validate(); err != nil {
		t.Fatalf("own text isn't valid: %v\n%s", err, d.Bytes())
	}
	if found, carried := again.foundLogs(), d.foundLogs(); !slices.Equal(found.metadata, carried.metadata) || found.snapshot != carried.snapshot {
		t.Fatalf("entries of the logs begin at %v, not at %v", found, carried)
	}
	have, err := d.snapshots()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := d.top.Get("snapshots")
	for i, id := range have.ids {
		raw, _, err := rawjson.Member(text[have.at[i].from:have.at[i].to], "snapshot-id")
		if n, ok := rawjson.Int(raw); err != nil || !ok || n != id || have.find(id) != i {
			t.Fatalf("snapshot %d isn't where it should be: %v", id, err)
		}
	}
}

// refused applies updates and expects an error of that kind with that text in it.
func refused(t testing.TB, d *Document, kind mounts.Kind, detail string, list ...string) {
	t.Helper()
	before := string(d.Bytes())
	_, _, err := d.Apply(updates(t, list...), Options{Now: at(5000)})
	checkError(t, err, kind, detail)
	if string(d.Bytes()) != before {
		t.Error("a refused commit changed its base")
	}
}

func checkError(t testing.TB, err error, kind mounts.Kind, detail string) {
	t.Helper()
	if !mounts.Is(err, kind) || !strings.Contains(err.Error(), detail) {
		t.Errorf("got %v\nwant %v with %q", err, kind, detail)
	}
}

// noChange applies updates and expects the document itself back.
func noChange(t testing.TB, d *Document, list ...string) {
	t.Helper()
	next, changed, err := d.Apply(updates(t, list...), Options{Now: at(5000), MetadataLocation: "m"})
	if err != nil || changed || next != d {
		t.Errorf("changed %v, error %v", changed, err)
	}
}

// member is the compacted text at a path of member names.
func member(t testing.TB, d *Document, path ...string) string {
	t.Helper()
	raw := json.RawMessage(d.Bytes())
	for _, key := range path {
		v, ok, err := rawjson.Member(raw, key)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return ""
		}
		raw = v
	}
	return compact(t, raw)
}

func compact(t testing.TB, raw []byte) string {
	t.Helper()
	var b strings.Builder
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
			c = raw[i]
			b.WriteByte(c)
		case c == '"':
			inString = !inString
			b.WriteByte(c)
		case inString || c != ' ' && c != '\n' && c != '\t' && c != '\r':
			b.WriteByte(c)
		}
	}
	return b.String()
}

func wantMember(t testing.TB, d *Document, want string, path ...string) {
	t.Helper()
	if got := member(t, d, path...); got != want {
		t.Errorf("%s is\n  %s\nwant\n  %s", strings.Join(path, "."), got, want)
	}
}
