package mounttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// Names that look alike to somebody are different names, and each is kept as it is.
func testNames(t *testing.T, w Writable) {
	n := mounts.Namespace{"names"}
	mustCreateNamespace(t, w, n, nil)
	names := append(AwkwardNames(), "camelcase", "CAMELCASE", "around", "100%25", "a/b/c", "t", "t ", "\u00a0", strings.Repeat("n", 255))
	for _, name := range names {
		mustCreate(t, w, n.Table(name))
		mustCreateNamespace(t, w, n.Child(name), map[string]string{"name": name})
		mustCreate(t, w, n.Child(name).Table(name))
	}
	tables := pageTables(t, w, n, 7)
	children := pageNamespaces(t, w, n, 7)
	require.Len(t, tables, len(names))
	require.Len(t, children, len(names))
	for _, name := range names {
		require.True(t, slices.ContainsFunc(tables, n.Table(name).Equal), "%q", name)
		require.True(t, slices.ContainsFunc(children, n.Child(name).Equal), "%q", name)
		loaded, err := w.LoadNamespace(t.Context(), Caller, n.Child(name))
		require.NoError(t, err)
		require.Equal(t, name, loaded["name"])
		require.Equal(t, []mounts.Identifier{n.Child(name).Table(name)}, pageTables(t, w, n.Child(name), 0))
		_, err = w.CommitTable(t.Context(), Caller, n.Table(name), setProperty("name", "x"))
		require.NoError(t, err, "%q", name)
		require.NoError(t, w.DropTable(t.Context(), Caller, n.Table(name), false), "%q", name)
		require.NoError(t, w.TableExists(t.Context(), Caller, n.Child(name).Table(name)), "%q", name)
	}
	require.Empty(t, pageTables(t, w, n, 0))
}

// Every identifier that Validate accepts can be kept.
func testLongestNames(t *testing.T, w Writable) {
	deep := mounts.Namespace{}
	for range mounts.MaxLevels {
		deep = deep.Child("n")
		mustCreateNamespace(t, w, deep, nil)
	}
	rest := mounts.MaxPathBytes - len(deep.Encode()) - 1
	long := mounts.Namespace{strings.Repeat("ü", (mounts.MaxPathBytes-2)/2-10)}
	require.NoError(t, long.Validate())
	mustCreateNamespace(t, w, long, nil)
	for _, id := range []mounts.Identifier{
		deep.Table(strings.Repeat("x", rest)),
		long.Table(strings.Repeat("y", mounts.MaxPathBytes-len(long.Encode())-1)),
	} {
		require.NoError(t, id.Validate())
		created := mustCreate(t, w, id)
		sameTable(t, created, load(t, w, id))
		require.Equal(t, []mounts.Identifier{id}, pageTables(t, w, id.Namespace, 0))
		committed, err := w.CommitTable(t.Context(), Caller, id, setProperty("k", "v"))
		require.NoError(t, err)
		sameTable(t, committed, load(t, w, id))
		require.NoError(t, w.DropTable(t.Context(), Caller, id, false))
	}
}

// Pages add up also where there are more entries than any page holds.
func testManyPages(t *testing.T, w Writable) {
	const many = 1200
	n := mounts.Namespace{"n"}
	mustCreateNamespace(t, w, n, nil)
	var want []mounts.Namespace
	for i := range many {
		child := n.Child(fmt.Sprintf("c%d", i))
		mustCreateNamespace(t, w, child, nil)
		want = append(want, child)
	}
	for _, size := range []int{0, 7, 1000, 5000} {
		require.ElementsMatch(t, want, pageNamespaces(t, w, n, size))
	}
}

// What stands all the while is listed once, whatever comes and goes meanwhile.
func testPagesWhileChanging(t *testing.T, w Writable) {
	n := mounts.Namespace{"n"}
	mustCreateNamespace(t, w, n, nil)
	for i := range 20 {
		mustCreate(t, w, n.Table(fmt.Sprintf("stays%02d", i)))
	}
	seen := map[string]int{}
	token := ""
	for i := range maxPages {
		coming := n.Table(fmt.Sprintf("comes%02d", i))
		mustCreate(t, w, coming)
		tables, next, err := w.ListTables(t.Context(), Caller, n, mounts.Page{Token: token, Size: 3})
		require.NoError(t, err)
		for _, id := range tables {
			seen[id.Name]++
		}
		require.NoError(t, w.DropTable(t.Context(), Caller, coming, false))
		if next == "" {
			break
		}
		token = next
	}
	for i := range 20 {
		require.Equal(t, 1, seen[fmt.Sprintf("stays%02d", i)])
	}
}
