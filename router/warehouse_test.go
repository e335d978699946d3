package router_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// operations that /v1/config advertises, as clients compare them: templates, literally.
func TestConfigListsTemplatesLiterally(t *testing.T) {
	g := newGateway(t)
	all := g.do("GET", "/v1/config", "").ok().member("endpoints").([]any)
	require.Len(t, all, 25)
	for _, e := range all {
		method, path, ok := strings.Cut(e.(string), " ")
		require.True(t, ok)
		require.Contains(t, []string{"GET", "HEAD", "POST", "DELETE"}, method)
		require.True(t, strings.HasPrefix(path, "/v1/{prefix}/"), e)
	}
	require.Contains(t, all, "POST /v1/{prefix}/tables/rename")
}

// TestAdvertisedIsServed asks for every advertised endpoint, with and without a prefix:
// none may answer that there is no such endpoint or method.
func TestAdvertisedIsServed(t *testing.T) {
	g := newGateway(t)
	g.do("POST", "/v1/team/namespaces", `{"namespace":["ns"]}`).ok()
	for _, e := range g.do("GET", "/v1/config", "").ok().member("endpoints").([]any) {
		method, path, _ := strings.Cut(e.(string), " ")
		path = strings.NewReplacer("{namespace}", "ns", "{table}", "t", "{view}", "v").Replace(path)
		for _, prefix := range []string{"/team", "/piedmont", ""} {
			r := g.do(method, strings.Replace(path, "/{prefix}", prefix, 1), "{}")
			require.NotEqual(t, 405, r.Code, e)
			require.NotContains(t, r.Body.String(), "NoSuchEndpointException", e)
		}
	}
}

func TestEndpointsAreTheUnionOverTheMountsOfTheView(t *testing.T) {
	g := newGateway(t)
	const write = "POST /v1/{prefix}/namespaces/{namespace}/tables"
	require.Contains(t, g.do("GET", "/v1/config", "").member("endpoints"), write)
	require.Contains(t, g.do("GET", "/v1/config?warehouse=legacy", "").member("endpoints"), write, "a native mount lies inside it")
	require.NotContains(t, g.do("GET", "/v1/config?warehouse=corp.old", "").member("endpoints"), write)
}

func TestUnknownWarehouse(t *testing.T) {
	g := newGateway(t)
	for _, name := range []string{"none", "corp", "team.ns", "legacy%2Ffresh", "TEAM", "%20", "s3%3A%2F%2Fbucket"} {
		g.do("GET", "/v1/config?warehouse="+name, "").refused(404, "NoSuchWarehouseException", "Warehouse does not exist")
		g.do("GET", "/v1/"+name+"/namespaces", "").refused(404, "NoSuchWarehouseException")
	}
}

func TestAWarehouseOfOneSourceNamespaceIsRefused(t *testing.T) {
	g := newGatewayWith(t, settings{points: []mounts.Point{{At: mounts.Namespace{"one"}, Source: mounts.Namespace{"db1"}, Kind: "rest", Mount: newSource()}}})
	g.do("GET", "/v1/config?warehouse=one", "").refused(400, "BadRequestException", "'one'")
	g.do("GET", "/v1/one/namespaces", "").refused(400, "BadRequestException", "'one'")
	g.do("GET", "/v1/namespaces/one/tables/t1", "").ok()
	g.do("GET", "/v1/namespaces/one/tables/none", "").refused(404, "NoSuchTableException", "Table does not exist: one.none")
	g.do("GET", "/v1/namespaces/one%1Fnone", "").refused(404, "NoSuchNamespaceException", "Namespace does not exist: one.none")
	g.as(nobody, "GET", "/v1/config?warehouse=one", "").refused(404, "NoSuchWarehouseException")
	g.as(nobody, "GET", "/v1/one/namespaces", "").refused(404, "NoSuchWarehouseException")
}

// TestWarehouseIsRelative does the same below a prefix and in the whole tree and compares.
func TestWarehouseIsRelative(t *testing.T) {
	g := newGateway(t)
	require.Equal(t, "team", g.do("GET", "/v1/config?warehouse=team", "").ok().text("overrides", "prefix"))
	require.Equal(t, "legacy.fresh", g.do("GET", "/v1/config?warehouse=legacy.fresh", "").ok().text("overrides", "prefix"))
	require.Equal(t, map[string]any{}, g.do("GET", "/v1/config?warehouse=piedmont", "").ok().member("overrides"))
	g.do("POST", "/v1/team/namespaces", `{"namespace":["ns"]}`).ok()
	g.do("POST", "/v1/team/namespaces", `{"namespace":["ns","sub"]}`).ok()
	inner := g.do("POST", "/v1/team/namespaces/ns/tables", `{"name":"t","schema":`+schema+`}`).ok()
	outer := g.do("GET", "/v1/namespaces/team%1Fns/tables/t", "").ok()
	require.Equal(t, inner.Header().Get("ETag"), outer.Header().Get("ETag"))
	require.Equal(t, inner.Body.String(), outer.Body.String())
	require.Equal(t, []any{[]any{"ns", "sub"}}, g.do("GET", "/v1/team/namespaces?parent=ns", "").member("namespaces"))
	require.Equal(t, []any{[]any{"team", "ns", "sub"}}, g.do("GET", "/v1/namespaces?parent=team%1Fns", "").member("namespaces"))
	require.Equal(t, []any{"ns"}, g.do("GET", "/v1/team/namespaces/ns", "").member("namespace"))
	require.Equal(t, []any{map[string]any{"namespace": []any{"ns"}, "name": "t"}}, g.do("GET", "/v1/team/namespaces/ns/tables", "").member("identifiers"))
	g.do("GET", "/v1/team/namespaces/team%1Fns", "").refused(404, "NoSuchNamespaceException", "Namespace does not exist: team.ns")
	for _, c := range []struct{ method, path, body, words string }{
		{"GET", "/namespaces/none", "", "Namespace does not exist: none"},
		{"GET", "/namespaces/ns/tables/none", "", "Table does not exist: ns.none"},
		{"DELETE", "/namespaces/ns", "", "Namespace ns is not empty"},
		{"POST", "/namespaces", `{"namespace":["ns"]}`, "Namespace already exists: ns"},
		{"POST", "/namespaces/ns/tables", `{"name":"t","schema":` + schema + `}`, "Table already exists: ns.t"},
		{"POST", "/tables/rename", rename("ns.t", "ns.t"), "Cannot rename ns.t to ns.t. Table already exists"},
		{"POST", "/tables/rename", rename("ns.t", "none.t"), "Namespace does not exist: none"},
		{"POST", "/tables/rename", rename("ns.none", "ns.u"), "Table does not exist: ns.none"},
	} {
		r := g.do(c.method, "/v1/team"+c.path, c.body)
		require.Equal(t, c.words, r.text("error", "message"))
	}
}

func TestPageTokensAreGoodInEveryView(t *testing.T) {
	g := newGateway(t)
	for _, name := range []string{"a", "b", "c"} {
		g.do("POST", "/v1/team/namespaces", `{"namespace":["`+name+`"]}`).ok()
	}
	token := g.do("GET", "/v1/team/namespaces?pageToken=&pageSize=2", "").ok().text("next-page-token")
	require.Equal(t, []any{[]any{"team", "c"}}, g.do("GET", "/v1/namespaces?parent=team&pageToken="+token, "").ok().member("namespaces"))
	require.Equal(t, []any{[]any{"c"}}, g.do("GET", "/v1/team/namespaces?pageToken="+token, "").ok().member("namespaces"))
}

func TestDecisionsDontVaryByView(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `permit (principal == User::"etl", action in Action::"read", resource in Namespace::"team.ns");`})
	g.do("POST", "/v1/team/namespaces", `{"namespace":["ns"]}`).ok()
	g.do("POST", "/v1/team/namespaces", `{"namespace":["hidden"]}`).ok()
	g.do("POST", "/v1/team/namespaces/ns/tables", `{"name":"t","schema":`+schema+`}`).ok()
	for _, view := range []struct{ base, ns string }{{"/v1/team/namespaces", ""}, {"/v1/namespaces", "team%1F"}} {
		g.as(etl, "GET", view.base+"/"+view.ns+"ns/tables/t", "").ok()
		g.as(etl, "GET", view.base+"/"+view.ns+"hidden", "").refused(404, "NoSuchNamespaceException")
		g.as(etl, "DELETE", view.base+"/"+view.ns+"ns/tables/t", "").refused(403, "ForbiddenException", "etl may not dropTable on")
	}
	require.Equal(t, []any{[]any{"ns"}}, g.as(etl, "GET", "/v1/team/namespaces", "").ok().member("namespaces"))
	require.Equal(t, []any{[]any{"team", "ns"}}, g.as(etl, "GET", "/v1/namespaces?parent=team", "").ok().member("namespaces"))
	require.Equal(t, []any{[]any{"team"}}, g.as(etl, "GET", "/v1/namespaces", "").ok().member("namespaces"))
	r := g.as(etl, "DELETE", "/v1/team/namespaces/ns/tables/t", "")
	require.Contains(t, r.text("error", "message"), "on ns.t", "relative to the view")
	g.as(etl, "GET", "/v1/config?warehouse=team", "").ok()
	g.as(etl, "GET", "/v1/config?warehouse=legacy", "").refused(404, "NoSuchWarehouseException")
}

// TestNamesOfMountsThatMessagesHold: what a message says besides names isn't cut where a
// view's path is its beginning.
func TestNamesOfMountsThatMessagesHold(t *testing.T) {
	for _, at := range []string{"m", "mount", "Views"} {
		g := newGatewayWith(t, settings{points: []mounts.Point{{At: mounts.Namespace{at}, Kind: "rest", Mount: newSource()}}})
		r := g.do("POST", "/v1/"+at+"/namespaces/db1/tables", `{"name":"x","schema":`+schema+`}`)
		require.Equal(t, "The mount at '"+at+"' (rest) is read-only: 'db1.x' can't be changed through it", r.text("error", "message"))
	}
}
