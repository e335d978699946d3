package router_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bodied are the operations that read a body, on objects that are there.
var bodied = []string{
	"/v1/namespaces", "/v1/namespaces/ns/properties", "/v1/namespaces/ns/tables", "/v1/namespaces/ns/register",
	"/v1/namespaces/ns/tables/t", "/v1/namespaces/ns/tables/t/metrics", "/v1/tables/rename", "/v1/namespaces/ns/views",
}

func gzipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, s)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestMalformedBodies: what is no JSON object is refused wherever a body is read, and
// nothing is changed.
func TestMalformedBodies(t *testing.T) {
	g, _ := withTable(t, settings{})
	before := g.state()
	bodies := map[string]string{
		"empty": "", "space": " \n", "no JSON": "hello", "cut": `{"namespace":["x"`, "cut in a string": `{"namespace":["x`, "cut in an escape": `{"a":"\u00`,
		"null": "null", "array": "[]", "string": `"x"`, "number": "1", "behind it": `{} {}`, "trailing comma": `{"a":1,}`, "comment": `{/**/}`,
		"single quotes": `{'a':1}`, "bad escape": `{"a":"\x"}`, "control character": "{\"a\":\"\n\"}", "NUL": "{\"a\":\"\x00\"}", "NUL behind": "{}\x00",
		"not UTF-8": "{\"a\":\"\xff\"}", "BOM": "\ufeff{}", "NaN": `{"a":NaN}`, "leading zero": `{"a":01}`, "gzip": gzipped(t, `{}`),
		"deep": strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), "deep and cut": strings.Repeat(`[`, 1_000_000), "deep arrays": `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}",
	}
	for what, body := range bodies {
		for _, target := range bodied {
			r := g.do("POST", target, body)
			require.Equal(t, 400, r.Code, "%s to %s: %s", what, target, r.Body)
			r.refused(400, "BadRequestException", "request body")
			require.Less(t, r.Body.Len(), 500, "the body isn't echoed")
		}
	}
	require.Equal(t, before, g.state())
}

func TestBodiesOverTheLimit(t *testing.T) {
	g, _ := withTable(t, settings{})
	before := g.state()
	for _, body := range []string{`{"x":"` + strings.Repeat("y", 5<<20) + `"}`, strings.Repeat(" ", 5<<20), strings.Repeat("[", 5<<20)} {
		for _, target := range bodied {
			g.do("POST", target, body).refused(413, "BadRequestException", "4 MiB")
		}
	}
	require.Equal(t, before, g.state())
	g.do("POST", tableT, setProperty("x", strings.Repeat("y", 3<<20))).ok()
}

func TestEncodedBodies(t *testing.T) {
	g, _ := withTable(t, settings{})
	before := g.state()
	for _, encoding := range []string{"gzip", "deflate", "br", "identity, gzip"} {
		for _, target := range bodied {
			g.do("POST", target, gzipped(t, `{"namespace":["x"]}`), "Content-Encoding: "+encoding).refused(400, "BadRequestException", "Content-Encoding")
		}
	}
	require.Equal(t, before, g.state())
	g.do("POST", "/v1/namespaces", `{"namespace":["x"]}`, "Content-Encoding: identity").ok()
}

// cutReader is a body whose client goes away.
type cutReader struct{ io.Reader }

func (c cutReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestBodiesCutShort(t *testing.T) {
	g, _ := withTable(t, settings{})
	before := g.state()
	for _, body := range []string{`{"namespace":["x"]}`, `{"namespace":["`, ""} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/namespaces", cutReader{strings.NewReader(body)})
		r.Header.Set("Authorization", "Bearer "+ops)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		reply{w, t, "cut " + body}.refused(400, "BadRequestException", "ended early")
	}
	require.Equal(t, before, g.state())
}

// TestWrongMembers: a member of a wrong type or missing is named.
func TestWrongMembers(t *testing.T) {
	g, _ := withTable(t, settings{})
	before := g.state()
	for _, c := range []struct{ target, body, words string }{
		{"/v1/namespaces", `{"namespace":"x"}`, "namespace can't be a JSON string"},
		{"/v1/namespaces", `{"namespace":[1]}`, "namespace can't be a JSON number"},
		{"/v1/namespaces", `{"namespace":["x",null]}`, "empty level"},
		{"/v1/namespaces", `{"namespace":["x"],"properties":[]}`, "properties"},
		{"/v1/namespaces", `{"namespace":["x"],"properties":{"a":1}}`, "properties"},
		{"/v1/namespaces", `{"namespace":["x"],"properties":{"a":null}}`, "properties.a"},
		{"/v1/namespaces", `{"namespace":["x"],"properties":{"a":{}}}`, "properties"},
		{"/v1/namespaces", `{"properties":{}}`, "namespace"},
		{"/v1/namespaces", `{"namespace":[""]}`, "empty level"},
		{"/v1/namespaces", `{"namespace":["x"],"properties":{"location":"nowhere"}}`, "location"},
		{"/v1/namespaces", `{"namespace":["x"],"properties":{"location":"file:///etc/../root"}}`, "location"},
		{"/v1/namespaces/ns/properties", `{"updates":[]}`, "updates"},
		{"/v1/namespaces/ns/properties", `{"updates":{"a":true}}`, "updates"},
		{"/v1/namespaces/ns/properties", `{"updates":{"a":null}}`, "updates.a"},
		{"/v1/namespaces/ns/properties", `{"removals":{"a":"b"}}`, "removals"},
		{"/v1/namespaces/ns/properties", `{"removals":[1]}`, "removals"},
		{"/v1/namespaces/ns/properties", `{"removals":"a"}`, "removals"},
		{"/v1/namespaces/ns/tables", `{"schema":` + schema + `}`, "name"},
		{"/v1/namespaces/ns/tables", `{"name":null,"schema":` + schema + `}`, "name"},
		{"/v1/namespaces/ns/tables", `{"name":1,"schema":` + schema + `}`, "name"},
		{"/v1/namespaces/ns/tables", `{"name":"x"}`, "schema"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":1}`, "schema"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":{"type":"struct","fields":[{"id":1,"name":"a","required":false,"type":"nonsense"}]}}`, "nonsense (field a)"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":` + schema + `,"properties":{"format-version":"9"}}`, "9"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":` + schema + `,"stage-create":"yes"}`, "stage-create"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":` + schema + `,"location":5}`, "location"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":` + schema + `,"location":"file:///etc"}`, "location"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":` + schema + `,"location":"/wh/x/"}`, "scheme"},
		{"/v1/namespaces/ns/tables", `{"name":"x","schema":` + schema + `,"properties":{"write.data.path":"s3://else/where"}}`, "write.data.path"},
		{"/v1/namespaces/ns/tables/t", `{}`, "updates"},
		{"/v1/namespaces/ns/tables/t", `{"updates":null}`, "updates"},
		{"/v1/namespaces/ns/tables/t", `{"updates":{}}`, "updates"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[1]}`, "updates[0]"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{}]}`, "updates[0].action"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"make-coffee"}]}`, "updates[0].action"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"set-properties","updates":{"a":"1"}},{"action":"make-coffee"}]}`, "updates[1].action"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"set-properties","updates":{"a":1}}]}`, "updates[0].updates"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"set-current-schema","schema-id":"x"}]}`, "updates[0].schema-id"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"set-current-schema","schema-id":-1}]}`, ""},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"set-location","location":"s3://else/where"}]}`, "location"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"upgrade-format-version","format-version":1}]}`, "downgrade"},
		{"/v1/namespaces/ns/tables/t", `{"updates":[{"action":"set-properties","updates":{"a":"1"}},{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":5}]}`, "Cannot set main to unknown snapshot"},
		{"/v1/namespaces/ns/tables/t", `{"requirements":[{"type":"assert-mood"}],"updates":[]}`, "requirements[0].type"},
		{"/v1/namespaces/ns/tables/t", `{"requirements":{},"updates":[]}`, "requirements"},
		{"/v1/namespaces/ns/tables/t", `{"requirements":[null],"updates":[]}`, "requirements"},
		{"/v1/namespaces/ns/tables/t", `{"requirements":[{"type":5}],"updates":[]}`, "requirements"},
		{"/v1/namespaces/ns/tables/t", `{"requirements":[{"type":"assert-create"},{"type":"assert-create"}],"updates":[]}`, "Invalid create requirements"},
		{"/v1/namespaces/ns/register", `{"name":"r","metadata-location":5}`, "metadata-location"},
		{"/v1/namespaces/ns/register", `{"name":"r","metadata-location":"x"}`, "location"},
		{"/v1/namespaces/ns/register", `{"name":"r","metadata-location":"file:///etc/passwd"}`, "location"},
		{"/v1/namespaces/ns/register", `{"name":"r","metadata-location":"x","overwrite":"no"}`, "overwrite"},
		{"/v1/tables/rename", `{}`, "source"},
		{"/v1/tables/rename", `{"source":{"namespace":["ns"],"name":"t"}}`, "destination"},
		{"/v1/tables/rename", `{"source":{"namespace":[],"name":"t"},"destination":{"namespace":["ns"],"name":"u"}}`, "source"},
		{"/v1/tables/rename", `{"source":{"namespace":["ns"],"name":5},"destination":{"namespace":["ns"],"name":"u"}}`, "source.name"},
		{"/v1/tables/rename", `{"source":[],"destination":{"namespace":["ns"],"name":"u"}}`, "source"},
		{"/v1/namespaces/ns/views", `{}`, "name"},
	} {
		r := g.do("POST", c.target, c.body)
		require.Equal(t, 400, r.Code, "%s: %s", c.body, r.Body)
		require.Contains(t, r.text("error", "message"), c.words, c.body)
		require.Contains(t, []string{"BadRequestException", "IllegalArgumentException"}, r.text("error", "type"))
	}
	require.Equal(t, before, g.state(), "nothing was changed, not in part either")
}

func TestUnknownMembersAreIgnored(t *testing.T) {
	g, _ := withTable(t, settings{})
	g.do("POST", "/v1/namespaces", `{"namespace":["x"],"unknown":{"a":[1,2]}}`).ok()
	g.do("POST", "/v1/namespaces/x/properties", `{"updates":{"a":"b"},"unknown":1e999}`).ok()
	g.do("POST", "/v1/namespaces/x/tables", `{"name":"t","unknown":[],"schema":`+schema+`}`).ok()
	g.do("POST", "/v1/tables/rename", strings.Replace(rename("x.t", "x.u"), "{", `{"unknown":null,`, 1)).ok()
}

func TestPropertiesOverTheLimitOfARecord(t *testing.T) {
	g, _ := withTable(t, settings{})
	before := g.state()
	g.do("POST", "/v1/namespaces", `{"namespace":["x"],"properties":{"a":"`+strings.Repeat("y", 2<<20)+`"}}`).refused(400, "BadRequestException", "1 MiB")
	g.do("POST", "/v1/namespaces/ns/properties", `{"updates":{"a":"`+strings.Repeat("y", 2<<20)+`"}}`).refused(400, "BadRequestException", "1 MiB")
	require.Equal(t, before, g.state())
}

func TestWrongMethods(t *testing.T) {
	g, _ := withTable(t, settings{})
	before := g.state()
	for _, target := range append([]string{"/v1/config", "/v1/oauth/tokens", tableT, "/v1/namespaces/ns", "/healthz", "/v1/team/namespaces"}, bodied...) {
		for _, method := range []string{"PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"} {
			r := g.do(method, target, `{"namespace":["x"]}`).refused(405, "MethodNotAllowedException")
			require.NotEmpty(t, r.Header().Values("Allow"), target)
		}
	}
	require.Equal(t, before, g.state())
}

// TestAnswersTellNoSecrets looks into every error above for what they must not hold.
func TestAnswersTellNoSecrets(t *testing.T) {
	g, _ := withTable(t, settings{})
	for _, r := range []reply{
		g.do("GET", "/v1/namespaces/none", ""), g.as("ops:guess", "GET", "/v1/namespaces", ""), g.as(nobody, "GET", tableT, ""),
		g.do("POST", "/v1/namespaces/ns/tables", `{"name":"x","schema":`+schema+`,"location":"file:///elsewhere"}`),
		g.do("POST", "/v1/namespaces/ns/register", `{"name":"x","metadata-location":"file:///etc/passwd"}`),
	} {
		for _, secret := range []string{g.dir, "ops-secret", "guess", "registry.db", ".go:"} {
			require.NotContains(t, r.Body.String(), secret, r.what)
		}
	}
	require.NotContains(t, g.log.String(), "-secret")
}
