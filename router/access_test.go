package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// TestKeyWithoutAPolicy sends every operation as a principal that no policy names: nothing
// is listed, nothing exists, nothing may be made, whether it is there or not.
func TestKeyWithoutAPolicy(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns", "ns.sub")
	g.table("ns", "t")
	location := g.do("GET", tableT, "").text("metadata-location")
	before := g.state()
	for _, target := range []string{"/v1/namespaces", "/v1/namespaces?parent=", "/v1/namespaces?pageToken=&pageSize=1"} {
		require.Empty(t, g.as(nobody, "GET", target, "").ok().member("namespaces"), target)
	}
	for _, there := range []bool{true, false} {
		ns, name := "none", "none"
		if there {
			ns, name = "ns", "t"
		}
		at := "/v1/namespaces/" + ns
		absent := []struct{ method, target, body, typ string }{
			{"GET", at, "", "NoSuchNamespaceException"},
			{"GET", "/v1/namespaces?parent=" + ns, "", "NoSuchNamespaceException"},
			{"GET", at + "/tables", "", "NoSuchNamespaceException"},
			{"GET", at + "/views", "", "NoSuchNamespaceException"},
			{"DELETE", at, "", "NoSuchNamespaceException"},
			{"POST", at + "/properties", `{"updates":{"a":"b"}}`, "NoSuchNamespaceException"},
			{"GET", at + "/tables/" + name, "", "NoSuchTableException"},
			{"POST", at + "/tables/" + name, setProperty("a", "b"), "NoSuchTableException"},
			{"DELETE", at + "/tables/" + name, "", "NoSuchTableException"},
			{"POST", at + "/tables/" + name + "/metrics", "{}", "NoSuchTableException"},
			{"POST", "/v1/tables/rename", rename(ns+"."+name, ns+".u"), "NoSuchTableException"},
			{"GET", at + "/views/v", "", "NoSuchViewException"},
		}
		for _, c := range absent {
			g.as(nobody, c.method, c.target, c.body).refused(404, c.typ)
		}
		for _, c := range []struct{ target, body string }{
			{"/v1/namespaces", `{"namespace":["` + ns + `"]}`},
			{at + "/tables", `{"name":"` + name + `","schema":` + schema + `}`},
			{at + "/tables", `{"name":"` + name + `","stage-create":true,"schema":` + schema + `}`},
			{at + "/tables/" + name, `{"requirements":[{"type":"assert-create"}],"updates":[]}`},
			{at + "/register", `{"name":"` + name + `","metadata-location":` + quoted(location) + `}`},
			{at + "/views", `{"name":"` + name + `"}`},
		} {
			g.as(nobody, "POST", c.target, c.body).refused(403, "ForbiddenException", "nobody may not")
		}
		require.Equal(t, 404, g.as(nobody, "HEAD", at, "").Code)
		require.Equal(t, 404, g.as(nobody, "HEAD", at+"/tables/"+name, "").Code)
	}
	for _, place := range []string{"legacy", "team", "corp", "corp%1Fold"} {
		g.as(nobody, "GET", "/v1/namespaces/"+place, "").refused(404, "NoSuchNamespaceException")
		g.as(nobody, "GET", "/v1/namespaces?parent="+place, "").refused(404, "NoSuchNamespaceException")
	}
	for _, prefix := range []string{"team", "legacy", "corp.old", "none"} {
		g.as(nobody, "GET", "/v1/"+prefix+"/namespaces", "").refused(404, "NoSuchWarehouseException")
	}
	require.Equal(t, before, g.state())
	require.Empty(t, g.legacy.forget(), "what a caller may not see isn't asked for")
}

func TestPoliciesByTable(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		permit (principal == User::"etl", action, resource == Table::"ns.mine");
		permit (principal == User::"etl", action in [Action::"namespaceExists", Action::"listTables"], resource == Namespace::"ns");`})
	g.namespace("ns", "other")
	g.table("ns", "theirs")
	g.as(etl, "POST", "/v1/namespaces/ns/tables", `{"name":"mine","schema":`+schema+`}`).ok()
	g.as(etl, "POST", "/v1/namespaces/ns/tables/mine", setProperty("a", "1")).ok()
	require.Equal(t, []any{map[string]any{"namespace": []any{"ns"}, "name": "mine"}}, g.as(etl, "GET", "/v1/namespaces/ns/tables", "").ok().member("identifiers"))
	require.Equal(t, []any{[]any{"ns"}}, g.as(etl, "GET", "/v1/namespaces", "").ok().member("namespaces"))
	g.as(etl, "GET", "/v1/namespaces/ns/tables/theirs", "").refused(404, "NoSuchTableException")
	g.as(etl, "GET", "/v1/namespaces/ns", "").refused(403, "ForbiddenException", "etl may not loadNamespaceMetadata on ns")
	require.Equal(t, 204, g.as(etl, "HEAD", "/v1/namespaces/ns", "").Code)
	g.as(etl, "DELETE", "/v1/namespaces/ns", "").refused(403, "ForbiddenException")
	g.as(etl, "POST", "/v1/tables/rename", rename("ns.mine", "ns.other")).refused(403, "ForbiddenException", "ns.other")
	g.as(etl, "POST", "/v1/tables/rename", rename("ns.mine", "ns.theirs")).refused(403, "ForbiddenException", "ns.theirs")
	g.as(etl, "POST", "/v1/tables/rename", rename("ns.theirs", "ns.mine")).refused(404, "NoSuchTableException", "ns.theirs")
	g.as(etl, "DELETE", "/v1/namespaces/ns/tables/mine", "").ok()
}

func TestPoliciesByMount(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `permit (principal in Group::"writers", action in Action::"read", resource in Mount::"legacy");`})
	g.namespace("ns")
	require.Equal(t, []any{[]any{"legacy"}}, g.as(etl, "GET", "/v1/namespaces", "").ok().member("namespaces"))
	g.as(etl, "GET", "/v1/namespaces/legacy%1Fdb1/tables/t1", "").ok()
	g.as(etl, "POST", "/v1/namespaces/legacy%1Fdb1/tables/t1", setProperty("a", "1")).refused(403, "ForbiddenException", "etl may not updateTable")
	g.as(etl, "GET", "/v1/namespaces/corp%1Fold%1Fdb1", "").refused(404, "NoSuchNamespaceException")
	g.as(nobody, "GET", "/v1/namespaces/legacy%1Fdb1/tables/t1", "").refused(404, "NoSuchTableException")
}

func TestAncestorsAreVisibleToWhoSeesSomethingBelow(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `permit (principal == User::"etl", action in Action::"read", resource in Namespace::"corp.old.db1");`})
	g.namespace("corp.new")
	for _, c := range []struct {
		parent string
		want   []any
	}{
		{"", []any{[]any{"corp"}}}, {"corp", []any{[]any{"corp", "old"}}}, {"corp%1Fold", []any{[]any{"corp", "old", "db1"}}},
	} {
		require.Equal(t, c.want, g.as(etl, "GET", "/v1/namespaces?parent="+c.parent, "").ok().member("namespaces"), c.parent)
	}
	for _, place := range []string{"corp", "corp%1Fold", "corp%1Fold%1Fdb1"} {
		g.as(etl, "GET", "/v1/namespaces/"+place, "").ok()
		require.Equal(t, 204, g.as(etl, "HEAD", "/v1/namespaces/"+place, "").Code)
	}
	g.as(etl, "DELETE", "/v1/namespaces/corp", "").refused(403, "ForbiddenException")
	g.as(etl, "POST", "/v1/namespaces/corp/properties", `{"updates":{"a":"b"}}`).refused(403, "ForbiddenException")
	g.as(etl, "GET", "/v1/namespaces/corp%1Fnew", "").refused(404, "NoSuchNamespaceException")
	g.as(etl, "GET", "/v1/namespaces/legacy", "").refused(404, "NoSuchNamespaceException")
}

// TestConditionsShowNoPlaceToOthers: a permit whose condition the caller doesn't meet leads
// nowhere.
func TestConditionsShowNoPlaceToOthers(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		permit (principal, action in Action::"read", resource) when { principal in Group::"audit" };
		permit (principal, action in Action::"read", resource) when { principal in Group::"writers" && resource in Namespace::"legacy.db1" };`})
	require.Empty(t, g.as(nobody, "GET", "/v1/namespaces", "").ok().member("namespaces"))
	require.Equal(t, []any{[]any{"legacy"}}, g.as(etl, "GET", "/v1/namespaces", "").ok().member("namespaces"))
	require.Equal(t, []any{[]any{"legacy", "db1"}}, g.as(etl, "GET", "/v1/namespaces?parent=legacy", "").ok().member("namespaces"))
	for place, prefix := range map[string]string{"legacy": "legacy", "team": "team", "corp%1Fold": "corp.old"} {
		g.as(nobody, "GET", "/v1/namespaces/"+place, "").refused(404, "NoSuchNamespaceException")
		g.as(nobody, "GET", "/v1/config?warehouse="+prefix, "").refused(404, "NoSuchWarehouseException")
	}
	g.as(etl, "GET", "/v1/namespaces/corp", "").refused(404, "NoSuchNamespaceException")
}

// TestPlacesOnTheWayKeepTheirProperties: who only passes through an ancestor of a mount
// point, which is a namespace like others, sees that it is there and nothing of it.
func TestPlacesOnTheWayKeepTheirProperties(t *testing.T) {
	policy := `permit (principal == User::"etl", action in Action::"read", resource in Namespace::"%s");`
	g := newGatewayWith(t, settings{policies: fmt.Sprintf(policy, "corp.old.db1")})
	g.do("POST", "/v1/namespaces/corp/properties", `{"updates":{"owner":"boss"}}`).ok()
	require.Equal(t, "boss", g.do("GET", "/v1/namespaces/corp", "").ok().member("properties").(map[string]any)["owner"])
	require.Equal(t, map[string]any{}, g.as(etl, "GET", "/v1/namespaces/corp", "").ok().member("properties"))
	require.Equal(t, 204, g.as(etl, "HEAD", "/v1/namespaces/corp", "").Code)

	// The same where the way leads through a read-only mount, which isn't asked.
	around := newSource()
	g = newGatewayWith(t, settings{policies: fmt.Sprintf(policy, "far.db1.here"), points: []mounts.Point{
		{At: mounts.Namespace{"far"}, Kind: "rest", Mount: around}, {At: mounts.Namespace{"far", "db1", "here"}, Kind: "rest", Mount: newSource()},
	}})
	require.Equal(t, map[string]any{"owner": "old"}, g.do("GET", "/v1/namespaces/far%1Fdb1", "").ok().member("properties"))
	around.forget()
	require.Equal(t, map[string]any{}, g.as(etl, "GET", "/v1/namespaces/far%1Fdb1", "").ok().member("properties"))
	require.Equal(t, 204, g.as(etl, "HEAD", "/v1/namespaces/far%1Fdb1", "").Code)
	require.Empty(t, around.forget())
}

// TestForbidHoldsAtPlacesOnTheWay: the root, mount points and what lies above them may be
// listed without a permit, but not against a forbid.
func TestForbidHoldsAtPlacesOnTheWay(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		permit (principal == User::"etl", action in Action::"read", resource in Namespace::"corp.old.db1");
		forbid (principal, action in [Action::"listNamespaces", Action::"listTables", Action::"listViews", Action::"loadNamespaceMetadata"], resource)
		when { resource in [Namespace::"legacy", Namespace::"corp"] } unless { resource in Namespace::"corp.old.db1" };
		forbid (principal == User::"etl", action == Action::"listNamespaces", resource == Namespace::"");`})
	for _, who := range []string{ops, etl} {
		for _, place := range []string{"corp", "corp%1Fold"} {
			require.Equal(t, 204, g.as(who, "HEAD", "/v1/namespaces/"+place, "").Code)
			for action, target := range map[string]string{
				"listNamespaces": "?parent=" + place, "listTables": "/" + place + "/tables", "listViews": "/" + place + "/views", "loadNamespaceMetadata": "/" + place,
			} {
				g.as(who, "GET", "/v1/namespaces"+target, "").refused(403, "ForbiddenException", "may not "+action+" on corp")
			}
		}
	}
	g.as(etl, "GET", "/v1/namespaces/corp%1Fold%1Fdb1/tables", "").ok()
	g.as(etl, "GET", "/v1/namespaces", "").refused(403, "ForbiddenException", "etl may not listNamespaces on")
	g.do("GET", "/v1/namespaces", "").ok()
	g.do("GET", "/v1/namespaces?parent=legacy", "").refused(403, "ForbiddenException")
	g.as(etl, "GET", "/v1/namespaces?parent=legacy", "").refused(404, "NoSuchNamespaceException")
}

func TestForbidBindsAdmins(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		forbid (principal, action in Action::"manage", resource in Namespace::"kept");
		forbid (principal, action, resource in Namespace::"secret");
		forbid (principal, action, resource in Mount::"corp.old");`})
	g.namespace("kept", "open")
	g.table("kept", "t")
	g.do("DELETE", "/v1/namespaces/kept/tables/t", "").refused(403, "ForbiddenException", "ops may not dropTable on kept.t")
	g.do("GET", "/v1/namespaces/kept/tables/t", "").ok()
	g.do("POST", "/v1/namespaces", `{"namespace":["secret"]}`).refused(403, "ForbiddenException")
	g.do("GET", "/v1/namespaces/secret", "").refused(404, "NoSuchNamespaceException")
	g.do("GET", "/v1/namespaces/corp%1Fold%1Fdb1", "").refused(404, "NoSuchNamespaceException")
	require.NotContains(t, g.do("GET", "/v1/namespaces?parent=corp", "").ok().Body.String(), "old")
	g.do("POST", "/v1/tables/rename", rename("kept.t", "open.t")).ok()
}

func TestAForbidThatCannotBeEvaluated(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `forbid (principal, action == Action::"dropNamespace", resource) when { Namespace::"ns".name == "x" };`})
	g.namespace("ns", "other")
	g.do("DELETE", "/v1/namespaces/other", "").refused(403, "ForbiddenException", "ops may not dropNamespace on other")
	require.Contains(t, g.log.String(), `msg="a policy can't be evaluated" effect=forbid file=test.cedar line=1`)
	require.InDelta(t, 1, g.counted("piedmont_policy_errors_total", "forbid"), 0)
	g.do("DELETE", "/v1/namespaces/none", "").refused(403, "ForbiddenException")
	require.InDelta(t, 2, g.counted("piedmont_policy_errors_total", "forbid"), 0)
	require.Equal(t, 1, strings.Count(g.log.String(), "a policy can't be evaluated"), "said once")
	g.do("DELETE", "/v1/namespaces/ns", "").ok()
}

func TestListsAreFilteredAndPagesFillUp(t *testing.T) {
	var policies strings.Builder
	for i := 0; i < 40; i += 10 {
		fmt.Fprintf(&policies, "permit (principal == User::\"etl\", action == Action::\"tableExists\", resource == Table::\"n000.t%03d\");\n", i)
		fmt.Fprintf(&policies, "permit (principal == User::\"etl\", action == Action::\"namespaceExists\", resource == Namespace::\"n%03d\");\n", i)
	}
	policies.WriteString(`permit (principal == User::"etl", action == Action::"listTables", resource == Namespace::"n000");`)
	g := withNames(t, 40, settings{policies: policies.String()})
	for size, want := range map[int]int{1: 4, 2: 2, 3: 2, 4: 1} {
		pages := g.walk(etl, fmt.Sprintf("/v1/namespaces/n000/tables?pageSize=%d", size), "identifiers")
		require.Equal(t, []string{"t000", "t010", "t020", "t030"}, slices.Concat(pages...), "size %d", size)
		for _, p := range pages[:want-1] {
			require.Len(t, p, size, "a page is filled up with what comes later")
		}
		names := g.walk(etl, fmt.Sprintf("/v1/namespaces?pageSize=%d", size), "namespaces")
		require.Equal(t, []string{"n000", "n010", "n020", "n030"}, slices.Concat(names...))
	}
	require.Len(t, g.as(etl, "GET", "/v1/namespaces/n000/tables", "").ok().member("identifiers"), 4)
}

// TestCreatingByCommitNeedsCreateTable: which permission a commit needs is read from its
// requirements exactly as the mount will read them.
func TestCreatingByCommitNeedsCreateTable(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		permit (principal == User::"etl", action in [Action::"updateTable", Action::"tableExists"], resource);
		permit (principal == User::"nobody", action in [Action::"createTable", Action::"tableExists"], resource);`})
	g.namespace("ns")
	g.table("ns", "t")
	create := `"updates":[{"action":"add-schema","schema":` + schema + `},{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"fields":[]}},{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1}]`
	before := g.state()
	for _, requirement := range []string{`"type":"assert-create"`, `"type":"assert-create"`, `"\u0074ype":"assert\u002dcreate"`} {
		g.as(etl, "POST", "/v1/namespaces/ns/tables/new", `{"requirements":[{`+requirement+`}],`+create+`}`).refused(403, "ForbiddenException", "etl may not createTable on ns.new")
	}
	g.as(etl, "POST", "/v1/namespaces/ns/tables/new", `{"requirement\u0073":[{"type":"assert-create"}],`+create+`}`).refused(403, "ForbiddenException")
	update := `"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`
	for _, requirements := range []string{
		``, `"requirements":[],`, `"requirements":[{"type":"assert-last-assigned-field-id","last-assigned-field-id":2,"Type":"assert-create"}],`,
		`"requirements":[{"type":"assert-last-assigned-field-id","last-assigned-field-id":2,"TYPE":"assert-create"}],`, `"Requirements":[{"type":"assert-create"}],`,
	} {
		g.as(nobody, "POST", tableT, `{`+requirements+update).refused(403, "ForbiddenException", "nobody may not updateTable")
		g.as(nobody, "POST", commitPath, `{"table-changes":[{"identifier":{"namespace":["ns"],"name":"t"},`+requirements+update+`]}`).refused(403, "ForbiddenException", "nobody may not updateTable on ns.t")
	}
	for _, twice := range []string{
		`"requirements":[{"type":"assert-create"}],"requirements":[],`, `"requirements":[],"requirements":[{"type":"assert-create"}],`,
		`"requirements":[{"type":"x","type":"assert-create"}],`, `"requirements":[{"type":"assert-create","type":"assert-table-uuid","uuid":"x"}],`,
	} {
		for _, who := range []string{nobody, etl, ops} {
			g.as(who, "POST", tableT, `{`+twice+update).refused(400, "BadRequestException")
		}
	}
	require.Equal(t, before, g.state())
	g.as(nobody, "POST", "/v1/namespaces/ns/tables/new", `{"requirements":[{"type":"assert-create"}],`+create+`}`).ok()
	g.as(etl, "POST", tableT, `{`+update).ok()
}

func TestRegisterAndRenamePermissions(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		permit (principal == User::"etl", action == Action::"renameTable", resource in Namespace::"from");
		permit (principal == User::"nobody", action == Action::"renameTable", resource in Namespace::"to");
		permit (principal == User::"etl", action == Action::"registerTable", resource in Namespace::"to");`})
	g.namespace("from", "to")
	location := g.table("from", "t").text("metadata-location")
	move := rename("from.t", "to.t")
	g.as(etl, "POST", "/v1/tables/rename", move).refused(403, "ForbiddenException", "to.t")
	g.as(nobody, "POST", "/v1/tables/rename", move).refused(404, "NoSuchTableException", "from.t")
	g.as(etl, "POST", "/v1/tables/rename", rename("from.t", "from.u")).ok()
	body := func(name string) string {
		return `{"name":"` + name + `","metadata-location":` + quoted(location) + `}`
	}
	g.as(etl, "POST", "/v1/namespaces/from/register", body("r")).refused(403, "ForbiddenException", "registerTable on from.r")
	g.as(etl, "POST", "/v1/namespaces/to/register", body("r")).ok()
}
