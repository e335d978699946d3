package router_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// change is one table's share of a transaction that sets a property; the name is dotted.
func change(table, requirements, property, value string) string {
	levels := strings.Split(table, ".")
	for i := range levels {
		levels[i] = quoted(levels[i])
	}
	last := len(levels) - 1
	return fmt.Sprintf(`{"identifier":{"namespace":[%s],"name":%s},"requirements":[%s],"updates":[{"action":"set-properties","updates":{%q:%q}}]}`,
		strings.Join(levels[:last], ","), levels[last], requirements, property, value)
}

func transaction(changes ...string) string {
	return `{"table-changes":[` + strings.Join(changes, ",") + `]}`
}

const commitPath = "/v1/transactions/commit"

func TestTransactionChangesAllTables(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "a")
	g.table("ns", "b")
	g.do("POST", "/v1/namespaces", `{"namespace":["team","ns"]}`).ok()
	g.do("POST", "/v1/namespaces/team%1Fns/tables", `{"name":"c","schema":`+schema+`}`).ok()
	created := `{"identifier":{"namespace":["ns"],"name":"new"},"requirements":[{"type":"assert-create"}],"updates":[
		{"action":"add-schema","schema":` + schema + `},{"action":"set-current-schema","schema-id":-1}]}`
	r := g.do("POST", commitPath, transaction(change("ns.a", "", "k", "1"), change("ns.b", "", "k", "2"), change("team.ns.c", "", "k", "3"), created))
	require.Equal(t, 204, r.Code, r.Body.String())
	require.Empty(t, r.Body.String())
	for table, want := range map[string]string{"ns/tables/a": "1", "ns/tables/b": "2", "team%1Fns/tables/c": "3"} {
		require.Equal(t, want, g.do("GET", "/v1/namespaces/"+table, "").ok().text("metadata", "properties", "k"))
	}
	g.do("GET", "/v1/namespaces/ns/tables/new", "").ok()
}

func TestTransactionIsAllOrNothing(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "a")
	g.table("ns", "b")
	stale := `{"type":"assert-table-uuid","uuid":"00000000-0000-0000-0000-000000000000"}`
	good := change("ns.a", "", "k", "v")
	before := g.state()
	for _, c := range []struct {
		body, typ string
		status    int
		words     string
	}{
		{transaction(good, change("ns.b", stale, "k", "v")), "CommitFailedException", 409, "Requirement failed: UUID does not match"},
		{transaction(good, change("ns.b", stale, "k", "v")), "CommitFailedException", 409, "(table ns.b)"},
		{transaction(good, change("ns.none", "", "k", "v")), "NoSuchTableException", 404, "ns.none"},
		{transaction(good, good), "BadRequestException", 400, "changes ns.a twice"},
		{transaction(good, change("legacy.db1.t1", "", "k", "v")), "ForbiddenException", 403, "legacy"},
		{transaction(good, change("none.t", "", "k", "v")), "NoSuchTableException", 404, "none.t"},
		{transaction(good, `{"identifier":{"namespace":["ns"],"name":"b"},"updates":[{"action":"explode"}]}`), "BadRequestException", 400, `updates[0].action: unknown update action "explode" (table ns.b)`},
		{transaction(good, `{"updates":[]}`), "BadRequestException", 400, "table-changes[1].identifier"},
		{transaction(good, `7`), "BadRequestException", 400, ""},
		{transaction(good, `{"identifier":{"namespace":["ns"],"name":"a"},"requirements":[{"type":"assert-create"}],"updates":[]}`), "BadRequestException", 400, "twice"},
		{transaction(good, `{"identifier":{"namespace":["ns"],"name":"b"},"requirements":[{"type":"assert-create"}],"updates":[]}`), "AlreadyExistsException", 409, "Requirement failed: table already exists: ns.b"},
		{transaction(), "BadRequestException", 400, "table-changes"},
		{`{}`, "BadRequestException", 400, "table-changes"},
		{`{"table-changes":{}}`, "BadRequestException", 400, "table-changes"},
	} {
		g.do("POST", commitPath, c.body).refused(c.status, c.typ, c.words)
		require.Equal(t, before, g.state(), c.body)
	}
	require.Empty(t, g.legacy.forget(), "nothing reaches a read-only mount")
}

// TestTransactionsInOnePlace: two new tables of a transaction can't lie inside each other.
func TestTransactionsInOnePlace(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	before := g.state()
	at := func(name, location string) string {
		return fmt.Sprintf(`{"identifier":{"namespace":["ns"],"name":%q},"requirements":[{"type":"assert-create"}],"updates":[
			{"action":"add-schema","schema":%s},{"action":"set-current-schema","schema-id":-1},{"action":"set-location","location":%q}]}`, name, schema, location)
	}
	place := "file://" + g.dir + "/main/place"
	g.do("POST", commitPath, transaction(at("a", place), at("b", place+"/inside"))).refused(400, "BadRequestException", "inside or around")
	require.Equal(t, before, g.state())
}

// TestTransactionsAndCommitsCompete: transactions over two tables race with commits to one
// of them. Whoever is answered 204 or 200 counted once in every table it named.
func TestTransactionsAndCommitsCompete(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "a")
	g.table("ns", "b")
	const each = 20
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for i := range each {
				k := fmt.Sprintf("both-%d-%d", w, i)
				r := g.do("POST", commitPath, transaction(change("ns.b", "", k, "x"), change("ns.a", "", k, "x")))
				if r.Code != 204 {
					t.Errorf("transaction: %d %s", r.Code, r.Body)
				}
			}
		}()
		go func() {
			defer wg.Done()
			for i := range each {
				if r := g.do("POST", "/v1/namespaces/ns/tables/a", setProperty(fmt.Sprintf("one-%d-%d", w, i), "x")); r.Code != 200 {
					t.Errorf("commit: %d %s", r.Code, r.Body)
				}
			}
		}()
	}
	wg.Wait()
	a := g.do("GET", "/v1/namespaces/ns/tables/a", "").ok().member("metadata", "properties").(map[string]any)
	b := g.do("GET", "/v1/namespaces/ns/tables/b", "").ok().member("metadata", "properties").(map[string]any)
	require.Len(t, a, 8*each)
	require.Len(t, b, 4*each)
}
