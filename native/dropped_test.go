package native_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// undropping opens the mount main with a window for restoring and a clock.
func (w *world) undropping(window time.Duration) (*native.Catalog, *clock) {
	w.t.Helper()
	at := &clock{now: time.Now()}
	c, err := native.New(native.Options{
		ID: "main", Registry: w.registry, Warehouse: "file://" + w.dir + "/main", Storage: w.storage, Now: at.Now, UndropWindow: window,
		Documents: vend.NewDocuments(64 << 20),
	})
	require.NoError(w.t, err)
	w.opened = append(w.opened, c)
	return c, at
}

func (w *world) drop(c *native.Catalog, name string, purge bool) {
	w.t.Helper()
	require.NoError(w.t, c.DropTable(w.t.Context(), mounts.Caller{Principal: "ann"}, id(name), purge))
}

func (w *world) create(c *native.Catalog, name, location string) *mounts.Table {
	w.t.Helper()
	body := `{"name":"` + id(name).Name + `","schema":` + schema
	if location != "" {
		body += `,"location":"` + location + `"`
	}
	table, err := c.CreateTable(w.t.Context(), mounts.Caller{}, id(name), []byte(body+"}"))
	require.NoError(w.t, err)
	return table
}

func (w *world) dropped(c *native.Catalog) []native.Dropped {
	w.t.Helper()
	list, next, err := c.ListDropped(w.t.Context(), mounts.Page{})
	require.NoError(w.t, err)
	require.Empty(w.t, next)
	return list
}

// TestDroppedTableComesBack: with the same document, location and history, and then there
// is nothing left of the drop.
func TestDroppedTableComesBack(t *testing.T) {
	for _, purge := range []bool{false, true} {
		w := newWorld(t)
		c, at := w.undropping(time.Hour)
		w.commit("ns.t", "a")
		before, _ := w.load(c, "ns.t")
		records := len(w.state())
		w.drop(c, "ns.t", purge)
		require.True(t, mounts.Is(c.TableExists(t.Context(), mounts.Caller{}, id("ns.t")), mounts.NoSuchTable))

		list := w.dropped(c)
		require.Len(t, list, 1)
		require.Equal(t, "ann", list[0].DroppedBy)
		require.Equal(t, native.Restorable, list[0].State)
		require.Equal(t, purge, list[0].Purge)
		require.Equal(t, before.MetadataLocation, list[0].MetadataLocation)
		require.WithinDuration(t, at.Now().Add(time.Hour), list[0].RestorableUntil, 0)

		at.pass(59 * time.Minute)
		require.NoError(t, c.Tend(t.Context()))
		restored, err := c.RestoreTable(t.Context(), id("ns.t"), "", id("ns.t"))
		require.NoError(t, err)
		require.Equal(t, list[0], restored)
		after, _ := w.load(c, "ns.t")
		require.Equal(t, before.MetadataLocation, after.MetadataLocation)
		w.commit("ns.t", "b")
		require.Empty(t, w.dropped(c))
		require.Len(t, w.state(), records)
	}
}

// TestDroppedNameIsFree: at once, so that several tables of one name can be restored, each
// under a name of its own; without an ID it is the last.
func TestDroppedNameIsFree(t *testing.T) {
	w := newWorld(t)
	c, at := w.undropping(time.Hour)
	first, _ := w.load(c, "ns.t")
	w.drop(c, "ns.t", false)
	at.pass(time.Second)
	second := w.create(c, "ns.t", "")
	w.drop(c, "ns.t", false)
	third := w.create(c, "ns.t", "")

	_, err := c.RestoreTable(t.Context(), id("ns.t"), "", id("ns.t"))
	require.True(t, mounts.Is(err, mounts.AlreadyExists), err)
	require.Len(t, w.dropped(c), 2)

	_, err = c.RestoreTable(t.Context(), id("ns.t"), "", id("other.last"))
	require.NoError(t, err)
	left := w.dropped(c)
	require.Len(t, left, 1)
	_, err = c.RestoreTable(t.Context(), id("ns.t"), "unknown", id("other.first"))
	require.True(t, mounts.Is(err, mounts.NoSuchTable), err)
	_, err = c.RestoreTable(t.Context(), id("ns.t"), left[0].ID, id("other.first"))
	require.NoError(t, err)
	for name, want := range map[string]string{"other.last": second.MetadataLocation, "other.first": first.MetadataLocation, "ns.t": third.MetadataLocation} {
		got, _ := w.load(c, name)
		require.Equal(t, want, got.MetadataLocation)
	}
}

// TestRestoreIsRefused, and changes nothing.
func TestRestoreIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(w *world, c *native.Catalog, at *clock)
		to    string
		want  mounts.Kind
	}{
		"the window is over":        {func(_ *world, _ *native.Catalog, at *clock) { at.pass(time.Hour) }, "ns.t", mounts.NoSuchTable},
		"no namespace":              {nil, "gone.t", mounts.NoSuchNamespace},
		"a table has its name":      {func(w *world, c *native.Catalog, _ *clock) { w.create(c, "ns.t", "") }, "ns.t", mounts.AlreadyExists},
		"its metadata file gone":    {func(w *world, c *native.Catalog, _ *clock) { w.removeFile(w.dropped(c)[0].MetadataLocation) }, "ns.t", mounts.NotFound},
		"another lies in its place": {func(w *world, c *native.Catalog, _ *clock) { w.create(c, "ns.u", w.dropped(c)[0].Location) }, "ns.t", mounts.BadRequest},
		"another lies around it": {func(w *world, c *native.Catalog, _ *clock) {
			l := w.dropped(c)[0].Location
			w.create(c, "ns.u", l[:strings.LastIndexByte(l, '/')])
		}, "ns.t", mounts.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c, at := w.undropping(time.Hour)
			w.drop(c, "ns.t", false)
			if test.spoil != nil {
				test.spoil(w, c, at)
			}
			before := w.state()
			_, err := c.RestoreTable(t.Context(), id("ns.t"), "", id(test.to))
			require.True(t, mounts.Is(err, test.want), err)
			require.Equal(t, before, w.state())
		})
	}
}

func (w *world) removeFile(location string) {
	w.t.Helper()
	require.NoError(w.t, os.Remove(strings.TrimPrefix(location, "file://")))
	for _, c := range w.opened {
		c.ForgetEverything()
	}
}

// TestDropsAreForgotten once their time is over. Without a purge every file stays.
func TestDropsAreForgotten(t *testing.T) {
	w := newWorld(t)
	c, at := w.undropping(time.Hour)
	files := w.disk()
	w.drop(c, "ns.t", false)
	require.NoError(t, c.Tend(t.Context()))
	require.Len(t, w.dropped(c), 1)
	at.pass(time.Hour + time.Second)
	require.NoError(t, c.Tend(t.Context()))
	require.Empty(t, w.dropped(c))
	require.Equal(t, files, w.disk())
	for key := range w.state() {
		require.NotContains(t, "deqot", key[:1], "left: %q", key)
	}
}

// TestNoWindow: a drop leaves nothing behind.
func TestNoWindow(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	w.drop(c, "ns.t", false)
	require.Empty(t, w.dropped(c))
	for key := range w.state() {
		require.NotContains(t, "deqotl", key[:1], "left: %q", key)
	}
}

// TestDropSentAgain under one Idempotency-Key leaves one dropped table.
func TestDropSentAgain(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(time.Hour)
	caller := mounts.Caller{Principal: "ann", Receipt: &mounts.Receipt{Key: [16]byte{1}}}
	require.NoError(t, c.DropTable(t.Context(), caller, id("ns.t"), false))
	w.create(c, "ns.t", "")
	err := c.DropTable(t.Context(), caller, id("ns.t"), false)
	require.True(t, mounts.Is(err, mounts.Replayed), err)
	require.Len(t, w.dropped(c), 1)
	require.NoError(t, c.TableExists(t.Context(), mounts.Caller{}, id("ns.t")))
}

// TestRestoreOutcomes: what a registry says of the commit.
func TestRestoreOutcomes(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(time.Hour)
	w.drop(c, "ns.t", false)
	lost := errors.New("lost")
	w.registry.set(nil, func() error { return errors.Join(native.ErrUnknown, lost) }, nil)
	_, err := c.RestoreTable(t.Context(), id("ns.t"), "", id("ns.t"))
	require.True(t, mounts.Is(err, mounts.CommitStateUnknown), err)
	w.registry.set(nil, nil, lost)
	_, err = c.RestoreTable(t.Context(), id("ns.t"), "", id("ns.t"))
	require.True(t, mounts.Is(err, mounts.Unavailable), err)
}

// TestListDroppedPages.
func TestListDroppedPages(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(time.Hour)
	w.drop(c, "ns.t", false)
	for _, name := range []string{"ns.b", "other.a", "ns.ü 1", "ns.b"} {
		w.create(c, name, "")
		w.drop(c, name, false)
	}
	var names []string
	page := mounts.Page{Size: 2}
	for {
		list, next, err := c.ListDropped(t.Context(), page)
		require.NoError(t, err)
		for _, d := range list {
			names = append(names, d.Name.String())
		}
		if next == "" {
			break
		}
		page.Token = next
	}
	require.Equal(t, []string{"ns.b", "ns.b", "ns.t", "ns.ü 1", "other.a"}, names)
	second, _, err := w.second.ListDropped(t.Context(), mounts.Page{})
	require.NoError(t, err)
	require.Empty(t, second)
}

// TestDroppedTablesOfABackup: whoever restores an old registry has time to find the tables that
// it takes for dropped, before their files go.
func TestDroppedTablesOfABackup(t *testing.T) {
	w := newWorld(t)
	c, at := w.undropping(time.Hour)
	location, _ := w.filled(c, "ns.f")
	w.drop(c, "ns.f", true)
	file := backup(t, w.registry.Registry.(native.Snapshotter))
	w.registry.Registry = openBolt(t)
	at.pass(30 * 24 * time.Hour)
	b, err := native.NewBackupReader(bytes.NewReader(file))
	require.NoError(t, err)
	require.NoError(t, native.Restore(t.Context(), w.registry, b, at.Now(), func(uint64) {}))
	require.NoError(t, c.Tend(t.Context()))
	at.pass(7*24*time.Hour - time.Minute)
	require.NoError(t, c.Tend(t.Context()))
	before := w.below(location)
	require.Len(t, before, 13)
	list := w.dropped(c)
	require.Len(t, list, 1)
	require.WithinDuration(t, at.Now().Add(time.Minute), list[0].RestorableUntil, time.Second)
	_, err = c.RestoreTable(t.Context(), id("ns.f"), "", id("ns.f"))
	require.NoError(t, err)
	w.load(c, "ns.f")
	for key := range w.state() {
		require.NotContains(t, "deq", key[:1], "left: %q", key)
	}
}

// TestRestoreBesideWhatItAllowed: a place property that leads around another table was
// allowed to the table while it lived.
func TestRestoreBesideWhatItAllowed(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(time.Hour)
	_, err := c.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("write.data.path", w.storageRoot()+"/main/shared"))
	require.NoError(t, err)
	w.create(c, "ns.u", w.storageRoot()+"/main/shared/u")
	w.drop(c, "ns.t", false)
	_, err = c.RestoreTable(t.Context(), id("ns.t"), "", id("ns.t"))
	require.NoError(t, err)
}

// TestListDroppedTellsWhatAPurgeKeeps: what is said of a purge that is still to come comes true.
func TestListDroppedTellsWhatAPurgeKeeps(t *testing.T) {
	w := newWorld(t)
	c, at := w.undropping(time.Hour)
	w.filled(c, "ns.own")
	w.filled(c, "ns.twice")
	w.filled(c, "ns.stays")
	table, _ := w.load(c, "ns.twice")
	_, err := c.RegisterTable(t.Context(), mounts.Caller{}, id("ns.registered"), mounts.RegisterRequest{MetadataLocation: table.MetadataLocation})
	require.NoError(t, err)
	for _, name := range []string{"ns.own", "ns.twice", "ns.registered"} {
		w.drop(c, name, true)
	}
	said := map[string]string{}
	for _, d := range w.dropped(c) {
		said[d.Name.String()] = d.Keeps
	}
	const registered = "it was registered from a metadata file: its files may be another's too"
	require.Equal(t, map[string]string{"ns.own": "", "ns.registered": registered, "ns.twice": registered}, said)
	at.pass(2 * time.Hour)
	require.NoError(t, c.Tend(t.Context()))
	for _, d := range w.dropped(c) {
		keeps := said[d.Name.String()]
		require.Equal(t, keeps != "", d.State == native.Kept, "%s is %s", d.Name, d.State)
		require.Equal(t, keeps != "", d.Report.Reason != "", "%s: %s", d.Name, d.Report.Reason)
		require.Empty(t, d.Keeps, "the report says it")
	}
}

// TestRegisterBehindAPurge: a file that is gone makes no table, also where it is remembered.
func TestRegisterBehindAPurge(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	w.filled(c, "ns.f")
	table, _ := w.load(c, "ns.f")
	w.drop(c, "ns.f", true)
	require.NoError(t, c.Tend(t.Context()))
	_, err := c.RegisterTable(t.Context(), mounts.Caller{}, id("ns.f"), mounts.RegisterRequest{MetadataLocation: table.MetadataLocation})
	require.True(t, mounts.Is(err, mounts.NotFound), err)
}
