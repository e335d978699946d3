package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

// sparkCreate is a create body as Spark sends it: fields numbered from 0, a partition
// by the column with id 0, nested types.
const sparkCreate = `{"name":"t","location":null,"schema":{"type":"struct","schema-id":7,"identifier-field-ids":[0],"x-schema":1,"fields":[
  {"id":0,"name":"id","required":true,"type":"long","doc":"the id","x-field":9007199254740993},
  {"id":1,"name":"s","required":false,"type":{"type":"struct","x-struct":1,"fields":[
     {"id":3,"name":"a","required":false,"type":"int"},
     {"id":4,"name":"l","required":false,"type":{"type":"list","element-id":5,"element":"string","element-required":true,"x-list":1}}]}},
  {"id":2,"name":"m","required":false,"type":{"type":"map","key-id":6,"key":"string","value-id":7,"value":{"type":"struct","fields":[{"id":8,"name":"x","required":false,"type":"double"}]},"value-required":false}}]},
  "partition-spec":{"spec-id":3,"fields":[{"name":"id_bucket","transform":"bucket[16]","source-id":0,"field-id":2000,"x-pf":1}]},
  "write-order":{"order-id":5,"fields":[{"transform":"identity","source-id":3,"direction":"asc","null-order":"nulls-first"}]},
  "properties":{"owner":"me","format-version":"2","uuid":"x","snapshot-count":"9"},"stage-create":false}`

func mustCreate(t testing.TB, body string) *CreateRequest {
	t.Helper()
	c, err := ParseCreate([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func createOptions() CreateOptions {
	return CreateOptions{Now: at(1000), UUID: testUUID, Location: "s3://bucket/db/t/"}
}

func mustNew(t testing.TB, body string) *Document {
	t.Helper()
	d, err := New(mustCreate(t, body), createOptions())
	if err != nil {
		t.Fatal(err)
	}
	checkSelf(t, d)
	return d
}

func TestCreateWritesTheWholeDocument(t *testing.T) {
	d := mustNew(t, sparkCreate)
	want := `{"format-version":2,"table-uuid":"` + testUUID + `","location":"s3://bucket/db/t","last-sequence-number":0,"last-updated-ms":1000,"last-column-id":9,
"current-schema-id":0,"default-spec-id":0,"last-partition-id":1000,"default-sort-order-id":1,"current-snapshot-id":-1,
"schemas":[{"type":"struct","schema-id":0,"identifier-field-ids":[1],"x-schema":1,"fields":[
{"id":1,"name":"id","required":true,"type":"long","doc":"the id","x-field":9007199254740993},
{"id":2,"name":"s","required":false,"type":{"type":"struct","x-struct":1,"fields":[
{"id":4,"name":"a","required":false,"type":"int"},
{"id":5,"name":"l","required":false,"type":{"type":"list","element-id":6,"element":"string","element-required":true,"x-list":1}}]}},
{"id":3,"name":"m","required":false,"type":{"type":"map","key-id":7,"key":"string","value-id":8,"value":{"type":"struct","fields":[{"id":9,"name":"x","required":false,"type":"double"}]},"value-required":false}}]}],
"partition-specs":[{"spec-id":0,"fields":[{"name":"id_bucket","transform":"bucket[16]","source-id":1,"field-id":1000,"x-pf":1}]}],
"sort-orders":[{"order-id":1,"fields":[{"transform":"identity","source-id":4,"direction":"asc","null-order":"nulls-first"}]}],
"properties":{"owner":"me"},"refs":{},"snapshots":[],"statistics":[],"partition-statistics":[],"snapshot-log":[],"metadata-log":[]}`
	if got := string(d.Bytes()); compact(t, []byte(got)) != compact(t, []byte(want)) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.ReplaceAll(want, "\n", ""))
	}
}

func TestCreateRefusesMissingMembers(t *testing.T) {
	for body, path := range map[string]string{
		`{"schema":{"type":"struct","fields":[]}}`: "name: missing",
		`{"name":"t"}`: "schema: missing",
		`{"name":"t","schema":{"type":"struct","fields":[{"id":1,"name":"a","required":true}]}}`: "schema.fields[0].type: missing",
	} {
		_, err := ParseCreate([]byte(body))
		checkError(t, err, mounts.BadRequest, path)
	}
}
