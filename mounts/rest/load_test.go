package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

var (
	db    = mounts.Namespace{"db"}
	table = db.Table("t")
	aView = db.Table("v")
)

// withTable is an upstream with one table and one view.
func withTable(t *testing.T, set ...func(*upstream)) *upstream {
	t.Helper()
	u := newUpstream(t, set...)
	u.createNamespace(db, map[string]string{"k": "v"})
	u.write(table, 1)
	u.writeView(aView, 1)
	return u
}

func load(t *testing.T, c *rest.Catalog, id mounts.Identifier) (*mounts.Table, mounts.Document) {
	t.Helper()
	loaded, err := c.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
	require.NoError(t, err)
	d, err := loaded.Metadata(t.Context())
	require.NoError(t, err)
	return loaded, d
}

// kindOfLoad is the kind of a load's error; it must name the mount and show nothing of
// the upstream.
func kindOfLoad(t *testing.T, c *rest.Catalog) mounts.Kind {
	t.Helper()
	_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
	return checkError(t, err)
}

func checkError(t *testing.T, err error) mounts.Kind {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Op)
	for _, hidden := range []string{"127.0.0.1", "theirs", "http"} {
		require.NotContains(t, e.Message(), hidden)
	}
	mounttest.NoSecrets(t, err.Error()+e.Message(), secret)
	if e.Kind != mounts.NoSuchTable && e.Kind != mounts.NoSuchView && e.Kind != mounts.NoSuchNamespace {
		require.Contains(t, e.Message(), "mount 'legacy'")
		require.Contains(t, e.Message(), e.Name)
	}
	return e.Kind
}

// The document is the upstream's, byte for byte, and nothing else of the answer is kept.
func TestLoadIsByteForByte(t *testing.T) {
	u := withTable(t)
	stored := u.write(table, 1)
	loaded, d := load(t, u.mount(), table)
	require.Equal(t, stored.document, string(d.Raw()))
	require.Equal(t, stored.location, loaded.MetadataLocation)
	require.Equal(t, stored.etag, loaded.Version)
	require.Empty(t, loaded.Storage)
}

func TestStorageProfile(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) {
		o.Storage = func(location string) (string, bool) { return "lake", strings.HasPrefix(location, "s3://lake/") }
	})
	loaded, _ := load(t, c, table)
	require.Equal(t, "lake", loaded.Storage)

	// What lies elsewhere is shown all the same, for engines with credentials of their own;
	// nothing is vended for it.
	for _, elsewhere := range []string{"s3://other/t/metadata/v1.metadata.json", "s3://lakes/t", "/etc/passwd", "", "not a location"} {
		stored := u.write(table, 2)
		stored.location = elsewhere
		loaded, _ := load(t, c, table)
		require.Empty(t, loaded.Storage)
		require.Equal(t, elsewhere, loaded.MetadataLocation)
	}
}

func loadRefs(t *testing.T, c *rest.Catalog) (*mounts.Table, mounts.Document) {
	t.Helper()
	loaded, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs})
	require.NoError(t, err)
	d, err := loaded.Metadata(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(d.Raw()), `"snapshots":[{"snapshot-id":2}]`)
	return loaded, d
}

// Where only some snapshots are wanted the upstream is asked for these alone, unless the
// whole table is known. The two forms don't take each other's place.
func TestRefs(t *testing.T) {
	for name, set := range map[string]func(*upstream){
		"modes": func(*upstream) {}, "no modes": func(u *upstream) { u.modes = false }, "no tags": func(u *upstream) { u.etags = false },
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t, set)
			var queries []string
			u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/tables/t") {
					queries = append(queries, r.URL.RawQuery)
				}
				return false
			})
			c := u.mount()
			first, d := loadRefs(t, c)
			again, same := loadRefs(t, c)
			require.Same(t, d, same)
			require.Equal(t, first.Version, again.Version)
			require.Equal(t, []string{"snapshots=refs", "snapshots=refs"}, queries)
			_, all := load(t, c, table)
			require.Contains(t, string(all.Raw()), `"snapshots":[{"snapshot-id":1},{"snapshot-id":2}]`)
			loadRefs(t, c)
			require.Equal(t, []string{"snapshots=refs", "snapshots=refs", "", ""}, queries)

			u.write(table, 2)
			changed, d := loadRefs(t, c)
			require.Contains(t, string(d.Raw()), `"v":2`)
			require.NotEqual(t, first.Version, changed.Version)
			u.drop(table)
			_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs})
			require.Equal(t, mounts.NoSuchTable, checkError(t, err))
		})
	}
}

// A load of a known table costs one conditional question, and no configuration.
func TestConditionalLoad(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	var conditional atomic.Int64
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("If-None-Match") != "" {
			conditional.Add(1)
		}
		return false
	})
	_, first := load(t, c, table)
	for range 5 {
		_, again := load(t, c, table)
		require.Same(t, first, again, "the very document, with what was made of it")
	}
	require.EqualValues(t, 5, conditional.Load())
	require.Equal(t, 6, u.count("GET table"))
	require.Equal(t, 1, u.count("GET config"))

	changed := u.write(table, 2)
	loaded, d := load(t, c, table)
	require.Equal(t, changed.etag, loaded.Version)
	require.Equal(t, changed.document, string(d.Raw()))
}

// The tag goes back as it came, whatever it looks like: the Apache fixture's has no quotes.
func TestTagsGoBackVerbatim(t *testing.T) {
	for _, tag := range []string{`W/"a"`, `"strong"`, `bare-without-quotes`, `"with, comma"`, `W/"ü"`} {
		u := withTable(t)
		u.tables[key(table)].etag = tag
		c := u.mount()
		_, first := load(t, c, table)
		_, again := load(t, c, table)
		require.Same(t, first, again, tag)
	}
}

// A tag that could be sent back only in a header that no server takes is none.
func TestLongTags(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	u.intercept(afterConfig(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		stored := u.tables[key(table)]
		w.Header().Set("ETag", `"`+strings.Repeat("x", 4<<10)+`"`)
		_, _ = fmt.Fprintf(w, `{"metadata-location":%q,"metadata":%s}`, stored.location, stored.document)
	}))
	first, d := load(t, c, table)
	again, same := load(t, c, table)
	require.Same(t, d, same)
	require.Equal(t, first.MetadataLocation, first.Version)
	require.Equal(t, first.Version, again.Version)
}

// Without tags each load is whole; the document known already stays in use.
func TestWithoutTags(t *testing.T) {
	for name, location := range map[string]string{
		"immutable": "s3://lake/t/metadata/00001-0b0b1d9e-52f3-4b1c-9f3e-6b8a6a1e3c4d.metadata.json",
		"rewritten": "s3://lake/t/metadata/v1.metadata.json",
		"none":      "",
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t, func(u *upstream) { u.etags = false })
			stored := u.tables[key(table)]
			stored.location = location
			c := u.mount()
			first, d1 := load(t, c, table)
			again, d2 := load(t, c, table)
			require.Same(t, d1, d2)
			require.Equal(t, first.Version, again.Version)
			require.Equal(t, 2, u.count("GET table"))

			u.mu.Lock()
			stored.document = strings.Replace(stored.document, `"v":1`, `"v":2`, 1)
			u.mu.Unlock()
			changed, d3 := load(t, c, table)
			if name == "immutable" {
				require.Same(t, d1, d3, "a file whose name carries a UUID doesn't change")
				u.write(table, 2)
				moved, d4 := load(t, c, table)
				require.NotEqual(t, first.Version, moved.Version)
				require.NotSame(t, d1, d4)
				return
			}
			require.NotEqual(t, first.Version, changed.Version)
			require.Contains(t, string(d3.Raw()), `"v":2`)
		})
	}
}

// One catalog's tags mean nothing to another that shares its cache.
func TestMountsDontShareTags(t *testing.T) {
	a, b := withTable(t), withTable(t)
	b.tables[key(table)].etag = a.tables[key(table)].etag
	shared := rest.NewDocuments(16 << 20)
	share := func(o *rest.Options) { o.Documents = shared }
	ca, cb := a.mount(share), b.mount(share)
	_, da := load(t, ca, table)
	_, db := load(t, cb, table)
	require.Equal(t, a.tables[key(table)].document, string(da.Raw()))
	require.Equal(t, b.tables[key(table)].document, string(db.Raw()))
	require.Equal(t, 2, shared.Len())
}

// What was dropped is gone at once, and what stands in its place is another table.
func TestDroppedAndMadeAgain(t *testing.T) {
	u := withTable(t)
	documents := rest.NewDocuments(1 << 20)
	c := u.mount(func(o *rest.Options) { o.Documents = documents })
	load(t, c, table)
	require.Equal(t, 1, documents.Len())
	u.drop(table)
	require.Equal(t, mounts.NoSuchTable, kindOfLoad(t, c))
	require.Zero(t, documents.Len())
	stored := u.write(table, 7)
	_, d := load(t, c, table)
	require.Equal(t, stored.document, string(d.Raw()))
}

func TestFreshFor(t *testing.T) {
	u := withTable(t)
	var clock atomic.Int64
	c := u.mount(func(o *rest.Options) {
		o.FreshFor = time.Minute
		o.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	})
	asked, first := load(t, c, table)
	require.Zero(t, asked.Asked)
	changed := u.write(table, 2)
	clock.Store(59)
	remembered, again := load(t, c, table)
	require.Same(t, first, again)
	require.Equal(t, time.Unix(0, 0), remembered.Asked)
	require.Equal(t, 1, u.count("GET table"))
	clock.Store(60)
	anew, third := load(t, c, table)
	require.Zero(t, anew.Asked)
	require.Equal(t, changed.document, string(third.Raw()))
	require.Equal(t, 2, u.count("GET table"))
	clock.Store(120)
	anew, _ = load(t, c, table) // a 304 makes it fresh again
	require.Zero(t, anew.Asked)
	clock.Store(179)
	remembered, _ = load(t, c, table)
	require.Equal(t, time.Unix(120, 0), remembered.Asked)
	require.Equal(t, 3, u.count("GET table"))
}

// now is a caller who wants nothing from memory.
var now = mounts.Caller{Principal: mounttest.Caller.Principal, NoCache: true}

// Who wants nothing from memory gets what the upstream says now, and others get that too.
func TestNoCache(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.FreshFor = time.Minute })
	load(t, c, table)
	changed := u.write(table, 2)
	anew, err := c.LoadTable(t.Context(), now, table, mounts.LoadOptions{})
	require.NoError(t, err)
	require.Zero(t, anew.Asked)
	require.Equal(t, changed.location, anew.MetadataLocation)
	remembered, _ := load(t, c, table)
	require.NotZero(t, remembered.Asked)
	require.Equal(t, changed.location, remembered.MetadataLocation)
	require.Equal(t, 2, u.count("GET table"))

	view, _ := loadView(t, c, aView)
	moved := u.writeView(aView, 2)
	known, _ := loadView(t, c, aView)
	require.Equal(t, view.MetadataLocation, known.MetadataLocation)
	asked, err := c.LoadView(t.Context(), now, aView)
	require.NoError(t, err)
	require.Zero(t, asked.Asked)
	require.Equal(t, moved.location, asked.MetadataLocation)
}

// With FreshFor one question refreshes for all who ask meanwhile.
func TestFreshForShares(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.FreshFor = time.Minute })
	release := make(chan struct{})
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/tables/t") {
			<-release
		}
		return false
	})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { load(t, c, table) })
	}
	require.Eventually(t, func() bool { return u.count("GET table") == 1 }, 5*time.Second, time.Millisecond)
	close(release)
	wg.Wait()
	require.Equal(t, 1, u.count("GET table"))
}

// Without FreshFor nobody gets the answer to a question that was sent before it came: a
// change that was made before a load began is always seen.
func TestFreshByDefault(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	slow := make(chan struct{})
	var first atomic.Bool
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tables/t") || !first.CompareAndSwap(false, true) {
			return false
		}
		u.mu.Lock()
		old := *u.tables[key(table)]
		u.mu.Unlock()
		<-slow // the answer is that of before, and comes late
		_, _ = fmt.Fprintf(w, `{"metadata-location":%q,"metadata":%s}`, old.location, old.document)
		return true
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.LoadTable(context.Background(), mounttest.Caller, table, mounts.LoadOptions{})
	}()
	require.Eventually(t, func() bool { return u.count("GET table") == 1 }, 5*time.Second, time.Millisecond)
	changed := u.write(table, 2)
	_, d := load(t, c, table)
	require.Equal(t, changed.document, string(d.Raw()))
	close(slow)
	<-done
	_, d = load(t, c, table)
	require.Equal(t, changed.document, string(d.Raw()), "a late answer doesn't bring the old state back")
}

func TestTableExists(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	require.NoError(t, c.TableExists(t.Context(), mounttest.Caller, table))
	require.Equal(t, 1, u.count("HEAD table"))
	require.Zero(t, u.count("GET table"))

	err := c.TableExists(t.Context(), mounttest.Caller, db.Table("missing"))
	require.Equal(t, mounts.NoSuchTable, checkError(t, err))
	require.Equal(t, 1, u.count("GET table"), "the HEAD's 404 is confirmed")
}

// A route that isn't there answers a HEAD as a missing table does.
func TestHeadAloneIsNoAbsence(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/tables/") {
			return false
		}
		http.NotFound(w, r)
		return true
	})
	require.Equal(t, mounts.BadGateway, checkError(t, c.TableExists(t.Context(), mounttest.Caller, table)))

	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return r.Method == http.MethodHead
	})
	require.Equal(t, mounts.Unavailable, checkError(t, c.TableExists(t.Context(), mounttest.Caller, table)))
}

// A table whose metadata file is gone exists, and can't be loaded.
func TestMetadataFileGone(t *testing.T) {
	for _, endpoints := range [][]string{nil, allEndpoints} {
		u := withTable(t, func(u *upstream) { u.endpoints = endpoints })
		c := u.mount()
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/tables/") {
				return false
			}
			u.fail(w, http.StatusNotFound, "NotFoundException")
			return true
		})
		require.Equal(t, mounts.NotFound, kindOfLoad(t, c))
		require.NoError(t, c.TableExists(t.Context(), mounttest.Caller, table))
	}
}

func TestOtherTablesSayWhy(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/tables/") {
			return false
		}
		u.fail(w, http.StatusNotFound, "NoSuchIcebergTableException")
		return true
	})
	_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
	require.Equal(t, mounts.NoSuchTable, checkError(t, err))
	require.Contains(t, err.Error(), "not an Iceberg table")
}
