package router_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// many is a mount with so many tables in one namespace. It counts those it listed.
type many struct {
	source
	tables, listed int
}

func (m *many) ListTables(_ context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	from := 0
	if p.Token != "" {
		from, _ = strconv.Atoi(p.Token)
	}
	to := min(from+p.Size, m.tables)
	if p.Size < 1 {
		to = m.tables
	}
	var page []mounts.Identifier
	for i := from; i < to; i++ {
		page = append(page, n.Table(fmt.Sprintf("t%06d", i)))
	}
	m.listed += len(page)
	if to == m.tables {
		return page, "", nil
	}
	return page, strconv.Itoa(to), nil
}

// TestSkippingIsBounded: a page ends early, perhaps empty, rather than pass over a
// million tables that the caller may not see; its token goes on.
func TestSkippingIsBounded(t *testing.T) {
	m := &many{tables: 120_000}
	g := newGatewayWith(t, settings{
		points: []mounts.Point{{At: mounts.Namespace{"many"}, Kind: "rest", Mount: m}},
		policies: `permit (principal == User::"etl", action == Action::"listTables", resource == Namespace::"many.ns");
			permit (principal == User::"etl", action == Action::"tableExists", resource == Table::"many.ns.t119999");`,
	})
	pages := g.walk(etl, "/v1/namespaces/many%1Fns/tables?pageSize=1000", "identifiers")
	require.Equal(t, [][]string{nil, nil, {"t119999"}}, pages)
	require.Equal(t, 120_000, m.listed, "nothing is read twice")
	m.listed = 0
	r := g.as(etl, "GET", "/v1/namespaces/many%1Fns/tables?pageToken=", "").ok()
	require.Empty(t, r.member("identifiers"))
	require.LessOrEqual(t, m.listed, 51_000)
	require.Len(t, g.as(etl, "GET", "/v1/namespaces/many%1Fns/tables", "").ok().member("identifiers"), 1, "without pages it is everything")
}

// endless is a mount whose list comes back to where it was.
type endless struct{ source }

func (e *endless) ListTables(context.Context, mounts.Caller, mounts.Namespace, mounts.Page) ([]mounts.Identifier, string, error) {
	return nil, "again", nil
}

func TestAListThatDoesNotEnd(t *testing.T) {
	g := newGatewayWith(t, settings{points: []mounts.Point{{At: mounts.Namespace{"bad"}, Kind: "rest", Mount: &endless{}}}})
	for _, query := range []string{"", "?pageToken="} {
		g.do("GET", "/v1/namespaces/bad%1Fns/tables"+query, "").refused(502, "BadGatewayException", "doesn't end")
	}
}
