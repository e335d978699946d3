package router_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withNames is a gateway with so many namespaces and as many tables in the first.
func withNames(t testing.TB, n int, s settings) *gateway {
	t.Helper()
	g := newGatewayWith(t, s)
	for i := range n {
		g.namespace(fmt.Sprintf("n%03d", i))
	}
	for i := range n {
		g.table("n000", fmt.Sprintf("t%03d", i))
	}
	return g
}

// walk pages through a list of names as a client does, and returns them page by page.
func (g *gateway) walk(credential, target, member string) (pages [][]string) {
	g.t.Helper()
	token := ""
	for range 1000 {
		r := g.as(credential, "GET", target+"&pageToken="+url.QueryEscape(token), "").ok()
		var page []string
		for _, entry := range r.member(member).([]any) {
			if id, ok := entry.(map[string]any); ok {
				page = append(page, id["name"].(string))
				continue
			}
			levels := entry.([]any)
			page = append(page, levels[len(levels)-1].(string))
		}
		pages = append(pages, page)
		next, more := r.member("next-page-token").(string)
		if !more {
			return pages
		}
		require.NotEmpty(g.t, next, "a token is never empty")
		token = next
	}
	g.t.Fatalf("%s doesn't end", target)
	return nil
}

func TestPagesOnlyIfPageTokenIsPresent(t *testing.T) {
	g := withNames(t, 5, settings{})
	for _, target := range []string{"/v1/namespaces?", "/v1/namespaces?pageSize=2", "/v1/namespaces?parent=&pageSize=1"} {
		r := g.do("GET", target, "").ok()
		require.Len(t, r.member("namespaces"), 8, target)
		require.NotContains(t, r.Body.String(), "next-page-token")
	}
	r := g.do("GET", "/v1/namespaces/n000/tables?pageSize=2", "").ok()
	require.Len(t, r.member("identifiers"), 5)
	require.NotContains(t, r.Body.String(), "next-page-token")
	require.Len(t, g.do("GET", "/v1/namespaces?pageToken=&pageSize=2", "").ok().member("namespaces"), 2)
	require.Len(t, g.do("GET", "/v1/namespaces?pageToken=", "").ok().member("namespaces"), 8, "a page of the default size holds them all")
}

func TestPagesGiveEachNameOnceInOrder(t *testing.T) {
	g := withNames(t, 7, settings{})
	for size := 1; size <= 12; size++ {
		pages := g.walk(ops, fmt.Sprintf("/v1/namespaces?pageSize=%d", size), "namespaces")
		require.Equal(t, []string{"legacy", "team", "corp", "n000", "n001", "n002", "n003", "n004", "n005", "n006"}, slices.Concat(pages...), "size %d", size)
		for _, p := range pages[:len(pages)-1] {
			require.Len(t, p, size)
		}
		tables := g.walk(ops, fmt.Sprintf("/v1/namespaces/n000/tables?pageSize=%d", size), "identifiers")
		require.Equal(t, []string{"t000", "t001", "t002", "t003", "t004", "t005", "t006"}, slices.Concat(tables...))
	}
	require.Equal(t, []string{"fresh", "db1", "db2"}, slices.Concat(g.walk(ops, "/v1/namespaces?parent=legacy&pageSize=1", "namespaces")...))
}

func TestPageSize(t *testing.T) {
	g := withNames(t, 3, settings{})
	for _, size := range []string{"0", "-1", "abc", "1.5", "1e3", "%20", "99999999999999999999"} {
		for _, target := range []string{"/v1/namespaces?", "/v1/namespaces?pageToken=&", "/v1/namespaces/n000/tables?", "/v1/namespaces/n000/tables?pageToken=&"} {
			g.do("GET", target+"pageSize="+size, "").refused(400, "BadRequestException", "pageSize")
		}
	}
	require.Len(t, g.do("GET", "/v1/namespaces?pageToken=&pageSize=1000000000", "").ok().member("namespaces"), 6)
}

func TestPageTokensAreBoundToPrincipalAndListing(t *testing.T) {
	g := withNames(t, 3, settings{policies: `permit (principal in Group::"writers", action in [Action::"listNamespaces", Action::"namespaceExists", Action::"listTables", Action::"tableExists"], resource);`})
	g.namespace("n001.a", "n001.b", "n001.c")
	token := g.do("GET", "/v1/namespaces?pageToken=&pageSize=2", "").ok().text("next-page-token")
	tables := g.do("GET", "/v1/namespaces/n000/tables?pageToken=&pageSize=2", "").ok().text("next-page-token")
	g.do("GET", "/v1/namespaces?pageToken="+token, "").ok()
	g.as(etl, "GET", "/v1/namespaces?pageToken=", "").ok()
	const typ = "BadRequestException"
	g.as(etl, "GET", "/v1/namespaces?pageToken="+token, "").refused(400, typ, "pageToken")         // another principal
	g.do("GET", "/v1/namespaces?parent=n001&pageToken="+token, "").refused(400, typ, "pageToken")  // another list
	g.do("GET", "/v1/namespaces/n000/tables?pageToken="+token, "").refused(400, typ, "pageToken")  // another operation
	g.do("GET", "/v1/namespaces/n001/tables?pageToken="+tables, "").refused(400, typ, "pageToken") // another namespace
	g.do("GET", "/v1/namespaces?parent=n000&pageToken="+tables, "").refused(400, typ, "pageToken") // the same namespace, another operation
	names := g.do("GET", "/v1/namespaces?parent=n001&pageToken=&pageSize=2", "").ok().text("next-page-token")
	g.do("GET", "/v1/namespaces/n001/tables?pageToken="+names, "").refused(400, typ, "pageToken")                           // and the other way round
	g.do("GET", "/v1/namespaces/n000/tables?pageToken="+tables+"&pageSize=1", "").ok()                                      // another size is no matter
	g.do("GET", "/v1/piedmont/namespaces/n000/tables?pageToken="+tables+"&snapshots=x", "").ok()                            // nor the view
	g.do("GET", "/v1/namespaces?pageToken="+url.QueryEscape("p2"), "").refused(400, typ, "pageToken")                       // what the tree would take
	g.do("GET", "/v1/namespaces?pageToken="+url.QueryEscape(token+"="), "").refused(400, typ, "pageToken")                  // not as it was given
	g.do("GET", "/v1/namespaces?pageToken=AAAA", "").refused(400, typ, "pageToken")                                         // too short
	g.do("GET", "/v1/namespaces?pageToken="+url.QueryEscape(strings.Repeat("A", 9_000)), "").refused(400, typ, "pageToken") // too long
}

func TestTamperedPageTokens(t *testing.T) {
	g := withNames(t, 3, settings{})
	token := g.do("GET", "/v1/namespaces?pageToken=&pageSize=2", "").ok().text("next-page-token")
	for i := range token {
		tampered := []byte(token)
		tampered[i] = map[bool]byte{true: 'B', false: 'A'}[tampered[i] == 'A']
		g.do("GET", "/v1/namespaces?pageToken="+string(tampered), "").refused(400, "BadRequestException", "pageToken")
		if i > 0 { // an empty one is the first page
			g.do("GET", "/v1/namespaces?pageToken="+token[:i], "").refused(400, "BadRequestException", "pageToken")
		}
	}
}
