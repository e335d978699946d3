package router_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// broken is a mount that panics, or fails in a way of its own, wherever it is asked.
type broken struct{ fail func() error }

func (b *broken) ListNamespaces(context.Context, mounts.Caller, mounts.Namespace, mounts.Page) ([]mounts.Namespace, string, error) {
	return nil, "", b.fail()
}

func (b *broken) LoadNamespace(context.Context, mounts.Caller, mounts.Namespace) (map[string]string, error) {
	return nil, b.fail()
}

func (b *broken) ListTables(context.Context, mounts.Caller, mounts.Namespace, mounts.Page) ([]mounts.Identifier, string, error) {
	return nil, "", b.fail()
}

func (b *broken) LoadTable(context.Context, mounts.Caller, mounts.Identifier, mounts.LoadOptions) (*mounts.Table, error) {
	return nil, b.fail()
}

func (b *broken) TableExists(context.Context, mounts.Caller, mounts.Identifier) error {
	return b.fail()
}

func (b *broken) Close() error { return nil }

func (b *broken) CreateNamespace(context.Context, mounts.Caller, mounts.Namespace, map[string]string) (map[string]string, error) {
	return nil, b.fail()
}

func (b *broken) DropNamespace(context.Context, mounts.Caller, mounts.Namespace) error {
	return b.fail()
}

func (b *broken) UpdateProperties(context.Context, mounts.Caller, mounts.Namespace, []string, map[string]string) (mounts.PropertiesUpdate, error) {
	return mounts.PropertiesUpdate{}, b.fail()
}

func (b *broken) CreateTable(context.Context, mounts.Caller, mounts.Identifier, []byte) (*mounts.Table, error) {
	return nil, b.fail()
}

func (b *broken) RegisterTable(context.Context, mounts.Caller, mounts.Identifier, mounts.RegisterRequest) (*mounts.Table, error) {
	return nil, b.fail()
}

func (b *broken) CommitTable(context.Context, mounts.Caller, mounts.Identifier, []byte) (*mounts.Table, error) {
	return nil, b.fail()
}

func (b *broken) UnregisterTable(context.Context, mounts.Caller, mounts.Identifier) (*mounts.Table, error) {
	return nil, b.fail()
}

func (b *broken) DropTable(context.Context, mounts.Caller, mounts.Identifier, bool) error {
	return b.fail()
}

func (b *broken) RenameTable(context.Context, mounts.Caller, mounts.Target, mounts.Target) error {
	return b.fail()
}

var _ interface {
	mounts.Mount
	mounts.NamespaceWriter
	mounts.TableWriter
	mounts.TableRenamer
} = (*broken)(nil)

// everywhere are requests that reach every method of a mount at "bad"; commits says where
// a commit's outcome would be left open.
var everywhere = []struct {
	method, target, body string
	commits              bool
}{
	{"GET", "/v1/namespaces?parent=bad", "", false},
	{"GET", "/v1/namespaces/bad%1Fns", "", false},
	{"HEAD", "/v1/namespaces/bad%1Fns", "", false},
	{"GET", "/v1/namespaces/bad%1Fns/tables", "", false},
	{"GET", "/v1/namespaces/bad%1Fns/tables/t", "", false},
	{"HEAD", "/v1/namespaces/bad%1Fns/tables/t", "", false},
	{"POST", "/v1/namespaces", `{"namespace":["bad","ns"]}`, false},
	{"DELETE", "/v1/namespaces/bad%1Fns", "", false},
	{"POST", "/v1/namespaces/bad%1Fns/properties", `{}`, false},
	{"POST", "/v1/namespaces/bad%1Fns/tables", `{"name":"t"}`, true},
	{"POST", "/v1/namespaces/bad%1Fns/register", `{"name":"t","metadata-location":"x"}`, true},
	{"POST", "/v1/namespaces/bad%1Fns/tables/t", `{}`, true},
	{"POST", "/v1/namespaces/bad%1Fns/tables/t/unregister", "", false},
	{"DELETE", "/v1/namespaces/bad%1Fns/tables/t", "", false},
	{"POST", "/v1/tables/rename", rename("bad.ns.t", "bad.ns.u"), false},
}

func withBroken(t *testing.T, fail func() error) *gateway {
	t.Helper()
	g := newGatewayWith(t, settings{points: []mounts.Point{}})
	g.trees.Swap(mustTree(t, append(g.points, mounts.Point{At: mounts.Namespace{"bad"}, Kind: "rest", Mount: &broken{fail}})))
	return g
}

func mustTree(t *testing.T, points []mounts.Point) *mounts.Tree {
	t.Helper()
	tree, err := mounts.NewTree("piedmont", points)
	require.NoError(t, err)
	return tree
}

func TestPanicsInAMount(t *testing.T) {
	g := withBroken(t, func() error { panic("index out of range at 10.0.0.7: hunter2") })
	for _, c := range everywhere {
		r := g.do(c.method, c.target, c.body, "X-Request-Id: find-me")
		require.Equal(t, 500, r.Code, c.target)
		require.NotContains(t, r.Body.String(), "hunter2")
		if c.method == "HEAD" {
			continue
		}
		r.refused(500, map[bool]string{true: "CommitStateUnknownException", false: "InternalServerError"}[c.commits], "find-me")
	}
	require.Contains(t, g.log.String(), "hunter2", "the log has the cause")
	require.Contains(t, g.log.String(), "panic_test.go", "and the stack")
	g.do("GET", "/v1/namespaces", "").ok()
}

// TestFaultsOfAMount: what is no 4xx on a commit leaves the outcome open, but for a 503.
func TestFaultsOfAMount(t *testing.T) {
	for _, c := range []struct {
		err            error
		status         int
		typ, commitTyp string
	}{
		{errors.New("hunter2"), 500, "InternalServerError", "CommitStateUnknownException"},
		{&mounts.Error{Kind: mounts.Internal, Err: sick.Err}, 500, "InternalServerError", "CommitStateUnknownException"},
		{&mounts.Error{Kind: mounts.BadGateway, Err: sick.Err}, 502, "BadGatewayException", "CommitStateUnknownException"},
		{&mounts.Error{Kind: mounts.Timeout, Err: sick.Err}, 504, "GatewayTimeoutException", "CommitStateUnknownException"},
		{&mounts.Error{Kind: mounts.CommitStateUnknown, Err: sick.Err}, 500, "CommitStateUnknownException", "CommitStateUnknownException"},
		{&mounts.Error{Kind: mounts.Unavailable, Err: sick.Err}, 503, "SlowDownException", "SlowDownException"},
		{&mounts.Error{Kind: mounts.CommitFailed, Err: sick.Err}, 409, "CommitFailedException", "CommitFailedException"},
	} {
		g := withBroken(t, func() error { return c.err })
		for _, request := range everywhere {
			r := g.do(request.method, request.target, request.body)
			require.Equal(t, c.status, r.Code, request.target)
			require.Equal(t, c.status == 503, r.Header().Get("Retry-After") != "")
			require.NotContains(t, r.Body.String(), "hunter2")
			if request.method == "HEAD" {
				require.Zero(t, r.Body.Len())
				continue
			}
			r.refused(c.status, map[bool]string{true: c.commitTyp, false: c.typ}[request.commits])
		}
	}
}

func TestAStoppingServer(t *testing.T) {
	g := newGateway(t)
	g.trees.Close()
	r := g.do("GET", "/v1/namespaces", "").refused(503, "SlowDownException", "stopping")
	require.NotEmpty(t, r.Header().Get("Retry-After"))
	require.True(t, g.legacy.closed)
}

// TestAnAnswerThatHasBegunIsCut: a client must not take half an answer for a whole one.
func TestAnAnswerThatHasBegunIsCut(t *testing.T) {
	g := newGateway(t)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/namespaces", strings.NewReader(""))
	r.Header.Set("Authorization", "Bearer "+ops)
	w := &failingWriter{ResponseRecorder: httptest.NewRecorder()}
	require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() { g.ServeHTTP(w, r) })
	require.Contains(t, g.log.String(), `level=ERROR msg="answer cut off"`)
	require.Contains(t, g.log.String(), "in the middle")
	require.InDelta(t, 1, g.counted(requestsTotal, "listNamespaces", "500"), 0)
	require.Zero(t, g.counted(requestsTotal, "listNamespaces", "200"))
}

const requestsTotal = "piedmont_requests_total"

// TestAClientThatLeft: what fails since the client went away is no error of ours.
func TestAClientThatLeft(t *testing.T) {
	leave := func() {}
	var fails func() error
	g := withBroken(t, func() error { leave(); return fails() })
	send := func() {
		ctx, cancel := context.WithCancel(t.Context())
		leave = cancel
		r := httptest.NewRequestWithContext(ctx, "POST", "/v1/namespaces/bad%1Fns/tables/t", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+ops)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		require.Equal(t, 500, w.Code, "whoever might still listen hears the truth")
		require.Contains(t, w.Body.String(), "CommitStateUnknownException")
	}
	fails = func() error { return &mounts.Error{Kind: mounts.CommitStateUnknown, Err: context.Canceled} }
	send()
	require.NotContains(t, g.log.String(), "level=ERROR")
	require.Contains(t, g.log.String(), `level=DEBUG msg="request failed"`)
	require.InDelta(t, 1, g.counted(requestsTotal, "updateTable", "499"), 0)
	require.Zero(t, g.counted(requestsTotal, "updateTable", "500"))

	fails = func() error { panic("a bug all the same") }
	send()
	require.Contains(t, g.log.String(), "level=ERROR")
	require.InDelta(t, 1, g.counted(requestsTotal, "updateTable", "500"), 0)
}

// failingWriter panics in the middle of an answer.
type failingWriter struct{ *httptest.ResponseRecorder }

func (w *failingWriter) Write([]byte) (int, error) { panic("in the middle") }
