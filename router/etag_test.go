package router_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

const tableT = "/v1/namespaces/ns/tables/t"

// withTable is a gateway with the table ns.t, and its tag.
func withTable(t testing.TB, s settings) (*gateway, string) {
	t.Helper()
	g := newGatewayWith(t, s)
	g.namespace("ns")
	tag := g.table("ns", "t").Header().Get("ETag")
	require.NotEmpty(t, tag)
	return g, tag
}

func TestETagOfAChangeIsThatOfTheNextLoad(t *testing.T) {
	g, tag := withTable(t, settings{})
	require.True(t, strings.HasPrefix(tag, `W/"`), "weak, since gzip changes bytes but not the tag")
	require.Equal(t, tag, g.do("GET", tableT, "").Header().Get("ETag"), "create")
	require.Equal(t, tag, g.do("GET", tableT+"?snapshots=all", "").Header().Get("ETag"))
	committed := g.do("POST", tableT, setProperty("a", "1")).ok().Header().Get("ETag")
	require.NotEqual(t, tag, committed)
	require.Equal(t, committed, g.do("GET", tableT, "").Header().Get("ETag"), "commit")
	require.Equal(t, committed, g.do("GET", tableT, "", "Accept-Encoding: gzip").Header().Get("ETag"))
	same := g.do("POST", tableT, `{"updates":[]}`).ok().Header().Get("ETag")
	require.Equal(t, committed, same, "a commit of nothing")
}

func TestETagOfARegisteredTable(t *testing.T) {
	g, _ := withTable(t, settings{})
	location := g.do("GET", tableT, "").text("metadata-location")
	g.do("DELETE", tableT, "").ok()
	tag := g.do("POST", "/v1/namespaces/ns/register", `{"name":"r","metadata-location":`+quoted(location)+`}`).ok().Header().Get("ETag")
	require.Equal(t, tag, g.do("GET", "/v1/namespaces/ns/tables/r", "").Header().Get("ETag"))
}

func TestETagDiffersForRefs(t *testing.T) {
	g, tag := withTable(t, settings{})
	refs := g.do("GET", tableT+"?snapshots=refs", "").ok().Header().Get("ETag")
	require.NotEqual(t, tag, refs)
	require.Equal(t, 200, g.do("GET", tableT, "", "If-None-Match: "+refs).Code)
	require.Equal(t, 200, g.do("GET", tableT+"?snapshots=refs", "", "If-None-Match: "+tag).Code)
	require.Equal(t, 304, g.do("GET", tableT+"?snapshots=refs", "", "If-None-Match: "+refs).Code)
}

func TestIfNoneMatch(t *testing.T) {
	g, tag := withTable(t, settings{})
	strong := strings.TrimPrefix(tag, "W/")
	for _, c := range []struct {
		header string
		want   int
	}{
		{tag, 304},
		{strong, 304}, // compared weakly
		{strings.Trim(strong, `"`), 304},
		{"W/" + strings.Trim(strong, `"`), 304},
		{"*", 304},
		{`W/"other", ` + tag, 304},
		{tag + `,"other"`, 304},
		{` ` + tag + ` `, 304},
		{`W/"other"`, 200},
		{`"other", "another"`, 200},
		{"", 200},
		{`""`, 200},
		{`"*"`, 200},
		{`W/*`, 200},
		{strings.ToUpper(strong), 200},
		{strong[:len(strong)-2] + `"`, 200},
	} {
		r := g.do("GET", tableT, "", "If-None-Match: "+c.header)
		require.Equal(t, c.want, r.Code, c.header)
		require.Equal(t, tag, r.Header().Get("ETag"))
		require.Equal(t, "Accept-Encoding", r.Header().Get("Vary"))
		require.Equal(t, c.want == 304, r.Body.Len() == 0, c.header)
	}
	r := g.do("GET", tableT, "", `If-None-Match: "other"`, "If-None-Match: "+tag)
	require.Equal(t, 304, r.Code, "on several lines")
}

func TestNoETagOfAStagedCreate(t *testing.T) {
	g, _ := withTable(t, settings{})
	r := g.do("POST", "/v1/namespaces/ns/tables", `{"name":"s","stage-create":true,"schema":`+schema+`}`).ok()
	require.Empty(t, r.Header().Get("ETag"))
	require.Nil(t, r.member("metadata-location"))
}

func TestNotModifiedOnlyAfterAuthorization(t *testing.T) {
	g, tag := withTable(t, settings{policies: `permit (principal == User::"etl", action == Action::"tableExists", resource);`})
	for _, match := range []string{tag, "*"} {
		require.Equal(t, 304, g.as(ops, "GET", tableT, "", "If-None-Match: "+match).Code)
		g.as(nobody, "GET", tableT, "", "If-None-Match: "+match).refused(404, "NoSuchTableException")
		g.as(etl, "GET", tableT, "", "If-None-Match: "+match).refused(403, "ForbiddenException")
		g.as("", "GET", tableT, "", "If-None-Match: "+match).refused(401, "NotAuthorizedException")
	}
}

func TestNotModifiedOnlyWhileTheLocalFileExists(t *testing.T) {
	g, tag := withTable(t, settings{})
	file := strings.TrimPrefix(g.do("GET", tableT, "").text("metadata-location"), "file://")
	require.Equal(t, 304, g.do("GET", tableT, "", "If-None-Match: "+tag).Code)
	require.NoError(t, os.Remove(file))
	for _, header := range []string{"If-None-Match: " + tag, "If-None-Match: *", "X: y"} {
		g.do("GET", tableT, "", header).refused(404, "NotFoundException", "Failed to open input stream for file: file://"+file)
		g.do("GET", tableT+"?snapshots=refs", "", header).refused(404, "NotFoundException")
	}
	require.Equal(t, 204, g.do("HEAD", tableT, "").Code, "the table exists all the same")
	require.Equal(t, 204, g.do("DELETE", tableT, "").Code, "and can be dropped")
}

// TestAge: an answer from a mount's memory says how old it is, also where it is a 304.
func TestAge(t *testing.T) {
	g := newGateway(t)
	const target = "/v1/namespaces/legacy%1Fdb1/tables/t1"
	fresh := g.do("GET", target, "").ok()
	require.Empty(t, fresh.Header().Values("Age"))
	for age, want := range map[time.Duration]string{0: "0", 1999 * time.Millisecond: "1", time.Hour: "3600", -time.Second: "0"} {
		g.legacy.asked = g.now().Add(-age)
		require.Equal(t, []string{want}, g.do("GET", target, "").ok().Header().Values("Age"))
		unchanged := g.do("GET", target, "", "If-None-Match: "+fresh.Header().Get("ETag"))
		require.Equal(t, 304, unchanged.Code)
		require.Equal(t, []string{want}, unchanged.Header().Values("Age"))
	}
}

// TestNoCache: a client that wants nothing from memory is heard by the mount.
func TestNoCache(t *testing.T) {
	g := newGateway(t)
	for header, want := range map[string]bool{
		"X: y": false, "Cache-Control: no-cache": true, "Cache-Control: No-Cache": true, "Cache-Control: max-age=0, no-cache": true,
		"Cache-Control: no-cache,no-store": true, "Cache-Control: no-store": false, "Cache-Control: x-no-cache": false, "Cache-Control:": false,
	} {
		for query, snapshots := range map[string]mounts.Snapshots{"": mounts.SnapshotsAll, "?snapshots=all": mounts.SnapshotsAll, "?snapshots=refs": mounts.SnapshotsRefs} {
			g.do("GET", "/v1/namespaces/legacy%1Fdb1/tables/t1"+query, "", header).ok()
			require.Equal(t, mounts.LoadOptions{Snapshots: snapshots}, g.legacy.loaded, query)
			require.Equal(t, want, g.legacy.noCache, "%s %s", header, query)
		}
		require.Equal(t, 204, g.do("HEAD", "/v1/namespaces/legacy%1Fdb1/tables/t1", "", header).Code)
		require.Equal(t, want, g.legacy.noCache, "HEAD, %s", header)
	}
}
