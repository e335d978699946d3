package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithoutARootMount: the top level is mount points and nothing else.
func TestWithoutARootMount(t *testing.T) {
	g := newGateway(t)
	g.trees.Swap(mustTree(t, g.points[1:]))
	require.Equal(t, []any{[]any{"corp"}, []any{"legacy"}, []any{"team"}}, g.do("GET", "/v1/namespaces", "").ok().member("namespaces"))
	g.do("POST", "/v1/namespaces", `{"namespace":["new"]}`).refused(406, "UnsupportedOperationException", "No mount at the root")
	g.do("POST", "/v1/namespaces", `{"namespace":["new","sub"]}`).refused(404, "NoSuchNamespaceException", "new")
	g.do("POST", "/v1/namespaces", `{"namespace":["corp"]}`).refused(409, "AlreadyExistsException")
	g.do("POST", "/v1/namespaces", `{"namespace":["corp","new"]}`).refused(406, "UnsupportedOperationException")
	for _, c := range []struct{ method, target, body, typ string }{
		{"GET", "/v1/namespaces/new", "", "NoSuchNamespaceException"},
		{"GET", "/v1/namespaces?parent=new", "", "NoSuchNamespaceException"},
		{"GET", "/v1/namespaces/new/tables", "", "NoSuchNamespaceException"},
		{"DELETE", "/v1/namespaces/new", "", "NoSuchNamespaceException"},
		{"POST", "/v1/namespaces/new/properties", `{}`, "NoSuchNamespaceException"},
		{"POST", "/v1/namespaces/new/tables", `{"name":"t","schema":` + schema + `}`, "NoSuchNamespaceException"},
		{"GET", "/v1/namespaces/new/tables/t", "", "NoSuchTableException"},
		{"POST", "/v1/namespaces/new/tables/t", `{"updates":[]}`, "NoSuchTableException"},
		{"DELETE", "/v1/namespaces/new/tables/t", "", "NoSuchTableException"},
		{"POST", "/v1/tables/rename", rename("new.t", "team.ns.t"), "NoSuchTableException"},
	} {
		g.do(c.method, c.target, c.body).refused(404, c.typ, "new")
	}
	require.Equal(t, map[string]any{}, g.do("GET", "/v1/namespaces/corp", "").ok().member("properties"), "an ancestor outside every mount")
	g.do("DELETE", "/v1/namespaces/corp", "").refused(406, "UnsupportedOperationException")
	require.Empty(t, g.do("GET", "/v1/namespaces/corp/tables", "").ok().member("identifiers"))
	g.do("POST", "/v1/team/namespaces", `{"namespace":["ns"]}`).ok()
	g.do("POST", "/v1/namespaces/team%1Fns/tables", `{"name":"t","schema":`+schema+`}`).ok()
	g.do("POST", "/v1/tables/rename", rename("team.ns.t", "new.t")).refused(404, "NoSuchNamespaceException", "new")
	g.do("POST", "/v1/tables/rename", rename("team.ns.t", "corp.t")).refused(406, "UnsupportedOperationException")
	require.Empty(t, g.legacy.forget())
}

// TestRenameBetweenNativeMounts: names move, files don't.
func TestRenameBetweenNativeMounts(t *testing.T) {
	g, tag := withTable(t, settings{})
	g.do("POST", "/v1/team/namespaces", `{"namespace":["ns"]}`).ok()
	files := g.files()
	g.do("POST", "/v1/tables/rename", rename("ns.t", "team.ns.u")).ok()
	require.Equal(t, 404, g.do("HEAD", tableT, "").Code)
	moved := g.do("GET", "/v1/team/namespaces/ns/tables/u", "").ok()
	require.Equal(t, tag, moved.Header().Get("ETag"))
	require.Equal(t, files, g.files())
	g.do("POST", "/v1/team/namespaces/ns/tables/u", setProperty("a", "1")).ok()
	g.do("POST", "/v1/tables/rename", rename("team.ns.u", "ns.t")).ok()
	require.Equal(t, "1", g.do("GET", tableT, "").ok().text("metadata", "properties", "a"))
	g.do("POST", "/v1/team/tables/rename", rename("ns.t", "ns.u")).refused(404, "NoSuchTableException", "ns.t")
}
