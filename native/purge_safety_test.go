package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/native"
	"piedmont/vend"
)

// TestPurgeOfASwappedDocument: a file in the place of a dropped table's, of its uuid but with
// another location, doesn't lead the purge into a live table.
func TestPurgeOfASwappedDocument(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	mine, _ := w.filled(c, "ns.f")
	victim, _ := w.filled(c, "ns.victim")
	table, _ := w.load(c, "ns.f")
	path := strings.TrimPrefix(table.MetadataLocation, "file://")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	w.drop(c, "ns.f", true)
	w.write(table.MetadataLocation, []byte(strings.ReplaceAll(string(raw), mine, victim)))
	c.ForgetEverything()
	before := w.disk()
	require.NoError(t, c.Tend(t.Context()))
	require.Equal(t, before, w.disk())
	require.Equal(t, native.Kept, w.dropped(c)[0].State)
	require.Contains(t, w.dropped(c)[0].Report.Reason, "another location")
}

// hookedFiles is a disk that does something before each reading of a manifest or a list.
type hookedFiles struct {
	*faultyFiles
	before func()
}

func (f *hookedFiles) Read(ctx context.Context, l vend.Location, limit int64) ([]byte, error) {
	if strings.HasSuffix(l.String(), ".avro") {
		f.before()
	}
	return f.faultyFiles.Read(ctx, l, limit)
}

func (w *world) hooked(f *hookedFiles) *vend.Set {
	w.t.Helper()
	f.faultyFiles = w.files
	prefix, err := vend.ParseLocation(w.storageRoot())
	require.NoError(w.t, err)
	set, err := vend.NewSet("", &vend.Profile{Name: "disk", Prefix: prefix, Files: f})
	require.NoError(w.t, err)
	return set
}

// TestPurgeStaysItsHolders while that works, however long reading the lists takes: nobody
// else begins it.
func TestPurgeStaysItsHolders(t *testing.T) {
	w := newWorld(t)
	var files, othersFiles hookedFiles
	w.storage = w.hooked(&files)
	c, at := w.undropping(0)
	other, err := native.New(native.Options{
		ID: "main", Registry: w.registry, Warehouse: w.storageRoot() + "/main", Storage: w.hooked(&othersFiles), Now: at.Now,
		Documents: vend.NewDocuments(1 << 20),
	})
	require.NoError(t, err)
	began := false
	othersFiles.before = func() { began = true }
	w.create(c, "ns.f", "")
	_, d := w.load(c, "ns.f")
	w.write(d.Location+"/data/a", nil)
	w.write(d.Location+"/metadata/m.avro", manifest(t, entry{1, d.Location + "/data/a"}))
	for i := range 8 {
		list := fmt.Sprintf("%s/metadata/l%d.avro", d.Location, i)
		w.write(list, manifestList(t, d.Location+"/metadata/m.avro"))
		w.snapshot(c, "ns.f", i+1, list)
	}
	w.drop(c, "ns.f", true)

	var otherwise error
	files.before = func() {
		at.pass(2 * time.Minute)
		otherwise = errors.Join(otherwise, other.Tend(t.Context()))
	}
	require.NoError(t, c.Tend(t.Context()))
	require.NoError(t, otherwise)
	require.False(t, began, "another process began it too")
	require.Empty(t, w.below(d.Location))
	require.Equal(t, &native.PurgeReport{Removed: 1 + 1 + 8 + 9}, w.dropped(c)[0].Report)
}

// TestPurgeOfNamesThatNoFileHas: what can't be there keeps no purge from ending.
func TestPurgeOfNamesThatNoFileHas(t *testing.T) {
	long := "/" + strings.Repeat("x", 300)
	for _, names := range [][3]string{
		{"/metadata/l", "/metadata/m", long},
		{"/metadata/l", long, "/data/a"},
		{long, "/metadata/m", "/data/a"},
		{"/metadata/l", "/metadata/m", "/data"},
		{"/metadata/l", "/metadata/m", ""},
		{"/metadata/l", "/data/", "/data/a"},
		{"/metadata", "/metadata/m", "/data/a"},
	} {
		w := newWorld(t)
		c, _ := w.undropping(0)
		w.create(c, "ns.f", "")
		_, d := w.load(c, "ns.f")
		list, manifestFile, file := d.Location+names[0], d.Location+names[1], d.Location+names[2]
		w.write(d.Location+"/data/stranger", nil)
		if names[1] == "/metadata/m" {
			w.write(manifestFile, manifest(t, entry{1, file}))
		}
		if names[0] == "/metadata/l" {
			w.write(list, manifestList(t, manifestFile))
		}
		w.snapshot(c, "ns.f", 1, list)
		w.drop(c, "ns.f", true)
		require.NoError(t, c.Tend(t.Context()), names)
		require.Equal(t, native.Purged, w.dropped(c)[0].State, names)
		require.Contains(t, w.disk(), d.Location+"/data/stranger")
		w.create(c, "ns.again", d.Location) // the place is free
	}
}
