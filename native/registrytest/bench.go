package registrytest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"piedmont/native"
)

// Benchmark measures what every registry is asked most. open returns an empty registry
// each time it is called; Benchmark closes it.
func Benchmark(b *testing.B, open func(b *testing.B) native.Registry) {
	b.Helper()
	with := func(name string, f func(*testing.B, native.Registry)) {
		b.Run(name, func(b *testing.B) {
			r := open(b)
			defer func() { _ = r.Close() }()
			f(b, r)
		})
	}
	for _, n := range []int{1, 8, 64} {
		with(fmt.Sprintf("Commit/%d", n), func(b *testing.B, r native.Registry) { Commits(b, r, n) })
	}
	for _, n := range []int{1_000, 1_000_000} {
		with(fmt.Sprintf("Get/%d", n), func(b *testing.B, r native.Registry) {
			Seed(b, r, n)
			Gets(b, r, n)
		})
	}
	with("Scan/300", func(b *testing.B, r native.Registry) {
		Seed(b, r, 10_000)
		b.ReportAllocs()
		for b.Loop() {
			if recs, err := r.Scan(b.Context(), "table/", seedKey(5_000), 300); err != nil || len(recs) != 300 {
				b.Fatal(len(recs), err)
			}
		}
	})
}

// valueBytes is the size of a pointer record with a location and a few attributes.
const valueBytes = 250

func seedKey(i int) native.Key { return native.Key(fmt.Sprintf("table/%09d", i)) }

// Seed writes n records of the size of a table's, in large commits.
func Seed(b *testing.B, r native.Registry, n int) {
	b.Helper()
	value := make([]byte, valueBytes)
	changes := make([]native.Change, 0, native.MaxChanges)
	for i := range n {
		changes = append(changes, native.Change{Key: seedKey(i), Value: value, Version: native.NewVersion()})
		if len(changes) == cap(changes) || i == n-1 {
			if err := r.Commit(context.Background(), nil, changes); err != nil {
				b.Fatal(err)
			}
			changes = changes[:0]
		}
	}
}

// Gets reads records that Seed wrote, in an order that hops over all of them.
func Gets(b *testing.B, r native.Registry, n int) {
	b.Helper()
	keys := make([]native.Key, 1024)
	for i := range keys {
		keys[i] = seedKey(i * 7919 % n)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if _, ok, err := r.Get(b.Context(), keys[i%len(keys)]); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// Commits swaps b.N pointers by n goroutines, each its own: a condition on the version,
// the pointer and a receipt, as a table's commit has.
func Commits(b *testing.B, r native.Registry, n int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range n {
		wg.Go(func() {
			key, version := seedKey(i), native.Version{}
			for k := 0; left.Add(-1) >= 0; k++ {
				next := native.NewVersion()
				conditions := []native.Condition{{Kind: native.AtVersion, Key: key, Version: version}}
				if k == 0 {
					conditions = []native.Condition{{Kind: native.Absent, Key: key}}
				}
				err := r.Commit(context.Background(), conditions, []native.Change{
					{Key: key, Value: make([]byte, valueBytes), Version: next},
					{Key: native.Key(fmt.Sprintf("receipt/%x", next)), Version: next},
				})
				if err != nil {
					b.Error(err)
					return
				}
				version = next
			}
		})
	}
	wg.Wait()
}
