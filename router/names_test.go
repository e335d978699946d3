package router_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	java111   = "X-Client-Version: Apache Iceberg 1.11.0 (commit 0)"
	pyiceberg = "X-Client-Version: PyIceberg 0.12.0"
)

// namesToKeep are names that must come back as they were given.
var namesToKeep = []string{
	"a.b", "a/b", "100%", "%41", "a+b", "a b", "tail ", " head", "é", "e\u0301", "🧊", "namespaces", "tables", "views", "config",
	"rename", "properties", "A", "a", "x;y", "q?", "h#", `"`, `\`, "[x]", "{name}", "&amp;", "'", "<b>", "…", strings.Repeat("x", 900),
}

// spelled is a name as a client without "+" for spaces writes it in a path.
func spelled(name string) string { return url.PathEscape(name) }

func TestNamesComeBackAsTheyWereGiven(t *testing.T) {
	g := newGateway(t)
	for _, name := range namesToKeep {
		at := "/v1/namespaces/" + spelled(name)
		g.do("POST", "/v1/namespaces", `{"namespace":[`+quoted(name)+`]}`).ok()
		require.Equal(t, []any{name}, g.do("GET", at, "").ok().member("namespace"))
		g.do("POST", at+"/tables", `{"name":`+quoted(name)+`,"schema":`+schema+`}`).ok()
		require.Equal(t, 204, g.do("HEAD", at+"/tables/"+spelled(name), "").Code, name)
		g.do("GET", at+"/tables/"+spelled(name), "").ok()
		g.do("POST", at+"/tables/"+spelled(name), setProperty("a", "1")).ok()
		require.Equal(t, []any{map[string]any{"namespace": []any{name}, "name": name}}, g.do("GET", at+"/tables", "").ok().member("identifiers"))
	}
	listed := g.do("GET", "/v1/namespaces", "").ok().member("namespaces").([]any)
	require.Len(t, listed, len(namesToKeep)+3)
	for _, name := range namesToKeep {
		g.do("DELETE", "/v1/namespaces/"+spelled(name)+"/tables/"+spelled(name), "").ok()
		g.do("DELETE", "/v1/namespaces/"+spelled(name), "").ok()
	}
}

func TestSpaceAndPlus(t *testing.T) {
	g := newGateway(t)
	g.namespace("a b", "a+b")
	for _, c := range []struct{ path, client, name string }{
		{"a+b", java111, "a b"},
		{"a%20b", java111, "a b"},
		{"a%2Bb", java111, "a+b"},
		{"a+b", "X-Client-Version: 0.14.1", "a+b"},
		{"a+b", pyiceberg, "a+b"},
		{"a%20b", pyiceberg, "a b"},
		{"a%2Bb", pyiceberg, "a+b"},
		{"a+b", "User-Agent: none", "a+b"},
	} {
		require.Equal(t, []any{c.name}, g.do("GET", "/v1/namespaces/"+c.path, "", c.client).ok().member("namespace"), "%+v", c)
	}
}

func TestSpaceAndPlusInQueryAndPrefix(t *testing.T) {
	g := newGateway(t)
	g.namespace("a b", "a b.c")
	for _, query := range []string{"a+b", "a%20b"} { // a query is always a form
		for _, client := range []string{java111, "User-Agent: none"} {
			g.do("GET", "/v1/namespaces?parent="+query, "", client).ok()
		}
	}
	g.do("GET", "/v1/team+/namespaces", "", java111).refused(404, "NoSuchWarehouseException", "team ")
	g.do("GET", "/v1/corp%2Eold/namespaces", "").ok()
}

func TestPyIcebergEncodesTheParentTwice(t *testing.T) {
	g := newGateway(t)
	g.namespace("a b", "100%", "%41", "A")
	g.do("POST", "/v1/namespaces", `{"namespace":["a b","c/d"]}`).ok()
	for _, c := range []struct {
		levels []string
		want   int
	}{{[]string{"a b"}, 200}, {[]string{"a b", "c/d"}, 200}, {[]string{"100%"}, 200}, {[]string{"%41"}, 200}, {[]string{"b"}, 404}} {
		twice := make([]string, len(c.levels))
		for i, level := range c.levels {
			twice[i] = url.PathEscape(level)
		}
		target := "/v1/namespaces?parent=" + url.QueryEscape(strings.Join(twice, "\x1f"))
		require.Equal(t, c.want, g.do("GET", target, "", pyiceberg).Code, target)
		once := "/v1/namespaces?parent=" + url.QueryEscape(strings.Join(c.levels, "\x1f"))
		require.Equal(t, c.want, g.do("GET", once, "").Code, once)
	}
}

func TestEmptyParentIsTheTopLevel(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns", "ns.sub")
	for _, target := range []string{"/v1/namespaces", "/v1/namespaces?parent=", "/v1/namespaces?parent=&pageToken="} {
		require.Equal(t, []any{[]any{"legacy"}, []any{"team"}, []any{"corp"}, []any{"ns"}}, g.do("GET", target, "").ok().member("namespaces"))
	}
}

func TestSmallLettersInEscapes(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns", "ns.sub")
	require.Equal(t, []any{"ns", "sub"}, g.do("GET", "/v1/namespaces/ns%1fsub", "").ok().member("namespace"))
}

// badNames are refused in a path and in a body alike.
var badNames = []struct{ what, name, words string }{
	{"a dot", ".", "can't be a name"},
	{"two dots", "..", "can't be a name"},
	{"NUL", "a\x00b", "control character"},
	{"tab", "a\tb", "control character"},
	{"DEL", "a\x7f", "control character"},
	{"too long", strings.Repeat("x", 2001), "2,000 bytes"},
	{"too long in bytes", strings.Repeat("é", 1001), "2,000 bytes"},
}

func TestBadNames(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	before := g.state()
	for _, c := range badNames {
		g.do("POST", "/v1/namespaces", `{"namespace":[`+quoted(c.name)+`]}`).refused(400, "BadRequestException", c.words)
		g.do("POST", "/v1/namespaces", `{"namespace":["ns",`+quoted(c.name)+`]}`).refused(400, "BadRequestException", c.words)
		g.do("POST", "/v1/namespaces/ns/tables", `{"name":`+quoted(c.name)+`,"schema":`+schema+`}`).refused(400, "BadRequestException", c.words)
		g.do("POST", "/v1/namespaces/ns/register", `{"name":`+quoted(c.name)+`,"metadata-location":"x"}`).refused(400, "BadRequestException", c.words)
		g.do("POST", "/v1/tables/rename", `{"source":{"namespace":["ns"],"name":"t"},"destination":{"namespace":["ns"],"name":`+quoted(c.name)+`}}`).refused(400, "BadRequestException", c.words)
		g.do("GET", "/v1/namespaces/"+spelled(c.name), "").refused(400, "BadRequestException", c.words)
		g.do("GET", "/v1/namespaces/ns/tables/"+spelled(c.name), "").refused(400, "BadRequestException", c.words)
		g.do("POST", "/v1/namespaces/ns/tables/"+spelled(c.name), `{}`).refused(400, "BadRequestException", c.words)
		g.do("GET", "/v1/namespaces/ns/views/"+spelled(c.name), "").refused(400, "BadRequestException", c.words)
		g.do("GET", "/v1/namespaces?parent="+url.QueryEscape(c.name), "").refused(400, "BadRequestException", c.words)
		require.Equal(t, 400, g.do("HEAD", "/v1/namespaces/"+spelled(c.name), "").Code, c.what)
	}
	require.Equal(t, before, g.state())
}

func TestBadPaths(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	before := g.state()
	for _, c := range []struct{ path, words string }{
		{"/v1/namespaces/a%1F%1Fb", "empty level"},
		{"/v1/namespaces/%1F", "empty level"},
		{"/v1/namespaces/a%1F", "empty level"},
		{"/v1/namespaces/%1Fa/tables", "empty level"},
		{"/v1/namespaces/%FF", "UTF-8"},
		{"/v1/namespaces/%C3%28", "UTF-8"},
		{"/v1/namespaces/ns/tables/a%1Fb", "control character"},
		{"/v1/namespaces/ns/tables/", ""},
		{"/v1/namespaces/" + strings.Repeat("a%1F", 64) + "a", "64 levels"},
		{"/v1/namespaces?parent=%FF", "UTF-8"},
		{"/v1//namespaces", "prefix"},
		{"/v1/%FF/namespaces", ""},
	} {
		r := g.do("GET", c.path, "")
		if c.words != "" {
			r.refused(400, "BadRequestException", c.words)
		}
		require.Less(t, r.Code, 500, c.path)
		require.GreaterOrEqual(t, r.Code, 400, c.path)
	}
	require.Equal(t, before, g.state())
}
