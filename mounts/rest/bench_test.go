package rest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// BenchmarkLoad compares a load through the mount with the bare request: what the mount
// adds. The upstream answers from memory, so its own time is next to nothing.
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name      string
		snapshots int
		etag      string
	}{
		{"unchanged/10 snapshots", 10, `"tag"`},
		{"unchanged/5000 snapshots", 5000, `"tag"`},
		{"without tags/10 snapshots", 10, ""},
		{"without tags/5000 snapshots", 5000, ""},
	} {
		answer := largeTable(c.snapshots)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/config"):
				_, _ = io.WriteString(w, `{"defaults":{},"overrides":{}}`)
			case c.etag != "" && r.Header.Get("If-None-Match") == c.etag:
				w.WriteHeader(http.StatusNotModified)
			default:
				w.Header()["ETag"] = []string{c.etag}
				_, _ = w.Write(answer)
			}
		}))
		b.Run(c.name+"/bare", func(b *testing.B) {
			for b.Loop() {
				bare(b, server.URL+"/v1/namespaces/db/tables/t", c.etag)
			}
		})
		b.Run(c.name+"/mount", func(b *testing.B) {
			m, err := rest.New(rest.Options{URI: server.URL, Documents: rest.NewDocuments(256 << 20), Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = m.Close() }() // it holds connections alone
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.LoadTable(b.Context(), mounttest.Caller, table, mounts.LoadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		server.Close()
	}
}

func bare(b *testing.B, address, etag string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.Fatal(err)
	}
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
}

func largeTable(snapshots int) []byte {
	var s strings.Builder
	s.WriteString(`{"metadata-location":"s3://lake/t/metadata/00001-0b0b1d9e-52f3-4b1c-9f3e-6b8a6a1e3c4d.metadata.json","metadata":{"format-version":2,"snapshots":[`)
	for i := range snapshots {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, `{"snapshot-id":%d,"timestamp-ms":1700000000000,"manifest-list":"s3://lake/t/metadata/snap-%d-0b0b1d9e.avro","summary":{"operation":"append","added-records":"1000","total-records":"%d"}}`, i+1, i, i*1000)
	}
	s.WriteString(`]},"config":{}}`)
	return []byte(s.String())
}
