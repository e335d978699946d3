package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
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

// TestPurgeKeepsData of a table that says so, in whatever words: for Iceberg's Java all but
// "true" is false.
func TestPurgeKeepsData(t *testing.T) {
	for _, value := range []string{"False", "no", "0", " true", ""} {
		w := newWorld(t)
		c, _ := w.undropping(0)
		location, _ := w.filled(c, "ns.f")
		_, err := c.CommitTable(t.Context(), mounts.Caller{}, id("ns.f"), setPropertyBody("gc.enabled", value))
		require.NoError(t, err)
		w.drop(c, "ns.f", true)
		require.NoError(t, c.Tend(t.Context()))
		require.Empty(t, w.below(location+"/metadata"))
		require.Len(t, w.below(location+"/data"), 4, "%q", value)
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

// TestPurgeGoesOn after every kind of failure and of interruption, and in the end nothing of the
// table is left.
func TestPurgeGoesOn(t *testing.T) {
	for failing := range 12 {
		w := newWorld(t)
		c, at := w.undropping(0)
		location, others := w.filled(c, "ns.f")
		w.drop(c, "ns.f", true)
		var deletions atomic.Int64
		w.files.setDelete(func(vend.Location) error {
			if deletions.Add(1) > int64(failing) {
				return errors.New("the storage is out")
			}
			return nil
		})
		require.Error(t, c.Tend(t.Context()))
		require.NoError(t, c.Tend(t.Context()), "it isn't tried again at once")
		require.Equal(t, native.Purging, w.dropped(c)[0].State)
		_, err := c.RestoreTable(t.Context(), id("ns.f"), "", id("ns.f"))
		require.True(t, mounts.Is(err, mounts.NoSuchTable), err)
		w.files.setDelete(nil)
		_, err = c.CreateTable(t.Context(), mounts.Caller{}, id("ns.new"), []byte(`{"name":"new","schema":`+schema+`,"location":"`+location+`"}`))
		require.True(t, mounts.Is(err, mounts.BadRequest), "no table may come to lie where one is purged: %v", err)

		c.ForgetEverything()
		at.pass(5 * time.Minute)
		require.NoError(t, c.Tend(t.Context()))
		require.Equal(t, others[:1], w.below(location), "after %d deletions", failing)
		require.Equal(t, native.Purged, w.dropped(c)[0].State)
	}
}

// TestPurgeTakenOver: a process that died holds a purge for some minutes; two that live
// don't do the same one.
func TestPurgeTakenOver(t *testing.T) {
	w := newWorld(t)
	c, at := w.undropping(0)
	location, others := w.filled(c, "ns.f")
	w.drop(c, "ns.f", true)
	ctx, cancel := context.WithCancel(t.Context())
	inside := make(chan struct{})
	w.files.setDelete(func(vend.Location) error {
		select {
		case inside <- struct{}{}:
			<-ctx.Done()
		default:
		}
		return ctx.Err()
	})
	first := make(chan error)
	go func() { first <- c.Tend(ctx) }()
	<-inside
	w.files.setDelete(nil)
	before := w.disk()
	require.NoError(t, c.Tend(t.Context()))
	require.Equal(t, before, w.disk())

	// the other one is dead: its time passes
	at.pass(11 * time.Minute)
	require.NoError(t, c.Tend(t.Context()))
	require.Equal(t, others[:1], w.below(location))
	require.Equal(t, native.Purged, w.dropped(c)[0].State)
	cancel()
	require.Error(t, <-first)
	require.Equal(t, native.Purged, w.dropped(c)[0].State)
}

// TestPurgeOfDamage: what can't be read stays, with what it might name, and is reported.
func TestPurgeOfDamage(t *testing.T) {
	for name, test := range map[string]struct {
		file  string
		stays []string
	}{
		"manifest": {"m2.avro", []string{"metadata/m2.avro", "data/d=*/c%2Fd.parquet", "data/stranger.parquet"}},
		"list":     {"l2.avro", []string{"metadata/l2.avro", "metadata/m2.avro", "data/d=*/c%2Fd.parquet", "data/stranger.parquet"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c, _ := w.undropping(0)
			location, _ := w.filled(c, "ns.f")
			w.write(location+"/metadata/"+test.file, []byte("no Avro"))
			w.drop(c, "ns.f", true)
			require.NoError(t, c.Tend(t.Context()))
			var stays []string
			for _, f := range test.stays {
				stays = append(stays, location+"/"+f)
			}
			require.ElementsMatch(t, stays, w.below(location))
			require.Equal(t, []string{location + "/metadata/" + test.file}, w.dropped(c)[0].Report.Unreadable)
		})
	}
	for name, content := range map[string]string{"no JSON": "nothing", "another table's": "", "gone": "-"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c, _ := w.undropping(0)
			location, _ := w.filled(c, "ns.f")
			table, _ := w.load(c, "ns.f")
			other, _ := w.load(c, "ns.t")
			w.drop(c, "ns.f", true)
			switch content {
			case "-":
				w.removeFile(table.MetadataLocation)
			case "":
				raw, err := os.ReadFile(strings.TrimPrefix(other.MetadataLocation, "file://"))
				require.NoError(t, err)
				w.write(table.MetadataLocation, raw)
			default:
				w.write(table.MetadataLocation, []byte(content))
			}
			c.ForgetEverything()
			before := w.disk()
			require.NoError(t, c.Tend(t.Context()))
			require.Equal(t, before, w.disk())
			require.Equal(t, native.Kept, w.dropped(c)[0].State)
			require.NotEmpty(t, w.below(location))
		})
	}
}

// TestPurgeWithoutRegistry: nothing is deleted while it can't be known who else is there.
func TestPurgeWithoutRegistry(t *testing.T) {
	w := newWorld(t)
	c, at := w.undropping(0)
	location, others := w.filled(c, "ns.f")
	w.drop(c, "ns.f", true)
	before := w.disk()
	w.registry.set(func(context.Context) error { return native.ErrNotApplied }, nil, nil)
	require.Error(t, c.Tend(t.Context()))
	require.Equal(t, before, w.disk())
	w.registry.set(nil, func() error { return native.ErrUnknown }, nil)
	require.Error(t, c.Tend(t.Context()))
	require.Equal(t, before, w.disk())
	w.registry.set(nil, nil, nil)
	at.pass(11 * time.Minute)
	require.NoError(t, c.Tend(t.Context()))
	require.Equal(t, others[:1], w.below(location))
}
