package router_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func register(name, location string, overwrite bool) string {
	return fmt.Sprintf(`{"name":%q,"metadata-location":%q,"overwrite":%t}`, name, location, overwrite)
}

// TestRegisterOverwriteSwapsThePointer: without a new file, and with the uuid of the file.
func TestRegisterOverwriteSwapsThePointer(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	first := g.table("ns", "t").text("metadata-location")
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "b")).ok()
	r := g.do("POST", "/v1/namespaces/ns/register", register("t", first, true)).ok()
	require.Equal(t, first, r.text("metadata-location"))
	loaded := g.do("GET", "/v1/namespaces/ns/tables/t", "").ok()
	require.Equal(t, first, loaded.text("metadata-location"))
	require.Equal(t, r.Header().Get("ETag"), loaded.Header().Get("ETag"))
	require.NotContains(t, loaded.Body.String(), `"a":"b"`)
	// the next commit builds on it
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("c", "d")).ok()
}

func TestRegisterOverwriteOfNothingCreates(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	location := g.table("ns", "t").text("metadata-location")
	g.do("POST", "/v1/namespaces/ns/tables/t/unregister", "{}").ok()
	g.do("POST", "/v1/namespaces/ns/register", register("u", location, true)).ok()
	g.do("POST", "/v1/namespaces/none/register", register("u", location, true)).refused(404, "NoSuchNamespaceException", "none")
}

// TestRegisterOverwriteOfAnotherTable moves the name, and frees the place it had.
func TestRegisterOverwriteOfAnotherTable(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	a := g.table("ns", "a")
	b := g.table("ns", "b")
	g.do("POST", "/v1/namespaces/ns/register", register("a", b.text("metadata-location"), true)).ok()
	require.Equal(t, b.text("metadata", "table-uuid"), g.do("GET", "/v1/namespaces/ns/tables/a", "").ok().text("metadata", "table-uuid"))
	again := `{"name":"c","location":` + quoted(a.text("metadata", "location")) + `,"schema":` + schema + `}`
	g.do("POST", "/v1/namespaces/ns/tables", again).ok()
}

func TestUnregisterAnswersWhatWasThereAndForgetsIt(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	created := g.table("ns", "t")
	r := g.do("POST", "/v1/namespaces/ns/tables/t/unregister", "{}").ok()
	require.Equal(t, created.text("metadata-location"), r.text("metadata-location"))
	require.Equal(t, created.text("metadata", "table-uuid"), r.text("metadata", "table-uuid"))
	g.do("GET", "/v1/namespaces/ns/tables/t", "").refused(404, "NoSuchTableException", "ns.t")
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "b")).refused(404, "NoSuchTableException", "ns.t")
	g.do("POST", "/v1/namespaces/ns/tables/t/unregister", "{}").refused(404, "NoSuchTableException", "ns.t")
	g.do("POST", "/v1/namespaces/legacy%1Fdb1/tables/t1/unregister", "{}").refused(406, "UnsupportedOperationException", "legacy")
	g.do("POST", "/v1/namespaces/ns/register", register("t", r.text("metadata-location"), false)).ok()
	g.do("DELETE", "/v1/namespaces/ns/tables/t", "")
	g.do("DELETE", "/v1/namespaces/ns", "")
	g.do("GET", "/v1/namespaces/ns", "").refused(404, "NoSuchNamespaceException", "ns")
}

// TestATableMovesIntoItsOwnPlace: the place it moves from is no other table's.
func TestATableMovesIntoItsOwnPlace(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	old := g.table("ns", "t").text("metadata", "location")
	move := func(to string) reply {
		return g.do("POST", "/v1/namespaces/ns/tables/t", `{"updates":[{"action":"set-location","location":`+quoted(to)+`}]}`)
	}
	require.Equal(t, old+"/new", move(old+"/new").ok().text("metadata", "location"))
	g.do("POST", "/v1/namespaces/ns/tables", `{"name":"in","location":`+quoted(old+"/new/x")+`,"schema":`+schema+`}`).refused(400, "BadRequestException", "inside or around")
	g.do("POST", "/v1/namespaces/ns/tables", `{"name":"beside","location":`+quoted(old+"/other")+`,"schema":`+schema+`}`).ok()
	move(old).refused(400, "BadRequestException", "inside or around")
}

// TestRegisterOverwriteIsAnUpdate: it takes the permission to update the table, but none
// more where there is no table.
func TestRegisterOverwriteIsAnUpdate(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `
		permit (principal == User::"etl", action in [Action::"registerTable", Action::"loadTable"], resource);
		permit (principal == User::"etl", action == Action::"updateTable", resource == Table::"ns.mine");`})
	g.namespace("ns")
	first := g.table("ns", "t").text("metadata-location")
	mine := g.table("ns", "mine").text("metadata-location")
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "b")).ok()
	g.do("POST", "/v1/namespaces/ns/tables/mine", setProperty("a", "b")).ok()
	before := g.state()
	g.as(etl, "POST", "/v1/namespaces/ns/register", register("t", first, true)).refused(403, "ForbiddenException", "ns.t")
	g.as(etl, "POST", "/v1/namespaces/ns/register", register("t", first, false)).refused(409, "AlreadyExistsException", "ns.t")
	require.Equal(t, before, g.state())
	g.as(etl, "POST", "/v1/namespaces/ns/register", register("mine", mine, true)).ok()
	g.do("DELETE", "/v1/namespaces/ns/tables/t", "").ok()
	g.as(etl, "POST", "/v1/namespaces/ns/register", register("t", first, true)).ok()
}
