package mounttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func rename(t *testing.T, w Writable, from, to mounts.Identifier) error {
	t.Helper()
	return w.RenameTable(t.Context(), Caller, target(t, w, from), target(t, w, to))
}

func testRename(t *testing.T, w Writable) {
	a, b := mounts.Namespace{"a"}, mounts.Namespace{"a", "b"}
	mustCreateNamespace(t, w, a, nil)
	mustCreateNamespace(t, w, b, nil)
	at := a.Table("t")
	mustCreate(t, w, at)
	for _, to := range []mounts.Identifier{a.Table("u"), b.Table("t"), b.Table("ü b.c"), a.Table("t")} {
		require.NoError(t, rename(t, w, at, to), "%q to %q", at, to)
		require.NoError(t, w.TableExists(t.Context(), Caller, to))
		wantKind(t, w.TableExists(t.Context(), Caller, at), mounts.NoSuchTable, at)
		_, err := w.LoadTable(t.Context(), Caller, at, mounts.LoadOptions{})
		wantKind(t, err, mounts.NoSuchTable, at)
		require.Len(t, append(pageTables(t, w, a, 0), pageTables(t, w, b, 0)...), 1)
		at = to
	}
}

func testRenameRefused(t *testing.T, w Writable) {
	n, missing := mounts.Namespace{"a"}, mounts.Namespace{"missing"}
	mustCreateNamespace(t, w, n, nil)
	t1, t2 := mustCreate(t, w, n.Table("t1")), mustCreate(t, w, n.Table("t2"))
	wantKind(t, rename(t, w, n.Table("x"), n.Table("y")), mounts.NoSuchTable, "a missing source")
	wantKind(t, rename(t, w, missing.Table("t1"), n.Table("y")), mounts.NoSuchTable, "a source without a namespace")
	wantKind(t, rename(t, w, n.Table("t1"), missing.Table("y")), mounts.NoSuchNamespace, "a missing namespace")
	wantKind(t, rename(t, w, n.Table("t1"), n.Table("t2")), mounts.AlreadyExists, "a taken name")
	sameTable(t, t1, load(t, w, n.Table("t1")))
	sameTable(t, t2, load(t, w, n.Table("t2")))
	require.Len(t, pageTables(t, w, n, 0), 2)
}

// The name alone changes: document, location and history stay, and commits go on.
func testRenameKeepsTheTable(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	mustCreateNamespace(t, w, n, nil)
	before := mustCreate(t, w, n.Table("t"))
	require.NoError(t, rename(t, w, n.Table("t"), n.Table("u")))
	after := load(t, w, n.Table("u"))
	require.Equal(t, before.MetadataLocation, after.MetadataLocation)
	_, err := w.CommitTable(t.Context(), Caller, n.Table("u"), setProperty("k", "v"))
	require.NoError(t, err)

	another := mustCreate(t, w, n.Table("t"))
	require.NotEqual(t, location(t, before), location(t, another), "the old name is free, the place is not")
	_, err = w.CommitTable(t.Context(), Caller, n.Table("t"), setProperty("k", "w"))
	require.NoError(t, err)
	require.Equal(t, "v", properties(t, load(t, w, n.Table("u")))["k"])
	require.Equal(t, "w", properties(t, load(t, w, n.Table("t")))["k"])
}
