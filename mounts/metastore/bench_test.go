package metastore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
)

// BenchmarkLoad is what the mount adds to a question: the source answers from memory.
func BenchmarkLoad(b *testing.B) {
	const at = "s3://lake/wh/t/metadata/00001-5b1ab2b9-0000-4000-8000-000000000001.metadata.json"
	for name, freshFor := range map[string]time.Duration{"asked": 0, "remembered": time.Hour} {
		b.Run(name, func(b *testing.B) {
			source, files := metastoretest.New(), &memory{files: map[string][]byte{at: document(1)}}
			source.PutDatabase("db", nil)
			source.Put("db", "t", metastore.Object{Kind: metastore.Table, MetadataLocation: at})
			prefix, err := vend.ParseLocation("s3://lake/wh")
			require.NoError(b, err)
			storage, err := vend.NewSet("legacy", &vend.Profile{Name: "lake", Prefix: prefix, Files: files})
			require.NoError(b, err)
			c, err := metastore.New(metastore.Options{
				Name: "legacy", Kind: "hive", Source: source, Storage: storage, Documents: vend.NewDocuments(64 << 20), FreshFor: freshFor, Now: time.Now,
			})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				t, err := c.LoadTable(b.Context(), mounttest.Caller, table, mounts.LoadOptions{})
				if err == nil {
					_, err = t.Metadata(b.Context())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
