package local_test

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"piedmont/vend"
	"piedmont/vend/local"
)

func benchFiles(b *testing.B) (*local.Files, string) {
	prefix, err := vend.ParseLocation("file://" + b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	files, err := local.New("disk", prefix)
	if err != nil {
		b.Fatal(err)
	}
	return files, prefix.String()
}

var content = bytes.Repeat([]byte("metadata"), 1<<10)

// BenchmarkCreate stands beside BenchmarkBare: the least that makes a file durable.
func BenchmarkCreate(b *testing.B) {
	for _, parallel := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("writers=%d", parallel), func(b *testing.B) {
			files, prefix := benchFiles(b)
			run(b, parallel, func(n int64) error {
				l, err := vend.ParseLocation(fmt.Sprintf("%s/db/t/metadata/%d", prefix, n))
				if err != nil {
					return err
				}
				return files.Create(b.Context(), l, content)
			})
		})
	}
}

func BenchmarkBare(b *testing.B) {
	for _, parallel := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("writers=%d", parallel), func(b *testing.B) {
			dir := b.TempDir()
			run(b, parallel, func(n int64) error { return bare(dir, n) })
		})
	}
}

func bare(dir string, n int64) error {
	file, err := os.Create(fmt.Sprintf("%s/%d", dir, n))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

func run(b *testing.B, parallel int, one func(int64) error) {
	var n atomic.Int64
	b.SetParallelism(parallel / 2)
	if parallel == 1 {
		for b.Loop() {
			if err := one(n.Add(1)); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := one(n.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	files, prefix := benchFiles(b)
	l, _ := vend.ParseLocation(prefix + "/db/t/metadata/x")
	if err := files.Create(b.Context(), l, content); err != nil {
		b.Fatal(err)
	}
	b.Run("Read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := files.Read(b.Context(), l, 1<<20); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Stat", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := files.Stat(b.Context(), l); err != nil {
				b.Fatal(err)
			}
		}
	})
}
