//go:build linux

package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"piedmont/native"
)

// redirect makes the registry's file descriptor one of the device, so that writes
// and syncs really fail inside bbolt; the mapping stays of the file. It returns what undoes it.
func redirect(t *testing.T, r *Registry, device string) (undo func()) {
	t.Helper()
	fd := int(r.file.Fd())
	saved, err := unix.Dup(fd) // keeps the lock
	if err != nil {
		t.Fatal(err)
	}
	d, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Dup3(int(d.Fd()), fd, 0); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(unix.Dup3(saved, fd, 0), unix.Close(saved), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// commitValue writes the key a.
func commitValue(t *testing.T, r *Registry, value string) error {
	t.Helper()
	return r.Commit(t.Context(), nil, []native.Change{{Key: "a", Value: []byte(value), Version: native.NewVersion()}})
}

// wantValue fails unless a has the value.
func wantValue(t *testing.T, r *Registry, value string) {
	t.Helper()
	rec, ok, err := r.Get(t.Context(), "a")
	if err != nil || !ok || string(rec.Value) != value {
		t.Fatalf("Get = %q, %v, %v, want %q", rec.Value, ok, err, value)
	}
}

// warm writes until the file has free pages, so that it needn't grow for the next commit.
func warm(t *testing.T, r *Registry) {
	t.Helper()
	for i := range 5 {
		if err := commitValue(t, r, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := commitValue(t, r, "durable"); err != nil {
		t.Fatal(err)
	}
}

// wantStopped fails unless every commit is surely not applied, for good, while reads show value.
func wantStopped(t *testing.T, r *Registry, value string) {
	t.Helper()
	for range 2 {
		err := commitValue(t, r, "later")
		if !errors.Is(err, native.ErrNotApplied) || errors.Is(err, native.ErrUnknown) || !strings.Contains(err.Error(), "restart") {
			t.Fatalf("a later commit: %v, want ErrNotApplied that asks for a restart", err)
		}
		wantValue(t, r, value)
	}
}

// TestDiskFull: nothing is applied, reads go on, and writes do when there is room again.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	r := openTest(t, path)
	warm(t, r)
	undo := redirect(t, r, "/dev/full")
	for range 3 {
		err := commitValue(t, r, "too much")
		if !errors.Is(err, native.ErrNotApplied) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("error is %v, want ErrNotApplied and ENOSPC", err)
		}
		wantValue(t, r, "durable")
	}
	undo()
	if err := commitValue(t, r, "room again"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, r, "room again")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, openTest(t, path), "room again")
}

// TestLostWritesAndFailedSync: the first sync fails, after the writes got lost.
func TestLostWritesAndFailedSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	r := openTest(t, path)
	warm(t, r)
	undo := redirect(t, r, "/dev/null") // takes writes, can't be synced
	if err := commitValue(t, r, "lost"); !errors.Is(err, native.ErrUnknown) {
		t.Fatalf("error is %v, want ErrUnknown", err)
	}
	undo()
	wantStopped(t, r, "durable")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, openTest(t, path), "durable")
}

// TestFileCantGrow: bbolt fails before it writes, in a way that makes the disk suspect.
func TestFileCantGrow(t *testing.T) {
	r := openTest(t, filepath.Join(t.TempDir(), "registry"))
	warm(t, r)
	undo := redirect(t, r, "/dev/null") // has no size
	err := commitValue(t, r, strings.Repeat("x", native.MaxValueBytes))
	if !errors.Is(err, native.ErrNotApplied) {
		t.Fatalf("error is %v, want ErrNotApplied", err)
	}
	undo()
	wantStopped(t, r, "durable")
}

// TestFailuresOfCommit ends transactions in ways that can't be had from a real file on demand.
func TestFailuresOfCommit(t *testing.T) {
	noSpace := &fs.PathError{Op: "write", Path: "registry", Err: syscall.ENOSPC}
	ioError := &fs.PathError{Op: "write", Path: "registry", Err: syscall.EIO}
	for name, c := range map[string]struct {
		applied bool  // in truth: whether the meta page got written
		err     error // nil panics
		want    error
		stopped bool
	}{
		"second sync fails":                {true, syscall.EIO, native.ErrUnknown, true},
		"second sync fails elsewhere":      {true, &fs.PathError{Op: "sync", Err: syscall.EIO}, native.ErrUnknown, true},
		"first sync fails":                 {false, syscall.EIO, native.ErrUnknown, true},
		"first sync fails for room":        {false, syscall.ENOSPC, native.ErrUnknown, true},
		"write of the meta page reported":  {true, noSpace, native.ErrUnknown, true},
		"write of a page fails":            {false, ioError, native.ErrNotApplied, true},
		"no room for a page":               {false, noSpace, native.ErrNotApplied, false},
		"something before writing":         {false, errors.New("file resize error: "), native.ErrNotApplied, true},
		"panic with the meta page written": {true, nil, native.ErrUnknown, true},
	} {
		t.Run(name, func(t *testing.T) { failCommit(t, c.applied, c.err, c.want, c.stopped) })
	}
}

func failCommit(t *testing.T, applied bool, fail, want error, stopped bool) {
	path := filepath.Join(t.TempDir(), "registry")
	failing := false
	r := openHooked(t, path, func(tx *bbolt.Tx) error {
		switch {
		case !failing || applied:
			if err := tx.Commit(); err != nil || !failing {
				return err
			}
		default:
			_ = tx.Rollback()
		}
		failing = false
		if fail == nil {
			panic("a fault of bbolt")
		}
		return fail
	})
	warm(t, r)
	failing = true
	err := commitValue(t, r, "doubtful")
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
	wantValue(t, r, "durable")
	if stopped {
		wantStopped(t, r, "durable")
	} else if err := commitValue(t, r, "durable"); err != nil {
		t.Fatalf("a later commit: %v", err)
	}
	if err := r.Writable(); (err != nil) != stopped {
		t.Errorf("writable: %v, stopped: %t", err, stopped)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	value := "durable"
	if applied {
		value = "doubtful"
	}
	wantValue(t, openTest(t, path), value)
}

// TestRefusedInAFailedGroup: who was refused in a group whose outcome is unknown has
// surely changed nothing, but gets no conflict, since that might not last.
func TestRefusedInAFailedGroup(t *testing.T) {
	g := newGate(false)
	failing := false
	r := openHooked(t, filepath.Join(t.TempDir(), "registry"), func(tx *bbolt.Tx) error {
		if err := g.commit(tx); err != nil || !failing {
			return err
		}
		return syscall.EIO
	})
	first := goCommit(t, r, nil, native.Change{Key: "first"})
	<-g.arrived
	winner := goCommit(t, r, nil, native.Change{Key: "a"})
	waitQueued(r, 1)
	loser := goCommit(t, r, []native.Condition{{Kind: native.Absent, Key: "a"}}, native.Change{Key: "b"})
	waitQueued(r, 2)
	g.proceed <- struct{}{}
	<-g.arrived
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	failing = true
	g.proceed <- struct{}{}
	if err := <-winner; !errors.Is(err, native.ErrUnknown) {
		t.Errorf("the winner gets %v, want ErrUnknown", err)
	}
	if err := <-loser; !errors.Is(err, native.ErrNotApplied) || errors.Is(err, native.ErrConflict) {
		t.Errorf("the loser gets %v, want ErrNotApplied", err)
	}
}

// TestMetaPagesLost loses both meta pages just after a commit: bbolt panics on the next
// use and leaves its locks held. Nothing may hang, and no read may show the state before.
func TestMetaPagesLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	losing := false
	var r *Registry
	r = openHooked(t, path, func(tx *bbolt.Tx) error {
		err := tx.Commit()
		if losing {
			_, writeErr := r.file.WriteAt(make([]byte, 2*pageBytes), 0)
			err = errors.Join(err, writeErr)
		}
		return err
	})
	warm(t, r)
	losing = true
	if err := commitValue(t, r, "committed"); err != nil {
		t.Fatal(err)
	}
	if rec, ok, err := r.Get(t.Context(), "a"); err == nil {
		t.Errorf("Get = %q, %v, want an error", rec.Value, ok)
	}
	if err := commitValue(t, r, "later"); !errors.Is(err, native.ErrNotApplied) {
		t.Errorf("a later commit: %v, want ErrNotApplied", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_ = wantOpenError(t, path, ErrDamaged) // not ErrLocked
}
