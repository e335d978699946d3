package registrytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"piedmont/native"
)

// SnapshotRegistry is a registry that can be read as a whole.
type SnapshotRegistry interface {
	native.Registry
	native.Snapshotter
}

// RunSnapshot tests what a registry promises of Snapshot. open returns an empty one each time
// it is called; RunSnapshot closes it.
func RunSnapshot(t *testing.T, open func(t *testing.T) SnapshotRegistry) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, SnapshotRegistry)
	}{
		{"Empty", func(t *testing.T, r SnapshotRegistry) { sameRecords(t, snapshot(t, r), nil) }},
		{"Everything", testSnapshotEverything},
		{"LargeValues", testSnapshotLargeValues},
		{"OneState", testSnapshotOneState},
		{"DuringWrites", testSnapshotDuringWrites},
		{"Refused", testSnapshotRefused},
		{"EndedContext", testSnapshotEndedContext},
		{"Closed", testSnapshotClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t)
			t.Cleanup(func() { _ = r.Close() }) // one test closes it itself
			c.test(t, r)
		})
	}
}

// snapshot is all that a Snapshot shows.
func snapshot(t *testing.T, r native.Snapshotter) (recs []native.Record) {
	t.Helper()
	err := r.Snapshot(t.Context(), func(rec native.Record) error {
		recs = append(recs, rec)
		return nil
	})
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	return recs
}

// testSnapshotEverything reads some pages of records, each its own reader's.
func testSnapshotEverything(t *testing.T, r SnapshotRegistry) {
	m := model{}
	const records, each = 4_321, 500
	for n := 0; n < records; n += each {
		var changes []native.Change
		for i := n; i < min(n+each, records); i++ {
			key := native.Key(fmt.Sprintf("%c\x00%d\x1f\xff%s", 'a'+i%26, i, strings.Repeat("k", i%50)))
			changes = append(changes, put(key, strings.Repeat("v", i%300)))
		}
		mustCommit(t, r, changes...)
		m.commit(nil, changes)
	}
	changes := []native.Change{put("\x00", "first"), put("\xff\xff", "last"), put("deleted", "")}
	mustCommit(t, r, changes...)
	mustCommit(t, r, del("deleted"))
	m.commit(nil, changes[:2])
	got := snapshot(t, r)
	want := m.scan("", "", native.MaxScan)
	sameRecords(t, got, want)
	for i := range got {
		spoil(got[i].Value)
	}
	sameRecords(t, snapshot(t, r), want)
}

// testSnapshotLargeValues has values as large as they may be, next to small ones.
func testSnapshotLargeValues(t *testing.T, r SnapshotRegistry) {
	m := model{}
	for i := range 12 {
		changes := []native.Change{
			put(native.Key(fmt.Sprintf("large%02d", i)), strings.Repeat(fmt.Sprint(i%10), native.MaxValueBytes)),
			put(native.Key(fmt.Sprintf("large%02d small", i)), ""),
		}
		mustCommit(t, r, changes...)
		m.commit(nil, changes)
	}
	sameRecords(t, snapshot(t, r), m.scan("", "", native.MaxScan))
}

// testSnapshotOneState changes, adds and deletes records while a snapshot stands at its first.
func testSnapshotOneState(t *testing.T, r SnapshotRegistry) {
	const records = 3_000
	at := func(i int) native.Key { return native.Key(fmt.Sprintf("key%05d", i)) }
	m := model{}
	for n := 0; n < records; n += 1_000 {
		var changes []native.Change
		for i := n; i < n+1_000; i++ {
			changes = append(changes, put(at(i), "before"))
		}
		mustCommit(t, r, changes...)
		m.commit(nil, changes)
	}
	want := m.scan("", "", native.MaxScan)
	var got []native.Record
	err := r.Snapshot(t.Context(), func(rec native.Record) error {
		if len(got) == 0 {
			mustCommit(t, r, put(at(0), "after"), put(at(records/2), "after"), put(at(records-1), "after"),
				del(at(10)), del(at(records-10)), put(at(5)+"new", ""), put(at(records)+"new", ""))
			wantValue(t, r, at(0), "after")
		}
		got = append(got, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sameRecords(t, got, want)
	if recs := snapshot(t, r); len(recs) != records {
		t.Fatalf("a snapshot afterwards has %d records, want %d", len(recs), records)
	}
}

// testSnapshotDuringWrites takes snapshots while writers change the first and the last of
// many keys together, and create and drop such pairs. Each shows whole pairs alone, and what
// was acknowledged before it.
func testSnapshotDuringWrites(t *testing.T, r SnapshotRegistry) {
	const between, rounds = 2_500, 6
	var changes []native.Change
	for i := range between {
		changes = append(changes, put(native.Key(fmt.Sprintf("m%05d", i)), ""))
	}
	mustCommit(t, r, changes...)
	var done atomic.Bool
	var acknowledged [goroutines]atomic.Int64
	together(goroutines+1, func(i int) {
		if i == goroutines {
			defer done.Store(true)
			for range rounds {
				if err := snapshotOfPairs(t.Context(), r, &acknowledged, between); err != nil {
					t.Error(err)
					return
				}
			}
			return
		}
		for n := int64(1); !done.Load(); n++ {
			value, id := fmt.Sprint(n), fmt.Sprint(i)
			pair := []native.Change{put(native.Key("a/"+id), value), put(native.Key("z/"+id), value)}
			if n%3 == 0 { // a pair that comes and goes
				pair = append(pair, del(native.Key("b/"+id)), del(native.Key("y/"+id)))
			} else {
				pair = append(pair, put(native.Key("b/"+id), value), put(native.Key("y/"+id), value))
			}
			if err := r.Commit(t.Context(), nil, pair); err != nil {
				t.Error(err)
				return
			}
			acknowledged[i].Store(n)
		}
	})
}

// snapshotOfPairs takes one snapshot and compares the halves of its pairs.
func snapshotOfPairs(ctx context.Context, r native.Snapshotter, acknowledged *[goroutines]atomic.Int64, between int) error {
	var least [goroutines]int64
	for i := range least {
		least[i] = acknowledged[i].Load()
	}
	found, others := map[native.Key]string{}, 0
	err := r.Snapshot(ctx, func(rec native.Record) error {
		if rec.Key[0] == 'm' {
			others++
		} else {
			found[rec.Key] = string(rec.Value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if others != between {
		return fmt.Errorf("a snapshot has %d records of %d that nobody changes", others, between)
	}
	for i, n := range least {
		id := native.Key(fmt.Sprint(i))
		for _, pair := range [][2]native.Key{{"a/" + id, "z/" + id}, {"b/" + id, "y/" + id}} {
			if found[pair[0]] != found[pair[1]] {
				return fmt.Errorf("a snapshot has %q in %s and %q in %s, which always change together", found[pair[0]], pair[0], found[pair[1]], pair[1])
			}
		}
		var shown int64
		if value := found["a/"+id]; value != "" {
			if _, err := fmt.Sscan(value, &shown); err != nil {
				return err
			}
		}
		if shown < n {
			return fmt.Errorf("a snapshot shows %d in a/%s, but %d was acknowledged before", shown, id, n)
		}
	}
	return nil
}

// testSnapshotRefused: what each answers ends it, wherever it stands, and nothing is held.
func testSnapshotRefused(t *testing.T, r SnapshotRegistry) {
	var changes []native.Change
	for i := range 2_000 {
		changes = append(changes, put(native.Key(fmt.Sprintf("%05d", i)), ""))
	}
	mustCommit(t, r, changes...)
	refusal := errors.New("enough")
	for _, at := range []int{1, 1_000, 1_001, 2_000} {
		for range 20 { // more than there are connections
			seen := 0
			err := r.Snapshot(t.Context(), func(native.Record) error {
				if seen++; seen == at {
					return refusal
				}
				return nil
			})
			if !errors.Is(err, refusal) || seen != at {
				t.Fatalf("Snapshot = %v behind %d records, want the refusal behind %d", err, seen, at)
			}
		}
	}
	mustCommit(t, r, put("more", ""))
	if got := snapshot(t, r); len(got) != len(changes)+1 {
		t.Fatalf("a snapshot has %d records, want %d", len(got), len(changes)+1)
	}
}

func testSnapshotEndedContext(t *testing.T, r SnapshotRegistry) {
	var changes []native.Change
	for i := range 5_000 {
		changes = append(changes, put(native.Key(fmt.Sprintf("%05d", i)), ""))
	}
	mustCommit(t, r, changes...)
	err := r.Snapshot(ended(t), func(native.Record) error {
		t.Error("it shows a record to nobody")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot: %v, want the context's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	err = r.Snapshot(ctx, func(native.Record) error {
		if seen++; seen == 10 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || seen == len(changes) {
		t.Errorf("Snapshot = %v behind %d records, want the context's error before the last", err, seen)
	}
}

func testSnapshotClosed(t *testing.T, r SnapshotRegistry) {
	mustCommit(t, r, put("a", ""))
	closeIt(t, r)
	err := r.Snapshot(t.Context(), func(native.Record) error { return nil })
	if err == nil {
		t.Error("Snapshot answers, want an error")
	}
}
