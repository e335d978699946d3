package rest_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// raw answers with these bytes and ends the connection.
func raw(t *testing.T, answer string, end func(*net.TCPConn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, answer) // who finds it malformed may be gone before its end
		end(conn.(*net.TCPConn))
	}
}

func closed(conn *net.TCPConn) { _ = conn.Close() }

func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// What is no HTTP is an answer that isn't to be believed, as HTML is: asked once, and no failure
// of the connection. What is one only in part too. A connection that fails is asked for again.
func TestAnswersThatAreNoHTTP(t *testing.T) {
	const (
		ok     = "HTTP/1.1 200 OK\r\n"
		body   = `{"metadata":{},"namespaces":[],"identifiers":[],"namespace":["db"]}`
		absent = `{"error":{"message":"m","type":"NoSuchTableException","code":404}}`
	)
	none := map[string]http.HandlerFunc{}
	for name, answer := range map[string]string{
		"another protocol":      "SSH-2.0-OpenSSH_9.6\r\n",
		"tls":                   "\x15\x03\x01\x00\x02\x02\x28",
		"a page without a head": "<html>\r\n\r\n</html>",
		"version":               "HTTP/x 200 OK\r\n\r\n",
		"status":                "HTTP/1.1 abc OK\r\n\r\n",
		"no status":             "HTTP/1.1\r\n\r\n",
		"no colon":              ok + "Content-Length 2\r\n\r\n{}",
		"no name":               ok + ": x\r\n\r\n{}",
		"length":                ok + "Content-Length: two\r\n\r\n{}",
		"two lengths":           ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
		"encoding":              ok + "Transfer-Encoding: gzip\r\n\r\n{}",
		"location":              "HTTP/1.1 302 Found\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n",
		"long header":           ok + "X: " + strings.Repeat("x", 300<<10) + "\r\n\r\n{}",
		"early hints for ever":  strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000),
		"cut status":            "HTTP/1.1 20",
		"cut header":            ok + "Content-Le",
		"short body":            ok + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+1, body),
		"cut chunk":             ok + "Transfer-Encoding: chunked\r\n\r\n100\r\n" + body,
		"no last chunk":         ok + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body),
		"no chunk":              ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n" + body,
		"an absence cut":        fmt.Sprintf("HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n%s", len(absent)+1, absent),
	} {
		none[name] = raw(t, answer, closed)
	}
	lost := map[string]http.HandlerFunc{
		"closed":             raw(t, "", closed),
		"reset":              raw(t, "", reset),
		"reset in a status":  raw(t, "HTTP/1.1 20", reset),
		"reset in a header":  raw(t, ok+"Content-Le", reset),
		"reset behind hints": raw(t, "HTTP/1.1 103 Early Hints\r\n\r\n", reset),
	}
	check := func(t *testing.T, answer http.HandlerFunc, want mounts.Kind, tries int) {
		u := withTable(t, func(u *upstream) { u.endpoints = withoutHead() })
		c := u.mount()
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true })
		require.Equal(t, want, kindOfLoad(t, c), "of a configuration")
		require.Equal(t, tries, u.count("GET config"))
		u.intercept(nil)
		require.NoError(t, c.Health(t.Context()))
		u.intercept(afterConfig(answer))
		before := c.Stats().Requests
		errs := reading(t.Context(), c)
		for op, err := range errs {
			require.Equal(t, want, checkError(t, err), "%s: %v", op, err)
		}
		require.Equal(t, tries == 1, c.Stats().Guard.Retried == 0)
		require.LessOrEqual(t, c.Stats().Requests-before, uint64(tries*2*len(errs)))
	}
	for name, answer := range none {
		t.Run(name, func(t *testing.T) { t.Parallel(); check(t, answer, mounts.BadGateway, 1) })
	}
	for name, answer := range lost {
		t.Run(name, func(t *testing.T) { t.Parallel(); check(t, answer, mounts.Unavailable, 3) })
	}
}

// The same of the answer to a request for a token.
func TestTokensThatAreNoHTTP(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret = secret })
	c := u.mount()
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		raw(t, "HTTP/1.1 200 OK\r\n"+secret+"\r\n\r\n", closed)(w, r)
		return true
	})
	require.Equal(t, mounts.BadGateway, kindOfLoad(t, c))
	require.Equal(t, 1, u.count("POST token"))
}
