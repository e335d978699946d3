package survey_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/survey"
	"piedmont/native"
	"piedmont/native/bolt"
	"piedmont/vend"
	"piedmont/vend/local"
)

// opened is a native catalog on a disk.
func opened(t *testing.T, registry native.Registry, id, dir string, profiles ...string) *native.Catalog {
	t.Helper()
	var list []*vend.Profile
	for _, p := range append(profiles, dir) {
		prefix, err := vend.ParseLocation("file://" + p)
		require.NoError(t, err)
		files, err := local.New(p, prefix)
		require.NoError(t, err)
		list = append(list, &vend.Profile{Name: p, Prefix: prefix, Files: files})
	}
	set, err := vend.NewSet(id, list...)
	require.NoError(t, err)
	c, err := native.New(native.Options{
		ID: id, Registry: registry, Warehouse: "file://" + dir + "/" + id, Storage: set, Documents: vend.NewDocuments(1 << 20), Now: time.Now,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func create(t *testing.T, c *native.Catalog, location string, name string, in ...string) string {
	t.Helper()
	for i := range in {
		_, err := c.CreateNamespace(t.Context(), mounts.Caller{}, in[:i+1], nil)
		require.True(t, err == nil || mounts.Is(err, mounts.AlreadyExists), "%v", err)
	}
	body := fmt.Sprintf(`{"name":%q,"schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}`, name)
	if location != "" {
		body += fmt.Sprintf(`,"location":%q`, "file://"+location)
	}
	table, err := c.CreateTable(t.Context(), mounts.Caller{}, mounts.Namespace(in).Table(name), []byte(body+"}"))
	require.NoError(t, err)
	return table.MetadataLocation
}

// Native mounts have nested namespaces, parts of them behind other mounts, and tables that are lost.
func TestNativeMounts(t *testing.T) {
	registry, err := bolt.Open(filepath.Join(t.TempDir(), "registry.db"), bolt.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, registry.Close()) })
	dir, before := t.TempDir(), t.TempDir()
	main, second := opened(t, registry, "main", dir, before), opened(t, registry, "second", dir)
	create(t, main, "", "orders", "sales")
	create(t, main, "", "orders.old", "sales", "eu.west", "y%")
	hidden := create(t, main, "", "hidden", "team")
	gone := create(t, main, "", "gone", "sales")
	bad := create(t, main, "", "bad", "sales")
	create(t, main, before+"/t", "unreachable", "sales")
	require.NoError(t, os.Remove(gone[len("file://"):]))
	require.NoError(t, os.WriteFile(bad[len("file://"):], []byte("[]"), 0o600))
	create(t, second, "", "own", "shown")
	create(t, second, "", "deep", "shown", "deeper")
	create(t, second, "", "elsewhere", "other")
	_, err = second.RegisterTable(t.Context(), mounts.Caller{}, mounts.Namespace{"shown"}.Table("again"), mounts.RegisterRequest{MetadataLocation: hidden})
	require.NoError(t, err)
	_, err = main.CreateView(t.Context(), mounts.Caller{}, mounts.Namespace{"sales"}.Table("v"), []byte(`{"name":"v","schema":{"type":"struct","schema-id":0,"fields":[]},
		"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,"summary":{},"default-namespace":["sales"],"representations":[{"type":"sql","sql":"select 1","dialect":"spark"}]}}`))
	require.NoError(t, err)

	// The mount as it is now has lost a profile.
	now := opened(t, registry, "main", dir)
	root := &mounts.Point{Kind: "native", Mount: now}
	team := &mounts.Point{At: mounts.Namespace{"team"}, Kind: "native", Mount: second, Source: mounts.Namespace{"shown"}}
	report, lines := surveyed(t, nil, root, team)
	tables := tablesOf(t, lines)
	var states []string
	for name, table := range tables {
		states = append(states, fmt.Sprint(name, " ", table.Mount, " ", table.State, " ", table.Reason))
	}
	slices.Sort(states)
	require.Equal(t, []string{
		"sales.bad  broken not-metadata", "sales.eu%2Ewest.y%25.orders%2Eold  loaded ", "sales.gone  broken file-gone", "sales.orders  loaded ",
		"sales.unreachable  broken no-storage-profile", "team.again team loaded ", "team.deeper.deep team loaded ", "team.own team loaded ",
	}, states, "what lies behind a mount point can't be reached")
	require.Equal(t, survey.Counts{Loaded: 3}, report.Mounts[0].Namespaces)
	require.Equal(t, survey.Counts{Loaded: 2}, report.Mounts[1].Namespaces)
	require.Equal(t, map[string]int{"spark": 1}, report.Mounts[0].Dialects)
	require.Nil(t, report.Mounts[0].Others, "a native catalog holds nothing else")
	require.Empty(t, report.Overlaps)

	// The other mount alone hides nothing: the table has two names.
	report, _ = surveyed(t, nil, root)
	require.Equal(t, survey.Counts{Loaded: 4}, report.Mounts[0].Namespaces)
	at := &mounts.Point{At: mounts.Namespace{"elsewhere"}, Kind: "native", Mount: second}
	report, lines = surveyed(t, nil, root, at)
	require.Equal(t, map[survey.Relation]int{survey.SameTable: 1}, report.Overlaps)
	var overlap *survey.Overlap
	for _, l := range lines {
		if l.Overlap != nil {
			overlap = l.Overlap
		}
	}
	require.Equal(t, []string{"team.hidden", "elsewhere.shown.again"}, []string{overlap.Table, overlap.Other})
	require.Equal(t, report.Examples[survey.SameTable], []survey.Overlap{*overlap})
	require.Equal(t, survey.Complete, report.Mounts[1].State)

	// A source that isn't there is a mount that can't be looked through.
	report, _ = surveyed(t, nil, &mounts.Point{At: mounts.Namespace{"x"}, Kind: "native", Mount: second, Source: mounts.Namespace{"nosuch"}})
	require.Equal(t, survey.Failed, report.Mounts[0].State)
	require.Contains(t, report.Mounts[0].Detail, "nosuch: no such namespace")
}
