package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
)

// crooked are names that are others, or none, where something on the way decodes a path and
// cleans it.
var crooked = []string{
	"a/../b", "../b", "a/..", "..//b", "a/./b", "./b", "b/.", "a//b", "/b", "b/", "/", `a\..\b`, `..\b`, `b\`, `a/..\b`, `\\b`,
	"..;x/b", "a/..;/b", "a/.;v=1", "..;", ";x", "a/;/b", "../../secret/tables/t", "../../../config",
}

// They are refused before the upstream, or its configuration, is asked anything, wherever in a
// name they stand.
func TestCrookedNames(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	ctx := t.Context()
	for _, name := range crooked {
		errs := map[string]error{}
		for _, n := range []mounts.Namespace{{name}, db.Child(name), {name, "db"}} {
			require.NoError(t, n.Validate())
			_, errs[fmt.Sprint("LoadNamespace", n)] = c.LoadNamespace(ctx, mounttest.Caller, n)
			_, _, errs[fmt.Sprint("ListNamespaces", n)] = c.ListNamespaces(ctx, mounttest.Caller, n, mounts.Page{})
			_, _, errs[fmt.Sprint("ListTables", n)] = c.ListTables(ctx, mounttest.Caller, n, mounts.Page{})
			_, _, errs[fmt.Sprint("ListViews", n)] = c.ListViews(ctx, mounttest.Caller, n, mounts.Page{})
		}
		for _, id := range []mounts.Identifier{db.Table(name), {Namespace: mounts.Namespace{name}, Name: "t"}} {
			_, errs[fmt.Sprint("LoadTable", id)] = c.LoadTable(ctx, mounttest.Caller, id, mounts.LoadOptions{})
			_, errs[fmt.Sprint("LoadRefs", id)] = c.LoadTable(ctx, mounttest.Caller, id, mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs})
			_, errs[fmt.Sprint("LoadView", id)] = c.LoadView(ctx, mounttest.Caller, id)
			errs[fmt.Sprint("TableExists", id)] = c.TableExists(ctx, mounttest.Caller, id)
			errs[fmt.Sprint("ViewExists", id)] = c.ViewExists(ctx, mounttest.Caller, id)
		}
		for op, err := range errs {
			require.Equal(t, mounts.BadRequest, checkError(t, err), op)
		}
	}
	require.Empty(t, u.calls)
	require.Zero(t, c.Stats().Guard.Calls)
}

// Names that only look a little like them are names.
func TestStraightNames(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	for _, name := range []string{"a/b", `a\b`, "...", "a/.../b", "..a", "a..", ".hidden", "a/.b/c", "a;b", "a;/b", "%2F", "%2e%2E", "semi;"} {
		n := mounts.Namespace{name}
		u.createNamespace(n, nil)
		u.write(n.Table(name), 1)
		load(t, c, n.Table(name))
		tables, _, err := c.ListTables(t.Context(), mounttest.Caller, n, mounts.Page{})
		require.NoError(t, err)
		require.Equal(t, []mounts.Identifier{n.Table(name)}, tables)
	}
}

// What nobody could ask for isn't listed.
func TestCrookedNamesAreNotListed(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	list := map[string][]any{"namespaces": {mounts.Namespace{"good"}}, "identifiers": {map[string]any{"namespace": db, "name": "good"}}}
	for _, name := range crooked {
		list["namespaces"] = append(list["namespaces"], mounts.Namespace{name})
		list["identifiers"] = append(list["identifiers"], map[string]any{"namespace": db, "name": name})
	}
	body, err := json.Marshal(list)
	require.NoError(t, err)
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		lists := strings.HasSuffix(r.URL.Path, "s")
		if lists {
			says(200, string(body))(w, r)
		}
		return lists
	})
	namespaces, _, err := c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Namespace{{"good"}}, namespaces)
	tables, _, err := c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{db.Table("good")}, tables)
	views, _, err := c.ListViews(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, tables, views)
	require.EqualValues(t, 3*len(crooked), c.Stats().Skipped)
}
