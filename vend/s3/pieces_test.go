package s3

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/vend"
)

// lingering is a connection on which what was sent is there before the sender knows it.
type lingering struct{ net.Conn }

func (l lingering) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	time.Sleep(50 * time.Millisecond)
	return n, err
}

// A refusal that comes in pieces is read to its end, though the SDK is done with the request
// before the transport is.
func TestRefusalInPieces(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNotFound)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(150 * time.Millisecond)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchBucket</Code><Message>m</Message></Error>")
	}))
	t.Cleanup(server.Close)
	prefix, err := vend.ParseLocation("s3://bucket/wh")
	require.NoError(t, err)
	l, err := vend.ParseLocation("s3://bucket/wh/new")
	require.NoError(t, err)
	f, err := New(t.Context(), Options{
		Profile: "lake", Prefix: prefix, Endpoint: server.URL, Region: "eu-west-1", PathStyle: true, AccessKeyID: "key", SecretAccessKey: "secret",
	})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	dial := f.pool.DialContext
	f.pool.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return lingering{c}, err
	}
	for range 3 {
		require.ErrorContains(t, f.Create(t.Context(), l, []byte("x")), "names a bucket that doesn't exist")
	}
}
