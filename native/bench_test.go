package native_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/native/bolt"
	"piedmont/vend"
	"piedmont/vend/local"
)

const benchSchema = `{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"name","required":false,"type":"string"}]}`

// benchCatalog is a catalog on a real disk with a namespace db.
func benchCatalog(b *testing.B) *native.Catalog { return benchCatalogOn(b, boltForBench(b)) }

func boltForBench(b *testing.B) native.Registry {
	b.Helper()
	registry, err := bolt.Open(filepath.Join(b.TempDir(), "registry.db"), bolt.Options{})
	must(b, err)
	b.Cleanup(func() { _ = registry.Close() })
	return registry
}

func benchCatalogOn(b *testing.B, registry native.Registry) *native.Catalog {
	b.Helper()
	dir := b.TempDir()
	prefix, err := vend.ParseLocation("file://" + dir + "/wh")
	must(b, err)
	must(b, os.Mkdir(filepath.Join(dir, "wh"), 0o755))
	files, err := local.New("wh", prefix)
	must(b, err)
	set, err := vend.NewSet("", &vend.Profile{Name: "wh", Prefix: prefix, Files: files})
	must(b, err)
	c, err := native.New(native.Options{
		ID: "main", Registry: registry, Warehouse: prefix.String(), Storage: set, Now: time.Now,
		Documents: vend.NewDocuments(64 << 20),
	})
	must(b, err)
	_, err = c.CreateNamespace(context.Background(), mounts.Caller{}, mounts.Namespace{"db"}, nil)
	must(b, err)
	return c
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func createBody(name string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"schema":%s}`, name, benchSchema)
}

func setProperty(n int64) []byte {
	return fmt.Appendf(nil, `{"requirements":[],"updates":[{"action":"set-properties","updates":{"n":"%d"}}]}`, n)
}

// parallel runs b.N calls of f from that many goroutines, which are told which they are.
func parallel(b *testing.B, writers int, f func(writer int, n int64)) time.Duration {
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				f(w, n)
			}
		}()
	}
	wg.Wait()
	return time.Since(begin)
}

// BenchmarkCommitOwnTables compares eight writers on tables of their own with a bare loop
// that does the same work on the disk: write, fsync and link a file of the same size,
// fsync its directory, and share a registry commit.
func BenchmarkCommitOwnTables(b *testing.B) {
	const writers = 8
	registry := boltForBench(b)
	c := benchCatalogOn(b, registry)
	ctx := context.Background()
	size := 0
	for w := range writers {
		table, err := c.CreateTable(ctx, mounts.Caller{}, mounts.Namespace{"db"}.Table(fmt.Sprint("t", w)), createBody(fmt.Sprint("t", w)))
		must(b, err)
		d, err := table.Metadata(ctx)
		must(b, err)
		size = len(d.Raw())
	}
	b.ResetTimer()
	ours := parallel(b, writers, func(w int, n int64) {
		_, err := c.CommitTable(ctx, mounts.Caller{}, mounts.Namespace{"db"}.Table(fmt.Sprint("t", w)), setProperty(n))
		must(b, err)
	})
	b.StopTimer()
	// a document grows with its metadata-log; the loop writes the mean of first and last
	bare := bareLoop(b, registry, writers, size+min(b.N/writers, 100)*150/2)
	b.ReportMetric(float64(b.N)/ours.Seconds(), "commits/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "×bare")
}

func bareLoop(b *testing.B, registry native.Registry, writers, size int) time.Duration {
	b.Helper()
	dirs := make([]string, writers)
	for w := range dirs {
		dirs[w] = b.TempDir()
	}
	data := make([]byte, size)
	return parallel(b, writers, func(w int, n int64) {
		name := filepath.Join(dirs[w], fmt.Sprint(n))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		must(b, err)
		_, err = f.Write(data)
		must(b, err)
		must(b, f.Sync())
		must(b, f.Close())
		d, err := os.Open(dirs[w])
		must(b, err)
		must(b, d.Sync())
		must(b, d.Close())
		key := native.Key(fmt.Sprint("bare", w))
		must(b, registry.Commit(context.Background(), nil, []native.Change{{Key: key, Value: data[:200], Version: native.NewVersion()}}))
	})
}

// BenchmarkCommitOneTable has eight writers on one table: they queue and chain.
func BenchmarkCommitOneTable(b *testing.B) {
	c := benchCatalog(b)
	id := mounts.Namespace{"db"}.Table("t")
	_, err := c.CreateTable(context.Background(), mounts.Caller{}, id, createBody("t"))
	must(b, err)
	b.ResetTimer()
	took := parallel(b, 8, func(_ int, n int64) {
		_, err := c.CommitTable(context.Background(), mounts.Caller{}, id, setProperty(n))
		must(b, err)
	})
	b.ReportMetric(float64(b.N)/took.Seconds(), "commits/s")
}
