package router

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gathering serves h and returns a connection to it.
func gathering(t *testing.T, h http.HandlerFunc) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: h, ConnContext: ConnContext, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(Gather(l)) }()
	t.Cleanup(func() { _ = server.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c
}

func ask(t *testing.T, c net.Conn, request string) {
	t.Helper()
	_, err := io.WriteString(c, request)
	require.NoError(t, err)
}

const plainGet = "GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"

func sized(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
	body := bytes.Repeat([]byte("x"), n)
	writeParts(w, r, [][]byte{body[:n/2], body[n/2:]})
}

// TestOneWrite: what comes with the first read is the whole answer, as far as it is gathered.
func TestOneWrite(t *testing.T) {
	c := gathering(t, sized)
	buffer := make([]byte, 1<<20)
	for _, n := range []int{1, 100, 3900, 4096, 6000, gatherBelow} {
		ask(t, c, strings.Replace(plainGet, "%s", strconv.Itoa(n), 1))
		read, err := c.Read(buffer)
		require.NoError(t, err)
		_, body, ok := bytes.Cut(buffer[:read], endOfHead)
		require.True(t, ok)
		require.Len(t, body, n)
	}
}

// TestAnswersInARow: of all sizes, gathered or not, by the same connection, also asked for at once.
func TestAnswersInARow(t *testing.T) {
	c := gathering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/304":
			w.WriteHeader(http.StatusNotModified)
		case r.Method == http.MethodPost: // 100-continue goes before
			body, _ := io.ReadAll(r.Body)
			writeJSON(w, r, http.StatusOK, body)
		case r.Method == http.MethodHead:
			writeJSON(w, r, http.StatusOK, bytes.Repeat([]byte(" "), 1000))
		case r.URL.Path == "/stream":
			_, _ = io.WriteString(w, "first")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "second")
		default:
			sized(w, r)
		}
	})
	requests := []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/5000", "", 5000},
		{"GET", "/304", "", 0},
		{"GET", "/0", "", 0},
		{"HEAD", "/", "", 0},
		{"GET", "/stream", "", 11},
		{"GET", "/20000", "", 20000},
		{"POST", "/", strings.Repeat("b", 9000), 9000},
		{"GET", "/70000", "", 70000},
		{"GET", "/16384", "", 16384},
		{"GET", "/7", "", 7},
	}
	go func() {
		for _, q := range requests {
			head := q.method + " " + q.path + " HTTP/1.1\r\nHost: x\r\n"
			if q.body != "" {
				head += "Expect: 100-continue\r\nContent-Length: " + strconv.Itoa(len(q.body)) + "\r\n"
			}
			_, _ = io.WriteString(c, head+"\r\n"+q.body)
		}
	}()
	answers := bufio.NewReader(c)
	for _, q := range requests {
		asked, err := http.NewRequestWithContext(t.Context(), q.method, "http://x"+q.path, nil)
		require.NoError(t, err)
		r, err := http.ReadResponse(answers, asked)
		require.NoError(t, err)
		if r.StatusCode == http.StatusContinue {
			r, err = http.ReadResponse(answers, asked)
			require.NoError(t, err)
		}
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Len(t, body, q.want, "%s %s", q.method, q.path)
	}
}

// TestAnnouncedInVain: a handler that ends before its answer does closes the connection, as
// without gathering; nobody waits.
func TestAnnouncedInVain(t *testing.T) {
	for _, end := range []func(){func() {}, func() { panic(http.ErrAbortHandler) }} {
		c := gathering(t, func(w http.ResponseWriter, r *http.Request) {
			announce(r.Context(), 8000)
			w.Header().Set("Content-Length", "8000")
			_, _ = w.Write(make([]byte, 5000))
			end()
		})
		ask(t, c, strings.Replace(plainGet, "%s", "", 1))
		_, err := io.ReadAll(c)
		require.NoError(t, err) // the end, and no deadline
	}
}
