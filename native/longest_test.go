package native_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// TestLongestNames: a table with the longest name there may be is created, changed under an
// Idempotency-Key, renamed to another such name and dropped.
func TestLongestNames(t *testing.T) {
	w := newWorld(t)
	ctx, c := t.Context(), w.main
	levels := make(mounts.Namespace, mounts.MaxLevels)
	for i := range levels {
		levels[i] = strings.Repeat("n", 20)
		_, err := c.CreateNamespace(ctx, mounts.Caller{}, levels[:i+1], nil)
		require.NoError(t, err)
	}
	rest := mounts.MaxPathBytes - len(levels.Encode()) - 1
	a, b := levels.Table(strings.Repeat("a", rest)), levels.Table(strings.Repeat("b", rest))
	require.NoError(t, a.Validate())
	require.Error(t, levels.Table(a.Name+"x").Validate(), "there is a longer one")
	caller := mounts.Caller{Principal: "etl", Receipt: &mounts.Receipt{Key: [16]byte{1}}}
	// A metadata file must be a location too.
	location := "file://" + w.dir + "/" + strings.Repeat(strings.Repeat("l", 250)+"/", 7)
	body := `{"name":"t","location":"` + location + `","schema":` + schema + `}`
	_, err := c.CreateTable(ctx, caller, a, []byte(body))
	require.NoError(t, err)
	_, err = c.CommitTable(ctx, mounts.Caller{}, a, setPropertyBody("a", "b"))
	require.NoError(t, err)
	at := func(i mounts.Identifier) mounts.Target {
		return mounts.Target{Path: i.Namespace, Name: i.Name, Point: w.mainAt, Namespace: i.Namespace}
	}
	require.NoError(t, c.RenameTable(ctx, mounts.Caller{}, at(a), at(b)))
	tables, _, err := c.ListTables(ctx, mounts.Caller{}, levels, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{b}, tables)
	require.NoError(t, c.DropTable(ctx, mounts.Caller{}, b, false))
}
