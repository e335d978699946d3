//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
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
	proxy := &httputil.ReverseProxy{ModifyResponse: keepToken, Rewrite: func(r *httputil.ProxyRequest) {
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

// keepToken: what an upstream gives for a credential is a secret as well.
func keepToken(r *http.Response) error {
	if !strings.HasSuffix(r.Request.URL.Path, "/v1/oauth/tokens") || r.StatusCode != http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	var grant struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(text, &grant); err != nil {
		return err
	}
	return book.keep("an upstream's token", grant.Token)
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
