package registrytest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"piedmont/native"
)

const goroutines = 8

// together runs f in several goroutines and waits for them.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// testIncrements loses none of many increments of two counters, each by compare and swap.
func testIncrements(t *testing.T, r native.Registry) {
	const each = 25
	mustCommit(t, r, native.Change{Key: "n", Value: make([]byte, 8)})
	together(goroutines, func(int) {
		for range each {
			if err := increment(t.Context(), r, "n"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	rec, _, err := r.Get(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	if n := binary.BigEndian.Uint64(rec.Value); n != goroutines*each {
		t.Fatalf("counted to %d, want %d", n, goroutines*each)
	}
}

// increment adds one to a counter, again until it wins. A conflict must show a version
// other than the one that lost, and hold what the next try can start from.
func increment(ctx context.Context, r native.Registry, key native.Key) error {
	rec, ok, err := r.Get(ctx, key)
	for {
		if err != nil || !ok {
			return fmt.Errorf("no counter: %v, %w", ok, err)
		}
		next := binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(rec.Value)+1)
		err = r.Commit(ctx, []native.Condition{{Kind: native.AtVersion, Key: key, Version: rec.Version}},
			[]native.Change{{Key: key, Value: next, Version: native.NewVersion()}})
		if err == nil {
			return nil
		}
		var conflict *native.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		found := conflict.Failures[0].Found
		if found == nil || found.Version == rec.Version {
			return fmt.Errorf("lost the swap of %x, but found %v", rec.Version, found)
		}
		// A conflict is an answer about the state: a read that follows sees it or a later one.
		if rec, ok, err = r.Get(ctx, key); err == nil && binary.BigEndian.Uint64(rec.Value) < binary.BigEndian.Uint64(found.Value) {
			return fmt.Errorf("a conflict showed %x, a later read the earlier %x", found.Value, rec.Value)
		}
	}
}

// testGroupedConflicts lets many create the same name at once: one wins, and whoever
// lost finds the winner's record, in the conflict and by reading.
func testGroupedConflicts(t *testing.T, r native.Registry) {
	for round := range 10 {
		key := native.Key(fmt.Sprintf("name%d", round))
		var won atomic.Int32
		together(goroutines, func(i int) {
			c := put(key, fmt.Sprint(i))
			err := r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: key}}, []native.Change{c})
			if err == nil {
				won.Add(1)
				return
			}
			var conflict *native.ConflictError
			if !errors.As(err, &conflict) || conflict.Failures[0].Found == nil {
				t.Errorf("error is %v, want a conflict that shows the winner", err)
				return
			}
			found := conflict.Failures[0].Found
			rec, ok, err := r.Get(t.Context(), key)
			if err != nil || !ok || rec.Version != found.Version || found.Version == c.Version {
				t.Errorf("the conflict shows %x, a read %x, %v, %v", found.Version, rec.Version, ok, err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d won, want 1", won.Load())
		}
	}
}

// testNamespaces lets creators of children meet a dropper of their parent. No child may
// ever be without its parent.
func testNamespaces(t *testing.T, r native.Registry) {
	const rounds = 30
	const parent, children = native.Key("ns"), native.Key("ns/")
	together(goroutines, func(i int) {
		child := children + native.Key(fmt.Sprint(i))
		for range rounds {
			var err error
			switch i {
			case 0: // creates the parent
				err = r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: parent}}, []native.Change{put(parent, "")})
			case 1: // drops it
				err = r.Commit(t.Context(), []native.Condition{
					{Kind: native.Exists, Key: parent}, {Kind: native.PrefixEmpty, Key: children},
				}, []native.Change{del(parent)})
			case 2: // looks
				err = noOrphan(t.Context(), r, parent)
			default: // creates a child, and drops it
				err = r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: parent}}, []native.Change{put(child, "")})
				if err == nil {
					err = r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: child}}, []native.Change{del(child)})
				}
			}
			if err != nil && !errors.Is(err, native.ErrConflict) {
				t.Error(err)
			}
		}
	})
	if err := noOrphan(t.Context(), r, parent); err != nil {
		t.Error(err)
	}
}

// noOrphan looks for children without their parent in one state.
func noOrphan(ctx context.Context, r native.Registry, parent native.Key) error {
	recs, err := r.Scan(ctx, parent, "", 0)
	if err != nil {
		return err
	}
	if len(recs) > 0 && recs[0].Key != parent {
		return fmt.Errorf("%q exists without %q", recs[0].Key, parent)
	}
	return nil
}

// testScanSeesOneState moves a record among many others; every Scan sees it once.
func testScanSeesOneState(t *testing.T, r native.Registry) {
	const places = 40
	at := func(i int) native.Key { return native.Key(fmt.Sprintf("place%02d", i%places)) }
	mustCommit(t, r, put(at(0), ""))
	var done atomic.Bool
	together(3, func(i int) {
		if i == 0 {
			defer done.Store(true)
			for n := range 150 {
				err := r.Commit(t.Context(), nil, []native.Change{del(at(n * 17)), put(at((n+1)*17), "")})
				if err != nil {
					t.Error(err)
				}
			}
			return
		}
		for !done.Load() {
			if recs, err := r.Scan(t.Context(), "place", "", 0); err != nil || len(recs) != 1 {
				t.Errorf("Scan sees %d records, %v, want 1", len(recs), err)
				return
			}
		}
	})
}

// closeDuringCommits closes a registry while others commit. Each commit is acknowledged
// or surely changed nothing. It returns the keys of those acknowledged.
func closeDuringCommits(t *testing.T, r native.Registry) (acknowledged []native.Key) {
	t.Helper()
	var mu sync.Mutex
	started := make(chan struct{})
	start := sync.OnceFunc(func() { close(started) })
	together(goroutines+1, func(i int) {
		if i == goroutines {
			<-started
			if err := r.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			return
		}
		defer start() // also where nothing can be committed
		for n := 0; ; n++ {
			key := native.Key(fmt.Sprintf("%d/%06d", i, n))
			if err := r.Commit(t.Context(), nil, []native.Change{put(key, "")}); err != nil {
				if !errors.Is(err, native.ErrNotApplied) || errors.Is(err, native.ErrUnknown) {
					t.Errorf("a commit during Close: %v, want ErrNotApplied", err)
				}
				return
			}
			mu.Lock()
			acknowledged = append(acknowledged, key)
			mu.Unlock()
			start()
		}
	})
	if len(acknowledged) == 0 {
		t.Error("no commit was acknowledged before Close")
	}
	slices.Sort(acknowledged)
	return acknowledged
}
