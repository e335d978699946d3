package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"piedmont/native"
)

const (
	pageBytes   = 4096
	sectorBytes = 512
)

// TestCrashImages makes the files that a power failure could leave between two commits,
// and holds each to the states that were acknowledged.
//
// bbolt writes a commit's pages, syncs, writes one of the two meta pages, syncs. A crash
// before the first sync leaves any part of the pages, torn or whole, and the old meta
// page: the state before. One before the second leaves all pages and any part of the
// meta page: the state before or after. So two copies of the file, taken when the one
// commit and the next were acknowledged, hold all that is needed to make every such file.
//
// That proves that no commit touches what the state before it needs, not even with
// reads that hold old states and with pages used again, and that a torn meta page is
// found out. It takes bbolt's order of writes and syncs as given: it can't see whether a
// sync is made, or whether the disk heeds it.
func TestCrashImages(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "registry")
	r := openTest(t, path)
	rng := rand.New(rand.NewPCG(9, 10))
	state := map[native.Key]string{}
	before := image(t, r, path)
	var held *snapshot
	for i := range 40 {
		if i%8 == 3 { // a read that lasts for some commits
			held, _ = r.acquire()
		}
		after := maps.Clone(state)
		if err := r.Commit(t.Context(), nil, randomCommit(rng, after)); err != nil {
			t.Fatal(err)
		}
		if i%8 == 6 {
			held.release()
		}
		now := image(t, r, path)
		c := crash{dir: dir, rng: rng, before: before, after: now, old: state, new: after}
		c.check(t)
		state, before = after, now
	}
}

// randomCommit changes, writes and deletes records, and does the same to state.
func randomCommit(rng *rand.Rand, state map[native.Key]string) []native.Change {
	changes := map[native.Key]native.Change{}
	for range 1 + rng.IntN(30) {
		key := native.Key(fmt.Sprintf("k%03d", rng.IntN(300)))
		if rng.IntN(4) == 0 {
			changes[key] = native.Change{Key: key, Delete: true}
			delete(state, key)
			continue
		}
		value := make([]byte, rng.IntN(400))
		if rng.IntN(20) == 0 {
			value = make([]byte, rng.IntN(30_000))
		}
		for i := range value {
			value[i] = byte('a' + rng.IntN(26))
		}
		changes[key] = native.Change{Key: key, Value: value, Version: native.NewVersion()}
		state[key] = string(value)
	}
	return slices.Collect(maps.Values(changes))
}

// image is the part of the file that the current state may refer to.
func image(t *testing.T, r *Registry, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, r.current.Load().tx.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// crash is a crash during one commit.
type crash struct {
	dir           string
	rng           *rand.Rand
	before, after []byte // the file
	old, new      map[native.Key]string
}

func (c *crash) check(t *testing.T) {
	t.Helper()
	size := max(len(c.before), len(c.after))
	before, after := grown(c.before, size), grown(c.after, size)
	var pages []int
	for p := 2; p < size/pageBytes; p++ {
		if !bytes.Equal(page(before, p), page(after, p)) {
			pages = append(pages, p)
		}
	}
	if len(pages) == 0 {
		t.Fatal("a commit changed no page")
	}
	for range 4 {
		b := bytes.Clone(before)
		for _, p := range pages {
			tear(c.rng, page(b, p), page(after, p))
		}
		c.wantState(t, b, c.old)
	}
	for n := range 3 {
		b := bytes.Clone(after)
		copy(b[:2*pageBytes], before)
		for p := range 2 {
			copy(page(b, p), page(after, p)[:c.rng.IntN(120)*(n%2)]) // the meta data has 80 bytes
		}
		c.wantState(t, b, c.old, c.new)
	}
	c.wantState(t, after, c.new)
}

func grown(b []byte, size int) []byte { return append(bytes.Clone(b), make([]byte, size-len(b))...) }

func page(b []byte, p int) []byte { return b[p*pageBytes:][:pageBytes] }

// tear writes none, all or some sectors of a page.
func tear(rng *rand.Rand, to, from []byte) {
	switch rng.IntN(3) {
	case 0:
	case 1:
		copy(to, from)
	default:
		for at := 0; at < len(to); at += sectorBytes {
			if rng.IntN(2) == 0 {
				copy(to[at:][:sectorBytes], from[at:])
			}
		}
	}
}

// wantState opens a file and fails unless it holds exactly one of the states, and is
// sound: its free pages are those that nothing refers to.
func (c *crash) wantState(t *testing.T, file []byte, states ...map[native.Key]string) {
	t.Helper()
	path := filepath.Join(c.dir, "image")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	r := openTest(t, path)
	defer func() { _ = r.Close() }()
	err := r.db.View(func(tx *bbolt.Tx) error {
		var problems []error
		for problem := range tx.Check() {
			problems = append(problems, problem)
		}
		return errors.Join(problems...)
	})
	if err != nil {
		t.Fatalf("the file is unsound: %v", err)
	}
	recs, err := r.Scan(t.Context(), "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[native.Key]string{}
	for _, rec := range recs {
		got[rec.Key] = string(rec.Value)
	}
	if !slices.ContainsFunc(states, func(want map[native.Key]string) bool { return maps.Equal(got, want) }) {
		t.Fatalf("the file holds %d records, none of the %d states it may", len(got), len(states))
	}
}
