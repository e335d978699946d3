package router_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sized is a gateway whose table ns.t has a document of about so many bytes.
func sized(tb testing.TB, bytes int) *gateway {
	tb.Helper()
	g, _ := withTable(tb, settings{})
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"updates":[{"action":"set-properties","updates":{"a":"b"`)
	for b.Len() < bytes-800 {
		fmt.Fprintf(&b, `,"key-%016x":"%032x"`, r.Uint64(), r.Uint64())
	}
	b.WriteString(`}}]}`)
	g.do("POST", tableT, b.String()).ok()
	return g
}

// connection is one kept-alive connection that sends the same request again and again.
type connection struct {
	tb      testing.TB
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
}

func connect(tb testing.TB, h http.Handler, request string) *connection {
	tb.Helper()
	server := httptest.NewServer(h)
	tb.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	return &connection{tb, conn, bufio.NewReaderSize(conn, 64<<10), []byte(request)}
}

// send waits for the whole answer.
func (c *connection) send(want int) time.Duration {
	start := time.Now()
	if _, err := c.conn.Write(c.request); err != nil {
		c.tb.Fatal(err)
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil || response.StatusCode != want {
		c.tb.Fatal(response, err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		c.tb.Fatal(err)
	}
	_ = response.Body.Close()
	return time.Since(start)
}

// bare answers every request with the same bytes and headers.
func bare(as reply) http.Handler {
	body := as.Body.Bytes()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range as.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(as.Code)
		if as.Code != http.StatusNotModified {
			_, _ = w.Write(body)
		}
	})
}

// BenchmarkAgainstBare measures each kind of read in turn with a bare net/http handler of
// the same bytes, over one connection each. of-bare is the bare one's time over ours: 1 is
// as fast. The client's own time is in both.
func BenchmarkAgainstBare(b *testing.B) {
	small, large := sized(b, 6_000), sized(b, 1_000_000)
	listed := newGateway(b)
	listed.namespace("ns")
	for i := range 300 {
		listed.table("ns", fmt.Sprintf("table_%03d", i))
	}
	tag := "If-None-Match: " + small.do("GET", tableT, "").Header().Get("ETag")
	for _, c := range []struct {
		name    string
		g       *gateway
		target  string
		headers []string
	}{
		{"load/6kB", small, tableT, nil},
		{"load/6kB/gzip", small, tableT, []string{"Accept-Encoding: gzip"}},
		{"load/1MB", large, tableT, nil},
		{"load/1MB/gzip", large, tableT, []string{"Accept-Encoding: gzip"}},
		{"load/304", small, tableT, []string{tag}},
		{"list/300", listed, "/v1/namespaces/ns/tables", nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.g.t = b
			as := c.g.do("GET", c.target, "", c.headers...)
			request := strings.Join(append([]string{"GET " + c.target + " HTTP/1.1", "Host: x", "Authorization: Bearer " + ops}, c.headers...), "\r\n") + "\r\n\r\n"
			ours, theirs := connect(b, c.g, request), connect(b, bare(as), request)
			var our, their time.Duration
			for b.Loop() {
				our += ours.send(as.Code)
				their += theirs.send(as.Code)
			}
			b.ReportMetric(float64(their)/float64(our), "of-bare")
			b.ReportMetric(float64(our.Microseconds())/float64(b.N), "µs/request")
			b.ReportMetric(0, "ns/op") // of both together: means nothing
		})
	}
}

// discard is a ResponseWriter that keeps nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// loading returns a function that serves one load, without a network.
func (g *gateway) loading(headers ...string) func() {
	r := httptest.NewRequestWithContext(g.t.Context(), "GET", tableT, nil)
	r.Header.Set("Authorization", "Bearer "+ops)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := &discard{header: http.Header{}}
	return func() {
		clear(w.header)
		g.ServeHTTP(w, r)
	}
}

// BenchmarkHandler is the handler's own time and allocation.
func BenchmarkHandler(b *testing.B) {
	for _, size := range []int{6_000, 1_000_000} {
		g := sized(b, size)
		tag := g.do("GET", tableT, "").Header().Get("ETag")
		for name, headers := range map[string][]string{"plain": nil, "gzip": {"Accept-Encoding: gzip"}, "304": {"If-None-Match: " + tag}} {
			b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
				serve := g.loading(headers...)
				b.ReportAllocs()
				for b.Loop() {
					serve()
				}
			})
		}
	}
}

// TestAllocationOfALoadDoesNotDependOnTheDocument, neither in number nor in bytes.
func TestAllocationOfALoadDoesNotDependOnTheDocument(t *testing.T) {
	for _, headers := range [][]string{nil, {"Accept-Encoding: gzip"}} {
		var allocations, bytes []float64
		for _, size := range []int{6_000, 2_000_000} {
			serve := sized(t, size).loading(headers...)
			serve() // fills the cache
			allocations = append(allocations, testing.AllocsPerRun(200, serve))
			bytes = append(bytes, bytesPerRun(200, serve))
		}
		require.InDelta(t, allocations[0], allocations[1], 4, "%v: allocations", headers)
		require.Less(t, bytes[1], bytes[0]+8<<10, "%v: bytes", headers)
	}
}

func bytesPerRun(runs int, f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(runs)
}
