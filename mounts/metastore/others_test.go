package metastore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
)

func TestOtherObjects(t *testing.T) {
	w := withTable(t, func(w *world) { w.source.PageSize = 2 })
	w.source.Put("db", "view", metastore.Object{Is: "a Hive view"})
	w.source.Put("db", "plain", metastore.Object{Is: "a plain table"})
	var others []mounts.OtherObject
	page := mounts.Page{Size: 10}
	for again := true; again; again = page.Token != "" {
		some, next, err := w.OtherObjects(t.Context(), mounttest.Caller, db, page)
		require.NoError(t, err)
		others, page.Token = append(others, some...), next
	}
	require.Equal(t, []mounts.OtherObject{{Name: "view", Is: "a Hive view"}, {Name: "t", Is: "a table or view"}, {Name: "plain", Is: "a plain table"}}, others)
	require.Equal(t, 2, w.source.Count("Others"), "a page is one question")
	others, _, err := w.OtherObjects(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.NoError(t, err)
	require.Empty(t, others)
	_, _, err = w.OtherObjects(t.Context(), mounttest.Caller, mounts.Namespace{"a", "b"}, mounts.Page{})
	require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
}

// Each fault of the source's is an error with a kind, through the guard.
func TestOtherObjectsFail(t *testing.T) {
	w := withTable(t)
	w.source.Intercept(func(context.Context, metastoretest.Call) error { return errors.New("hunter2 at 10.0.0.7") })
	_, _, err := w.OtherObjects(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.Equal(t, mounts.Internal, checkError(t, err))
	for name, a := range map[string]inventory{
		"token that is too long": {next: strings.Repeat("x", 5000)},
		"list without an end":    {next: "same"},
		"too many names":         {others: make([]mounts.OtherObject, 1_000_001)},
	} {
		w := newWorld(t, func(w *world) { a.Source = w.source; w.options.Source = a })
		_, _, err := w.OtherObjects(t.Context(), mounttest.Caller, db, mounts.Page{Token: "same"})
		require.Equal(t, mounts.BadGateway, checkError(t, err), name)
	}
	w = newWorld(t, func(w *world) { w.options.Source = struct{ metastore.Source }{w.source} })
	_, _, err = w.OtherObjects(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.Equal(t, mounts.Unsupported, checkError(t, err))
}

// inventory answers what no metastore should.
type inventory struct {
	metastore.Source
	others []mounts.OtherObject
	next   string
}

func (i inventory) Others(context.Context, string, string, int) ([]mounts.OtherObject, string, error) {
	return i.others, i.next, nil
}

func TestMetadataLocation(t *testing.T) {
	w := withTable(t)
	at := w.write(t, table, 2)
	w.source.Put("db", "nowhere", metastore.Object{Kind: metastore.Table})
	w.source.Put("db", "plain", metastore.Object{Is: "a plain table"})
	for name, want := range map[string]string{"t": at, "nowhere": ""} {
		l, err := w.MetadataLocation(t.Context(), mounttest.Caller, db.Table(name))
		require.NoError(t, err)
		require.Equal(t, want, l)
	}
	for _, name := range []string{"plain", "missing"} {
		_, err := w.MetadataLocation(t.Context(), mounttest.Caller, db.Table(name))
		require.Equal(t, mounts.NoSuchTable, checkError(t, err))
	}
}
