package native_test

import (
	"errors"
	"fmt"
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

// TestAStorageOutageIsOverAtOnceForAllWhoWait: it costs a hot table one wait, not one for
// each commit that waits, and nobody waits for what was written in vain to be deleted.
func TestAStorageOutageIsOverAtOnceForAllWhoWait(t *testing.T) {
	w := newWorld(t)
	files := w.disk()
	const slow = 100 * time.Millisecond
	w.files.set(func(vend.Location, func() error) error {
		time.Sleep(slow)
		return vend.Outcome(vend.ErrUnknown, errors.New("no answer"))
	})
	w.files.setDelete(func(vend.Location) error {
		time.Sleep(slow)
		return nil
	})
	begun := time.Now()
	together(30, 1, func(goroutine, _ int) {
		_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody(fmt.Sprint(goroutine), "1"))
		if !mounts.Is(err, mounts.Unavailable) {
			t.Errorf("commit: %v", err)
		}
	})
	require.Less(t, time.Since(begun), 20*slow)
	require.Equal(t, files, w.disk())
	w.files.set(nil)
	_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
	require.NoError(t, err)
}

// TestOneFileThatCantBeWrittenFailsOneCommit: those before it are carried out, and those
// behind it start again.
func TestOneFileThatCantBeWrittenFailsOneCommit(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	written := 0
	w.files.set(func(_ vend.Location, write func() error) error {
		time.Sleep(10 * time.Millisecond) // others join the queue
		mu.Lock()
		written++
		failing := written == 1 // a later one may be of a commit that starts again anyway
		mu.Unlock()
		if failing {
			return vend.Outcome(vend.ErrNotWritten, &mounts.Error{Kind: mounts.BadRequest, Detail: "Invalid location"})
		}
		return write()
	})
	failed := make(chan error, 20)
	together(20, 1, func(goroutine, _ int) {
		if _, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody(fmt.Sprint(goroutine), "1")); err != nil {
			failed <- err
		}
	})
	close(failed)
	require.Len(t, failed, 1)
	for err := range failed {
		require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
		require.Contains(t, err.Error(), "Invalid location")
	}
	_, d := w.load(w.main, "ns.t")
	require.Len(t, d.Properties, 19+1)
}

// TestACommitDoesNotWaitForever: who waited too long for a turn hears that surely nothing
// was done, and nothing is.
func TestACommitDoesNotWaitForever(t *testing.T) {
	w := newWorld(t)
	w.main.SetPatience(50 * time.Millisecond)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w.files.set(func(_ vend.Location, write func() error) error {
		begun <- struct{}{}
		<-release
		return write()
	})
	var group sync.WaitGroup
	group.Go(func() {
		_, _ = w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("first", "1")) // its time is over too
	})
	<-begun
	late := make(chan error, 1)
	group.Go(func() {
		_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("late", "1"))
		late <- err
	})
	time.Sleep(100 * time.Millisecond)
	close(release)
	err := <-late
	group.Wait()
	require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
	_, d := w.load(w.main, "ns.t")
	require.NotContains(t, d.Properties, "late")
}

// TestCloseWaitsForDeletions.
func TestCloseWaitsForDeletions(t *testing.T) {
	w := newWorld(t)
	files := w.disk()
	w.files.setDelete(func(vend.Location) error {
		time.Sleep(50 * time.Millisecond)
		return nil
	})
	w.registry.set(failing(native.ErrNotApplied), nil, nil)
	_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
	require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
	require.NoError(t, w.main.Close())
	require.Equal(t, files, w.disk())
}

// TestACommitSentAgainWhoseDocumentIsGone: it was applied, so whatever fails now is unknown
// and never a refusal, on which clients delete their data files.
func TestACommitSentAgainWhoseDocumentIsGone(t *testing.T) {
	for what, requirements := range map[string]string{"with requirements": `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`, "without": ""} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			body := []byte(`{"requirements":[` + requirements + `],` + string(snapshotBody(7))[1:])
			table, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), body)
			require.NoError(t, err)
			again, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), body)
			require.NoError(t, err)
			require.Equal(t, table.MetadataLocation, again.MetadataLocation)

			w.forget(table.MetadataLocation)
			_, err = w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), body)
			require.True(t, mounts.Is(err, mounts.CommitStateUnknown), "%v", err)
		})
	}
}

// TestTheOutcomeOfAReceiptWhoseFileIsGone, as after maintenance.
func TestTheOutcomeOfAReceiptWhoseFileIsGone(t *testing.T) {
	w := newWorld(t)
	table, _ := w.load(w.main, "ns.t")
	_, err := w.main.TableAt(t.Context(), table.MetadataLocation)
	require.NoError(t, err)
	w.forget(table.MetadataLocation)
	for _, location := range []string{table.MetadataLocation, "file:///elsewhere/x.metadata.json"} {
		_, err = w.main.TableAt(t.Context(), location)
		require.True(t, mounts.Is(err, mounts.CommitStateUnknown), "%v", err)
	}
}

// forget removes a metadata file, and from the cache of served documents too. What was
// parsed of it stays known.
func (w *world) forget(location string) {
	w.t.Helper()
	require.NoError(w.t, os.Remove(strings.TrimPrefix(location, "file://")))
	for _, c := range w.opened {
		c.ForgetDocuments()
	}
}
