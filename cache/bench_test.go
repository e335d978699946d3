package cache_test

import (
	"fmt"
	"testing"

	"piedmont/cache"
)

type documentKey struct{ profile, location string }

func BenchmarkGet(b *testing.B) {
	c := cache.New(1<<30, func(documentKey, *int) int64 { return 1000 })
	keys := make([]documentKey, 1000)
	for i := range keys {
		keys[i] = documentKey{"lake", fmt.Sprintf("s3://bucket/warehouse/db/table-%d/metadata/00001-0b0b1d9e-52f3-4b1c-9f3e-6b8a6a1e3c4d.metadata.json", i)}
		c.Add(keys[i], &i)
	}
	for name, keys := range map[string][]documentKey{"hot": keys[:1], "spread": keys} {
		b.Run(name+"/goroutines=1", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.Get(keys[i%len(keys)])
			}
		})
		b.Run(name+"/goroutines=8", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					c.Get(keys[i%len(keys)])
				}
			})
		})
	}
}

// BenchmarkCompose makes the gzipped answer of a load whose document is in the cache.
func BenchmarkCompose(b *testing.B) {
	for _, snapshots := range []int{10, 1000} {
		b.Run(fmt.Sprintf("snapshots=%d", snapshots), func(b *testing.B) {
			raw := tableMetadata(snapshots)
			d := document(b, string(raw))
			d.Deflated()
			prefix, suffix := []byte(`{"metadata-location":"s3://bucket/wh/db/t/metadata/1.metadata.json","metadata":`), []byte(`,"config":{"a":"b"}}`)
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				cache.GzipMember(cache.Plain(prefix), cache.Packed(d), cache.Plain(suffix))
			}
		})
	}
}

func BenchmarkDeflate(b *testing.B) {
	raw := tableMetadata(1000)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		cache.TrustedDocument(raw).Deflated()
	}
}

func BenchmarkRefs(b *testing.B) {
	raw := tableMetadata(1000)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := cache.TrustedDocument(raw).Refs(); err != nil {
			b.Fatal(err)
		}
	}
}
