package glue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestOthers(t *testing.T) {
	f := newFake(t)
	d := f.database("db", nil)
	d.iceberg("orders", "s3://b/m")
	d.table("delta", "EXTERNAL_TABLE", map[string]string{"table_type": "DELTA"})
	d.table("athena", "VIRTUAL_VIEW", map[string]string{"presto_view": "true"})
	s := f.source(t)
	others, next, err := s.Others(t.Context(), "db", "", 0)
	require.NoError(t, err)
	require.Empty(t, next)
	require.ElementsMatch(t, []mounts.OtherObject{{Name: "delta", Is: "a Delta Lake table"}, {Name: "athena", Is: "a view of Athena or Trino"}}, others)
	_, _, err = s.Others(t.Context(), "nosuch", "", 0)
	require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%v", err)
	_, _, err = s.Others(t.Context(), "db", "x", 0)
	require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
}

// A link to a database has the target's objects; one to a table that isn't shown is a link.
func TestOthersBehindLinks(t *testing.T) {
	for _, follows := range []bool{true, false} {
		f := links(t)
		f.follows = follows
		s := f.source(t)
		others, _, err := s.Others(t.Context(), "link", "", 0)
		require.NoError(t, err)
		require.Equal(t, []mounts.OtherObject{{Name: "plain", Is: "a plain Glue table"}}, others)
		others, _, err = s.Others(t.Context(), "db", "", 0)
		require.NoError(t, err)
		require.Contains(t, others, mounts.OtherObject{Name: "nothing", Is: "a resource link"})
	}
}

func TestOthersPage(t *testing.T) {
	f := newFake(t)
	d := f.database("db", nil)
	for i := range 250 {
		d.table(fmt.Sprintf("t%03d", i), "EXTERNAL_TABLE", nil)
	}
	s := f.source(t)
	seen, token := map[string]bool{}, ""
	for {
		others, next, err := s.Others(t.Context(), "db", token, 100)
		require.NoError(t, err)
		for _, o := range others {
			require.False(t, seen[o.Name], o.Name)
			seen[o.Name] = true
		}
		if token = next; token == "" {
			break
		}
	}
	require.Len(t, seen, 250)
	require.Equal(t, []string{"GetTables", "GetTables", "GetTables"}, f.took())
}
