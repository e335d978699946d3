package metadata

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

// viewV1 is a view with two versions and two schemas, and members at every level that
// nobody knows.
const viewV1 = `{
  "view-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "format-version": 1, "location": "s3://bucket/db/v", "x-top": {"a": 1.10},
  "properties": {"comment":"\u00e9","x":"1"},
  "schemas": [
    {"type":"struct","schema-id":0,"x-schema":true,"fields":[{"id":7,"name":"id","required":true,"type":"long","x-field":9007199254740993}]},
    {"type":"struct","schema-id":1,"fields":[{"id":7,"name":"id","required":true,"type":"long"},{"id":8,"name":"n","required":false,"type":"string"}]}],
  "current-version-id": 2,
  "versions": [
    {"version-id":1,"timestamp-ms":1000,"schema-id":0,"summary":{"engine-name":"spark"},"default-namespace":["db"],
     "representations":[{"type":"sql","sql":"select 1","dialect":"spark","x-sql":1},{"type":"substrait","plan":[1,null]}],"storage-table":{"name":"s"}},
    {"version-id":2,"timestamp-ms":2000,"schema-id":1,"default-catalog":"c","default-namespace":["db"],
     "representations":[{"type":"sql","sql":"select 2","dialect":"Spark"}]}],
  "version-log": [{"timestamp-ms":1000,"version-id":1,"x-log":1},{"timestamp-ms":2000,"version-id":2}]
}`

func mustParseView(t testing.TB, text string) *ViewDocument {
	t.Helper()
	d, err := ParseView([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func viewUpdates(t testing.TB, list ...string) []ViewUpdate {
	t.Helper()
	c, err := ParseViewCommit([]byte(`{"updates":[` + strings.Join(list, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return c.Updates
}

// change applies updates to a view at time 5000 and expects a change.
func change(t testing.TB, d *ViewDocument, list ...string) *ViewDocument {
	t.Helper()
	next, changed, err := d.Apply(viewUpdates(t, list...), ViewOptions{Now: at(5000)})
	if err != nil {
		t.Fatal(err)
	}
	if !changed {
		t.Fatal("no change")
	}
	checkView(t, next)
	return next
}

// checkView verifies that what a built view remembers is what its text says.
func checkView(t testing.TB, d *ViewDocument) {
	t.Helper()
	again, err := ParseView(d.Bytes())
	if err != nil {
		t.Fatalf("own text doesn't parse: %v\n%s", err, d.Bytes())
	}
	if again.viewHeader != d.viewHeader {
		t.Fatalf("header %+v, text says %+v", d.viewHeader, again.viewHeader)
	}
	for _, v := range []*ViewDocument{d, again} {
		if err := v.Validate(); err != nil {
			t.Fatalf("own text isn't valid: %v\n%s", err, d.Bytes())
		}
	}
}

// refusedView applies updates and expects an error of that kind with that text in it.
func refusedView(t testing.TB, d *ViewDocument, kind mounts.Kind, detail string, list ...string) {
	t.Helper()
	before := string(d.Bytes())
	_, changed, err := d.Apply(viewUpdates(t, list...), ViewOptions{Now: at(5000)})
	checkError(t, err, kind, detail)
	if changed || string(d.Bytes()) != before {
		t.Error("a refused commit changed its base")
	}
}

// sameView applies updates and expects the view itself back.
func sameView(t testing.TB, d *ViewDocument, list ...string) {
	t.Helper()
	next, changed, err := d.Apply(viewUpdates(t, list...), ViewOptions{Now: at(5000)})
	if err != nil || changed || next != d {
		t.Errorf("changed %v, error %v", changed, err)
	}
}

// viewMember is the compacted text of a top-level member.
func viewMember(t testing.TB, d *ViewDocument, key string) string {
	t.Helper()
	raw, _, err := rawjson.Member(d.Bytes(), key)
	if err != nil {
		t.Fatal(err)
	}
	return compact(t, raw)
}

func wantView(t testing.TB, d *ViewDocument, key, want string) {
	t.Helper()
	if got := viewMember(t, d, key); got != want {
		t.Errorf("%s is\n  %s\nwant\n  %s", key, got, want)
	}
}

// ids is the ids of a view's versions, schemas or log entries, in order.
func ids(t testing.TB, d *ViewDocument, list, idKey string) string {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal([]byte(viewMember(t, d, list)), &all); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range all {
		ids = append(ids, fmt.Sprint(e[idKey]))
	}
	return strings.Join(ids, " ")
}

func versionIDs(t testing.TB, d *ViewDocument) string { return ids(t, d, "versions", "version-id") }
func logIDs(t testing.TB, d *ViewDocument) string     { return ids(t, d, "version-log", "version-id") }

func query(sql, dialect string) string {
	return fmt.Sprintf(`{"type":"sql","sql":%q,"dialect":%q}`, sql, dialect)
}

// versionOf is a version with these representations, made at time 3000.
func versionOf(id, schemaID int, representations ...string) string {
	return fmt.Sprintf(`{"version-id":%d,"schema-id":%d,"timestamp-ms":3000,"summary":{"engine-name":"e"},"default-namespace":["db"],"representations":[%s]}`,
		id, schemaID, strings.Join(representations, ","))
}

func addVersion(version string) string {
	return `{"action":"add-view-version","view-version":` + version + `}`
}

func setVersion(id int) string {
	return fmt.Sprintf(`{"action":"set-current-view-version","view-version-id":%d}`, id)
}

// replaceBy is the updates that replace the current version, as Java's client sends
// them if the schema isn't new.
func replaceBy(version string) []string { return []string{addVersion(version), setVersion(-1)} }
