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
