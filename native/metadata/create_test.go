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

func createBody(members string) string { return `{"name":"t",` + members + `}` }

const oneColumn = `"schema":{"type":"struct","fields":[{"id":0,"name":"id","required":true,"type":"long"}]}`

func TestCreateDefaultsToV2UnpartitionedUnsorted(t *testing.T) {
	for _, body := range []string{
		createBody(oneColumn),
		createBody(oneColumn + `,"location":null,"partition-spec":null,"write-order":null,"properties":null,"stage-create":null`),
		createBody(oneColumn + `,"partition-spec":{"spec-id":7,"fields":[]},"write-order":{"order-id":0,"fields":[]}`),
	} {
		d := mustNew(t, body)
		wantMember(t, d, "2", "format-version")
		wantMember(t, d, `[{"spec-id":0,"fields":[]}]`, "partition-specs")
		wantMember(t, d, "999", "last-partition-id")
		wantMember(t, d, `[{"order-id":0,"fields":[]}]`, "sort-orders")
		wantMember(t, d, "0", "default-sort-order-id")
		wantMember(t, d, "1", "last-column-id")
	}
}

func TestCreateKeepsTheFormatVersionAskedFor(t *testing.T) {
	ask := func(version string) *CreateRequest {
		return mustCreate(t, createBody(oneColumn+`,"properties":{"format-version":"`+version+`"}`))
	}
	for _, version := range []string{"1", "2", "3"} {
		d, err := New(ask(version), createOptions())
		if err != nil {
			t.Fatal(err)
		}
		checkSelf(t, d)
		wantMember(t, d, version, "format-version")
		wantMember(t, d, "{}", "properties")
	}
	_, err := New(ask("4"), createOptions())
	checkError(t, err, mounts.BadRequest, "Unsupported format version: v4 (supported: v1, v2, v3)")
	_, err = New(ask("0"), createOptions())
	checkError(t, err, mounts.BadRequest, "Unsupported format version: v0")
	_, err = New(ask("two"), createOptions())
	checkError(t, err, mounts.BadRequest, "Invalid format-version")
	o := createOptions()
	o.FormatVersions, o.FormatVersion = []int{1}, 1
	_, err = New(ask("2"), o)
	checkError(t, err, mounts.BadRequest, "Unsupported format version: v2 (supported: v1)")
	d, err := New(mustCreate(t, createBody(oneColumn)), o)
	if err != nil {
		t.Fatal(err)
	}
	wantMember(t, d, "1", "format-version")
}

func TestCreateWritesWhatItsVersionNeeds(t *testing.T) {
	v1 := mustNew(t, createBody(oneColumn+`,"properties":{"format-version":"1"},"partition-spec":{"fields":[{"source-id":0,"transform":"bucket[2]","name":"b"}]}`))
	wantMember(t, v1, `[{"source-id":1,"transform":"bucket[2]","name":"b","field-id":1000}]`, "partition-spec")
	wantMember(t, v1, `{"type":"struct","fields":[{"id":1,"name":"id","required":true,"type":"long"}],"schema-id":0}`, "schema")
	wantMember(t, v1, "", "last-sequence-number")
	wantMember(t, v1, "-1", "current-snapshot-id")
	v3 := mustNew(t, createBody(oneColumn+`,"properties":{"format-version":"3"}`))
	wantMember(t, v3, "0", "next-row-id")
	wantMember(t, v3, "null", "current-snapshot-id")
	wantMember(t, v3, "", "schema")
}

func TestCreateChoosesTheLocation(t *testing.T) {
	d := mustNew(t, createBody(oneColumn+`,"location":"s3://else/where/"`))
	wantMember(t, d, `"s3://else/where"`, "location")
	_, err := New(mustCreate(t, createBody(oneColumn)), CreateOptions{UUID: testUUID})
	checkError(t, err, mounts.BadRequest, "Invalid location: empty")
	_, err = New(mustCreate(t, createBody(oneColumn)), CreateOptions{Location: "x"})
	checkError(t, err, mounts.BadRequest, "UUID is required")
}

func TestCreateMergesDefaultProperties(t *testing.T) {
	o := createOptions()
	o.Properties = map[string]string{"z": "default", "a": "default"}
	d, err := New(mustCreate(t, createBody(oneColumn+`,"properties":{"a":"mine"}`)), o)
	if err != nil {
		t.Fatal(err)
	}
	wantMember(t, d, `{"a":"mine","z":"default"}`, "properties")
}

func TestCreateRefusesWhatDoesNotFit(t *testing.T) {
	for detail, members := range map[string]string{
		"Cannot find source column for partition field: 0: x: day(7)": oneColumn + `,"partition-spec":{"fields":[{"source-id":7,"transform":"day","name":"x"}]}`,
		"Cannot find source column for sort field: day(7)":            oneColumn + `,"write-order":{"fields":[{"source-id":7,"transform":"day","direction":"asc","null-order":"nulls-last"}]}`,
		"Invalid source type long for transform: day":                 oneColumn + `,"partition-spec":{"fields":[{"source-id":0,"transform":"day","name":"x"}]}`,
		"Invalid schema for v2: Invalid type for v: variant":          `"schema":{"type":"struct","fields":[{"id":0,"name":"v","required":true,"type":"variant"}]}`,
		"Cannot parse type string to primitive: varchar":              `"schema":{"type":"struct","fields":[{"id":0,"name":"v","required":true,"type":"varchar"}]}`,
		"field does not exist":                                        `"schema":{"type":"struct","identifier-field-ids":[3],"fields":[{"id":0,"name":"v","required":true,"type":"int"}]}`,
	} {
		_, err := New(mustCreate(t, createBody(members)), createOptions())
		checkError(t, err, mounts.BadRequest, detail)
	}
}

func TestCreateRequestCanBeUsedAgain(t *testing.T) {
	c := mustCreate(t, sparkCreate)
	first, err := New(c, createOptions())
	if err != nil {
		t.Fatal(err)
	}
	second, err := New(c, createOptions())
	if err != nil || string(first.Bytes()) != string(second.Bytes()) {
		t.Errorf("%v\n%s\n%s", err, first.Bytes(), second.Bytes())
	}
}

func TestCreateRequestFields(t *testing.T) {
	c := mustCreate(t, createBody(oneColumn+`,"location":"l","stage-create":true,"properties":{"a":"b"}`))
	if c.Name != "t" || c.Location != "l" || !c.StageCreate || c.Properties["a"] != "b" {
		t.Errorf("got %+v", c)
	}
	for detail, members := range map[string]string{
		"stage-create: expected true or false":     oneColumn + `,"stage-create":"yes"`,
		"location: expected a string":              oneColumn + `,"location":7`,
		"properties: every value must be a string": oneColumn + `,"properties":{"a":null}`,
		"duplicate key":                            oneColumn + `,"properties":{"a":"","a":""}`,
		"partition-spec.fields: missing":           oneColumn + `,"partition-spec":{}`,
	} {
		_, err := ParseCreate([]byte(createBody(members)))
		checkError(t, err, mounts.BadRequest, "Invalid create request: ")
		checkError(t, err, mounts.BadRequest, detail)
	}
}

// stagedUpdates is what Java's client sends to end a staged create.
func stagedUpdates(version string, more ...string) []string {
	return append([]string{
		`{"action":"assign-uuid","uuid":"` + otherUUID + `"}`, upgradeTo(version),
		`{"action":"add-schema","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]},"last-column-id":1}`,
		setLastSchema, addSpecOf(`{"source-id":1,"field-id":1000,"transform":"bucket[4]","name":"b"}`), setLastSpec, addOrderOf(), setLastOrder,
		`{"action":"set-location","location":"s3://bucket/staged/"}`, setProps("a", "b"),
	}, more...)
}

func TestBuildEndsAStagedCreate(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		d, err := Build(updates(t, stagedUpdates(version)...), createOptions())
		if err != nil {
			t.Fatal(err)
		}
		checkSelf(t, d)
		wantMember(t, d, version, "format-version")
		wantMember(t, d, `"`+otherUUID+`"`, "table-uuid")
		wantMember(t, d, `"s3://bucket/staged"`, "location")
		wantMember(t, d, `{"a":"b"}`, "properties")
		wantMember(t, d, "[]", "metadata-log")
		wantMember(t, d, "1000", "last-partition-id")
		wantMember(t, d, "1", "last-column-id")
	}
}

func TestBuildWithAFirstSnapshot(t *testing.T) {
	d, err := Build(updates(t, stagedUpdates("3", addSnap("5", "", "1", `,"first-row-id":0,"added-rows":9`), setMain("5"))...), createOptions())
	if err != nil {
		t.Fatal(err)
	}
	checkSelf(t, d)
	wantMember(t, d, "5", "current-snapshot-id")
	wantMember(t, d, "9", "next-row-id")
	wantMember(t, d, logText("4000", "5"), "snapshot-log")
	apply(t, d, addSnap("6", "5", "2", `,"first-row-id":9,"added-rows":1`), setMain("6"))
}

func TestBuildFillsWhatTheUpdatesLeaveOut(t *testing.T) {
	d, err := Build(updates(t, addSchemaOf(fieldText("1", "id", `"long"`))), createOptions())
	if err != nil {
		t.Fatal(err)
	}
	checkSelf(t, d)
	wantMember(t, d, "2", "format-version")
	wantMember(t, d, `"`+testUUID+`"`, "table-uuid")
	wantMember(t, d, `"s3://bucket/db/t"`, "location")
	wantMember(t, d, `[{"spec-id":0,"fields":[]}]`, "partition-specs")
	wantMember(t, d, `[{"order-id":0,"fields":[]}]`, "sort-orders")
}

func TestBuildRefusesWhatIsNoTable(t *testing.T) {
	_, err := Build(nil, createOptions())
	checkError(t, err, mounts.BadRequest, "Cannot create a table without a schema")
	_, err = Build(updates(t, stagedUpdates("4")...), createOptions())
	checkError(t, err, mounts.BadRequest, "Unsupported format version: v4")
	schema := addSchemaOf(fieldText("1", "id", `"long"`))
	_, err = Build(updates(t, schema), CreateOptions{UUID: testUUID})
	checkError(t, err, mounts.BadRequest, "Invalid location: empty")
	_, err = Build(updates(t, schema), CreateOptions{Location: "x"})
	checkError(t, err, mounts.BadRequest, "UUID is required")
	_, err = Build(updates(t, addSchemaOf(fieldText("1", "v", `"variant"`))), createOptions())
	checkError(t, err, mounts.BadRequest, "is not supported until v3")
	_, err = Build(updates(t, schema, addSnap("5", "", "1", "")), createOptions())
	checkError(t, err, mounts.BadRequest, "before a partition spec is added")
	o := createOptions()
	o.FormatVersions = []int{2}
	_, err = Build(updates(t, schema, setProps("format-version", "3")), o)
	checkError(t, err, mounts.BadRequest, "Unsupported format version: v3 (supported: v2)")
}

func TestBuildTakesTheVersionOfAProperty(t *testing.T) {
	d, err := Build(updates(t, addSchemaOf(fieldText("1", "v", `"variant"`)), setProps("format-version", "3")), createOptions())
	if err != nil {
		t.Fatal(err)
	}
	wantMember(t, d, "3", "format-version")
	wantMember(t, d, "{}", "properties")
}
