package metastore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
)

// many is a world whose database db holds t000, t001, ….
func many(t *testing.T, n int, set ...func(*world)) *world {
	t.Helper()
	w := newWorld(t, set...)
	w.source.PutDatabase("db", nil)
	for i := range n {
		w.source.Put("db", fmt.Sprintf("t%03d", i), metastore.Object{Kind: metastore.Table})
	}
	return w
}

// pages lists the tables of db by pages, and calls between before each but the first.
func pages(t *testing.T, w *world, size int, between func()) (names []string) {
	t.Helper()
	token := ""
	for range 2000 {
		tables, next, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Token: token, Size: size})
		require.NoError(t, err)
		for _, id := range tables {
			require.Equal(t, db, id.Namespace)
			names = append(names, id.Name)
		}
		if next == "" {
			return names
		}
		require.NotEqual(t, token, next)
		token = next
		if between != nil {
			between()
		}
	}
	t.Fatal("the list doesn't end")
	return nil
}

// A source that gives all at once is asked once while a client pages, and again for the next.
func TestListingIsKept(t *testing.T) {
	w := many(t, 100)
	require.Len(t, pages(t, w, 7, nil), 100)
	require.Equal(t, 1, w.source.Count("Objects"))
	w.source.Put("db", "new", metastore.Object{Kind: metastore.Table})
	require.Len(t, pages(t, w, 7, nil), 101, "whoever begins anew sees what is there now")
	require.Equal(t, 2, w.source.Count("Objects"))
	views, _, err := w.ListViews(t.Context(), mounttest.Caller, db, mounts.Page{Size: 7})
	require.NoError(t, err)
	require.Empty(t, views, "tables and views are lists apart")
}

// A source with pages is followed, with its own tokens.
func TestSourcePagesAreFollowed(t *testing.T) {
	w := many(t, 100, func(w *world) { w.source.PageSize = 10 })
	require.Len(t, pages(t, w, 50, nil), 100)
	require.Equal(t, 10, w.source.Count("Objects"))
	require.Equal(t, "behind.t090", w.source.Calls()[1].Token)
}

// A listing that was lost costs one question for each page, and no name.
func TestListingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := many(t, 100)
		require.Len(t, pages(t, w, 10, func() { time.Sleep(time.Minute) }), 100)
		require.Equal(t, 10, w.source.Count("Objects"))

		w = many(t, 100, func(w *world) { w.options.MaxListingBytes = 1 })
		require.Len(t, pages(t, w, 10, nil), 100)
		require.Equal(t, 10, w.source.Count("Objects"))
	})
}

// What is there all the while is listed once, whatever comes and goes.
func TestPagesWhileChanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, pageSize := range []int{0, 1, 4} {
			w := many(t, 30, func(w *world) { w.source.PageSize = pageSize })
			turn := 0
			seen := map[string]int{}
			for _, name := range pages(t, w, 3, func() {
				time.Sleep(time.Minute)
				w.source.Drop("db", fmt.Sprintf("t%03d", turn))
				w.source.Put("db", fmt.Sprintf("t%03dnew", turn), metastore.Object{Kind: metastore.Table})
				turn++
			}) {
				seen[name]++
			}
			for i := turn; i < 30; i++ {
				require.Equal(t, 1, seen[fmt.Sprintf("t%03d", i)], "t%03d with pages of %d", i, pageSize)
			}
			for name, n := range seen {
				require.Equal(t, 1, n, name)
			}
		}
	})
}

// A list fitted one page of the source when its token was made, and has grown since.
func TestListGrowsBeyondAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := many(t, 10)
		grown := false
		names := pages(t, w, 4, func() {
			if !grown {
				grown = true
				time.Sleep(time.Minute)
				w.source.PageSize = 3
			}
		})
		require.Len(t, names, 10)
	})
}

func TestForeignTokens(t *testing.T) {
	for _, pageSize := range []int{0, 3} {
		w := many(t, 10, func(w *world) { w.source.PageSize = pageSize })
		for _, token := range []string{
			"x", "s", "s1", "s1.2", "s1.2.", "s-1.2.behind.t001", "s1.x.behind.t001", "s99999999999.1.behind.t001", "n", "n\x00", "n..", "n\xff",
			"s0.0." + strings.Repeat("x", 5000), "n" + strings.Repeat("x", 3000), "s0.0.foreign", "\x00",
		} {
			_, _, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Token: token, Size: 2})
			require.Equal(t, mounts.BadRequest, checkError(t, err), "%q: %v", token, err)
			_, _, err = w.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{Token: token, Size: 2})
			require.Equal(t, mounts.BadRequest, checkError(t, err), "%q: %v", token, err)
		}
		require.Len(t, w.source.Calls(), 2, "only what might be the source's own token reaches it")
	}
}

// lists is a source whose lists are what a function says.
type lists struct {
	*metastoretest.Source
	list func(token string) ([]string, string)
}

func (l *lists) Objects(_ context.Context, _ string, _ metastore.Kind, token string, _ int) ([]string, string, error) {
	names, next := l.list(token)
	return names, next, nil
}

func (l *lists) Databases(_ context.Context, token string, _ int) ([]string, string, error) {
	names, next := l.list(token)
	return names, next, nil
}

// follow lists until the end or an error.
func follow(t *testing.T, list func(token string) ([]string, string)) (names int, err error) {
	t.Helper()
	w := newWorld(t, func(w *world) { w.options.Source = &lists{w.source, list} })
	token := ""
	for {
		tables, next, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Token: token})
		names += len(tables)
		if err != nil || next == "" {
			return names, err
		}
		token = next
	}
}

func TestListsThatDoNotEnd(t *testing.T) {
	empty, full := []string{}, []string{"t"}
	for name, list := range map[string]func(string) ([]string, string){
		"the same token": func(string) ([]string, string) { return full, "again" },
		"empty pages": func(token string) ([]string, string) {
			return empty, token[:min(len(token), 1000)] + "x" + fmt.Sprint(len(token))
		},
		"two tokens": func(token string) ([]string, string) {
			if token == "a" {
				return empty, "b"
			}
			return empty, "a"
		},
		"long token": func(string) ([]string, string) { return full, strings.Repeat("x", 5000) },
	} {
		n, err := follow(t, list)
		require.Equal(t, mounts.BadGateway, checkError(t, err), "%s: %v", name, err)
		require.LessOrEqual(t, n, 1, name)
	}
	page := make([]string, 50_000)
	for i := range page {
		page[i] = fmt.Sprint("t", i)
	}
	turn := 0
	n, err := follow(t, func(string) ([]string, string) { turn++; return page, fmt.Sprint(turn) })
	refused(t, err, mounts.BadGateway, "The catalog behind mount 'legacy' (hive) has a list of names that is too large (asked for db)")
	require.Equal(t, 1_000_000, n)
}

func TestListsThatAreTooLarge(t *testing.T) {
	few := make([]string, 40_000)
	for i := range few {
		few[i] = strings.Repeat("x", 1990) + fmt.Sprint(i)
	}
	for name, names := range map[string][]string{"names": make([]string, 1_000_001), "bytes": few} {
		_, err := follow(t, func(string) ([]string, string) { return names, "" })
		refused(t, err, mounts.BadGateway, "The catalog behind mount 'legacy' (hive) has a list of names that is too large (asked for db)")
		w := newWorld(t, func(w *world) {
			w.options.Source = &lists{w.source, func(string) ([]string, string) { return names, "" }}
		})
		_, _, err = w.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
		require.Equal(t, mounts.BadGateway, checkError(t, err), name)
	}
}

// Empty pages are no end: a database may hold few tables of Iceberg among many others.
func TestEmptyPages(t *testing.T) {
	n, err := follow(t, func(token string) ([]string, string) {
		if len(token) < 900 {
			return nil, token + "x"
		}
		return []string{"t"}, ""
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)

	turn := 0
	n, err = follow(t, func(string) ([]string, string) {
		turn++
		if turn == 25_000 {
			return nil, ""
		}
		return []string{"t"}[:turn%2], fmt.Sprint(turn)
	})
	require.NoError(t, err, "pages without a name count only in a row")
	require.Equal(t, 12_500, n)
}

// Names that nobody could ask for are left out, twice the same is once.
func TestNamesThatCannotBeShown(t *testing.T) {
	bad := []string{"", "\x1f", "a\x1fb", "a\nb", "..", ".", "\xff", strings.Repeat("x", 2001), "Upper", "\u017f"}
	w := newWorld(t, func(w *world) {
		w.options.Source = &lists{w.source, func(string) ([]string, string) { return append(bad, "good", "a.b", "good", " "), "" }}
	})
	tables, _, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{db.Table(" "), db.Table("a.b"), db.Table("good")}, tables)
	namespaces, _, err := w.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Namespace{{" "}, {"a.b"}, {"good"}}, namespaces)
	require.EqualValues(t, 2*len(bad), w.Stats().Skipped)
}

// Clients who list the same share a question that was sent after they came.
func TestListsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := many(t, 10)
		w.source.Intercept(func(context.Context, metastoretest.Call) error { time.Sleep(time.Second); return nil })
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				require.Len(t, pages(t, w, 4, nil), 10)
			})
		}
		wg.Wait()
		require.Equal(t, 3, w.source.Count("Objects"))
	})
}

// A database goes while its tables are paged through.
func TestDatabaseGoesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := many(t, 10)
		_, next, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Size: 4})
		require.NoError(t, err)
		w.source.Drop("db", "")
		time.Sleep(time.Minute)
		_, _, err = w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Token: next, Size: 4})
		refused(t, err, mounts.NoSuchNamespace, "Namespace does not exist: db")
		_, err = w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		require.Equal(t, mounts.NoSuchTable, checkError(t, err))
	})
}

func FuzzPosition(f *testing.F) {
	for _, s := range []string{"", "nname", "s0.0.token", "s1.20.a.b", "s", "n", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		w := many(t, 0)
		_, next, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Token: token, Size: 1})
		if err == nil && (next != "" || token != "" && token[0] != 'n') {
			t.Errorf("%q leads to %q", token, next)
		}
		if err != nil && !mounts.Is(err, mounts.BadRequest) {
			t.Errorf("%q: %v", token, err)
		}
	})
}
