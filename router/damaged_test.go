package router_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDamagedMetadataFiles: what a client hears of a table whose metadata file is gone, cut,
// no JSON or another table's, and that it hears nothing else of the tables beside it. The
// location is the table's own, which every load names, so the answers may too.
func TestDamagedMetadataFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(whole, other string) (text string, gone bool)
		// what reading, committing and registering are refused with
		read, commit, register int
	}{
		{"gone", func(string, string) (string, bool) { return "", true }, 404, 404, 404},
		{"truncated", func(whole, _ string) (string, bool) { return whole[:len(whole)-7], false }, 500, 500, 400},
		{"empty", func(string, string) (string, bool) { return "", false }, 500, 500, 400},
		{"not JSON", func(string, string) (string, bool) { return "<html>not found</html>", false }, 500, 500, 400},
		{"forging members of the answer", func(whole, _ string) (string, bool) { return whole + `,"config":{}`, false }, 500, 500, 400},
		{"of another uuid", func(_, other string) (string, bool) { return other, false }, 500, 500, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateway(t)
			g.namespace("ns")
			location := g.table("ns", "t").text("metadata-location")
			path := strings.TrimPrefix(location, "file://")
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			other, err := os.ReadFile(strings.TrimPrefix(g.table("ns", "u").text("metadata-location"), "file://"))
			require.NoError(t, err)
			if text, gone := c.damage(string(whole), string(other)); gone {
				require.NoError(t, os.Remove(path))
			} else {
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			g.restart()

			before := g.state()
			types := map[int]string{404: "NotFoundException", 500: "InternalServerError", 400: "BadRequestException"}
			g.do("GET", "/v1/namespaces/ns/tables/t", "").refused(c.read, types[c.read], location)
			g.do("GET", "/v1/namespaces/ns/tables/t?snapshots=refs", "").refused(c.read, types[c.read], location)
			if c.register != 0 {
				g.do("POST", "/v1/namespaces/ns/register", register("again", location, false)).refused(c.register, types[c.register], location)
				g.do("POST", "/v1/namespaces/ns/register", register("u", location, true)).refused(c.register, types[c.register], location)
			}
			types[500] = "CommitStateUnknownException"
			g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "b")).refused(c.commit, types[c.commit], location)
			g.do("POST", "/v1/transactions/commit", `{"table-changes":[`+inTransaction("u")+`,`+inTransaction("t")+`]}`).refused(c.commit, types[c.commit], location)
			require.Equal(t, before, g.state())

			require.Equal(t, 204, g.do("HEAD", "/v1/namespaces/ns/tables/t", "").Code)
			require.Contains(t, g.do("GET", "/v1/namespaces/ns/tables", "").ok().Body.String(), `"t"`)
			g.do("GET", "/v1/namespaces/ns/tables/u", "").ok()
			g.do("POST", "/v1/namespaces/ns/tables/u", setProperty("a", "b")).ok()
			g.do("POST", "/v1/tables/rename", rename("ns.t", "ns.moved")).ok()
			require.Equal(t, 204, g.do("DELETE", "/v1/namespaces/ns/tables/moved", "").Code)
			g.do("GET", "/v1/namespaces/ns/tables/u", "").ok()
		})
	}
}

// restart gives the gateway's root mount empty caches, as another start of the program.
func (g *gateway) restart() {
	g.points[0].Mount = g.native("main")
	g.plant()
	g.Handler = g.route(settings{keys: allKeys()})
}

// inTransaction is a change of a table of ns within a transaction.
func inTransaction(table string) string {
	return `{"identifier":{"namespace":["ns"],"name":"` + table + `"},` + strings.TrimPrefix(setProperty("a", "b"), "{")
}
