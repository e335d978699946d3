package metadata

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

// without is a document's text without some top-level members.
func without(t testing.TB, text string, keys ...string) string {
	t.Helper()
	o, err := rawjson.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		o.Delete(key)
	}
	return string(o.AppendTo(nil))
}

// with is a document's text with one top-level member set.
func with(t testing.TB, text, key, raw string) string {
	t.Helper()
	o, err := rawjson.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Set(key, []byte(raw))
	return string(o.AppendTo(nil))
}

func TestParseGivesBackTheVeryBytes(t *testing.T) {
	raw := []byte(tableV2)
	d, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if &d.Bytes()[0] != &raw[0] || string(d.Bytes()) != tableV2 {
		t.Error("an untouched document isn't the text it came from")
	}
}

func TestAccessors(t *testing.T) {
	d := mustParse(t, tableV2)
	if d.FormatVersion() != 2 || d.UUID() != testUUID || d.Location() != "s3://bucket/db/t" || d.LastUpdatedMillis() != 2000 || d.LastSequenceNumber() != 2 {
		t.Errorf("got %+v", d.header)
	}
	if id, ok := d.CurrentSnapshotID(); !ok || id != 6190000000000000002 {
		t.Errorf("current snapshot %d, %v", id, ok)
	}
	for name, want := range map[string]int64{"main": 6190000000000000002, "v1": 6190000000000000001, "none": 0} {
		if id, ok := d.RefSnapshotID(name); id != want || ok != (want != 0) {
			t.Errorf("ref %s is %d, %v", name, id, ok)
		}
	}
	if v, ok := d.Property("comment"); !ok || v != "é" {
		t.Errorf("comment is %q, %v", v, ok)
	}
	if _, ok := d.Property("none"); ok {
		t.Error("found a property that isn't there")
	}
	if got := d.Properties(); !maps.Equal(got, map[string]string{"owner": "a", "comment": "é"}) {
		t.Errorf("properties %v", got)
	}
	if got := d.MetadataLog(); !slices.Equal(got, []string{"s3://bucket/m0"}) {
		t.Errorf("metadata log %v", got)
	}
	if n := d.Size(); n < int64(len(tableV2)) || n > int64(len(tableV2))+10_000 {
		t.Errorf("size %d", n)
	}
}

func TestRefsAbsentMeansMainIfThereIsASnapshot(t *testing.T) {
	d := mustParse(t, without(t, tableV2, "refs"))
	if id, ok := d.RefSnapshotID("main"); !ok || id != 6190000000000000002 {
		t.Errorf("main is %d, %v", id, ok)
	}
	if _, ok := d.RefSnapshotID("v1"); ok {
		t.Error("found a ref that isn't there")
	}
	d = mustParse(t, with(t, without(t, tableV2, "refs"), "current-snapshot-id", "-1"))
	if _, ok := d.RefSnapshotID("main"); ok {
		t.Error("found a main without a snapshot")
	}
	for _, none := range []string{"null", "-1"} {
		d = mustParse(t, with(t, tableV2, "current-snapshot-id", none))
		if _, ok := d.CurrentSnapshotID(); ok {
			t.Errorf("%s is a snapshot", none)
		}
	}
}

func TestParseRefusesWhatIsNoTableMetadata(t *testing.T) {
	required := []string{
		"format-version", "table-uuid", "location", "last-updated-ms", "last-column-id", "last-sequence-number", "schemas", "current-schema-id",
		"partition-specs", "default-spec-id", "last-partition-id", "sort-orders", "default-sort-order-id",
	}
	for _, key := range required {
		_, err := Parse([]byte(without(t, tableV2, key)))
		checkError(t, err, mounts.BadRequest, "Invalid table metadata: "+key+": missing")
		_, err = Parse([]byte(with(t, tableV2, key, "null")))
		checkError(t, err, mounts.BadRequest, "Invalid table metadata: "+key+": missing")
		_, err = Parse([]byte(with(t, tableV2, key, "{}")))
		checkError(t, err, mounts.BadRequest, "Invalid table metadata: "+key+": expected")
	}
	for _, key := range []string{"snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics", "properties", "refs", "current-snapshot-id"} {
		_, err := Parse([]byte(with(t, tableV2, key, `"x"`)))
		checkError(t, err, mounts.BadRequest, "Invalid table metadata: "+key+": expected")
		mustParse(t, with(t, tableV2, key, "null"))
		mustParse(t, without(t, tableV2, key))
	}
	for text, detail := range map[string]string{
		``: "unexpected end", `[]`: "expected an object", tableV2 + `{}`: "more text after the value", `{"format-version":0}`: "must be 1 or more",
		`{"format-version":1.0}`: "expected an integer", `{"format-version":2,"format-version":2}`: "duplicate key", "{\"a\":\"\xff\"}": "UTF-8",
		with(t, tableV2, "format-version", "3"): "next-row-id: missing", strings.Repeat(`{"a":`, 5000): "nested too deeply",
	} {
		_, err := Parse([]byte(text))
		checkError(t, err, mounts.BadRequest, detail)
	}
}

func TestIntegersBeyondFloatsSurvive(t *testing.T) {
	d := mustParse(t, with(t, tableV2, "last-updated-ms", "9007199254740993"))
	if d.LastUpdatedMillis() != 9007199254740993 {
		t.Errorf("got %d", d.LastUpdatedMillis())
	}
	for _, bad := range []string{"9223372036854775808", "1.0", "1e3", `"1"`} {
		_, err := Parse([]byte(with(t, tableV2, "last-updated-ms", bad)))
		checkError(t, err, mounts.BadRequest, "last-updated-ms: expected an integer")
	}
}

func TestNewerFormatVersionsAreReadButNotWritten(t *testing.T) {
	text := with(t, with(t, without(t, tableV2, "location"), "next-row-id", "0"), "format-version", "4")
	d := mustParse(t, text)
	if d.Location() != "" || d.FormatVersion() != 4 {
		t.Errorf("got %+v", d.header)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	refused(t, d, mounts.BadRequest, "Cannot update a table of format version 4", `{"action":"set-location","location":"x"}`)
}

func TestValidateFindsWhatParseDoesNot(t *testing.T) {
	if err := mustParse(t, tableV2).Validate(); err != nil {
		t.Fatal(err)
	}
	for detail, text := range map[string]string{
		"snapshots[0].snapshot-id":                             with(t, tableV2, "snapshots", `[{}]`),
		"two snapshots of the same id":                         with(t, tableV2, "snapshots", `[{"snapshot-id":1},{"snapshot-id":1}]`),
		"current-snapshot-id: no such snapshot":                with(t, tableV2, "snapshots", `[{"snapshot-id":1}]`),
		"points to no snapshot":                                with(t, tableV2, "refs", `{"b":{"snapshot-id":9,"type":"branch"}}`),
		"refs.main: not the current snapshot":                  with(t, tableV2, "refs", `{"main":{"snapshot-id":`+snap1+`,"type":"branch"}}`),
		"expected the type branch or tag":                      with(t, tableV2, "refs", `{"b":{"snapshot-id":`+snap1+`,"type":"bench"}}`),
		"snapshot-log[0].snapshot-id: missing":                 with(t, tableV2, "snapshot-log", `[{"timestamp-ms":1}]`),
		"metadata-log[0].metadata-file: missing":               with(t, tableV2, "metadata-log", `[{"timestamp-ms":1}]`),
		"statistics[0].snapshot-id: missing":                   with(t, tableV2, "statistics", `[{}]`),
		"properties: every value must be a string":             with(t, tableV2, "properties", `{"a":1}`),
		"schemas[0].schema-id: missing":                        with(t, tableV2, "schemas", `[{}]`),
		"schemas[0].type: a schema must be a struct":           with(t, tableV2, "schemas", `[{"schema-id":0}]`),
		"partition-specs[0].fields[0]: expected an object":     with(t, tableV2, "partition-specs", `[{"spec-id":0,"fields":[null]}]`),
		"sort-orders[0].fields[0].transform: missing":          with(t, tableV2, "sort-orders", `[{"order-id":0,"fields":[{}]}]`),
		"Cannot find the current schema: 1":                    with(t, tableV2, "current-schema-id", `1`),
		"Cannot find the default of partition-specs: 5":        with(t, tableV2, "default-spec-id", `5`),
		"Cannot find the default of sort-orders: 5":            with(t, tableV2, "default-sort-order-id", `5`),
		"Cannot find source column for partition field: 1000:": with(t, tableV2, "partition-specs", `[{"spec-id":0,"fields":[{"source-id":9,"field-id":1000,"transform":"day","name":"x"}]}]`),
	} {
		checkError(t, mustParse(t, text).Validate(), mounts.BadRequest, detail)
	}
}

func TestConcurrentReadersAndWriters(t *testing.T) {
	d := mustParse(t, tableV2)
	u := updates(t, addSnap(snap3, snap2, "3", ""), setMain(snap3), `{"action":"set-properties","updates":{"a":"b"}}`)
	var wg sync.WaitGroup
	results := make([]string, 8)
	for i := range results {
		wg.Go(func() {
			next, _, err := d.Apply(u, Options{Now: at(5000)})
			if err != nil {
				t.Error(err)
				return
			}
			d.Properties()
			results[i] = string(next.Bytes())
		})
	}
	wg.Wait()
	for _, r := range results {
		if r != results[0] {
			t.Error("the same commit gave two documents")
		}
	}
}
