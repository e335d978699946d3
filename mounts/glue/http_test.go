package glue

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"piedmont/mounts"
)

// switching is a server that leaves HTTP and keeps the connection open. It gives its URL.
func switching(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n{")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// within fails the test where a call that heeds no deadline hangs.
func within(t *testing.T, call func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("hangs")
		return nil
	}
}

// A connection that was switched heeds no deadline, so nothing is read from it.
func TestSwitchingProtocols(t *testing.T) {
	url := switching(t)
	s := (&fake{url: url}).source(t)
	requireKind(t, within(t, s.Health), mounts.BadGateway, notGlue)
	requireKind(t, within(t, func(ctx context.Context) error {
		_, err := s.Object(ctx, "db", "t")
		return err
	}), mounts.BadGateway, notGlue)

	s = withTable(t).source(t, func(o *Options) { o.RoleARN, o.STSEndpoint = "arn:aws:iam::1:role/r", url })
	requireKind(t, within(t, s.Health), mounts.Unavailable, "STS did not give the role's credentials")
}

// lingering is a connection on which what was sent is there before the sender knows it.
type lingering struct{ net.Conn }

func (l lingering) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	time.Sleep(50 * time.Millisecond)
	return n, err
}

// An answer that comes in pieces is read to its end, though the SDK is done with the request
// before the transport is.
func TestAnswerInPieces(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(http.StatusBadRequest)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(150 * time.Millisecond)
		_, _ = io.WriteString(w, `{"__type":"EntityNotFoundException","Message":"not found"}`)
	}))
	t.Cleanup(server.Close)
	s := (&fake{url: server.URL}).source(t)
	dial := s.pool.DialContext
	s.pool.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return lingering{c}, err
	}
	for range 3 {
		_, err := s.Object(t.Context(), "db", "t")
		requireKind(t, err, mounts.NoSuchTable, "")
	}
}
