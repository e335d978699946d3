package native_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

// together runs f on several goroutines at once, several times each.
func together(goroutines, times int, f func(goroutine, i int)) {
	var group sync.WaitGroup
	for goroutine := range goroutines {
		group.Go(func() {
			for i := range times {
				f(goroutine, i)
			}
		})
	}
	group.Wait()
}

// unused are the files of the disk that the table's document neither is nor logs.
func (w *world) unused(c *native.Catalog, name string) []string {
	w.t.Helper()
	table, d := w.load(c, name)
	disk := w.disk()
	delete(disk, table.MetadataLocation)
	for _, entry := range d.MetadataLog {
		delete(disk, entry.File)
	}
	var files []string
	for file := range disk {
		files = append(files, file)
	}
	return files
}

// TestCommitsToOneTableChain: commits that contradict nothing all succeed, also those of
// two processes, and each leaves an entry of its own in the metadata log.
func TestCommitsToOneTableChain(t *testing.T) {
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			w := newWorld(t)
			catalogs := []*native.Catalog{w.main, w.open("main")}[:processes]
			const goroutines, times = 12, 6
			locations := make(chan string, goroutines*times)
			together(goroutines, times, func(goroutine, i int) {
				key := fmt.Sprintf("p-%d-%d", goroutine, i)
				table, err := catalogs[goroutine%processes].CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody(key, "1"))
				if err != nil {
					t.Errorf("commit %s: %v", key, err)
					return
				}
				locations <- table.MetadataLocation
			})
			close(locations)
			_, d := w.load(w.main, "ns.t")
			require.Len(t, d.Properties, goroutines*times+1)
			require.Len(t, d.MetadataLog, goroutines*times, "an entry for each commit")
			logged := map[string]bool{}
			for _, entry := range d.MetadataLog {
				require.False(t, logged[entry.File], "twice in the log: %s", entry.File)
				logged[entry.File] = true
			}
			answered := map[string]bool{}
			for location := range locations {
				require.False(t, answered[location], "two commits were answered with one document")
				answered[location] = true
			}
			require.Empty(t, w.unused(w.main, "ns.t"), "what lost a swap is deleted")
		})
	}
}

// snapshotBody adds a snapshot and makes it the current one. Having no parent it fits on
// any base.
func snapshotBody(snapshot int64) []byte {
	n := strconv.FormatInt(snapshot, 10)
	return []byte(`{"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":` + n + `,"sequence-number":1,"timestamp-ms":1800000000000,
		"manifest-list":"file:///m","summary":{"operation":"append"},"schema-id":0}},
		{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":` + n + `}]}`)
}

// TestEveryCommitKeepsItsOwnSnapshotLogEntry, also where several share a registry commit.
func TestEveryCommitKeepsItsOwnSnapshotLogEntry(t *testing.T) {
	w := newWorld(t)
	const goroutines, times = 8, 5
	together(goroutines, times, func(goroutine, i int) {
		_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), snapshotBody(int64(1+goroutine*times+i)))
		if err != nil {
			t.Errorf("commit: %v", err)
		}
	})
	_, d := w.load(w.main, "ns.t")
	require.Len(t, d.Snapshots, goroutines*times)
	require.Len(t, d.SnapshotLog, goroutines*times)
	require.Len(t, d.MetadataLog, goroutines*times)
	seen := map[int64]bool{}
	for _, entry := range d.SnapshotLog {
		seen[entry.ID] = true
	}
	require.Len(t, seen, goroutines*times)
}

// TestOnlyOneOfManyWins: a requirement that only one can meet is met by one.
func TestOnlyOneOfManyWins(t *testing.T) {
	w := newWorld(t)
	catalogs := []*native.Catalog{w.main, w.open("main")}
	var won, lost atomic.Int64
	together(10, 1, func(goroutine, _ int) {
		body := `{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}],` + string(snapshotBody(int64(goroutine + 1)))[1:]
		_, err := catalogs[goroutine%2].CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), []byte(body))
		switch {
		case err == nil:
			won.Add(1)
		case mounts.Is(err, mounts.CommitFailed):
			lost.Add(1)
		default:
			t.Errorf("commit: %v", err)
		}
	})
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, 9, lost.Load())
	require.Empty(t, w.unused(w.main, "ns.t"))
}

// TestARefusedCommitInAChainHarmsNoOther: it gets its own answer, those around it theirs.
func TestARefusedCommitInAChainHarmsNoOther(t *testing.T) {
	w := newWorld(t)
	const goroutines, times = 9, 4
	together(goroutines, times, func(goroutine, i int) {
		body, want := setPropertyBody(fmt.Sprintf("p-%d-%d", goroutine, i), "1"), mounts.Kind(255)
		switch goroutine % 3 {
		case 1:
			body, want = []byte(`{"requirements":[{"type":"assert-table-uuid","uuid":"0"}],"updates":[]}`), mounts.CommitFailed
		case 2:
			body, want = []byte(`{"updates":[{"action":"set-current-schema","schema-id":77}]}`), mounts.BadRequest
		}
		switch _, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), body); {
		case want == 255 && err != nil, want != 255 && !mounts.Is(err, want):
			t.Errorf("commit %s: %v", body, err)
		}
	})
	_, d := w.load(w.main, "ns.t")
	require.Len(t, d.MetadataLog, goroutines/3*times)
	require.Empty(t, w.unused(w.main, "ns.t"))
}

// TestOneNameIsCreatedOnce by many at once, in two processes, in three ways.
func TestOneNameIsCreatedOnce(t *testing.T) {
	w := newWorld(t)
	catalogs := []*native.Catalog{w.main, w.open("main")}
	source, _ := w.load(w.main, "ns.t")
	var won atomic.Int64
	together(12, 1, func(goroutine, _ int) {
		c, err := catalogs[goroutine%2], error(nil)
		switch goroutine % 3 {
		case 0:
			_, err = c.CreateTable(t.Context(), mounts.Caller{}, id("ns.new"), []byte(newTableBody("new")))
		case 1:
			_, err = c.RegisterTable(t.Context(), mounts.Caller{}, id("ns.new"), mounts.RegisterRequest{MetadataLocation: source.MetadataLocation})
		case 2:
			err = w.rename(t.Context(), w.mainAt, "ns.t", w.mainAt, "ns.new")
			if mounts.Is(err, mounts.NoSuchTable) {
				return // another rename won
			}
		}
		switch {
		case err == nil:
			won.Add(1)
		case !mounts.Is(err, mounts.AlreadyExists):
			t.Errorf("create: %v", err)
		}
	})
	require.EqualValues(t, 1, won.Load())
	w.wholeTables()
	for file := range w.disk() {
		require.True(t, w.isUsed(file), "an orphan: %s", file)
	}
}

// TestCommitsRacingRename: a commit finds the table under one of its names or doesn't; what
// was acknowledged is there, and what wasn't left nothing.
func TestCommitsRacingRename(t *testing.T) {
	w := newWorld(t)
	names := []string{"ns.t", "other.u"}
	acknowledged := w.commitWhile(names, func(i int) error {
		return w.rename(t.Context(), w.mainAt, names[i%2], w.mainAt, names[(i+1)%2])
	})
	at := names[0]
	if w.main.TableExists(t.Context(), mounts.Caller{}, id(at)) != nil {
		at = names[1]
	}
	_, d := w.load(w.main, at)
	require.NotEmpty(t, acknowledged)
	for _, key := range acknowledged {
		require.Contains(t, d.Properties, key)
	}
	require.Len(t, d.MetadataLog, len(acknowledged))
	require.Empty(t, w.unused(w.main, at))
}

// commitWhile commits to a table that has one of the names, and makes another change after
// every few commits, while others are under way. It returns what was acknowledged. That
// there is no such table is an answer; nothing else is.
func (w *world) commitWhile(names []string, change func(i int) error) (acknowledged []string) {
	const goroutines, times, between = 6, 40, 10
	answered := make(chan string, goroutines*times)
	var changer sync.WaitGroup
	changer.Go(func() {
		n := 0
		for key := range answered {
			if key != "" {
				acknowledged = append(acknowledged, key)
			}
			if n++; n%between != 0 {
				continue
			}
			if err := change(n/between - 1); err != nil {
				w.t.Errorf("change: %v", err)
			}
		}
	})
	together(goroutines, times, func(goroutine, i int) {
		key := fmt.Sprintf("p-%d-%d", goroutine, i)
		_, err := w.main.CommitTable(w.t.Context(), mounts.Caller{}, id(names[i%len(names)]), setPropertyBody(key, "1"))
		switch {
		case mounts.Is(err, mounts.NoSuchTable):
			key = ""
		case err != nil:
			w.t.Errorf("commit: %v", err)
		}
		answered <- key
	})
	close(answered)
	changer.Wait()
	return acknowledged
}

// TestCommitsRacingDrop: a table that is dropped and made again takes no commit from its
// former life, and no commit brings the former one back.
func TestCommitsRacingDrop(t *testing.T) {
	w := newWorld(t)
	acknowledged := w.commitWhile([]string{"ns.t"}, func(int) error {
		if err := w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.t"), false); err != nil {
			return err
		}
		_, err := w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.t"), []byte(newTableBody("t")))
		return err
	})
	require.NotEmpty(t, acknowledged)
	table, d := w.load(w.main, "ns.t")
	for _, entry := range d.MetadataLog {
		require.Contains(t, entry.File, d.Location, "a document of a former life")
	}
	require.Contains(t, table.MetadataLocation, d.Location)
	require.NoError(t, w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.t"), false))
	require.NoError(t, w.main.DropNamespace(t.Context(), mounts.Caller{}, mounts.Namespace{"ns"}), "no entry is left behind")
	records := w.state()
	for key := range records {
		require.NotEqual(t, byte('l'), key[0], "a location of a dropped table: %q", key)
	}
}

// TestCreatingRacesDroppingTheNamespace: never a table without a namespace.
func TestCreatingRacesDroppingTheNamespace(t *testing.T) {
	w := newWorld(t)
	written := make(chan struct{}, 1)
	w.files.set(func(_ vend.Location, write func() error) error {
		defer func() { written <- struct{}{} }()
		return write()
	})
	for i := range 40 {
		n := mounts.Namespace{"n" + strconv.Itoa(i)}
		_, err := w.main.CreateNamespace(t.Context(), mounts.Caller{}, n, nil)
		require.NoError(t, err)
		var created, dropped error
		together(2, 1, func(goroutine, _ int) {
			if goroutine == 0 {
				_, created = w.main.CreateTable(t.Context(), mounts.Caller{}, n.Table("t"), []byte(newTableBody("t")))
				return
			}
			if i%2 == 1 { // else the drop comes before the table's file nearly always
				<-written
			}
			dropped = w.main.DropNamespace(t.Context(), mounts.Caller{}, n)
		})
		select {
		case <-written:
		default:
		}
		if created != nil {
			require.True(t, mounts.Is(created, mounts.NoSuchNamespace), "%v", created)
			require.NoError(t, dropped)
			continue
		}
		require.True(t, mounts.Is(dropped, mounts.NamespaceNotEmpty), "%v", dropped)
		w.load(w.main, n.String()+".t")
	}
}
