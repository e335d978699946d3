package router_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// view is a CreateViewRequest for a view of one query.
func view(name, sql string) string {
	return fmt.Sprintf(`{"name":%q,"schema":%s,"view-version":{"version-id":1,"timestamp-ms":1700000000000,"schema-id":0,"summary":{"engine":"test"},
		"default-namespace":["ns"],"representations":[{"type":"sql","sql":%q,"dialect":"spark"}]},"properties":{"owner":"me"}}`, name, schema, sql)
}

// replace is a CommitViewRequest that gives a view another query.
func replace(uuid, sql string) string {
	return fmt.Sprintf(`{"requirements":[{"type":"assert-view-uuid","uuid":%q}],"updates":[{"action":"add-view-version","view-version":{"version-id":1,
		"timestamp-ms":1700000000001,"schema-id":0,"summary":{},"default-namespace":["ns"],"representations":[{"type":"sql","sql":%q,"dialect":"spark"}]}},
		{"action":"set-current-view-version","view-version-id":-1}]}`, uuid, sql)
}

func TestAViewsLife(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns", "other")
	made := g.do("POST", "/v1/namespaces/ns/views", view("v", "select 1")).ok()
	uuid := made.text("metadata", "view-uuid")
	require.JSONEq(t, `{"identifiers":[{"namespace":["ns"],"name":"v"}]}`, g.do("GET", "/v1/namespaces/ns/views", "").ok().Body.String())
	require.JSONEq(t, `{"identifiers":[]}`, g.do("GET", "/v1/namespaces/ns/tables", "").ok().Body.String())
	require.JSONEq(t, made.Body.String(), g.do("GET", "/v1/namespaces/ns/views/v", "").ok().Body.String())
	require.Equal(t, 204, g.do("HEAD", "/v1/namespaces/ns/views/v", "").Code)

	replaced := g.do("POST", "/v1/namespaces/ns/views/v", replace(uuid, "select 2")).ok()
	require.Equal(t, "2", fmt.Sprint(replaced.member("metadata", "current-version-id")))
	require.NotEqual(t, made.text("metadata-location"), replaced.text("metadata-location"))
	require.JSONEq(t, replaced.Body.String(), g.do("GET", "/v1/namespaces/ns/views/v", "").ok().Body.String())
	g.do("POST", "/v1/namespaces/ns/views/v", replace("00000000-0000-0000-0000-000000000000", "x")).refused(409, "CommitFailedException", "UUID does not match")

	g.do("DELETE", "/v1/namespaces/ns", "").refused(409, "NamespaceNotEmptyException", "ns")
	g.do("POST", "/v1/views/rename", rename("ns.v", "other.w")).ok()
	g.do("GET", "/v1/namespaces/ns/views/v", "").refused(404, "NoSuchViewException", "View does not exist: ns.v")
	location := g.do("GET", "/v1/namespaces/other/views/w", "").ok().text("metadata-location")
	g.do("DELETE", "/v1/namespaces/other/views/w", "").ok()
	g.do("DELETE", "/v1/namespaces/other/views/w", "").refused(404, "NoSuchViewException", "other.w")
	g.do("DELETE", "/v1/namespaces/ns", "").ok()

	again := g.do("POST", "/v1/namespaces/other/register-view", register("w", location, false)).ok()
	require.Equal(t, uuid, again.text("metadata", "view-uuid"))
}

// TestTablesAndViewsShareNames: and each says which is in the way.
func TestTablesAndViewsShareNames(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	g.do("POST", "/v1/namespaces/ns/views", view("v", "select 1")).ok()
	table := func(name string) string { return `{"name":` + quoted(name) + `,"schema":` + schema + `}` }
	g.do("POST", "/v1/namespaces/ns/views", view("t", "select 1")).refused(409, "AlreadyExistsException", "Table with same name already exists: ns.t")
	g.do("POST", "/v1/namespaces/ns/views", view("v", "select 1")).refused(409, "AlreadyExistsException", "View already exists: ns.v")
	g.do("POST", "/v1/namespaces/ns/tables", table("v")).refused(409, "AlreadyExistsException", "View with same name already exists: ns.v")
	g.do("POST", "/v1/views/rename", rename("ns.v", "ns.t")).refused(409, "AlreadyExistsException", "Cannot rename ns.v to ns.t. Table already exists")
	g.do("POST", "/v1/tables/rename", rename("ns.t", "ns.v")).refused(409, "AlreadyExistsException", "Cannot rename ns.t to ns.v. View already exists")
	g.do("POST", "/v1/tables/rename", rename("ns.v", "ns.x")).refused(404, "NoSuchTableException", "ns.v")
	g.do("POST", "/v1/views/rename", rename("ns.t", "ns.x")).refused(404, "NoSuchViewException", "ns.t")
	g.do("GET", "/v1/namespaces/ns/tables/v", "").refused(404, "NoSuchTableException", "ns.v")
	g.do("GET", "/v1/namespaces/ns/views/t", "").refused(404, "NoSuchViewException", "ns.t")
	g.do("DELETE", "/v1/namespaces/ns/tables/v", "").refused(404, "NoSuchTableException", "ns.v")
	g.do("POST", "/v1/namespaces/ns/views/t", replace("x", "y")).refused(404, "NoSuchViewException", "ns.t")
}

// TestAMountWithoutViews: engines list views with tables and look them up before tables.
func TestAMountWithoutViews(t *testing.T) {
	g := newGateway(t)
	require.JSONEq(t, `{"identifiers":[]}`, g.do("GET", "/v1/namespaces/legacy%1Fdb1/views", "").ok().Body.String())
	g.do("GET", "/v1/namespaces/legacy%1Fdb1/views/v", "").refused(404, "NoSuchViewException", "legacy.db1.v")
	require.Equal(t, 404, g.do("HEAD", "/v1/namespaces/legacy%1Fdb1/views/v", "").Code)
	g.do("POST", "/v1/namespaces/legacy%1Fdb1/views", view("v", "select 1")).refused(406, "UnsupportedOperationException", "legacy")
	g.do("DELETE", "/v1/namespaces/legacy%1Fdb1/views/v", "").refused(404, "NoSuchViewException", "legacy.db1.v")
	g.do("POST", "/v1/views/rename", rename("legacy.db1.v", "legacy.db1.w")).refused(404, "NoSuchViewException", "legacy.db1.v")
}

// TestViewsAreDecidedAsViews: a permit for tables shows no views.
func TestViewsAreDecidedAsViews(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		permit (principal in Group::"writers", action, resource is Namespace);
		permit (principal in Group::"writers", action, resource is Table);`})
	g.namespace("ns")
	g.do("POST", "/v1/namespaces/ns/views", view("v", "select 1")).ok()
	require.JSONEq(t, `{"identifiers":[]}`, g.as(etl, "GET", "/v1/namespaces/ns/views", "").ok().Body.String())
	g.as(etl, "GET", "/v1/namespaces/ns/views/v", "").refused(404, "NoSuchViewException", "ns.v")
	g.as(etl, "POST", "/v1/namespaces/ns/views", view("w", "select 1")).refused(403, "ForbiddenException", "createView")
	g.as(etl, "DELETE", "/v1/namespaces/ns/views/v", "").refused(404, "NoSuchViewException", "ns.v")
}

func TestRepeatedChangesOfViewsAreCarriedOutOnce(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	uuid := ""
	for i, m := range []struct{ method, target, body string }{
		{"POST", "/v1/namespaces/ns/views", view("v", "select 1")},
		{"POST", "/v1/namespaces/ns/views/v", "replace"},
		{"POST", "/v1/views/rename", rename("ns.v", "ns.w")},
		{"DELETE", "/v1/namespaces/ns/views/w", ""},
	} {
		if m.body == "replace" {
			m.body = replace(uuid, "select 2")
		}
		first := g.do(m.method, m.target, m.body, idempotencyKey(i)).ok()
		before := g.state()
		second := g.do(m.method, m.target, m.body, idempotencyKey(i)).ok()
		require.Equal(t, first.Body.String(), second.Body.String())
		require.Equal(t, before, g.state())
		if i == 0 {
			uuid = first.text("metadata", "view-uuid")
		}
	}
}
