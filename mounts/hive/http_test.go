package hive

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// serveHTTP is a fake over HTTP.
func (f *fake) serveHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-thrift" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	f.users = append(f.users, r.Header.Get("x-actor-username"))
	f.mu.Unlock()
	in := newTransport(recorded{}, false)
	in.begin(1 << 20)
	in.from = bytes.NewReader(body)
	_, answer, err := f.answer(in)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(answer)
}

func TestHTTP(t *testing.T) {
	f := filled(t, 3)
	conns := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(f.serveHTTP))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns++
		}
	}
	server.Start()
	defer server.Close()
	s := f.source(func(o *Options) { o.URIs = []string{server.URL + "/metastore"}; o.User = "gateway" })
	for name, call := range everyCall(s) {
		require.NoError(t, call(t.Context()), name)
	}
	_, err := s.Object(t.Context(), "sales", "nosuch")
	require.True(t, mounts.Is(err, mounts.NoSuchTable), "%v", err)
	require.Equal(t, 1, conns)
	require.Zero(t, f.counted("set_ugi"))
	for _, user := range f.users {
		require.Equal(t, "gateway", user)
	}
}

func TestHTTPS(t *testing.T) {
	a := newAuthority(t)
	a.sign("metastore", []string{"hms.internal"})
	a.sign("gateway", nil)
	f := filled(t, 3)
	server := httptest.NewUnstartedServer(http.HandlerFunc(f.serveHTTP))
	server.TLS = a.server("metastore")
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of each failed handshake
	server.StartTLS()
	defer server.Close()
	good := TLS{CA: a.path("ca.pem"), Cert: a.path("gateway.pem"), Key: a.path("gateway.key"), ServerName: "hms.internal"}
	s := f.source(func(o *Options) { o.URIs = []string{server.URL}; o.TLS = &good })
	require.NoError(t, s.Health(t.Context()))
	s = f.source(func(o *Options) { o.URIs = []string{server.URL} })
	wantError(t, s.Health(t.Context()), mounts.Unavailable, unreachable)
}

func TestHTTPFaults(t *testing.T) {
	const refused = "The catalog behind mount 'legacy' (hive) does not accept the mount's credential"
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = io.WriteString(w, "secrets") }
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		kind    mounts.Kind
		detail  string
	}{
		{"401", status(401), mounts.Unavailable, refused},
		{"403", status(403), mounts.Unavailable, refused},
		{"404", status(404), mounts.BadGateway, nonsense},
		{"408", status(408), mounts.Timeout, late},
		{"429", status(429), mounts.Unavailable, failed},
		{"500", status(500), mounts.Unavailable, failed},
		{"503", status(503), mounts.Unavailable, failed},
		{"504", status(504), mounts.Timeout, late},
		{"a redirect", http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect).ServeHTTP, mounts.BadGateway, nonsense},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, mounts.BadGateway, nonsense},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, mounts.Unavailable, unreachable},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "x")
		}, mounts.Unavailable, unreachable},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", maxObject+1))
		}, mounts.BadGateway, tooLarge},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, mounts.Timeout, late},
		{"silence in the answer", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte{0x80})
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, mounts.Timeout, late},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else the server doesn't notice who leaves
				c.handler(w, r)
			}))
			defer server.Close()
			s := filled(t, 3).start().source(func(o *Options) { o.URIs = []string{server.URL} })
			timeout := 5 * time.Second
			if strings.HasPrefix(c.name, "silence") {
				timeout = 50 * time.Millisecond
			}
			ctx, cancel := contextFor(t, timeout)
			defer cancel()
			wantError(t, s.Health(ctx), c.kind, c.detail)
			require.Empty(t, s.pool.slots)
		})
	}
}
