package rest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// Over TLS the connection that failed is the one below.
func TestMalformedOverTLS(t *testing.T) {
	for answer, want := range map[string]mounts.Kind{
		"SSH-2.0-OpenSSH_9.6\r\n":             mounts.BadGateway,
		"HTTP/1.1 200 OK\r\nContent-Le":       mounts.BadGateway,
		"HTTP/1.1 200 OK\r\nContent-Le reset": mounts.Unavailable,
		"":                                    mounts.Unavailable,
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, answer) // who finds it malformed may be gone before its end
			if want == mounts.Unavailable {
				below := conn.(*tls.Conn).NetConn().(*net.TCPConn) // without TLS's own end
				_ = below.SetLinger(0)
				_ = below.Close()
			}
			_ = conn.Close()
		}))
		t.Cleanup(server.Close)
		c, err := New(Options{URI: server.URL, Documents: NewDocuments(1 << 20), Now: time.Now})
		require.NoError(t, err)
		c.client.http.Transport.(*http.Transport).TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
		require.Equal(t, want, mounts.KindOf(c.Health(t.Context())), "%q", answer)
		require.NoError(t, c.Close())
	}
}
