package native_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/native"
	"piedmont/native/metadata"
)

// damage is one thing that can happen to a metadata file.
type damage struct {
	name string
	do   func(t *testing.T, path, other string) // other is the file of another table, or view
	// kind is what it does to who needs the document.
	kind mounts.Kind
	// foreign: the file is whole, but another's.
	foreign bool
}

var damages = []damage{
	{name: "gone", kind: mounts.NotFound, do: func(t *testing.T, path, _ string) { require.NoError(t, os.Remove(path)) }},
	{name: "a folder", kind: mounts.NotFound, do: func(t *testing.T, path, _ string) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Mkdir(path, 0o700))
	}},
	{name: "truncated", kind: mounts.Internal, do: rewritten(func(whole, _ string) string { return whole[:len(whole)/2] })},
	{name: "empty", kind: mounts.Internal, do: rewritten(func(_, _ string) string { return "" })},
	{name: "not JSON", kind: mounts.Internal, do: rewritten(func(whole, _ string) string { return strings.Repeat("\x00", len(whole)) })},
	{name: "no object", kind: mounts.Internal, do: rewritten(func(whole, _ string) string { return "[" + whole + "]" })},
	{name: "two objects", kind: mounts.Internal, do: rewritten(func(whole, _ string) string { return whole + whole })},
	{name: "half a gzip", kind: mounts.Internal, do: rewritten(func(_, _ string) string { return "\x1f\x8b\x08\x00" })},
	{name: "of another uuid", kind: mounts.Internal, foreign: true, do: rewritten(func(_, other string) string { return other })},
}

func rewritten(change func(whole, other string) string) func(*testing.T, string, string) {
	return func(t *testing.T, path, other string) {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		foreign, err := os.ReadFile(other)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte(change(string(whole), string(foreign))), 0o600))
	}
}

func pathOf(location string) string { return strings.TrimPrefix(location, "file://") }

// metadataFile is a file that was damaged, and what it held.
type metadataFile struct {
	location, path string
	whole          []byte
}

// damaged runs a test for each damage of the metadata file of ns.t, which the catalogs of
// the world have cached. ns.u is whole.
func damaged(t *testing.T, test func(t *testing.T, w *world, d damage, f metadataFile)) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			w := newWorld(t)
			u, err := w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.u"), []byte(newTableBody("u")))
			require.NoError(t, err)
			table, _ := w.load(w.main, "ns.t")
			f := metadataFile{location: table.MetadataLocation, path: pathOf(table.MetadataLocation)}
			f.whole, err = os.ReadFile(f.path)
			require.NoError(t, err)
			d.do(t, f.path, pathOf(u.MetadataLocation))
			test(t, w, d, f)
		})
	}
}

// refusedFor fails the test unless the error is of that kind and names the file.
func refusedFor(t *testing.T, err error, kind mounts.Kind, location string) {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Contains(t, e.Message(), location)
}

// TestDamagedMetadataFile: who needs the document hears which file it is, and nothing is
// changed; who needs only the pointer is served; other tables don't notice.
func TestDamagedMetadataFile(t *testing.T) {
	damaged(t, func(t *testing.T, w *world, d damage, f metadataFile) {
		ctx, anyone, location := t.Context(), mounts.Caller{}, f.location
		fresh := w.open("main")
		records, files := w.state(), w.disk()
		_, err := fresh.CommitTable(ctx, anyone, id("ns.t"), setPropertyBody("a", "b"))
		refusedFor(t, err, d.kind, location)
		err = fresh.CommitTransaction(ctx, anyone, []mounts.TableChange{
			{Target: w.at(fresh, "ns.u"), Body: setPropertyBody("a", "b")}, {Target: w.at(fresh, "ns.t"), Body: setPropertyBody("a", "b")},
		})
		refusedFor(t, err, d.kind, location)
		_, err = fresh.UnregisterTable(ctx, anyone, id("ns.t"))
		refusedFor(t, err, d.kind, location)
		table, err := fresh.LoadTable(ctx, anyone, id("ns.t"), mounts.LoadOptions{})
		if err == nil {
			_, err = table.Metadata(ctx)
		}
		refusedFor(t, err, d.kind, location)
		if !d.foreign {
			_, err = fresh.RegisterTable(ctx, anyone, id("ns.again"), mounts.RegisterRequest{MetadataLocation: location})
			refused := mounts.BadRequest // a file that is no document is the caller's mistake here
			if d.kind == mounts.NotFound {
				refused = d.kind
			}
			refusedFor(t, err, refused, location)
			err = w.rename(ctx, &mounts.Point{Kind: "native", Mount: fresh}, "ns.t", w.teamAt, "ns.t")
			refusedFor(t, err, d.kind, location)
		}
		require.Equal(t, records, w.state())
		require.Equal(t, files, w.disk())

		require.NoError(t, fresh.TableExists(ctx, anyone, id("ns.t")))
		w.load(fresh, "ns.u")
		_, err = fresh.CommitTable(ctx, anyone, id("ns.u"), setPropertyBody("a", "b"))
		require.NoError(t, err)
		at := &mounts.Point{Kind: "native", Mount: fresh}
		require.NoError(t, w.rename(ctx, at, "ns.t", at, "other.t"))
		require.NoError(t, fresh.DropTable(ctx, anyone, id("other.t"), false))
		w.load(fresh, "ns.u")
	})
}

// at is a table of a catalog at the root.
func (w *world) at(c *native.Catalog, dotted string) mounts.Target {
	i := id(dotted)
	return mounts.Target{Path: i.Namespace, Name: i.Name, Point: &mounts.Point{Kind: "native", Mount: c}, Namespace: i.Namespace}
}

// TestDamagedFileIsPutRight: no wrong document was kept.
func TestDamagedFileIsPutRight(t *testing.T) {
	damaged(t, func(t *testing.T, w *world, d damage, f metadataFile) {
		fresh := w.open("main")
		_, err := fresh.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
		refusedFor(t, err, d.kind, f.location)
		require.NoError(t, os.RemoveAll(f.path))
		require.NoError(t, os.WriteFile(f.path, f.whole, 0o600))
		w.load(fresh, "ns.t")
		_, err = fresh.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
		require.NoError(t, err)
	})
}

// TestDamagedTableIsRegisteredAnew: that is how its owner repairs it, and it takes nothing
// from the damaged file.
func TestDamagedTableIsRegisteredAnew(t *testing.T) {
	damaged(t, func(t *testing.T, w *world, _ damage, f metadataFile) {
		fresh := w.open("main")
		copied := strings.Replace(f.location, "00000-", "00009-", 1)
		require.NoError(t, os.WriteFile(pathOf(copied), f.whole, 0o600))
		_, err := fresh.RegisterTable(t.Context(), mounts.Caller{}, id("ns.t"), mounts.RegisterRequest{MetadataLocation: copied, Overwrite: true})
		require.NoError(t, err)
		_, err = fresh.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
		require.NoError(t, err)
		w.load(fresh, "ns.t")
	})
}

// TestDamagedFileThatIsCached: the document of before is the right one, so it is served and
// built on while its file is there.
func TestDamagedFileThatIsCached(t *testing.T) {
	damaged(t, func(t *testing.T, w *world, d damage, f metadataFile) {
		_, err := w.main.LoadTable(t.Context(), mounts.Caller{}, id("ns.t"), mounts.LoadOptions{})
		if d.kind == mounts.NotFound {
			refusedFor(t, err, d.kind, f.location)
			return
		}
		require.NoError(t, err)
		table, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
		require.NoError(t, err)
		raw, err := table.Metadata(t.Context())
		require.NoError(t, err)
		before, err := metadata.Parse(f.whole)
		require.NoError(t, err)
		require.Equal(t, before.UUID(), raw.(*cache.Document).TableUUID())
	})
}

// TestDamagedViewFile is TestDamagedMetadataFile for views.
func TestDamagedViewFile(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			w := newWorld(t)
			create := func(name string) string {
				v, err := w.main.CreateView(t.Context(), mounts.Caller{}, id("ns."+name), []byte(`{"name":"`+name+`","schema":`+schema+`,"properties":{},
					"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,"default-namespace":["ns"],"summary":{},
					"representations":[{"type":"sql","sql":"select 1","dialect":"spark"}]}}`))
				require.NoError(t, err)
				return v.MetadataLocation
			}
			location, other := create("v"), create("w")
			d.do(t, pathOf(location), pathOf(other))
			fresh, anyone := w.open("main"), mounts.Caller{}
			records, files := w.state(), w.disk()
			_, err := fresh.LoadView(t.Context(), anyone, id("ns.v"))
			refusedFor(t, err, d.kind, location)
			_, err = fresh.ReplaceView(t.Context(), anyone, id("ns.v"), setPropertyBody("a", "b"))
			refusedFor(t, err, d.kind, location)
			require.Equal(t, records, w.state())
			require.Equal(t, files, w.disk())
			require.NoError(t, fresh.ViewExists(t.Context(), anyone, id("ns.v")))
			_, err = fresh.ReplaceView(t.Context(), anyone, id("ns.w"), setPropertyBody("a", "b"))
			require.NoError(t, err)
			require.NoError(t, fresh.DropView(t.Context(), anyone, id("ns.v")))
		})
	}
}
