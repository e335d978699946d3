package router_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// TestNothingButReadsReachesAReadOnlyMount sends every write there is to one.
func TestNothingButReadsReachesAReadOnlyMount(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	before := g.state()
	const unsupported, mount = "UnsupportedOperationException", "mount at 'legacy' (rest)"
	table := `{"name":"x","schema":` + schema + `}`
	for _, c := range []struct {
		method, target, body string
		status               int
		typ                  string
		words                []string
	}{
		{"POST", "/v1/namespaces", `{"namespace":["legacy","new"]}`, 406, unsupported, []string{mount, "legacy.new"}},
		{"POST", "/v1/namespaces", `{"namespace":["legacy","db1","new"]}`, 406, unsupported, []string{mount}},
		{"POST", "/v1/namespaces", `{"namespace":["legacy","db1"]}`, 409, "AlreadyExistsException", []string{"Namespace already exists: legacy.db1"}},
		{"DELETE", "/v1/namespaces/legacy%1Fdb1", "", 406, unsupported, []string{mount}},
		{"DELETE", "/v1/namespaces/legacy%1Fnone", "", 406, unsupported, []string{mount}},
		{"POST", "/v1/namespaces/legacy%1Fdb1/properties", `{"updates":{"a":"b"}}`, 406, unsupported, []string{mount}},
		{"POST", "/v1/namespaces/legacy%1Fdb1/tables", table, 406, unsupported, []string{mount, "legacy.db1.x"}},
		{"POST", "/v1/namespaces/legacy%1Fdb1/tables", strings.Replace(table, "{", `{"stage-create":true,`, 1), 406, unsupported, []string{mount}},
		{"POST", "/v1/namespaces/legacy%1Fdb1/register", `{"name":"x","metadata-location":"s3://old/x"}`, 406, unsupported, []string{mount}},
		{"POST", "/v1/namespaces/legacy%1Fdb1/tables/t1", setProperty("a", "b"), 403, "ForbiddenException", []string{mount, "legacy.db1.t1"}},
		{"POST", "/v1/namespaces/legacy%1Fdb1/tables/t1", `{"requirements":[{"type":"assert-create"}],"updates":[]}`, 403, "ForbiddenException", []string{mount}},
		{"DELETE", "/v1/namespaces/legacy%1Fdb1/tables/t1", "", 406, unsupported, []string{mount}},
		{"POST", "/v1/tables/rename", rename("legacy.db1.t1", "ns.t1"), 406, unsupported, []string{mount, "mount at the root (native)"}},
		{"POST", "/v1/tables/rename", rename("ns.t", "legacy.db1.t"), 406, unsupported, []string{mount, "mount at the root (native)"}},
		{"POST", "/v1/tables/rename", rename("legacy.db1.t1", "legacy.db1.t2"), 406, unsupported, []string{mount, "legacy.db1.t2"}},
		{"POST", "/v1/tables/rename", rename("legacy.db1.t1", "corp.old.db1.t1"), 406, unsupported, []string{mount, "mount at 'corp.old' (rest)"}},
	} {
		g.do(c.method, c.target, c.body).refused(c.status, c.typ, c.words...)
	}
	require.Equal(t, before, g.state())
	require.Equal(t, []string{"LoadNamespace", "LoadNamespace", "LoadNamespace"}, g.legacy.forget(), "whether the namespace is there, for the creates")
	require.Empty(t, g.old.forget())
	require.NotContains(t, g.log.String(), "panic")
}

// rename is the body that renames a table; names are dotted.
func rename(from, to string) string {
	identifier := func(dotted string) string {
		levels := strings.Split(dotted, ".")
		for i := range levels {
			levels[i] = quoted(levels[i])
		}
		last := len(levels) - 1
		return `{"namespace":[` + strings.Join(levels[:last], ",") + `],"name":` + levels[last] + `}`
	}
	return `{"source":` + identifier(from) + `,"destination":` + identifier(to) + `}`
}

func TestMountPointsAreReadOnlyPlaces(t *testing.T) {
	g := newGateway(t)
	for _, at := range []string{"legacy", "team", "legacy.fresh", "corp.old"} {
		path := "/v1/namespaces/" + dots(at)
		require.Equal(t, map[string]any{}, g.do("GET", path, "").ok().member("properties"), at)
		require.Equal(t, 204, g.do("HEAD", path, "").Code)
		require.Empty(t, g.do("GET", path+"/tables", "").ok().member("identifiers"))
		require.Empty(t, g.do("GET", path+"/views", "").ok().member("identifiers"))
		g.do("DELETE", path, "").refused(406, "UnsupportedOperationException", at, "mount point")
		g.do("POST", path+"/properties", `{"updates":{"a":"b"}}`).refused(406, "UnsupportedOperationException", at)
		g.do("POST", "/v1/namespaces", `{"namespace":["`+strings.ReplaceAll(at, ".", `","`)+`"]}`).refused(409, "AlreadyExistsException", "Namespace already exists: "+at)
		g.do("POST", path+"/tables", `{"name":"x","schema":`+schema+`}`).refused(406, "UnsupportedOperationException", at)
		g.do("GET", path+"/tables/x", "").refused(404, "NoSuchTableException", at+".x")
		require.Equal(t, 404, g.do("HEAD", path+"/tables/x", "").Code)
	}
	require.Empty(t, g.legacy.forget(), "a mount point is the tree's own")
}

func TestAncestorOfAMountPoint(t *testing.T) {
	g := newGateway(t)
	g.do("GET", "/v1/namespaces/corp", "").ok()
	g.do("DELETE", "/v1/namespaces/corp", "").refused(409, "NamespaceNotEmptyException", "Namespace corp is not empty")
	g.do("POST", "/v1/namespaces/corp/properties", `{"updates":{"a":"b"}}`).ok()
	g.namespace("corp.new")
	g.table("corp", "t")
	require.Equal(t, []any{[]any{"corp", "old"}, []any{"corp", "new"}}, g.do("GET", "/v1/namespaces?parent=corp", "").ok().member("namespaces"))
}

func TestListingShowsMountPointsFirst(t *testing.T) {
	g := newGateway(t)
	g.namespace("a", "z")
	require.Equal(t, []any{[]any{"legacy"}, []any{"team"}, []any{"a"}, []any{"corp"}, []any{"z"}}, g.do("GET", "/v1/namespaces", "").ok().member("namespaces"))
}

// sick is an upstream that doesn't answer, with words that no client may see.
var sick = &mounts.Error{Kind: mounts.Unavailable, Detail: "The mount's catalog doesn't answer", Err: errors.New("dial tcp 10.0.0.7:9083: password=hunter2")}

func TestSickMounts(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	g.legacy.fail(sick)
	for _, target := range []string{
		"/v1/namespaces?parent=legacy", // never the mount points alone
		"/v1/namespaces/legacy%1Fdb1", "/v1/namespaces/legacy%1Fdb1/tables", "/v1/namespaces/legacy%1Fdb1/tables/t1", "/v1/legacy/namespaces",
	} {
		r := g.do("GET", target, "").refused(503, "SlowDownException", "doesn't answer")
		require.NotEmpty(t, r.Header().Get("Retry-After"), target)
		require.NotContains(t, r.Body.String(), "10.0.0.7")
		require.NotContains(t, r.Body.String(), "hunter2")
	}
	require.Equal(t, 503, g.do("HEAD", "/v1/namespaces/legacy%1Fdb1/tables/t1", "").Code, "an error is never an absence")
	require.Contains(t, g.do("GET", "/v1/namespaces", "").ok().Body.String(), `["legacy"]`, "a sick mount below is still listed")
	g.do("GET", "/v1/namespaces/legacy", "").ok()
	g.do("POST", "/v1/namespaces", `{"namespace":["legacy","new"]}`).refused(503, "SlowDownException")
	g.do("GET", tableT, "").ok()
	g.do("POST", "/v1/legacy.fresh/namespaces", `{"namespace":["ns"]}`).ok()
	g.legacy.fail(nil)
	g.do("GET", "/v1/namespaces?parent=legacy", "").ok()
}

// TestRetryAfter: a source that says when to come back is heard, within reason.
func TestRetryAfter(t *testing.T) {
	g := newGateway(t)
	for _, c := range []struct {
		asked time.Duration
		want  string
	}{
		{0, "1"},
		{-time.Second, "1"},
		{time.Millisecond, "1"},
		{time.Second, "1"},
		{1001 * time.Millisecond, "2"},
		{7 * time.Second, "7"},
		{time.Minute, "60"},
		{time.Hour, "60"},
	} {
		g.legacy.fail(&mounts.Error{Kind: mounts.Unavailable, RetryAfter: c.asked})
		r := g.do("GET", "/v1/namespaces/legacy%1Fdb1/tables/t1", "").refused(503, "SlowDownException")
		require.Equal(t, []string{c.want}, r.Header().Values("Retry-After"), "%v", c.asked)
	}
	g.legacy.fail(&mounts.Error{Kind: mounts.Timeout, RetryAfter: time.Second})
	require.Empty(t, g.do("GET", "/v1/namespaces/legacy%1Fdb1/tables/t1", "").refused(504, "GatewayTimeoutException").Header().Values("Retry-After"))
}

func TestErrorsOfAnUpstream(t *testing.T) {
	g := newGateway(t)
	for _, c := range []struct {
		kind   mounts.Kind
		status int
		typ    string
	}{
		{mounts.BadGateway, 502, "BadGatewayException"},
		{mounts.Timeout, 504, "GatewayTimeoutException"},
		{mounts.Internal, 500, "InternalServerError"},
		{mounts.Forbidden, 403, "ForbiddenException"},
		{mounts.Kind(200), 500, "InternalServerError"},
	} {
		g.legacy.fail(&mounts.Error{Kind: c.kind, Err: sick.Err})
		r := g.do("GET", "/v1/namespaces/legacy%1Fdb1/tables/t1", "").refused(c.status, c.typ)
		require.NotContains(t, r.Body.String(), "hunter2")
	}
	g.legacy.fail(sick.Err) // no *mounts.Error at all
	r := g.do("GET", "/v1/namespaces/legacy%1Fdb1/tables/t1", "", "X-Request-Id: find-me").refused(500, "InternalServerError", "find-me")
	require.NotContains(t, r.Body.String(), "hunter2")
	require.Contains(t, g.log.String(), "hunter2", "the log has the cause")
}
