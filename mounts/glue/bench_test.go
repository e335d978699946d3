package glue

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts/metastore"
)

// wide is a page of tables with so many columns, as Iceberg's GlueCatalog writes them.
func wide(tables, columns int) string {
	var b strings.Builder
	b.WriteString(`{"TableList":[`)
	for i := range tables {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"Name":"t%d","DatabaseName":"db","StorageDescriptor":{"Columns":[`, i)
		for c := range columns {
			if c > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"Name":"column_%d","Type":"string","Parameters":{"iceberg.field.current":"true","iceberg.field.id":"%d","iceberg.field.optional":"true"}}`, c, c)
		}
		b.WriteString(`],"Location":"s3://b/x"},"Parameters":{"table_type":"ICEBERG","metadata_location":"s3://b/m.json"},"VersionId":"3","CreateTime":1.5e9}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

// BenchmarkList is a page of 100 tables with 300 columns, client and fake together.
func BenchmarkList(b *testing.B) {
	page := wide(100, 300)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer server.Close()
	s, err := NewSource(b.Context(), Options{Region: "eu-west-1", Endpoint: server.URL, AccessKeyID: keyID, SecretAccessKey: secret, CallsPerSecond: 100_000})
	require.NoError(b, err)
	b.ReportAllocs()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		names, _, err := s.Objects(b.Context(), "db", metastore.Table, "", 100)
		require.NoError(b, err)
		require.Len(b, names, 100)
	}
}
