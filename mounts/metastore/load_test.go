package metastore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
)

func refused(t *testing.T, err error, kind mounts.Kind, message string) {
	t.Helper()
	require.Equal(t, kind, checkError(t, err), "%v", err)
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, message, e.Message())
}

// What a name stands for decides as what it is found.
func TestKinds(t *testing.T) {
	w := withTable(t)
	view := w.point(t, db.Table("v"), "v1-5b1ab2b9-0000-4000-8000-000000000001.metadata.json", 1)
	w.source.Put("db", "v", metastore.Object{Kind: metastore.View, MetadataLocation: view})
	w.source.Put("db", "h", metastore.Object{Is: "a Hive view"})
	w.source.Put("db", "o", metastore.Object{})
	for _, c := range []struct{ name, asTable, asView string }{
		{"t", "", "View does not exist: db.t is an Iceberg table"},
		{"v", "Table does not exist: db.v is an Iceberg view", ""},
		{"h", "Table does not exist: db.h is a Hive view, not an Iceberg table", "View does not exist: db.h is a Hive view, not an Iceberg view"},
		{"o", "Table does not exist: db.o is not an Iceberg table", "View does not exist: db.o is not an Iceberg view"},
		{"none", "Table does not exist: db.none", "View does not exist: db.none"},
	} {
		id := db.Table(c.name)
		_, load := w.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
		_, loadView := w.LoadView(t.Context(), mounttest.Caller, id)
		for _, err := range []error{load, w.TableExists(t.Context(), mounttest.Caller, id)} {
			if c.asTable == "" {
				require.NoError(t, err)
				continue
			}
			refused(t, err, mounts.NoSuchTable, c.asTable)
		}
		for _, err := range []error{loadView, w.ViewExists(t.Context(), mounttest.Caller, id)} {
			if c.asView == "" {
				require.NoError(t, err)
				continue
			}
			refused(t, err, mounts.NoSuchView, c.asView)
		}
	}
	tables, _, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{table}, tables)
	views, _, err := w.ListViews(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{db.Table("v")}, views)
}

// There is one level of namespaces. What lies deeper isn't there, and nobody is asked.
func TestDeeperNamespaces(t *testing.T) {
	w := withTable(t)
	deep := mounts.Namespace{"db", "t"}
	_, _, listed := w.ListNamespaces(t.Context(), mounttest.Caller, deep, mounts.Page{})
	_, loaded := w.LoadNamespace(t.Context(), mounttest.Caller, deep)
	_, _, tables := w.ListTables(t.Context(), mounttest.Caller, deep, mounts.Page{})
	_, _, views := w.ListViews(t.Context(), mounttest.Caller, deep, mounts.Page{})
	for _, err := range []error{listed, loaded, tables, views} {
		refused(t, err, mounts.NoSuchNamespace, "Namespace does not exist: db.t")
	}
	for _, id := range []mounts.Identifier{deep.Table("t"), mounts.Namespace{}.Table("t")} {
		refused(t, w.TableExists(t.Context(), mounttest.Caller, id), mounts.NoSuchTable, "Table does not exist: "+id.String())
		_, err := w.LoadView(t.Context(), mounttest.Caller, id)
		refused(t, err, mounts.NoSuchView, "View does not exist: "+id.String())
	}
	require.Empty(t, w.source.Calls())
}

// What can't be read exists all the same, and why it can't is said without a place.
func TestTablesThatCannotBeRead(t *testing.T) {
	const uuid = "00001-5b1ab2b9-0000-4000-8000-000000000001.metadata.json"
	for name, c := range map[string]struct {
		location string
		kind     mounts.Kind
		message  string
	}{
		"no location":      {"", mounts.NotFound, "db.x has no metadata: mount 'legacy' (hive) knows it as an Iceberg table without a metadata_location"},
		"another bucket":   {"s3://hunter2/wh/x/" + uuid, mounts.Unsupported, "The metadata of db.x lies under no storage profile of mount 'legacy' (hive), so it can't be read"},
		"another scheme":   {"hdfs://10.0.0.7:8020/wh/x/" + uuid, mounts.Unsupported, "The metadata of db.x lies under no storage profile of mount 'legacy' (hive), so it can't be read"},
		"no location text": {"s3://lake/wh/../hunter2/" + uuid, mounts.Unsupported, "The metadata of db.x lies under no storage profile of mount 'legacy' (hive), so it can't be read"},
		"gone":             {"s3://lake/wh/hunter2/" + uuid, mounts.NotFound, "The metadata file of db.x is gone, though mount 'legacy' (hive) still points to it"},
		"gone, no uuid":    {"s3://lake/wh/hunter2/v1.metadata.json", mounts.NotFound, "The metadata file of db.x is gone, though mount 'legacy' (hive) still points to it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := withTable(t)
			w.source.Put("db", "x", metastore.Object{Kind: metastore.Table, MetadataLocation: c.location})
			got, err := w.LoadTable(t.Context(), mounttest.Caller, db.Table("x"), mounts.LoadOptions{})
			if err == nil {
				_, err = got.Metadata(t.Context())
			}
			refused(t, err, c.kind, c.message)
			require.NoError(t, w.TableExists(t.Context(), mounttest.Caller, db.Table("x")))
		})
	}
}

// A mount without storage can be listed.
func TestNoStorage(t *testing.T) {
	w := withTable(t)
	o := w.options
	o.Storage = nil
	c, err := metastore.New(o)
	require.NoError(t, err)
	_, err = c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
	refused(t, err, mounts.Unsupported, "The metadata of db.t lies under no storage profile of mount 'legacy' (hive), so it can't be read")
	tables, _, err := c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Len(t, tables, 1)
}

func TestStorageThatFails(t *testing.T) {
	w := withTable(t)
	for _, failure := range []error{
		vend.Unavailable("read file", "lake", "did not answer", errors.New("dial 10.0.0.7: hunter2")),
		&mounts.Error{Kind: mounts.BadRequest, Detail: "hunter2"},
		errors.New("hunter2"),
	} {
		w.files.fail(failure)
		got, err := w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		require.NoError(t, err, "the pointer is known")
		_, err = got.Metadata(t.Context())
		kind := checkError(t, err)
		require.NotEqual(t, mounts.NotFound, kind)
		require.NotEqual(t, mounts.BadRequest, kind, "the request was a good one")
		require.ErrorIs(t, err, failure)
	}
	w.files.fail(nil)
	load(t, w, table)
}

// What is wrong with a document is said of the table and its mount.
func TestDocumentsThatCannotBeRead(t *testing.T) {
	for content, says := range map[string]string{
		"":      "Not a metadata document: s3://lake/",
		"[]":    "Not a metadata document: s3://lake/",
		`{} {}`: "Not a metadata document: s3://lake/",
		`{"refs":{"main":{"snapshot-id":"1"}},"snapshots":[{"snapshot-id":"1"}]}`: "snapshots can't be read",
	} {
		w := withTable(t)
		l := location(t, fmt.Sprintf("%s/x/metadata/00001-%s.metadata.json", w.profile.Prefix, uuid.NewString()))
		require.NoError(t, w.profile.Files.Create(t.Context(), l, []byte(content)))
		w.source.Put("db", "x", metastore.Object{Kind: metastore.Table, MetadataLocation: l.Verbatim()})
		got, err := w.LoadTable(t.Context(), mounttest.Caller, db.Table("x"), mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs})
		require.NoError(t, err)
		_, err = got.Metadata(t.Context())
		require.Equal(t, mounts.Internal, checkError(t, err))
		require.ErrorContains(t, err, "The metadata of db.x in mount 'legacy' (hive) can't be read: ")
		require.ErrorContains(t, err, says)
	}
}

// A document that is immutable is read once; another each time, and its version is of its content.
func TestVersions(t *testing.T) {
	w := withTable(t)
	first, text := load(t, w, table)
	require.Equal(t, first.MetadataLocation, first.Version)
	require.Equal(t, "lake", first.Storage)
	require.Zero(t, first.Asked)
	load(t, w, table)
	require.Equal(t, 1, w.files.reads)
	w.write(t, table, 2)
	second, other := load(t, w, table)
	require.NotEqual(t, first.Version, second.Version)
	require.NotEqual(t, text, other)

	old := db.Table("old")
	w.point(t, old, "v1.metadata.json", 1)
	a, textA := load(t, w, old)
	again, textAgain := load(t, w, old)
	require.Equal(t, a.Version, again.Version)
	require.Equal(t, textA, textAgain)
	da, err := a.Metadata(t.Context())
	require.NoError(t, err)
	dagain, err := again.Metadata(t.Context())
	require.NoError(t, err)
	require.Same(t, da, dagain, "what was deflated serves on")
	w.point(t, old, "v1.metadata.json", 2)
	b, textB := load(t, w, old)
	require.Equal(t, a.MetadataLocation, b.MetadataLocation)
	require.NotEqual(t, a.Version, b.Version)
	require.NotEqual(t, textA, textB)
}

// On a disk a cached document is served only while its file is there.
func TestFileVanishesFromADisk(t *testing.T) {
	w := withTable(t, func(w *world) { onDisk(t, w) })
	loaded, _ := load(t, w, table)
	require.NoError(t, w.profile.Files.Delete(t.Context(), location(t, loaded.MetadataLocation)))
	_, err := w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
	refused(t, err, mounts.NotFound, "The metadata file of db.t is gone, though mount 'legacy' (hive) still points to it")
	require.Equal(t, 2, w.source.Count("Object"), "once a load")
	require.NoError(t, w.TableExists(t.Context(), mounttest.Caller, table))
}

// By default the source is asked for each load, and callers share only a question that was
// sent after they came.
func TestEachLoadAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t)
		for range 3 {
			load(t, w, table)
		}
		require.Equal(t, 3, w.source.Count("Object"))

		w.source.Intercept(func(context.Context, metastoretest.Call) error { time.Sleep(time.Second); return nil })
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				load(t, w, table)
			})
		}
		wg.Wait()
		require.Equal(t, 3+3, w.source.Count("Object"), "two run, and one is for those who came meanwhile")
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// now is a caller who wants nothing from memory.
var now = mounts.Caller{Principal: mounttest.Caller.Principal, NoCache: true}

func TestFreshFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t, func(w *world) { w.options.FreshFor = time.Minute })
		began := time.Now()
		first, _ := load(t, w, table)
		require.Zero(t, first.Asked)
		moved := w.write(t, table, 2)
		time.Sleep(59 * time.Second)
		again, _ := load(t, w, table)
		require.Equal(t, first.Version, again.Version)
		require.Equal(t, began, again.Asked)
		require.NoError(t, w.TableExists(t.Context(), mounttest.Caller, table))
		require.Equal(t, 1, w.source.Count("Object"))

		anew, err := w.LoadTable(t.Context(), now, table, mounts.LoadOptions{})
		require.NoError(t, err)
		require.Equal(t, moved, anew.MetadataLocation)
		require.Zero(t, anew.Asked)
		time.Sleep(59 * time.Second)
		again, _ = load(t, w, table)
		require.Equal(t, moved, again.MetadataLocation, "who asked anew did so for others too")
		require.Equal(t, 2, w.source.Count("Object"))
		time.Sleep(time.Second)
		again, _ = load(t, w, table)
		require.Zero(t, again.Asked)
		require.Equal(t, 3, w.source.Count("Object"))
		require.NoError(t, w.TableExists(t.Context(), now, table))
		_, err = w.LoadView(t.Context(), now, table)
		require.True(t, mounts.Is(err, mounts.NoSuchView))
		require.True(t, mounts.Is(w.ViewExists(t.Context(), now, table), mounts.NoSuchView))
		require.Equal(t, 6, w.source.Count("Object"), "none of these was answered from memory")
	})
}

// An absence is remembered for a second at most, and only where anything may be.
func TestAbsencesAreKeptShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for freshFor, want := range map[time.Duration]int{0: 3, 100 * time.Millisecond: 2, time.Hour: 1} {
			w := withTable(t, func(w *world) { w.options.FreshFor = freshFor })
			for range 3 {
				require.True(t, mounts.Is(w.TableExists(t.Context(), mounttest.Caller, db.Table("new")), mounts.NoSuchTable))
				time.Sleep(60 * time.Millisecond)
			}
			require.Equal(t, want, w.source.Count("Object"), "%v", freshFor)
			w.write(t, db.Table("new"), 1)
			time.Sleep(time.Second)
			load(t, w, db.Table("new"))
		}
	})
}

// slow answers questions about objects with what it knew when they were sent, the first one last.
type slow struct {
	*metastoretest.Source
	lasts chan time.Duration
}

func (s *slow) Object(ctx context.Context, in, name string) (metastore.Object, error) {
	o, err := s.Source.Object(ctx, in, name)
	time.Sleep(<-s.lasts)
	return o, err
}

// An answer that comes late doesn't replace what a later question learned.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lasts := make(chan time.Duration, 2)
		lasts <- 10 * time.Second
		lasts <- time.Second
		w := withTable(t, func(w *world) {
			w.options.FreshFor, w.options.Source = time.Hour, &slow{w.source, lasts}
		})
		var wg sync.WaitGroup
		wg.Go(func() { load(t, w, table) })
		time.Sleep(time.Second)
		moved := w.write(t, table, 2)
		anew, err := w.LoadTable(t.Context(), now, table, mounts.LoadOptions{})
		require.NoError(t, err)
		require.Equal(t, moved, anew.MetadataLocation)
		wg.Wait()
		remembered, _ := load(t, w, table)
		require.Equal(t, moved, remembered.MetadataLocation)
	})
}

// A failure is never remembered.
func TestErrorsAreNotKept(t *testing.T) {
	w := withTable(t, func(w *world) { w.options.FreshFor = time.Hour })
	w.source.Intercept(func(context.Context, metastoretest.Call) error { return &mounts.Error{Kind: mounts.BadGateway} })
	require.True(t, mounts.Is(w.TableExists(t.Context(), mounttest.Caller, table), mounts.BadGateway))
	w.source.Intercept(nil)
	load(t, w, table)
}

// A remembered pointer leads to a file that a commit has since removed. That isn't the table's
// end.
func TestRememberedFileIsGone(t *testing.T) {
	for name, disk := range map[string]bool{"disk": true, "store": false} {
		t.Run(name, func(t *testing.T) {
			w := withTable(t, func(w *world) {
				w.options.FreshFor, w.options.Documents = time.Hour, vend.NewDocuments(1) // keeps none
				if disk {
					onDisk(t, w)
				}
			})
			first, _ := load(t, w, table)
			time.Sleep(time.Millisecond)
			moved := w.write(t, table, 2)
			require.NoError(t, w.profile.Files.Delete(t.Context(), location(t, first.MetadataLocation)))
			got, err := w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
			require.NoError(t, err)
			if disk {
				require.Equal(t, moved, got.MetadataLocation, "one look at the disk tells")
				return
			}
			_, err = got.Metadata(t.Context())
			refused(t, err, mounts.Unavailable, "The metadata of db.t has moved on since mount 'legacy' (hive) was asked: try again")
			got, _ = load(t, w, table)
			require.Equal(t, moved, got.MetadataLocation)

			require.NoError(t, w.profile.Files.Delete(t.Context(), location(t, moved)))
			for range 2 { // surely gone is only what the metastore points to now
				got, err = w.LoadTable(t.Context(), now, table, mounts.LoadOptions{})
				require.NoError(t, err)
				_, err = got.Metadata(t.Context())
				require.Equal(t, mounts.NotFound, checkError(t, err))
			}
		})
	}
}

func TestCanonical(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]string{"DB1": "db1", "\u017fecret": "secret", "\u212aelvin": "kelvin", "ÄÖ": "äö", "İ": "i", "plain": "plain"} {
		require.Equal(t, want, w.Canonical(name))
	}
}
