package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

// javaCreateView is a create as Java's client sends it, with members nobody knows.
const javaCreateView = `{"name":"v","location":"s3://bucket/db/v/","view-version":{"version-id":4,"timestamp-ms":3000,"schema-id":7,
  "summary":{"engine-name":"spark"},"default-catalog":"c","default-namespace":["db"],"x-version":[1.0],
  "representations":[{"type":"sql","sql":"select 1","dialect":"spark","x-sql":1e2},{"type":"substrait","plan":{}}]},
  "schema":{"type":"struct","schema-id":7,"identifier-field-ids":[5],"x-schema":null,"fields":[{"id":5,"name":"a","required":true,"type":"int","doc":null}]},
  "properties":{"comment":"c","format-version":"2"}}`

func viewOptions() ViewOptions {
	return ViewOptions{Now: at(5000), UUID: testUUID, Location: "s3://default/v", Properties: map[string]string{"comment": "d", "owner": "o"}}
}

func createView(t testing.TB, body string) *CreateViewRequest {
	t.Helper()
	req, err := ParseCreateView([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestANewViewIsVersionOneWithSchemaZero(t *testing.T) {
	req := createView(t, javaCreateView)
	for range 2 { // a request can be used twice
		d, err := NewView(req, viewOptions())
		if err != nil {
			t.Fatal(err)
		}
		checkView(t, d)
		want := `{"format-version":1,"view-uuid":"` + testUUID + `","location":"s3://bucket/db/v",` +
			`"properties":{"comment":"c","owner":"o","format-version":"2"},` +
			`"schemas":[{"type":"struct","schema-id":0,"identifier-field-ids":[5],"x-schema":null,"fields":[{"id":5,"name":"a","required":true,"type":"int","doc":null}]}],` +
			`"current-version-id":1,"versions":[{"version-id":1,"timestamp-ms":3000,"schema-id":0,"summary":{"engine-name":"spark"},"default-catalog":"c",` +
			`"default-namespace":["db"],"x-version":[1.0],"representations":[{"type":"sql","sql":"select 1","dialect":"spark","x-sql":1e2},{"type":"substrait","plan":{}}]}],` +
			`"version-log":[{"timestamp-ms":3000,"version-id":1}]}`
		if got := compact(t, d.Bytes()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestANewViewTakesItsLocationFromTheCatalog(t *testing.T) {
	body := strings.Replace(strings.Replace(javaCreateView, `"location":"s3://bucket/db/v/",`, "", 1), `,
  "properties":{"comment":"c","format-version":"2"}`, "", 1)
	req := createView(t, body)
	if req.Name != "v" || req.Location != "" || len(req.Properties) != 0 {
		t.Errorf("%+v", req)
	}
	d, err := NewView(req, viewOptions())
	if err != nil {
		t.Fatal(err)
	}
	wantView(t, d, "location", `"s3://default/v"`)
	_, err = NewView(req, ViewOptions{UUID: testUUID})
	checkError(t, err, mounts.BadRequest, "Invalid location: empty")
	_, err = NewView(req, ViewOptions{Location: "s3://x"})
	checkError(t, err, mounts.BadRequest, "Invalid uuid")
}

func TestACreateViewThatCantBeReadNamesThePath(t *testing.T) {
	edit := func(old, new string) string {
		if !strings.Contains(javaCreateView, old) {
			t.Fatal(old)
		}
		return strings.Replace(javaCreateView, old, new, 1)
	}
	for body, detail := range map[string]string{
		`{}`:                           "Invalid create request: name: missing",
		edit(`"name":"v"`, `"name":1`): "name: expected a string",
		edit(`"name":"v"`, `"name":"v","name":1`):                    "duplicate key",
		edit(`"s3://bucket/db/v/"`, `[]`):                            "location: expected a string",
		edit(`"schema":{`, `"x":{`):                                  "schema: missing",
		edit(`"schema":{"type":"struct"`, `"schema":{"type":"list"`): "schema.type: a schema must be a struct",
		edit(`"view-version":{`, `"x":{`):                            "view-version: missing",
		edit(`"comment":"c"`, `"comment":null`):                      "properties: every value must be a string",
		edit(`"default-namespace":["db"],`, ``):                      "view-version.default-namespace: missing",
		edit(`"dialect":"spark",`, ``):                               "view-version.representations[0].dialect: missing",
	} {
		_, err := ParseCreateView([]byte(body))
		checkError(t, err, mounts.BadRequest, detail)
	}
}

func TestANewViewThatCantBeIsRefused(t *testing.T) {
	for _, c := range []struct {
		old, new string
		kind     mounts.Kind
		detail   string
	}{
		{`{"type":"substrait","plan":{}}`, query("x", "SPARK"), mounts.InvalidArgument, "Invalid view version: Cannot add multiple queries for dialect spark"},
		{`"type":"int"`, `"type":"INT"`, mounts.BadRequest, "Cannot parse type string to primitive: INT"},
		{`"comment":"c"`, `"version.history.num-entries":"0"`, mounts.BadRequest, "version.history.num-entries must be positive but was 0"},
		{`"s3://bucket/db/v/"`, `"/"`, mounts.BadRequest, "Invalid location: only slashes"},
	} {
		_, err := NewView(createView(t, strings.Replace(javaCreateView, c.old, c.new, 1)), viewOptions())
		checkError(t, err, c.kind, c.detail)
	}
}
