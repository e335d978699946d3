package native_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// TestANamespaceShowsWhereItsTablesGo: whether it was given a location or not, and what it
// shows on its own account isn't kept.
func TestANamespaceShowsWhereItsTablesGo(t *testing.T) {
	w := newWorld(t)
	warehouse := "file://" + w.dir + "/main"
	for name, c := range map[string]struct {
		properties  map[string]string
		shows, goes string
	}{
		"plain":     {nil, warehouse + "/ns/plain", warehouse + "/ns/plain/t-"},
		"with,wörd": {nil, warehouse + "/ns/with_w_rd", warehouse + "/ns/with_w_rd/t-"},
		"placed":    {map[string]string{"location": "file://" + w.dir + "/there/"}, "file://" + w.dir + "/there/", "file://" + w.dir + "/there/t-"},
	} {
		t.Run(name, func(t *testing.T) {
			n := mounts.Namespace{"ns", name}
			_, err := w.main.CreateNamespace(t.Context(), mounts.Caller{}, n, c.properties)
			require.NoError(t, err)
			shown, err := w.main.LoadNamespace(t.Context(), mounts.Caller{}, n)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"location": c.shows}, shown)
			_, err = w.main.CreateTable(t.Context(), mounts.Caller{}, n.Table("t"), []byte(newTableBody("t")))
			require.NoError(t, err)
			_, d := w.load(w.main, n.Table("t").String())
			require.Contains(t, d.Location, c.goes)

			done, err := w.main.UpdateProperties(t.Context(), mounts.Caller{}, n, []string{"location"}, nil)
			require.NoError(t, err)
			if c.properties == nil {
				require.Equal(t, []string{"location"}, done.Missing)
			} else {
				require.Equal(t, []string{"location"}, done.Removed)
			}
		})
	}
}

// TestTablesOfLongNamespaces have locations that leave room for what lies in them.
func TestTablesOfLongNamespaces(t *testing.T) {
	w := newWorld(t)
	n := mounts.Namespace{}
	for range 30 {
		n = n.Child(strings.Repeat("l", 60))
		_, err := w.main.CreateNamespace(t.Context(), mounts.Caller{}, n, nil)
		require.NoError(t, err)
	}
	for _, name := range []string{"t", "u"} {
		_, err := w.main.CreateTable(t.Context(), mounts.Caller{}, n.Table(name), []byte(newTableBody(name)))
		require.NoError(t, err)
		table, err := w.main.LoadTable(t.Context(), mounts.Caller{}, n.Table(name), mounts.LoadOptions{})
		require.NoError(t, err)
		require.Less(t, len(table.MetadataLocation), 1300)
	}
}
