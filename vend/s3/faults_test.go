package s3_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
	"piedmont/vend/s3"
)

type fault = func(n int, w http.ResponseWriter, r *http.Request, apply func()) bool

// faulty is a client of a store that has one object, wh/there.
func faulty(t *testing.T, f fault) (*s3.Files, *store, *httptest.Server) {
	st, server := newStore(t)
	st.objects["/bucket/wh/there"] = []byte("content")
	st.fault = f
	o := options(t, server.URL)
	o.Timeout = 3 * time.Second
	return open(t, o), st, server
}

// answer always gives one refusal.
func answer(status int, code string) fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request, _ func()) bool {
		if code == "" {
			w.WriteHeader(status)
		} else {
			refuse(w, status, code)
		}
		return true
	}
}

// onlyFirst breaks the first request and serves the others.
func onlyFirst(f fault) fault {
	return func(n int, w http.ResponseWriter, r *http.Request, apply func()) bool {
		return n == 1 && f(n, w, r, apply)
	}
}

// hangUp ends the connection without an answer.
func hangUp(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// message is what a client of ours would see; it must show nothing of the storage.
func message(t *testing.T, err error) string {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mounts.Unavailable, e.Kind, "%v", err)
	for _, hidden := range []string{"127.0.0.1", "store-7", secret, "key/"} {
		require.NotContains(t, e.Message(), hidden)
	}
	require.NotContains(t, err.Error(), secret)
	return e.Message()
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status       int
		code, reason string
	}{
		{http.StatusForbidden, "AccessDenied", "was refused access"},
		{http.StatusForbidden, "", "was refused access"},
		{http.StatusUnauthorized, "", "was refused access"},
		{http.StatusNotFound, "NoSuchBucket", "names a bucket that doesn't exist"},
		{http.StatusNotFound, "", "failed"}, // a route in between: no absence
		{http.StatusNotFound, "NotFound", "failed"},
		{http.StatusBadRequest, "InvalidRequest", "failed"},
		{http.StatusNotImplemented, "NotImplemented", "can't create a file only if it is absent"},
		{http.StatusMovedPermanently, "PermanentRedirect", "was answered by a redirect: its region or endpoint is wrong"},
		{http.StatusServiceUnavailable, "SlowDown", "is overloaded"},
		{http.StatusInternalServerError, "InternalError", "failed"},
	} {
		files, _, _ := faulty(t, answer(c.status, c.code))
		l := location(t, "s3://bucket/wh/there")
		_, readErr := files.Read(t.Context(), l, 100)
		createErr := files.Create(t.Context(), l, []byte("x"))
		for _, err := range []error{readErr, createErr, files.Delete(t.Context(), l)} {
			require.Equal(t, "storage profile 'lake' "+c.reason, message(t, err), "%d %s", c.status, c.code)
			require.Equal(t, c.reason == "was refused access", errors.Is(err, vend.ErrRefused), "%d %s", c.status, c.code)
		}
		if c.status < 500 {
			require.ErrorIs(t, createErr, vend.ErrNotWritten, "%d %s", c.status, c.code)
		} else {
			require.ErrorIs(t, createErr, vend.ErrUnknown, "%d %s", c.status, c.code)
		}
	}
}

func TestDeleteOfNothing(t *testing.T) {
	files, _, _ := faulty(t, answer(http.StatusNotFound, "NoSuchKey"))
	require.NoError(t, files.Delete(t.Context(), location(t, "s3://bucket/wh/there")))
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var reached atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer elsewhere.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
		files, _, _ := faulty(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ func()) bool {
			w.Header().Set("Location", elsewhere.URL+"/bucket/wh/there")
			w.WriteHeader(status)
			return true
		})
		l := location(t, "s3://bucket/wh/there")
		_, err := files.Read(t.Context(), l, 100)
		require.Contains(t, message(t, err), "redirect")
		err = files.Create(t.Context(), l, []byte("x"))
		require.Contains(t, message(t, err), "redirect")
		require.ErrorIs(t, err, vend.ErrNotWritten)
	}
	require.False(t, reached.Load())
}

func TestOverloadPasses(t *testing.T) {
	for _, f := range []fault{answer(503, "SlowDown"), answer(500, "InternalError"), answer(503, ""), answer(409, "ConditionalRequestConflict")} {
		files, st, _ := faulty(t, onlyFirst(f))
		l := location(t, "s3://bucket/wh/new")
		require.NoError(t, files.Create(t.Context(), l, []byte("x")))
		require.Len(t, st.requests(), 2)
		require.Equal(t, "x", string(st.objects["/bucket/wh/new"]))
	}
	files, st, _ := faulty(t, answer(503, "SlowDown"))
	_, err := files.Read(t.Context(), location(t, "s3://bucket/wh/there"), 100)
	require.Error(t, err)
	require.Len(t, st.requests(), 3, "retries are bounded")
}

func TestTruncatedBody(t *testing.T) {
	cut := func(_ int, w http.ResponseWriter, _ *http.Request, _ func()) bool {
		w.Header().Set("Content-Length", "7")
		_, _ = w.Write([]byte("cont"))
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
		return true
	}
	l := location(t, "s3://bucket/wh/there")
	files, _, _ := faulty(t, onlyFirst(cut))
	data, err := files.Read(t.Context(), l, 100)
	require.NoError(t, err)
	require.Equal(t, "content", string(data))

	files, st, _ := faulty(t, cut)
	data, err = files.Read(t.Context(), l, 100)
	require.Nil(t, data)
	require.Equal(t, "storage profile 'lake' failed", message(t, err))
	require.Len(t, st.requests(), 3)
}

// Neither a length that is announced nor one that isn't may fill our memory.
func TestOversize(t *testing.T) {
	for _, announce := range []bool{true, false} {
		var written atomic.Int64
		files, _, _ := faulty(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ func()) bool {
			if announce {
				w.Header().Set("Content-Length", "1125899906842624")
			}
			chunk := bytes.Repeat([]byte("x"), 1<<16)
			for written.Load() < 1e9 {
				n, err := w.Write(chunk)
				written.Add(int64(n))
				if err != nil {
					return true
				}
			}
			return true
		})
		_, err := files.Read(t.Context(), location(t, "s3://bucket/wh/there"), 1000)
		require.ErrorIs(t, err, vend.ErrTooLarge)
		require.Less(t, written.Load(), int64(64<<20))
	}
}

func TestHanging(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	hang := func(_ int, w http.ResponseWriter, r *http.Request, _ func()) bool {
		if r.Method == http.MethodDelete { // hangs after the headers instead
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-stop
		return true
	}
	st, server := newStore(t)
	st.fault = hang
	o := options(t, server.URL)
	o.Timeout = 200 * time.Millisecond
	files, l := open(t, o), location(t, "s3://bucket/wh/there")
	start := time.Now()
	_, readErr := files.Read(t.Context(), l, 100)
	createErr := files.Create(t.Context(), l, []byte("x"))
	for _, err := range []error{readErr, createErr, files.Delete(t.Context(), l)} {
		require.Equal(t, "storage profile 'lake' didn't answer in time", message(t, err))
	}
	require.ErrorIs(t, createErr, vend.ErrUnknown)
	require.Less(t, time.Since(start), 2*time.Second)
}

// A connection that was switched to another protocol heeds no deadline, so nothing is read
// from it. What became of a put is unknown: no refusal came.
func TestSwitchingProtocols(t *testing.T) {
	files, st, _ := faulty(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ func()) bool {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return true
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n<")
		return true
	})
	l := location(t, "s3://bucket/wh/there")
	for name, ask := range map[string]func() error{
		"read":   func() error { _, err := files.Read(t.Context(), l, 100); return err },
		"create": func() error { return files.Create(t.Context(), l, []byte("x")) },
		"delete": func() error { return files.Delete(t.Context(), l) },
	} {
		done := make(chan error, 1)
		go func() { done <- ask() }()
		select {
		case err := <-done:
			require.Contains(t, message(t, err), "storage profile 'lake' ", name)
			require.Equal(t, name == "create", errors.Is(err, vend.ErrUnknown), name)
		case <-time.After(30 * time.Second):
			t.Fatal(name + " hangs")
		}
	}
	require.LessOrEqual(t, len(st.requests()), 12, "retries are bounded")
}

func TestNobodyListens(t *testing.T) {
	_, server := newStore(t)
	server.Close()
	files := open(t, options(t, server.URL))
	err := files.Create(t.Context(), location(t, "s3://bucket/wh/x"), []byte("x"))
	require.Equal(t, "storage profile 'lake' failed", message(t, err))
	require.ErrorIs(t, err, vend.ErrNotWritten, "without a connection nothing was sent")
}

// The put arrives, its answer doesn't, and the retry finds the name taken.
func TestOwnEarlierAttempt(t *testing.T) {
	for _, lose := range []func(http.ResponseWriter){hangUp, func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }} {
		files, st, _ := faulty(t, onlyFirst(func(_ int, w http.ResponseWriter, _ *http.Request, apply func()) bool {
			apply()
			lose(w)
			return true
		}))
		require.NoError(t, files.Create(t.Context(), location(t, "s3://bucket/wh/new"), []byte("ours")))
		require.Equal(t, []string{"PUT /bucket/wh/new", "PUT /bucket/wh/new", "GET /bucket/wh/new"}, st.requests())
	}
}

// The same, but somebody else was first: with other content, shorter and longer, too.
func TestAnothersEarlierFile(t *testing.T) {
	for _, data := range []string{"CONTENT", "content and more", "c", ""} {
		files, st, _ := faulty(t, onlyFirst(func(_ int, w http.ResponseWriter, _ *http.Request, _ func()) bool {
			hangUp(w)
			return true
		}))
		err := files.Create(t.Context(), location(t, "s3://bucket/wh/there"), []byte(data))
		require.ErrorIs(t, err, vend.ErrExists)
		require.True(t, mounts.Is(err, mounts.AlreadyExists))
		require.Equal(t, "content", string(st.objects["/bucket/wh/there"]))
	}
}

// A 412 at the first attempt is another's file even if its content is the same.
func TestExistingTwinIsNotOurs(t *testing.T) {
	files, st, _ := faulty(t, nil)
	err := files.Create(t.Context(), location(t, "s3://bucket/wh/there"), []byte("content"))
	require.ErrorIs(t, err, vend.ErrExists)
	require.Len(t, st.requests(), 1)
}

// Every put is lost without an answer: done or not is told by looking, and not finding
// the file proves nothing.
func TestUnclearPuts(t *testing.T) {
	for _, done := range []bool{true, false} {
		files, _, _ := faulty(t, func(_ int, w http.ResponseWriter, r *http.Request, apply func()) bool {
			if r.Method != http.MethodPut {
				return false
			}
			if done {
				apply()
			}
			hangUp(w)
			return true
		})
		err := files.Create(t.Context(), location(t, "s3://bucket/wh/new"), []byte("ours"))
		if done {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, vend.ErrUnknown)
		require.False(t, errors.Is(err, vend.ErrNotWritten) || errors.Is(err, vend.ErrExists))
		message(t, err)
	}
}

func TestCheckFindsAStoreThatIgnoresTheCondition(t *testing.T) {
	files, st, _ := faulty(t, nil)
	st.fault = func(_ int, _ http.ResponseWriter, r *http.Request, _ func()) bool {
		if r.Method == http.MethodPut {
			st.mu.Lock()
			delete(st.objects, r.URL.EscapedPath())
			st.mu.Unlock()
		}
		return false
	}
	err := vend.Check(t.Context(), &vend.Profile{Name: "lake", Prefix: location(t, "s3://bucket/wh"), Files: files})
	require.ErrorContains(t, err, "creating a file that exists should be refused")
	require.Len(t, st.objects, 1, "the file of the check is deleted")
}

// TestCheckReadWithoutTheRightToList asks a bucket as AWS answers whoever may read objects only.
func TestCheckReadWithoutTheRightToList(t *testing.T) {
	files, st, _ := faulty(t, nil)
	p := &vend.Profile{Name: "lake", Prefix: location(t, "s3://bucket/wh"), Files: files}
	require.NoError(t, vend.CheckRead(t.Context(), p))
	st.fault = answer(http.StatusForbidden, "AccessDenied")
	require.ErrorContains(t, vend.CheckRead(t.Context(), p), "without the right to list (s3:ListBucket)")
	for _, asked := range st.requests() {
		require.True(t, strings.HasPrefix(asked, "GET /bucket/wh/.piedmont-check-"), asked)
	}
}

func TestKeyTooLong(t *testing.T) {
	files, st, _ := faulty(t, nil)
	l := location(t, "s3://bucket/wh/"+strings.Repeat("x", 1022))
	_, err := files.Read(t.Context(), l, 100)
	require.True(t, mounts.Is(err, mounts.BadRequest))
	require.ErrorIs(t, files.Create(t.Context(), l, nil), vend.ErrNotWritten)
	require.True(t, mounts.Is(files.Delete(t.Context(), l), mounts.BadRequest))
	require.Empty(t, st.requests())
}
