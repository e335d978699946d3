package bolt

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piedmont/native"
	"piedmont/native/registrytest"
)

func BenchmarkRegistry(b *testing.B) {
	registrytest.Benchmark(b, func(b *testing.B) native.Registry {
		return openTest(b, filepath.Join(b.TempDir(), "registry"))
	})
}

// BenchmarkGroups measures commits against what the disk can do, in the same run: a
// group should take little more than the two syncs that it must make.
func BenchmarkGroups(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			r := openTest(b, filepath.Join(dir, "registry"))
			first := r.current.Load().tx.ID()
			registrytest.Commits(b, r, n)
			b.StopTimer()
			groups := r.current.Load().tx.ID() - first
			perGroup := float64(b.Elapsed()) / float64(groups)
			rounds := min(groups, 500)
			b.ReportMetric(float64(b.N)/float64(groups), "commits/group")
			b.ReportMetric(perGroup/1e3, "us/group")
			b.ReportMetric(perGroup/syncs(b, dir, rounds, 2), "x-two-syncs")
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/syncs(b, dir, rounds, 1), "commit-x-one-sync")
		})
	}
}

// syncs is how many nanoseconds it takes to write a page and sync, count times over.
func syncs(b *testing.B, dir string, rounds, count int) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	page := make([]byte, pageBytes)
	for i := range 8 { // so that the loop, like a registry, writes over blocks it has
		_, _ = f.WriteAt(page, int64(i)*pageBytes)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for i := range rounds * count {
		if _, err := f.WriteAt(page, int64(i%8)*pageBytes); err != nil {
			b.Fatal(err)
		}
		if err := fdatasync(f); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(start)) / float64(rounds)
}
