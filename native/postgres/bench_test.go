//go:build e2e

package postgres

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piedmont/native"
	"piedmont/native/registrytest"
)

func BenchmarkRegistry(b *testing.B) {
	registrytest.Benchmark(b, func(b *testing.B) native.Registry { return openBench(b) })
}

func openBench(b *testing.B) *Registry {
	b.Helper()
	r, err := Open(b.Context(), newSchema(b), Options{MaxConns: 64})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	return r
}

// BenchmarkShare measures commits that swap a table's pointer, and such that also keep a
// receipt, against what the database does at most: transactions of one UPDATE, by as
// many clients through the same pool. They take turns, so that a machine that others use
// is as slow for all.
func BenchmarkShare(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := openBench(b)
			registrytest.Seed(b, r, n)
			versions := make([]native.Version, n)
			for i := range n {
				swap(b, r, i, &versions[i], native.Exists)
				update(b, r, i)
			}
			var swaps, receipts, updates time.Duration
			const round = 500
			b.ResetTimer()
			for left := b.N; left > 0; left -= round {
				count := min(left, round)
				updates += timed(n, count, func(i int) { update(b, r, i) })
				swaps += timed(n, count, func(i int) { swap(b, r, i, &versions[i], native.AtVersion) })
				receipts += timed(n, count, func(i int) {
					name := native.NewVersion()
					swap(b, r, i, &versions[i], native.AtVersion, native.Change{Key: "r" + native.Key(name[:]), Value: make([]byte, 100)})
				})
			}
			b.ReportMetric(float64(b.N)/updates.Seconds(), "updates/s")
			b.ReportMetric(float64(b.N)/swaps.Seconds(), "swaps/s")
			b.ReportMetric(updates.Seconds()/swaps.Seconds(), "swaps-of-updates")
			b.ReportMetric(updates.Seconds()/receipts.Seconds(), "receipts-of-updates")
		})
	}
}

// timed runs f count times by n clients and says how long that took.
func timed(n, count int, f func(client int)) time.Duration {
	var left atomic.Int64
	left.Store(int64(count))
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				f(i)
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func benchKey(i int) native.Key { return native.Key(fmt.Sprintf("table/%09d", i)) }

func swap(b *testing.B, r *Registry, i int, version *native.Version, kind native.ConditionKind, more ...native.Change) {
	next := native.NewVersion()
	err := r.Commit(b.Context(), []native.Condition{{Kind: kind, Key: benchKey(i), Version: *version}},
		append(more, native.Change{Key: benchKey(i), Value: make([]byte, 250), Version: next}))
	if err != nil {
		b.Error(err)
	}
	*version = next
}

func update(b *testing.B, r *Registry, i int) {
	_, err := r.pool.Exec(b.Context(), `UPDATE piedmont_records SET value = $2 WHERE key = $1`, []byte(benchKey(i)), make([]byte, 250))
	if err != nil {
		b.Error(err)
	}
}
