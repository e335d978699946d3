package router_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRawRequests sends what no HTTP client would to a real server: paths are neither
// cleaned nor redirected, and what net/http refuses itself is refused.
func TestRawRequests(t *testing.T) {
	g, _ := withTable(t, settings{})
	server := httptest.NewServer(g)
	defer server.Close()
	before := g.state()
	for _, c := range []struct {
		line string
		want []int
	}{
		{"GET /v1/namespaces/%zz", []int{400}},
		{"GET /v1/namespaces/%", []int{400}},
		{"GET /v1/namespaces/%2", []int{400}},
		{"GET //v1/config", []int{404}},
		{"POST //v1/namespaces", []int{404}},
		{"GET /v1//config", []int{404}},
		{"GET /v1/namespaces//tables", []int{400}},
		{"GET /v1/namespaces/ns//tables", []int{404}},
		{"GET /v1/namespaces/../config", []int{404}},
		{"GET /v1/namespaces/..", []int{400}},
		{"GET /v1/namespaces/%2e%2e/tables", []int{400}},
		{"GET /v1/./config", []int{404}},
		{"GET /v1/namespaces/ns/tables/t/../t", []int{404}},
		{"GET /v1/namespaces/a%2Fb", []int{404}},
		{"GET /v1/namespaces/ns%00", []int{400}},
		{"GET v1/config", []int{400}},
		{"GET *", []int{400, 404}},
		{"OPTIONS *", []int{200, 404, 405}},
		{"GET http://elsewhere/v1/namespaces/none", []int{404}},
		{"GET /v1/namespaces?parent=%zz&pageSize=x", []int{400}},
	} {
		status, location := raw(t, server, c.line+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+ops+"\r\nConnection: close\r\n\r\n")
		require.Contains(t, c.want, status, c.line)
		require.Empty(t, location, "a redirect loses a client's body")
	}
	status, _ := raw(t, server, "POST /v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+ops+"\r\nContent-Length: 100\r\n\r\n{\"namespace\":[\"x\"]}")
	require.Equal(t, 400, status, "a body cut short")
	status, _ = raw(t, server, "POST /v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+ops+"\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}")
	require.Equal(t, 400, status, "a chunk of no size")
	require.Equal(t, before, g.state())
}

// raw sends bytes and reads the status. Where a body could go on it closes its half of the
// connection, which a server may take for a client that left.
func raw(t *testing.T, server *httptest.Server, request string) (status int, location string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	if strings.HasPrefix(request, "POST") {
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, request)
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("Location")
}

// answered is what a client saw of an answer.
type answered struct {
	status int
	header http.Header
	length int64
	body   string
}

// TestOverARealConnection: what recorders don't show, such as the length of a 204.
func TestOverARealConnection(t *testing.T) {
	g, tag := withTable(t, settings{})
	server := httptest.NewServer(g)
	defer server.Close()
	send := func(method, target, body string, headers ...string) answered {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+target, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+ops)
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		response, err := server.Client().Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		b, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return answered{response.StatusCode, response.Header, response.ContentLength, string(b)}
	}
	plain := send("GET", tableT, "", "Accept-Encoding: identity")
	require.EqualValues(t, len(plain.body), plain.length)
	packed := send("GET", tableT, "", "Accept-Encoding: gzip;q=0.9")
	require.Equal(t, plain.body == packed.body, packed.header.Get("Content-Encoding") == "")
	require.Equal(t, 304, send("GET", tableT, "", "If-None-Match: "+tag).status)
	for _, request := range []string{"HEAD " + tableT, "HEAD /v1/namespaces/ns", "DELETE " + tableT} {
		method, target, _ := strings.Cut(request, " ")
		a := send(method, target, "")
		require.Equal(t, 204, a.status)
		require.Empty(t, a.body)
		require.Empty(t, a.header.Get("Content-Length"))
	}
	require.Equal(t, 404, send("HEAD", tableT, "").status)
	require.Equal(t, 413, send("POST", "/v1/namespaces", `{"x":"`+strings.Repeat("y", 5<<20)+`"}`).status)
	require.Equal(t, 200, send("GET", "/v1/namespaces", "").status)
}
