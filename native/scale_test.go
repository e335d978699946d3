package native_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/native/metadata"
)

// BenchmarkTables loads, and lists pages of 100, among 1,000 and among 1,000,000 tables:
// neither may cost more for the tables that aren't asked for.
func BenchmarkTables(b *testing.B) { benchTables(b, boltForBench) }

func benchTables(b *testing.B, open func(*testing.B) native.Registry) {
	b.Helper()
	for _, tables := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(tables), func(b *testing.B) {
			registry := open(b)
			c := benchCatalogOn(b, registry)
			ctx, in := context.Background(), mounts.Namespace{"db"}
			created, err := c.CreateTable(ctx, mounts.Caller{}, in.Table("shared"), createBody("shared"))
			must(b, err)
			raw, err := created.Metadata(ctx)
			must(b, err)
			d, err := metadata.Parse(raw.Raw())
			must(b, err)
			must(b, native.SeedTables(registry, in, created.MetadataLocation, d.UUID(), tables))
			name := func() string { return fmt.Sprintf("t%07d", rand.IntN(tables)) }
			b.Run("load", func(b *testing.B) {
				for b.Loop() {
					table, err := c.LoadTable(ctx, mounts.Caller{}, in.Table(name()), mounts.LoadOptions{})
					must(b, err)
					_, err = table.Metadata(ctx)
					must(b, err)
				}
			})
			b.Run("page", func(b *testing.B) {
				for b.Loop() {
					_, _, err := c.ListTables(ctx, mounts.Caller{}, in, mounts.Page{Token: name(), Size: 100})
					must(b, err)
				}
			})
			b.Run("commit", func(b *testing.B) {
				for n := int64(0); b.Loop(); n++ {
					_, err := c.CommitTable(ctx, mounts.Caller{}, in.Table("shared"), setProperty(n))
					must(b, err)
				}
			})
		})
	}
}
