package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"piedmont/native"
)

// filled is a closed registry with 2,700 records on some hundred pages: k0000 and on,
// without those from k0100 to k0399. Their pages, near the start, were used again for
// what every opening reads.
func filled(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "registry")
	r := openTest(t, path)
	changes := make([]native.Change, 3000)
	for i := range changes {
		key := native.Key(fmt.Sprintf("k%04d", i))
		changes[i] = native.Change{Key: key, Value: []byte(strings.Repeat(string(key), 20)), Version: native.NewVersion()}
	}
	gone := slices.Clone(changes[100:400])
	for i := range gone {
		gone[i].Delete = true
	}
	for _, c := range [][]native.Change{changes, gone, changes[:1], changes[:1], changes[:1], changes[:1]} {
		if err := r.Commit(t.Context(), nil, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantOpenError fails unless Open gives an error that is want and names the file.
func wantOpenError(t *testing.T, path string, want error) error {
	t.Helper()
	r, err := Open(path, Options{LockTimeout: 100 * time.Millisecond})
	if err == nil {
		_ = r.Close()
		t.Fatalf("Open succeeds, want %v", want)
	}
	if !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
		t.Fatalf("Open: %v, want %v and the name of the file", err, want)
	}
	return err
}

func TestOpenLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	r := openTest(t, path)
	_ = wantOpenError(t, path, ErrLocked)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	openTest(t, path)
}

func TestOpenMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	openTest(t, path)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the new file has mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestOpenMissingFolder(t *testing.T) {
	_ = wantOpenError(t, filepath.Join(t.TempDir(), "missing", "registry"), os.ErrNotExist)
}

func TestOpenOtherThings(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no registry\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = wantOpenError(t, text, ErrDamaged)
	if err := os.WriteFile(text, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := wantOpenError(t, text, ErrDamaged); !strings.Contains(err.Error(), "cut short") {
		t.Errorf("Open of a short file: %v, want it to speak of a creation cut short", err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("Open of a folder succeeds")
	}
	foreign := filepath.Join(dir, "foreign")
	edit(t, foreign, func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	})
	_ = wantOpenError(t, foreign, ErrDamaged)
	edit(t, foreign, func(tx *bbolt.Tx) error {
		if b := tx.Bucket([]byte("theirs")); b == nil {
			t.Error("Open changed a file that isn't ours")
		}
		return nil
	})
}

// edit changes a file behind the registry's back.
func edit(t *testing.T, path string, change func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenFormats(t *testing.T) {
	for name, c := range map[string]struct {
		format []byte
		want   error
	}{
		"newer":     {binary.BigEndian.AppendUint32(nil, FormatVersion+1), ErrNewerFormat},
		"malformed": {[]byte("1"), ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			edit(t, path, func(tx *bbolt.Tx) error {
				return tx.Bucket([]byte(aboutBucket)).Put([]byte(aboutFormat), c.format)
			})
			_ = wantOpenError(t, path, c.want)
			_ = wantOpenError(t, path, c.want) // not ErrLocked: the first gave the file back
		})
	}
	t.Run("no records", func(t *testing.T) {
		path := filled(t)
		edit(t, path, func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(recordsBucket)) })
		_ = wantOpenError(t, path, ErrDamaged)
	})
}

// TestOpenTruncated cuts the file at every size that differs in what it loses.
func TestOpenTruncated(t *testing.T) {
	path := filled(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 4095, 4096, 8192, 12288, 16384, 20000, 100 << 10, 400 << 10} {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		_ = wantOpenError(t, path, ErrDamaged)
	}
}

// TestDamagedPages overwrites pages at random. Nothing may panic or hang, and a key
// that can be read is read whole.
func TestDamagedPages(t *testing.T) {
	path := filled(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	opened, readErrors := 0, 0
	for range 60 {
		damaged := append([]byte(nil), whole[:2<<20]...)
		for range 1 + rng.IntN(40) {
			page := damaged[rng.IntN(250)*4096:][:4096]
			damage(page, rng)
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, Options{})
		if err != nil {
			if !strings.Contains(err.Error(), path) || errors.Is(err, ErrLocked) {
				t.Fatalf("Open: %v, want an error that names the file", err)
			}
			continue
		}
		opened++
		readErrors += useDamaged(t, r)
	}
	if opened == 0 || readErrors == 0 {
		t.Fatalf("%d of the files opened with %d errors of reads: the test damages too much or too little", opened, readErrors)
	}
}

// damage spoils a page in one of the ways disks do.
func damage(page []byte, rng *rand.Rand) {
	switch rng.IntN(3) {
	case 0: // lost
		clear(page)
	case 1: // a stretch of garbage
		at := rng.IntN(len(page))
		for i := at; i < min(at+64, len(page)); i++ {
			page[i] = byte(rng.Uint32())
		}
	default: // one bit, in the header and the first entries
		page[rng.IntN(128)] ^= 1 << rng.IntN(8)
	}
}

// useDamaged does everything to a registry that may be damaged, and counts the errors of reads.
func useDamaged(t *testing.T, r *Registry) (readErrors int) {
	t.Helper()
	for i := range 300 {
		key := native.Key(fmt.Sprintf("k%04d", i*10))
		if _, _, err := r.Get(t.Context(), key); err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("Get: %v, want ErrDamaged", err)
			}
			readErrors++
		}
		if i%10 == 0 {
			_, _ = r.Scan(t.Context(), "k", key, 100)
		}
		if i%50 == 0 {
			_ = r.Commit(t.Context(), []native.Condition{{Kind: native.PrefixEmpty, Key: key}},
				[]native.Change{{Key: key}, {Key: key + "x", Delete: true}})
		}
	}
	_ = r.Close()
	return readErrors
}

// TestTruncatedWhileOpen reads pages that the file has lost since: the kernel answers
// with a signal, which must not end the process.
func TestTruncatedWhileOpen(t *testing.T) {
	path := filled(t)
	r := openTest(t, path)
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Get(t.Context(), "k1000"); !errors.Is(err, ErrDamaged) {
		t.Errorf("Get: %v, want ErrDamaged", err)
	}
	if _, err := r.Scan(t.Context(), "", "", 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("Scan: %v, want ErrDamaged", err)
	}
	err := r.Commit(t.Context(), nil, []native.Change{{Key: "k1000"}})
	if !errors.Is(err, native.ErrNotApplied) || !errors.Is(err, ErrDamaged) {
		t.Errorf("Commit: %v, want ErrNotApplied and ErrDamaged", err)
	}
}

// TestShortRecord reads a record that has no room for its version.
func TestShortRecord(t *testing.T) {
	path := filled(t)
	edit(t, path, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(recordsBucket)).Put([]byte("k1000"), []byte("short"))
	})
	r := openTest(t, path)
	if _, _, err := r.Get(t.Context(), "k1000"); !errors.Is(err, ErrDamaged) {
		t.Errorf("Get: %v, want ErrDamaged", err)
	}
	err := r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: "k1000"}}, nil)
	if !errors.Is(err, native.ErrNotApplied) || !errors.Is(err, ErrDamaged) {
		t.Errorf("Commit: %v, want ErrNotApplied and ErrDamaged", err)
	}
	if err := r.Commit(t.Context(), nil, []native.Change{{Key: "k1000", Delete: true}}); err != nil {
		t.Errorf("a record that can't be read can't be deleted: %v", err)
	}
}
