package hive

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// GetTablesByType is case-sensitive about the type, and has an empty list for what isn't there.
func (h handler) GetTablesByType(_ context.Context, name, pattern, of string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	catalog, database, err := h.place(name)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, key := range slices.Sorted(maps.Keys(h.tables)) {
		if t := h.tables[key]; pattern == "*" && t.TableType == of && strings.HasPrefix(key, catalog+"."+database+".") {
			names = append(names, t.TableName)
		}
	}
	return names, nil
}

func TestOthers(t *testing.T) {
	f := newFake(t, 3)
	f.database("sales", nil)
	f.database("a-b", nil)
	f.table("sales", "orders", "EXTERNAL_TABLE", map[string]string{"table_type": "ICEBERG"})
	f.table("sales", "plain", "MANAGED_TABLE", nil)
	f.table("sales", "v", "VIRTUAL_VIEW", nil)
	f.table("a-b", "mv", "MATERIALIZED_VIEW", nil)
	s := f.start().source(nil)
	all := func(database string) (others []mounts.OtherObject) {
		token, before := "", f.counted("get_tables_by_type")
		for pages := 1; ; pages++ {
			page, next, err := s.Others(t.Context(), database, token, 0)
			require.NoError(t, err)
			others = append(others, page...)
			require.Equal(t, before+pages, f.counted("get_tables_by_type"), "a page is one call")
			if token = next; token == "" {
				return others
			}
		}
	}
	require.Equal(t, []mounts.OtherObject{
		{Name: "v", Is: "a Hive view"},
		{Name: "plain", Is: "a table that isn't Iceberg's (MANAGED_TABLE)"},
		{Name: "orders", Is: "a table that isn't Iceberg's (EXTERNAL_TABLE)"},
	}, all("sales"), "Iceberg's own are told by the lists of those")
	require.Equal(t, []mounts.OtherObject{{Name: "mv", Is: "a materialized view of Hive"}}, all("a-b"))
	_, _, err := s.Others(t.Context(), "sales", "x", 0)
	wantError(t, err, mounts.BadRequest, "Invalid pageToken")
	_, _, err = s.Others(t.Context(), "no-such", "", 0)
	require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%v", err)
}
