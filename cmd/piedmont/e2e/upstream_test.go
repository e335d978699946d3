//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// recorder stands before an upstream and counts what reaches it.
type recorder struct {
	uri    string
	mu     sync.Mutex
	reads  int
	writes []string
}

func recordUpstream(t *testing.T, uri string) *recorder {
	t.Helper()
	target, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec.note(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	rec.uri = server.URL
	return rec
}

// note counts a request. Asking for a token changes nothing.
func (r *recorder) note(q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case q.Method == http.MethodGet, q.Method == http.MethodHead:
		r.reads++
	case !strings.HasSuffix(q.URL.Path, "/v1/oauth/tokens"):
		r.writes = append(r.writes, q.Method+" "+q.URL.Path)
	}
}

func (r *recorder) counts() (reads int, writes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads, r.writes
}
