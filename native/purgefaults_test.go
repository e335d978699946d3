package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

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
		inside <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	first := make(chan error)
	go func() { first <- c.Tend(ctx) }()
	for range 2 { // both files of the first manifest
		<-inside
	}
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

// TestPurgeOfASleeper: a process that slept through its time leaves the place to others.
func TestPurgeOfASleeper(t *testing.T) {
	w := newWorld(t)
	c, at := w.undropping(0)
	location, _ := w.filled(c, "ns.f")
	w.drop(c, "ns.f", true)
	commits := 0
	w.registry.set(func(context.Context) error {
		if commits++; commits == 2 { // behind the claim
			at.pass(11 * time.Minute)
			w.registry.set(nil, nil, nil)
			require.NoError(t, c.Tend(t.Context()))
			require.Equal(t, native.Purged, w.dropped(c)[0].State)
		}
		return nil
	}, nil, nil)
	require.NoError(t, c.Tend(t.Context()))
	w.create(c, "ns.new", location)
}

// TestPurgeOfManyDamagedManifests ends, and its report fits into a record.
func TestPurgeOfManyDamagedManifests(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	w.create(c, "ns.f", "")
	_, d := w.load(c, "ns.f")
	var manifests []string
	for i := range 300 {
		name := fmt.Sprintf("%s/metadata/%0200d.avro", d.Location, i)
		w.write(name, []byte("no Avro"))
		manifests = append(manifests, name)
	}
	list := d.Location + "/metadata/l.avro"
	w.write(list, manifestList(t, manifests...))
	w.snapshot(c, "ns.f", 1, list)
	w.drop(c, "ns.f", true)
	require.NoError(t, c.Tend(t.Context()))
	got := w.dropped(c)[0]
	require.Equal(t, native.Purged, got.State)
	require.Equal(t, int64(300), got.Report.Unread)
	require.Len(t, got.Report.Unreadable, 100)
}

// TestDamagedRecordOfADrop is told, but not every few seconds, and keeps no other from going.
func TestDamagedRecordOfADrop(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	location, others := w.filled(c, "ns.f")
	w.drop(c, "ns.t", true)
	for key := range w.state() {
		if key[0] == 'd' {
			require.NoError(t, w.registry.Commit(t.Context(), nil, []native.Change{{Key: native.Key(key), Value: []byte("{"), Version: native.NewVersion()}}))
		}
	}
	w.drop(c, "ns.f", true)
	require.Error(t, c.Tend(t.Context()))
	require.Equal(t, others[:1], w.below(location))
	require.NoError(t, c.Tend(t.Context()))
	list := w.dropped(c)
	require.Len(t, list, 2)
	require.Equal(t, native.Purged, list[0].State)
	require.Equal(t, native.Dropped{ID: list[1].ID, Name: id("ns.t"), State: native.Damaged}, list[1])
}
