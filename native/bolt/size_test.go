package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	berrors "go.etcd.io/bbolt/errors"

	"piedmont/native"
)

// openReserved opens a registry that may take only so much address space.
func openReserved(t *testing.T, path string, reserve int) *Registry {
	t.Helper()
	r, err := open(path, Options{}, reserve)
	if err != nil {
		t.Fatal(err)
	}
	go r.write()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestFull fills the reserved space: nothing of what doesn't fit is applied, nothing
// waits for ever, deletions make room, and so does opening the file again.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	r := openReserved(t, path, 4<<20)
	big := make([]byte, 256<<10)
	n, err := 0, error(nil)
	for ; err == nil && n < 100; n++ {
		err = r.Commit(t.Context(), nil, []native.Change{{Key: native.Key(fmt.Sprint(n)), Value: big}})
	}
	if !errors.Is(err, native.ErrNotApplied) || !errors.Is(err, berrors.ErrMaxSizeReached) {
		t.Fatalf("error is %v, want ErrNotApplied for want of room", err)
	}
	n-- // the one that failed
	if recs, err := r.Scan(t.Context(), "", "", 0); len(recs) != n || err != nil {
		t.Fatalf("%d records, %v, want %d", len(recs), err, n)
	}
	if err := r.Commit(t.Context(), nil, []native.Change{{Key: "0", Delete: true}, {Key: "1", Delete: true}}); err != nil {
		t.Fatalf("delete from a full registry: %v", err)
	}
	// What is freed by one commit can be used by the one after the next.
	if err := r.Commit(t.Context(), nil, []native.Change{{Key: "2", Delete: true}}); err != nil {
		t.Fatalf("delete from a full registry: %v", err)
	}
	if err := r.Commit(t.Context(), nil, []native.Change{{Key: "0", Value: big}}); err != nil {
		t.Fatalf("put into the room that was made: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = openReserved(t, path, 4<<20)
	for i := range 8 {
		if err := r.Commit(t.Context(), nil, []native.Change{{Key: native.Key(fmt.Sprint("new", i)), Value: big}}); err != nil {
			t.Fatalf("commit %d after reopening: %v", i, err)
		}
	}
}

// TestLongReadDoesntStopGrowth holds a read while the file grows manifold.
func TestLongReadDoesntStopGrowth(t *testing.T) {
	r := openTest(t, filepath.Join(t.TempDir(), "registry"))
	s, err := r.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	big := make([]byte, native.MaxValueBytes)
	for i := range 40 {
		if err := r.Commit(t.Context(), nil, []native.Change{{Key: native.Key(fmt.Sprint(i)), Value: big}}); err != nil {
			t.Fatal(err)
		}
	}
	if k, _ := s.records.Cursor().First(); k != nil {
		t.Errorf("the read sees %q, which was written after it began", k)
	}
}

// TestScanTooLarge asks for more bytes than a Scan may return.
func TestScanTooLarge(t *testing.T) {
	r := openTest(t, filepath.Join(t.TempDir(), "registry"))
	const perCommit, commits = 32, maxScanBytes/native.MaxValueBytes/32 + 1
	big := make([]byte, native.MaxValueBytes)
	for i := range commits {
		var changes []native.Change
		for j := range perCommit {
			changes = append(changes, native.Change{Key: native.Key(fmt.Sprintf("%03d", i*perCommit+j)), Value: big})
		}
		if err := r.Commit(t.Context(), nil, changes); err != nil {
			t.Fatal(err)
		}
	}
	if recs, err := r.Scan(t.Context(), "", "", 0); err == nil || !strings.Contains(err.Error(), "fewer") {
		t.Fatalf("Scan returns %d records of a MiB each, %v", len(recs), err)
	}
	if recs, err := r.Scan(t.Context(), "", "", 10); err != nil || len(recs) != 10 {
		t.Fatalf("Scan returns %d records, %v, want 10", len(recs), err)
	}
}

// TestReservedSpaceIsFree: address space costs neither memory nor disk.
func TestReservedSpaceIsFree(t *testing.T) {
	before := residentKiB(t)
	path := filepath.Join(t.TempDir(), "registry")
	r := openTest(t, path)
	for i := range 10 {
		if err := r.Commit(t.Context(), nil, []native.Change{{Key: native.Key(fmt.Sprint(i))}}); err != nil {
			t.Fatal(err)
		}
	}
	if grown := residentKiB(t) - before; grown > 32<<10 {
		t.Errorf("%d KiB more memory, want little", grown)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
		t.Errorf("%d bytes of disk, want few", used)
	}
}

// residentKiB is the memory of this process.
func residentKiB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("platform: needs Linux with /proc")
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
