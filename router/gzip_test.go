package router_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onlyMember unpacks a text that must be exactly one gzip member.
func onlyMember(t testing.TB, packed []byte) string {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(packed))
	z, err := gzip.NewReader(r)
	require.NoError(t, err)
	z.Multistream(false)
	plain, err := io.ReadAll(z)
	require.NoError(t, err)
	_, err = r.ReadByte()
	require.ErrorIs(t, err, io.EOF, "a second member, or something behind it")
	return string(plain)
}

func TestGzipIsOneMemberAndDecodesEqual(t *testing.T) {
	g, _ := withTable(t, settings{})
	for _, size := range []int{0, 100, 2_000, 70_000, 2_000_000} {
		g.do("POST", tableT, setProperty("filler", strings.Repeat("lorem ipsum ", size/12))).ok()
		for _, target := range []string{tableT, tableT + "?snapshots=refs"} {
			plain := g.do("GET", target, "").ok()
			require.Empty(t, plain.Header().Get("Content-Encoding"))
			packed := g.do("GET", target, "", "Accept-Encoding: gzip").ok()
			require.Equal(t, plain.Header().Get("ETag"), packed.Header().Get("ETag"))
			if packed.Header().Get("Content-Encoding") == "" {
				require.Less(t, size, 2_000, "worth packing")
				continue
			}
			require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
			require.Equal(t, plain.Body.String(), onlyMember(t, packed.Body.Bytes()))
		}
	}
}

func TestGzippedLists(t *testing.T) {
	g, _ := withTable(t, settings{})
	for i := range 60 {
		g.namespace("a namespace with a long name " + string(rune('A'+i)))
	}
	plain := g.do("GET", "/v1/namespaces", "").ok()
	packed := g.do("GET", "/v1/namespaces", "", "Accept-Encoding: gzip, deflate").ok()
	require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
	require.Equal(t, "Accept-Encoding", packed.Header().Get("Vary"))
	require.Equal(t, plain.Body.String(), onlyMember(t, packed.Body.Bytes()))
	require.Less(t, packed.Body.Len(), plain.Body.Len())
}

func TestAcceptEncoding(t *testing.T) {
	g, _ := withTable(t, settings{})
	g.do("POST", tableT, setProperty("filler", strings.Repeat("x", 4_000))).ok()
	for _, c := range []struct {
		header string
		gzip   bool
	}{
		{"gzip", true},
		{"GZIP", true},
		{"x, gzip", true},
		{"gzip;q=0.1", true},
		{"gzip; q=1.0", true},
		{"*", true},
		{"br, *;q=0.5", true},
		{"*;q=0, gzip", true},
		{"deflate,gzip;q=1", true},
		{"", false},
		{"identity", false},
		{"gzip;q=0", false},
		{"gzip; q=0.000", false},
		{"gzip;Q=0", false},
		{"gzip;q=x", false},
		{"*;q=0", false},
		{"gzip;q=0, *", false},
		{"gzipped", false},
		{"deflate, br", false},
	} {
		r := g.do("GET", tableT, "", "Accept-Encoding: "+c.header).ok()
		require.Equal(t, c.gzip, r.Header().Get("Content-Encoding") == "gzip", c.header)
	}
	r := g.do("GET", tableT, "", "Accept-Encoding: br", "Accept-Encoding: gzip").ok()
	require.Equal(t, "gzip", r.Header().Get("Content-Encoding"), "on several lines")
}
