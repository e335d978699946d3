package rest_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// holdFirst lets the first question for an object wait, and then have the answer that it would
// have had at once. It says whether that question came, and lets it go.
func holdFirst(u *upstream) (came func() bool, release func()) {
	var first atomic.Bool
	answered, let := make(chan struct{}), make(chan struct{})
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		parts := strings.Split(r.URL.Path, "/")
		object := parts[len(parts)-2] == "tables" || parts[len(parts)-2] == "views"
		if !object || !first.CompareAndSwap(false, true) {
			return false
		}
		old := httptest.NewRecorder()
		u.ServeHTTP(old, r)
		close(answered)
		<-let
		maps.Copy(w.Header(), old.Header())
		w.WriteHeader(old.Code)
		_, _ = w.Write(old.Body.Bytes())
		return true
	})
	came = func() bool {
		select {
		case <-answered:
			return true
		default:
			return false
		}
	}
	return came, func() { close(let) }
}

// outcome is where a load says that the metadata is; empty for an absence.
func outcome(t *testing.T, loaded *mounts.Table, err error) string {
	t.Helper()
	if err != nil {
		require.Contains(t, []mounts.Kind{mounts.NoSuchTable, mounts.NoSuchView}, checkError(t, err))
		return ""
	}
	return loaded.MetadataLocation
}

type loader func(context.Context, *rest.Catalog, mounts.Caller) (*mounts.Table, error)

func loads(id mounts.Identifier, o mounts.LoadOptions) loader {
	return func(ctx context.Context, c *rest.Catalog, caller mounts.Caller) (*mounts.Table, error) {
		return c.LoadTable(ctx, caller, id, o)
	}
}

// A question that was sent before another, and is answered after it, doesn't bring back what was
// then, whatever the later answer was.
func TestLateAnswer(t *testing.T) {
	dotted := mounts.Namespace{"a.b"}.Table("t")
	refs := mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs}
	whole := loads(table, mounts.LoadOptions{})
	views := func(ctx context.Context, c *rest.Catalog, caller mounts.Caller) (*mounts.Table, error) {
		v, err := c.LoadView(ctx, caller, aView)
		return (*mounts.Table)(v), err
	}
	drop := func(u *upstream) string { u.drop(table); return "" }
	for name, c := range map[string]struct {
		first, later loader
		before       func(*upstream)        // first is asked
		change       func(*upstream) string // before later is asked; it tells what is right then
		asks         uint64                 // questions of a load behind both
	}{
		"another":  {whole, whole, nil, func(u *upstream) string { return u.write(table, 2).location }, 0},
		"absence":  {whole, whole, nil, drop, 1},
		"of whole": {loads(table, refs), whole, nil, drop, 1},
		"of refs":  {whole, loads(table, refs), nil, drop, 1},
		"of a view": {views, views, nil, func(u *upstream) string {
			u.mu.Lock()
			defer u.mu.Unlock()
			delete(u.views, key(aView))
			return ""
		}, 1},
		"made anew": {whole, whole, func(u *upstream) { u.drop(table) }, func(u *upstream) string { return u.write(table, 2).location }, 0},
		"too large": {whole, whole, nil, func(u *upstream) string {
			large := u.write(table, 2)
			large.document = strings.Replace(large.document, `"v":2`, `"v":"`+strings.Repeat("2", 64<<10)+`"`, 1)
			return large.location
		}, 1},
		"a namespace": {loads(dotted, mounts.LoadOptions{}), loads(dotted, mounts.LoadOptions{}), nil, func(u *upstream) string {
			u.mu.Lock()
			defer u.mu.Unlock()
			delete(u.namespaces, dotted.Namespace.Encode())
			return ""
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := withTable(t)
			u.createNamespace(dotted.Namespace, nil)
			u.write(dotted, 1)
			if c.before != nil {
				c.before(u)
			}
			m := u.mount(func(o *rest.Options) {
				o.FreshFor, o.Timeout, o.Documents = time.Hour, time.Minute, rest.NewDocuments(64<<10)
			})
			came, release := holdFirst(u)
			late := make(chan error, 1)
			go func() {
				_, err := c.first(context.Background(), m, mounttest.Caller)
				late <- err
			}()
			require.Eventually(t, came, 20*time.Second, time.Millisecond)
			want := c.change(u)
			loaded, err := c.later(t.Context(), m, now)
			require.Equal(t, want, outcome(t, loaded, err))
			release()
			if err := <-late; c.before == nil {
				require.NoError(t, err, "who asked first is answered what was then")
			}
			for _, load := range []loader{c.first, c.later} {
				before := m.Stats().Requests
				loaded, err = load(t.Context(), m, mounttest.Caller)
				require.Equal(t, want, outcome(t, loaded, err))
				require.GreaterOrEqual(t, m.Stats().Requests-before, c.asks)
				if c.asks == 0 {
					require.Equal(t, before, m.Stats().Requests, "it is in memory")
				}
			}
		})
	}
}

// Nor does who comes behind the later answer get the one to the question before.
func TestJoiningALateQuestion(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.FreshFor, o.Timeout = time.Hour, time.Minute })
	came, release := holdFirst(u)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.LoadTable(context.Background(), mounttest.Caller, table, mounts.LoadOptions{})
	}()
	require.Eventually(t, came, 20*time.Second, time.Millisecond)
	u.drop(table)
	_, err := c.LoadTable(t.Context(), now, table, mounts.LoadOptions{})
	require.Equal(t, mounts.NoSuchTable, checkError(t, err))
	time.AfterFunc(50*time.Millisecond, release)
	require.Equal(t, mounts.NoSuchTable, kindOfLoad(t, c))
	<-done
}

// A table that is gone is forgotten in both forms.
func TestGoneInBothForms(t *testing.T) {
	u := withTable(t)
	documents := rest.NewDocuments(1 << 20)
	c := u.mount(func(o *rest.Options) { o.FreshFor, o.Documents = time.Hour, documents })
	loadRefs(t, c)
	load(t, c, table)
	require.Equal(t, 2, documents.Len())
	u.drop(table)
	_, err := c.LoadTable(t.Context(), now, table, mounts.LoadOptions{})
	require.Equal(t, mounts.NoSuchTable, checkError(t, err))
	require.Zero(t, documents.Len())
}
