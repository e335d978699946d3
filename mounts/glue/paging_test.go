package glue

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

// pages follows the tokens of a list, whose pages hold at most size names.
func pages(t *testing.T, size int, list func(token string, size int) ([]string, string, error)) (names []string, count int) {
	t.Helper()
	for token := ""; ; count++ {
		page, next, err := list(token, size)
		require.NoError(t, err)
		if size > 0 {
			require.LessOrEqual(t, len(page), size)
		}
		names = append(names, page...)
		if next == "" {
			return names, count + 1
		}
		require.NotEqual(t, token, next)
		token = next
	}
}

func TestPaging(t *testing.T) {
	f := newFake(t)
	d, sparse, want := f.database("dense", nil), f.database("sparse", nil), map[string]bool{}
	for i := range 437 {
		d.iceberg(fmt.Sprintf("t%04d", i), "s3://b/m")
		want[fmt.Sprintf("t%04d", i)] = true
	}
	for i := range 2500 {
		sparse.table(fmt.Sprintf("h%04d", i), "EXTERNAL_TABLE", nil)
	}
	sparse.iceberg("h1234a", "s3://b/m")
	sparse.iceberg("h2499a", "s3://b/m")
	for i := range 250 {
		f.database(fmt.Sprintf("db%03d", i), nil)
	}
	f.link("alink", partner, "dense", "")
	f.databaseIn(partner, "dense", map[string]any{}).tables = d.tables
	s := f.source(t)
	for _, size := range []int{0, 17, 99, 100, 101, 437, 1000} {
		for _, follows := range []bool{true, false} {
			f.mu.Lock()
			f.follows = follows
			f.mu.Unlock()
			for _, database := range []string{"dense", "alink"} {
				names, _ := pages(t, size, func(token string, size int) ([]string, string, error) {
					return s.Objects(t.Context(), database, metastore.Table, token, size)
				})
				require.Equal(t, slices.Sorted(maps.Keys(want)), names, "%s by %d", database, size)
			}
		}
		names, _ := pages(t, size, func(token string, size int) ([]string, string, error) { return s.Databases(t.Context(), token, size) })
		require.Len(t, names, 253)
	}
	f.took()
	names, count := pages(t, 0, func(token string, size int) ([]string, string, error) {
		return s.Objects(t.Context(), "dense", metastore.Table, token, size)
	})
	require.Len(t, names, 437)
	require.Equal(t, 1, count)
	require.Len(t, f.took(), 5, "calls for 437 tables")
	names, count = pages(t, 1000, func(token string, size int) ([]string, string, error) {
		return s.Objects(t.Context(), "sparse", metastore.Table, token, size)
	})
	require.Equal(t, []string{"h1234a", "h2499a"}, names)
	require.Len(t, f.took(), 26, "calls for 2,502 tables, 2 of Iceberg")
	require.Equal(t, 3, count, "pages of at most ten calls")
	names, _, err := s.Objects(t.Context(), "dense", metastore.Table, "", 150)
	require.NoError(t, err)
	require.Len(t, names, 100, "a call for the rest of a page would bring little")
	require.Len(t, f.took(), 1)
}

// A token of another list, or of nobody, is refused.
func TestForeignTokens(t *testing.T) {
	f := newFake(t)
	for _, name := range []string{"a", "b"} {
		d := f.database(name, nil)
		for i := range 5 {
			d.iceberg(fmt.Sprint("t", i), "s3://b/m")
		}
	}
	s := f.source(t)
	_, next, err := s.Objects(t.Context(), "a", metastore.Table, "", 2)
	require.NoError(t, err)
	for _, token := range []string{next + "x", next[1:], "d", "dnonsense", "lnonsense", "~"} {
		_, _, err = s.Objects(t.Context(), "a", metastore.Table, token, 2)
		if token == "d" { // the beginning
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, token)
		require.False(t, mounts.Is(err, mounts.NoSuchNamespace), token)
	}
	_, _, err = s.Objects(t.Context(), "b", metastore.Table, next, 2)
	requireKind(t, err, mounts.BadRequest, "page token")
	_, _, err = s.Databases(t.Context(), "nonsense", 2)
	requireKind(t, err, mounts.BadRequest, "page token")
}

// What was found before a call failed is a page, and the next page meets the failure.
func TestFailureMidPaging(t *testing.T) {
	f := newFake(t)
	d := f.database("db", nil)
	for i := range 350 {
		d.iceberg(fmt.Sprintf("t%03d", i), "s3://b/m")
	}
	calls := 0
	f.setSpoil(func(method string, _ request, w http.ResponseWriter) bool {
		calls++
		if calls == 3 || calls == 4 {
			refuse(w, 400, "ThrottlingException", "Rate exceeded")
			return true
		}
		return false
	})
	s := f.source(t)
	names, next, err := s.Objects(t.Context(), "db", metastore.Table, "", 1000)
	require.NoError(t, err)
	require.Len(t, names, 200)
	_, _, err = s.Objects(t.Context(), "db", metastore.Table, next, 1000)
	requireKind(t, err, mounts.Unavailable, "takes no more requests")
	rest, next, err := s.Objects(t.Context(), "db", metastore.Table, next, 1000)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, rest, 150)
}
