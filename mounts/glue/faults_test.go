package glue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
)

// What isn't Glue's answer is none, whatever its status.
func TestWrongContent(t *testing.T) {
	const html = "<html>10.0.0.7</html>"
	for _, c := range []struct {
		status int
		body   string
		kind   mounts.Kind
	}{
		{200, "", mounts.BadGateway},
		{200, html, mounts.BadGateway},
		{200, "{}", mounts.BadGateway},
		{200, "null", mounts.BadGateway},
		{200, "[]", mounts.BadGateway},
		{200, `{"message":"ok"}`, mounts.BadGateway},
		{200, `{"Table":null,"Database":null,"TableList":null,"DatabaseList":null}`, mounts.BadGateway},
		{200, `{"Table":{},"Database":{},"TableList":[{}],"DatabaseList":null}`, mounts.BadGateway},
		{200, `{"Table":[],"Database":7,"TableList":{},"DatabaseList":"x"}`, mounts.BadGateway},
		{200, `{"TableList":[],"DatabaseList":[],"Table":{"Name":"t"},"Database":{"Name":"db"}}x`, mounts.BadGateway},
		{200, `{"TableList":[],"TableList":[],"DatabaseList":[],"DatabaseList":[],"Table":{"Name":"t","Name":"t"},"Database":{"Name":"db","Name":"db"}}`, mounts.BadGateway},
		{200, `{"TableList":[{"Name":"a"}],"DatabaseList":[{"Name":"a"}],"Table":{"Name":"t"},"Database":{"Name":"db"}`, mounts.BadGateway},
		{200, `{"TableList":[` + strings.Repeat(`{"Name":"a"},`, 2000) + `{"Name":"a"}],"DatabaseList":7,"Table":7,"Database":7}`, mounts.BadGateway},
		{204, "", mounts.BadGateway},
		{301, html, mounts.BadGateway},
		{307, "", mounts.BadGateway},
		{400, html, mounts.BadGateway},
		{400, "", mounts.BadGateway},
		{403, html, mounts.BadGateway},
		{404, html, mounts.BadGateway},
		{404, "", mounts.BadGateway},
		{500, html, mounts.Unavailable},
		{502, "", mounts.Unavailable},
		{503, html, mounts.Unavailable},
		{400, `{"__type":"EntityNotFoundException","Message":"` + strings.Repeat("x", maxError) + `"}`, mounts.BadGateway},
	} {
		f := withTable(t)
		s := f.source(t)
		f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
			w.Header().Set("Location", f.url+"/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
			return true
		})
		for name, err := range asks(t, s) {
			require.Error(t, err, "%s of %d %.80s", name, c.status, c.body)
			requireKind(t, err, c.kind, "The catalog behind mount 'aws'")
		}
	}
}

// What is too large is read to the bound and no further.
func TestHugeAnswers(t *testing.T) {
	f := withTable(t)
	s := f.source(t)
	client, ok := s.client.Options().HTTPClient.(*web)
	require.True(t, ok)
	require.EqualValues(t, 64<<20, client.limit)
	client.limit = 1 << 20
	var written atomic.Int64
	f.setSpoil(func(method string, _ request, w http.ResponseWriter) bool {
		written.Store(0)
		_, _ = io.WriteString(w, map[string]string{"GetTables": `{"TableList":[{"Name":"`}[method])
		chunk := strings.Repeat(" x", 1<<15)
		for {
			n, err := io.WriteString(w, chunk)
			written.Add(int64(n))
			if err != nil {
				return true
			}
		}
	})
	_, _, err := s.Objects(t.Context(), "db", metastore.Table, "", 0)
	requireKind(t, err, mounts.BadGateway, "an answer that is too large")
	_, err = s.Object(t.Context(), "db", "t")
	requireKind(t, err, mounts.BadGateway, "an answer that is too large")
	require.Eventually(t, func() bool { return written.Load() < 16<<20 }, 5*time.Second, 10*time.Millisecond)
}

// A Glue that hangs, or that gives a byte now and then, is left when the time is over.
func TestSlow(t *testing.T) {
	for name, slow := range map[string]func(http.ResponseWriter, *http.Request){
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drips": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			slow(w, r)
		}))
		f := &fake{url: server.URL}
		s := f.source(t)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		_, err := s.Object(ctx, "db", "t")
		requireKind(t, err, mounts.Timeout, "did not answer in time")
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, _, err = s.Objects(ctx, "db", metastore.Table, "", 0)
		requireKind(t, err, mounts.Unavailable, "was not waited for")
		require.Less(t, time.Since(began), 5*time.Second, name)
		server.Close()
	}
}

// A connection that breaks says nothing of what was asked for.
func TestBrokenConnections(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: 500\r\n\r\n"
	for _, answer := range []string{
		"", "HTTP/1.1 200", head, head + `{"TableList":[`, head + `{"TableList":[{"Name":"a"}]}`, head + `{"Table":{"Name":"t"}}`,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"TableList\":[]}\r\n", "garbage\r\n\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 8<<10))
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		}()
		f := &fake{url: "http://" + l.Addr().String()}
		for name, err := range asks(t, f.source(t)) {
			e := requireKind(t, err, mounts.Unavailable, "can't be reached right now")
			require.Zero(t, e.RetryAfter, "%s of %q", name, answer)
		}
		require.NoError(t, l.Close())
		for _, err := range asks(t, f.source(t)) {
			requireKind(t, err, mounts.Unavailable, "can't be reached right now")
		}
	}
}

// A page is as large as was asked for at most, unless it is the only one; and the list ends.
func TestListsThatAreNone(t *testing.T) {
	f := withTable(t)
	s := f.source(t)
	var next any
	f.setSpoil(func(_ string, in request, w http.ResponseWriter) bool {
		list := []any{}
		for i := range *in.MaxResults + 1 {
			list = append(list, map[string]any{"Name": fmt.Sprint(i), "Parameters": map[string]string{"table_type": "ICEBERG"}})
		}
		answer(w, map[string]any{"TableList": list, "DatabaseList": list, "NextToken": next})
		return true
	})
	names, _, err := s.Objects(t.Context(), "db", metastore.Table, "", 5)
	require.NoError(t, err)
	require.Len(t, names, 6)
	names, _, err = s.Databases(t.Context(), "", 5)
	require.NoError(t, err)
	require.Len(t, names, 6)
	next = "more"
	_, _, err = s.Objects(t.Context(), "db", metastore.Table, "", 5)
	requireKind(t, err, mounts.BadGateway, "larger than was asked for")
	_, _, err = s.Databases(t.Context(), "", 5)
	requireKind(t, err, mounts.BadGateway, "larger than was asked for")
	f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
		answer(w, map[string]any{"TableList": []any{}, "DatabaseList": []any{}, "NextToken": "same"})
		return true
	})
	_, _, err = s.Objects(t.Context(), "db", metastore.Table, "", 0)
	requireKind(t, err, mounts.BadGateway, "does not end")
	_, _, err = s.Databases(t.Context(), "", 0)
	requireKind(t, err, mounts.BadGateway, "does not end")
}

// No redirect is followed, and no proxy of the environment asked.
func TestStaysWhereItIsSent(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked elsewhere") }))
	defer elsewhere.Close()
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	t.Setenv("AWS_ENDPOINT_URL", elsewhere.URL)
	t.Setenv("AWS_ENDPOINT_URL_GLUE", elsewhere.URL)
	f := withTable(t)
	s := f.source(t)
	require.NoError(t, s.Health(t.Context()))
	f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	})
	requireKind(t, s.Health(t.Context()), mounts.BadGateway, "answered with a redirect")
	require.Nil(t, s.pool.Proxy)
}

func TestReduce(t *testing.T) {
	for text, want := range map[string]string{
		`{"TableList":[]}`: `{"TableList":[]}`,
		`{"X":{"TableList":[]},"TableList":[{"Name":"t","Columns":[[{}]],"Parameters":{"table_type":"ICEBERG","b":"c"}},{"Name":"u"}],"NextToken":"n"}`: `{"TableList":[{"Name":"t","Parameters":{"table_type":"ICEBERG"}},{"Name":"u"}],"NextToken":"n"}`,
		`{"TableList":[],"TableList":[]}`: "", `{"TableList":[{"Name":"t","Name":"u"}]}`: "", `{"TableList":[{}]}`: "", `{"TableList":[[]]}`: "", `{"TableList":{}}`: "",
		`{}`: "", ``: "", `{"TableList":[]}]`: "", `{"TableList":[]`: "", `[{"TableList":[]}]`: "", `{"TableList":[{"Name":"t","Parameters":{"a":1}}]}`: "",
	} {
		got, err := reduce(strings.NewReader(text))
		require.Equal(t, want == "", err != nil, "%s: %v", text, err)
		require.Equal(t, want, string(got), text)
	}
}

func FuzzReduce(f *testing.F) {
	for _, seed := range []string{
		`{"TableList":[{"Name":"t","Parameters":{"table_type":"ICEBERG","x":"y"},"StorageDescriptor":{"Columns":[{"Name":"a"}]}}],"NextToken":"n"}`,
		`{"TableList":[]}`, `{"TableList":null}`, `{}`, ``, `[`, `{"TableList":[{"Name":"t","Name":"u"}]}`, `{"TableList":[]}{"TableList":[]}`,
		`{"TableList":[{"Name":"t","Parameters":null}],"NextToken":null}`, `{"TableList":[{"Name":7}]}`, `{"a":{"b":[1,2,{}]},"TableList":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		body, err := reduce(strings.NewReader(string(text)))
		if err != nil {
			var broken *guard.Fault
			require.True(t, errors.As(err, &broken), "%T", err)
			require.Equal(t, mounts.BadGateway, broken.Kind)
			return
		}
		again, err := reduce(strings.NewReader(string(body)))
		require.NoError(t, err)
		require.Equal(t, string(body), string(again), "what is reduced already stays")
		require.LessOrEqual(t, len(body), 6*len(text)+100)
	})
}
