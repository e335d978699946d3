package native_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"piedmont/mounts"
	"piedmont/native"
)

// The schemas are what a reader of names needs of Iceberg's, with other fields around.
const (
	listSchema = `{"type":"record","name":"manifest_file","fields":[
		{"name":"manifest_path","type":"string","field-id":500},{"name":"manifest_length","type":"long","field-id":501},
		{"name":"key_metadata","type":["null","bytes"],"default":null,"field-id":519}]}`
	manifestSchema = `{"type":"record","name":"manifest_entry","fields":[
		{"name":"status","type":"int","field-id":0},{"name":"snapshot_id","type":["null","long"],"default":null,"field-id":1},
		{"name":"data_file","type":{"type":"record","name":"r2","fields":[
			{"name":"content","type":"int","field-id":134},{"name":"file_path","type":"string","field-id":100},
			{"name":"partition","type":{"type":"record","name":"r102","fields":[{"name":"d","type":["null","int"],"default":null,"field-id":1000}]},"field-id":102}]},"field-id":2}]}`
)

type entry struct {
	status int
	path   string
}

// avroFile packs records.
func avroFile(t *testing.T, schema string, records ...map[string]any) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, avro.MustParse(schema), ocf.WithCodec(ocf.DeflateCodec(6)))
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, w.Encode(r))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func manifest(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var records []map[string]any
	for _, e := range entries {
		records = append(records, map[string]any{"status": e.status, "snapshot_id": nil, "data_file": map[string]any{
			"content": 0, "file_path": e.path, "partition": map[string]any{"d": nil},
		}})
	}
	return avroFile(t, manifestSchema, records...)
}

func manifestList(t *testing.T, paths ...string) []byte {
	t.Helper()
	var records []map[string]any
	for _, p := range paths {
		records = append(records, map[string]any{"manifest_path": p, "manifest_length": int64(1), "key_metadata": nil})
	}
	return avroFile(t, listSchema, records...)
}

func (w *world) write(location string, data []byte) {
	w.t.Helper()
	path := strings.TrimPrefix(location, "file://")
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(w.t, os.WriteFile(path, data, 0o600))
}

func (w *world) snapshot(c *native.Catalog, name string, number int, list string) {
	w.t.Helper()
	_, err := c.CommitTable(w.t.Context(), mounts.Caller{}, id(name), fmt.Appendf(nil,
		`{"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":%d,"sequence-number":%d,"timestamp-ms":%d,"manifest-list":%q,"summary":{"operation":"append"},"schema-id":0}},
		{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}]}`, number, number, time.Now().UnixMilli(), list, number))
	require.NoError(w.t, err)
}

// filled makes a table of two snapshots that share a manifest, and some files that aren't
// the table's. It returns the table's location and the files that a purge must leave.
func (w *world) filled(c *native.Catalog, name string) (location string, others []string) {
	w.t.Helper()
	w.create(c, name, "")
	_, d := w.load(c, name)
	location = d.Location
	in := func(s string) string { return location + "/" + s }
	for _, f := range []string{"data/d=1/a.parquet", "data/d=1/b.parquet", "data/d=*/c%2Fd.parquet", "data/gone.parquet", "stats/s.puffin"} {
		w.write(in(f), []byte("data"))
	}
	others = []string{in("data/stranger.parquet"), w.storageRoot() + "/elsewhere/x.parquet", location + "-twin/y.parquet"}
	for _, f := range others {
		w.write(f, []byte("data"))
	}
	w.write(in("metadata/m1.avro"), manifest(w.t, entry{1, in("data/d=1/a.parquet")}, entry{0, in("data/d=1/b.parquet")}, entry{2, others[0]}))
	w.write(in("metadata/m2.avro"), manifest(w.t, entry{1, in("data/d=*/c%2Fd.parquet")}, entry{1, in("data/d=1/a.parquet")}, entry{1, in("data/gone.parquet")}, entry{1, others[1]}, entry{1, others[2]}))
	require.NoError(w.t, os.Remove(strings.TrimPrefix(in("data/gone.parquet"), "file://")))
	w.write(in("metadata/l1.avro"), manifestList(w.t, in("metadata/m1.avro")))
	w.write(in("metadata/l2.avro"), manifestList(w.t, in("metadata/m1.avro"), in("metadata/m2.avro")))
	w.snapshot(c, name, 1, in("metadata/l1.avro"))
	w.snapshot(c, name, 2, in("metadata/l2.avro"))
	_, err := c.CommitTable(w.t.Context(), mounts.Caller{}, id(name), fmt.Appendf(nil,
		`{"updates":[{"action":"set-statistics","snapshot-id":2,"statistics":{"snapshot-id":2,"statistics-path":%q,"file-size-in-bytes":4,"file-footer-size-in-bytes":4,"blob-metadata":[]}}]}`, in("stats/s.puffin")))
	require.NoError(w.t, err)
	return location, others
}

func (w *world) storageRoot() string { return "file://" + w.dir }

// below are the files at a location.
func (w *world) below(location string) []string {
	w.t.Helper()
	var list []string
	for f := range w.disk() {
		if strings.HasPrefix(f, location+"/") {
			list = append(list, f)
		}
	}
	return list
}

// TestPurge removes what the table names below its location, when its time is over, and
// nothing else.
func TestPurge(t *testing.T) {
	for _, window := range []time.Duration{0, time.Hour} {
		w := newWorld(t)
		c, at := w.undropping(window)
		location, others := w.filled(c, "ns.f")
		before := w.disk()
		w.drop(c, "ns.f", true)
		if window > 0 {
			require.NoError(t, c.Tend(t.Context()))
			require.Equal(t, before, w.disk())
			at.pass(window + time.Second)
		}
		require.NoError(t, c.Tend(t.Context()))
		require.Equal(t, others[:1], w.below(location))
		for _, f := range others {
			require.Contains(t, w.disk(), f)
		}
		got := w.dropped(c)
		require.Len(t, got, 1)
		require.Equal(t, native.Purged, got[0].State)
		// four data files of which one was gone, two manifests, two lists, statistics, four metadata files
		require.Equal(t, &native.PurgeReport{Removed: 13, Outside: 2}, got[0].Report)
		_, err := c.RestoreTable(t.Context(), id("ns.f"), "", id("ns.f"))
		require.True(t, mounts.Is(err, mounts.NoSuchTable), err)
		w.create(c, "ns.again", location) // the place is free

		at.pass(8 * 24 * time.Hour)
		require.NoError(t, c.Tend(t.Context()))
		require.Empty(t, w.dropped(c))
		for key := range w.state() {
			require.NotContains(t, "deq", key[:1], "left: %q", key)
		}
	}
}

// TestPurgeWithoutGC keeps all files of a table that says so, in whatever words: for Iceberg's
// Java all but "true" is false.
func TestPurgeWithoutGC(t *testing.T) {
	for _, value := range []string{"False", "no", "0", " true", ""} {
		w := newWorld(t)
		c, _ := w.undropping(0)
		location, _ := w.filled(c, "ns.f")
		_, err := c.CommitTable(t.Context(), mounts.Caller{}, id("ns.f"), setPropertyBody("gc.enabled", value))
		require.NoError(t, err)
		files := w.below(location)
		require.NotEmpty(t, files)
		w.drop(c, "ns.f", true)
		require.NoError(t, c.Tend(t.Context()))
		require.ElementsMatch(t, files, w.below(location), "%q", value)
		require.Equal(t, native.Kept, w.dropped(c)[0].State)
		require.Contains(t, w.dropped(c)[0].Report.Reason, "gc.enabled")
	}
}

// TestPurgeWithGC takes the data of a table that says so.
func TestPurgeWithGC(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	location, others := w.filled(c, "ns.f")
	_, err := c.CommitTable(t.Context(), mounts.Caller{}, id("ns.f"), setPropertyBody("gc.enabled", "TRUE"))
	require.NoError(t, err)
	w.drop(c, "ns.f", true)
	require.NoError(t, c.Tend(t.Context()))
	require.Equal(t, others[:1], w.below(location))
}

// TestPurgeIsSkipped where another table, live or restorable, lies in the place, in it or around it.
func TestPurgeIsSkipped(t *testing.T) {
	for name, test := range map[string]struct {
		neighbor func(location string) string
		drop     bool
	}{
		"live, same place":    {func(l string) string { return l }, false},
		"live, inside":        {func(l string) string { return l + "/data/inner" }, false},
		"live, around":        {func(l string) string { return l[:strings.LastIndexByte(l, '/')] }, false},
		"dropped, same place": {func(l string) string { return l }, true},
		"dropped, inside":     {func(l string) string { return l + "/data/inner" }, true},
		"dropped, around":     {func(l string) string { return l[:strings.LastIndexByte(l, '/')] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.drop(w.main, "ns.t", false) // it would lie inside the place around
			c, at := w.undropping(time.Hour)
			location, _ := w.filled(c, "ns.f")
			w.drop(c, "ns.f", true)
			at.pass(time.Minute)
			w.create(c, "ns.neighbor", test.neighbor(location))
			if test.drop {
				w.drop(c, "ns.neighbor", false)
			}
			before := w.disk()
			at.pass(59*time.Minute + 2*time.Second)
			require.NoError(t, c.Tend(t.Context()))
			require.Equal(t, before, w.disk())
			require.Equal(t, native.Kept, w.dropped(c)[0].State)
			require.Contains(t, w.dropped(c)[0].Report.Reason, "another table")
		})
	}
}

// TestPurgeOfATableWithTwoNames: the files stay for the other name.
func TestPurgeOfATableWithTwoNames(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	w.filled(c, "ns.f")
	table, _ := w.load(c, "ns.f")
	_, err := c.RegisterTable(t.Context(), mounts.Caller{}, id("ns.g"), mounts.RegisterRequest{MetadataLocation: table.MetadataLocation})
	require.NoError(t, err)
	before := w.disk()
	w.drop(c, "ns.f", true)
	require.NoError(t, c.Tend(t.Context()))
	require.Equal(t, before, w.disk())
	require.Equal(t, native.Kept, w.dropped(c)[0].State)
}

// TestPurgeOfWhatWasRegistered: the files of a table that was registered from a file, under
// whatever name, may be another's too, wherever the names lie by now.
func TestPurgeOfWhatWasRegistered(t *testing.T) {
	register := func(w *world, c *native.Catalog, location string) {
		_, err := c.RegisterTable(w.t.Context(), mounts.Caller{}, id("ns.g"), mounts.RegisterRequest{MetadataLocation: location})
		require.NoError(w.t, err)
	}
	move := func(w *world, c *native.Catalog) {
		_, err := c.CommitTable(w.t.Context(), mounts.Caller{}, id("ns.g"),
			fmt.Appendf(nil, `{"updates":[{"action":"set-location","location":%q}]}`, w.storageRoot()+"/main/moved"))
		require.NoError(w.t, err)
	}
	for name, live := range map[string]func(w *world, c *native.Catalog, location string){
		"registered behind the drop, and moved": func(w *world, c *native.Catalog, location string) {
			w.drop(c, "ns.f", true)
			register(w, c, location)
			move(w, c)
		},
		"registered behind the drop, and given away": func(w *world, c *native.Catalog, location string) {
			w.drop(c, "ns.f", true)
			register(w, c, location)
			_, err := c.UnregisterTable(w.t.Context(), mounts.Caller{}, id("ns.g"))
			require.NoError(w.t, err)
		},
		"registered before, and moved": func(w *world, c *native.Catalog, location string) {
			register(w, c, location)
			move(w, c)
			w.drop(c, "ns.f", true)
		},
		"from another catalog": func(w *world, c *native.Catalog, location string) {
			_, err := c.UnregisterTable(w.t.Context(), mounts.Caller{}, id("ns.f"))
			require.NoError(w.t, err)
			register(w, c, location)
			w.drop(c, "ns.g", true)
		},
		"put over another": func(w *world, c *native.Catalog, location string) {
			w.drop(c, "ns.f", true)
			w.create(c, "ns.g", "")
			_, err := c.RegisterTable(w.t.Context(), mounts.Caller{}, id("ns.g"), mounts.RegisterRequest{MetadataLocation: location, Overwrite: true})
			require.NoError(w.t, err)
			move(w, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c, at := w.undropping(time.Hour)
			location, _ := w.filled(c, "ns.f")
			table, _ := w.load(c, "ns.f")
			live(w, c, table.MetadataLocation)
			before := w.disk()
			at.pass(2 * time.Hour)
			require.NoError(t, c.Tend(t.Context()))
			require.Equal(t, before, w.disk())
			require.NotEmpty(t, w.below(location))
			got := w.dropped(c)[0]
			require.Equal(t, native.Kept, got.State)
			require.Contains(t, got.Report.Reason, "registered")
		})
	}
}
