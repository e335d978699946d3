package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

func TestAParsedViewIsItsText(t *testing.T) {
	d := mustParseView(t, viewV1)
	if string(d.Bytes()) != viewV1 {
		t.Error("the text changed")
	}
	if d.UUID() != testUUID || d.Location() != "s3://bucket/db/v" || d.FormatVersion() != 1 || d.CurrentVersionID() != 2 {
		t.Errorf("read as %+v", d.viewHeader)
	}
	if v, ok := d.Property("comment"); !ok || v != "é" {
		t.Errorf("comment is %q, %v", v, ok)
	}
	if _, ok := d.Property("owner"); ok {
		t.Error("a property that isn't set")
	}
	if p := d.Properties(); len(p) != 2 || p["x"] != "1" {
		t.Errorf("properties %v", p)
	}
	if d.Size() < int64(len(viewV1)) {
		t.Errorf("size %d", d.Size())
	}
	checkView(t, d)
}

func TestAViewThatCantBeReadSaysWhatIsWrong(t *testing.T) {
	for text, detail := range map[string]string{
		"":                                                "Invalid view metadata: ",
		"[]":                                              "expected an object",
		viewV1 + "x":                                      "more text after the value",
		without(t, viewV1, "format-version"):              "format-version: missing",
		without(t, viewV1, "view-uuid"):                   "view-uuid: missing",
		without(t, viewV1, "location"):                    "location: missing",
		without(t, viewV1, "current-version-id"):          "current-version-id: missing",
		without(t, viewV1, "schemas"):                     "schemas: missing",
		without(t, viewV1, "versions"):                    "versions: missing",
		without(t, viewV1, "version-log"):                 "version-log: missing",
		with(t, viewV1, "format-version", "0"):            "format-version: must be 1 or more",
		with(t, viewV1, "current-version-id", "1.0"):      "current-version-id: expected an integer of 32 bits",
		with(t, viewV1, "versions", "{}"):                 "versions: expected an array",
		with(t, viewV1, "properties", "[]"):               "properties: expected an object",
		strings.Replace(viewV1, "x-top", "location", 1):   "duplicate key",
		strings.Replace(viewV1, "view-uuid", "\x80x", 1):  "not valid UTF-8",
		strings.Replace(viewV1, "location", "x-place", 1): "location: missing",
	} {
		_, err := ParseView([]byte(text))
		checkError(t, err, mounts.BadRequest, detail)
	}
}

func TestViewsWithoutPropertiesHaveNone(t *testing.T) {
	for _, text := range []string{without(t, viewV1, "properties"), with(t, viewV1, "properties", "null")} {
		d := mustParseView(t, text)
		if _, ok := d.Property("comment"); ok || len(d.Properties()) != 0 {
			t.Error("properties from nowhere")
		}
		wantView(t, change(t, d, setProps("a", "b")), "properties", `{"a":"b"}`)
	}
}

func TestAViewOfALaterVersionIsReadAndNotWritten(t *testing.T) {
	d := mustParseView(t, with(t, viewV1, "format-version", "2"))
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	refusedView(t, d, mounts.BadRequest, "Cannot update a view of format version 2 (supported: 1)", setProps("a", "b"))
}

func TestValidateLooksIntoAView(t *testing.T) {
	version := func(text string) string { return with(t, viewV1, "versions", `[`+text+`]`) }
	good := strings.Replace(versionOf(2, 0, query("select 1", "spark")), "}]}", `,"x":1}]}`, 1)
	if err := mustParseView(t, version(good)).Validate(); err != nil {
		t.Error(err)
	}
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatal(old)
		}
		return version(strings.Replace(good, old, new, 1))
	}
	for text, detail := range map[string]string{
		with(t, viewV1, "view-uuid", `"x"`):                      "view-uuid: expected 8-4-4-4-12",
		with(t, viewV1, "location", `""`):                        "location: must not be empty",
		with(t, viewV1, "properties", `{"a":1}`):                 "properties: every value must be a string",
		with(t, viewV1, "current-version-id", "3"):               "current-version-id: no such version",
		with(t, viewV1, "schemas", `[{}]`):                       "schemas[0].schema-id: missing",
		with(t, viewV1, "schemas", `[{"schema-id":0}]`):          "schemas[0].type: a schema must be a struct",
		with(t, viewV1, "version-log", `[{"timestamp-ms":1}]`):   "version-log[0].version-id: missing",
		with(t, viewV1, "version-log", `[null]`):                 "version-log[0]: expected an object",
		version(good + "," + good):                               "an id occurs twice in schemas or versions",
		version(`null`):                                          "versions[0]: expected an object",
		edit(`"schema-id":0`, `"schema-id":5`):                   "versions[0].schema-id: no such schema",
		edit(`"timestamp-ms":3000`, `"timestamp-ms":"3000"`):     "versions[0].timestamp-ms: expected an integer of 64 bits",
		edit(`{"engine-name":"e"}`, `{"engine-name":1}`):         "versions[0].summary: every value must be a string",
		edit(`"default-namespace":["db"]`, `"x":1`):              "versions[0].default-namespace: missing",
		edit(`["db"]`, `["a\u0000"]`):                            "versions[0].default-namespace[0]: must not hold the character U+0000",
		edit(`"default-namespace"`, `"default-catalog":1,"x"`):   "versions[0].default-catalog: expected a string",
		edit(`"dialect":"spark"`, `"dialect":" "`):               "versions[0].representations[0].dialect: must not be empty",
		edit(`"sql":"select 1"`, `"sql":""`):                     "versions[0].representations[0].sql: must not be empty",
		edit(`"type":"sql"`, `"type":null`):                      "versions[0].representations[0].type: missing",
		version(versionOf(2, 0)):                                 "versions[0].representations: must not be empty",
		strings.Replace(viewV1, `"dialect":"Spark"`, `"d":1`, 1): "versions[1].representations[0].dialect: missing",
	} {
		checkError(t, mustParseView(t, text).Validate(), mounts.BadRequest, detail)
	}
	twice := version(versionOf(2, 0, query("a", "trino"), query("b", "TRINO ")))
	checkError(t, mustParseView(t, twice).Validate(), mounts.InvalidArgument, "Cannot add multiple queries for dialect trino")
}
