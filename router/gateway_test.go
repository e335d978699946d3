package router_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"piedmont/authz"
	"piedmont/mounts"
	"piedmont/native"
	"piedmont/native/bolt"
	"piedmont/router"
	"piedmont/vend"
	"piedmont/vend/local"
)

// Credentials of the keys that every gateway of these tests has.
const (
	ops    = "ops:ops-secret"    // an admin
	etl    = "etl:etl-secret"    // in the group writers
	nobody = "nobody:its-secret" // no policy names it
)

// start is when the clock of a gateway stands at first.
var start = time.UnixMilli(1_800_000_000_000)

// gateway is a router over real native mounts and a read-only one:
//
//	(root)    native main
//	legacy    read-only, with a native mount inside it at legacy.fresh
//	team      native team
//	corp.old  read-only: corp is an ancestor, a namespace of the root mount
type gateway struct {
	http.Handler
	t        testing.TB
	dir      string // of everything on disk
	storage  *vend.Set
	registry native.Registry
	legacy   *source // at legacy
	old      *source // at corp.old
	tokens   *authz.Tokens
	trees    *mounts.Holder
	points   []mounts.Point
	clock    atomic.Int64 // milliseconds
	unready  atomic.Bool
	log      bytes.Buffer
	metrics  *prometheus.Registry
}

// counted is the value of a counter with those label values, in the order of their names.
func (g *gateway) counted(name string, labels ...string) float64 {
	g.t.Helper()
	families, err := g.metrics.Gather()
	require.NoError(g.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(values, labels) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// settings are what a test wants otherwise.
type settings struct {
	policies string
	wrap     func(mounts.Mount) mounts.Mount // of the root mount
	points   []mounts.Point                  // in place of all points but the root's
	keys     []authz.Key
}

func key(credential string, groups ...string) authz.Key {
	id, secret, _ := strings.Cut(credential, ":")
	sum, err := authz.ParseHash(authz.HashSecret(secret))
	if err != nil {
		panic(err)
	}
	return authz.Key{ID: id, SHA256: sum, Principal: id, Groups: groups}
}

func allKeys() []authz.Key { return []authz.Key{key(ops), key(etl, "writers"), key(nobody)} }

func newGateway(t testing.TB) *gateway { return newGatewayWith(t, settings{}) }

func newGatewayWith(t testing.TB, s settings) *gateway {
	t.Helper()
	g := &gateway{t: t, dir: t.TempDir(), legacy: newSource(), old: newSource()}
	g.clock.Store(start.UnixMilli())
	prefix, err := vend.ParseLocation("file://" + g.dir)
	require.NoError(t, err)
	files, err := local.New("disk", prefix)
	require.NoError(t, err)
	g.storage, err = vend.NewSet("", &vend.Profile{Name: "disk", Prefix: prefix, Files: files})
	require.NoError(t, err)
	registry, err := bolt.Open(filepath.Join(t.TempDir(), "registry.db"), bolt.Options{})
	require.NoError(t, err)
	g.registry = registry
	var root mounts.Mount = g.native("main")
	if s.wrap != nil {
		root = s.wrap(root)
	}
	g.points = []mounts.Point{{Kind: "native", Mount: root}}
	if s.points != nil {
		g.points = append(g.points, s.points...)
	} else {
		g.points = append(g.points,
			mounts.Point{At: mounts.Namespace{"legacy"}, Kind: "rest", Mount: g.legacy},
			mounts.Point{At: mounts.Namespace{"legacy", "fresh"}, Kind: "native", Mount: g.native("fresh")},
			mounts.Point{At: mounts.Namespace{"team"}, Kind: "native", Mount: g.native("team")},
			mounts.Point{At: mounts.Namespace{"corp", "old"}, Kind: "rest", Mount: g.old},
		)
	}
	g.plant()
	t.Cleanup(func() {
		g.trees.Close()
		require.NoError(t, registry.Close())
	})
	g.tokens, err = authz.NewTokens(t.Context(), native.SigningKeys{Registry: registry}, g.now)
	require.NoError(t, err)
	if s.keys == nil {
		s.keys = allKeys()
	}
	g.Handler = g.route(s)
	return g
}

// native is a native mount of that id.
func (g *gateway) native(id string) *native.Catalog {
	c, err := native.New(native.Options{
		ID: id, Registry: g.registry, Warehouse: "file://" + g.dir + "/" + id, Storage: g.storage, Now: g.now,
		Documents: vend.NewDocuments(1 << 26),
	})
	require.NoError(g.t, err)
	return c
}

// plant puts the tree in force.
func (g *gateway) plant() {
	tree, err := mounts.NewTree("piedmont", g.points)
	require.NoError(g.t, err)
	g.trees = mounts.NewHolder(tree, nil)
	require.NoError(g.t, tree.Prepare(g.t.Context(), mounts.Caller{}, func(string) {}))
	g.legacy.forget()
	g.old.forget()
}

// route makes a router over the tree, as another start of the program would.
func (g *gateway) route(s settings) *router.Router {
	authenticator, err := authz.NewAuthenticator(s.keys, []string{"ops"}, g.tokens, g.now)
	require.NoError(g.t, err)
	var files []authz.PolicyFile
	if s.policies != "" {
		files = append(files, authz.PolicyFile{Name: "test.cedar", Text: []byte(s.policies)})
	}
	authorizer, err := authz.NewAuthorizer(files)
	require.NoError(g.t, err)
	g.metrics = prometheus.NewRegistry()
	metrics, err := router.NewMetrics(g.metrics)
	require.NoError(g.t, err)
	pageKey, err := g.tokens.Derive("page tokens")
	require.NoError(g.t, err)
	rt, err := router.New(router.Options{
		Trees: g.trees, Authenticator: authenticator, Authorizer: authorizer, PageKey: pageKey, Metrics: metrics,
		Storage: map[string]map[string]string{"disk": {"client.region": "eu-west-1", "s3.region": "eu-west-1"}},
		Ready:   g.ready, Now: g.now, Logger: slog.New(slog.NewTextHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(g.t, err)
	return rt
}

func (g *gateway) ready(context.Context) error {
	if g.unready.Load() {
		return io.ErrClosedPipe
	}
	return nil
}

func (g *gateway) now() time.Time { return time.UnixMilli(g.clock.Load()) }

// reply is what a request was answered with.
type reply struct {
	*httptest.ResponseRecorder
	t    testing.TB
	what string
}

// do sends a request as the admin. headers are "Name: value".
func (g *gateway) do(method, target, body string, headers ...string) reply {
	return g.as(ops, method, target, body, headers...)
}

// as sends a request with a credential.
func (g *gateway) as(credential, method, target, body string, headers ...string) reply {
	g.t.Helper()
	r := httptest.NewRequestWithContext(g.t.Context(), method, target, strings.NewReader(body))
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return reply{w, g.t, method + " " + target}
}

// ok fails the test unless the answer is a 200 or 204, and returns it.
func (r reply) ok() reply {
	r.t.Helper()
	if r.Code != http.StatusOK && r.Code != http.StatusNoContent {
		r.t.Fatalf("%s: %d %s", r.what, r.Code, r.Body)
	}
	return r
}

type wireError struct {
	Error struct {
		Message string
		Type    string
		Code    int
	}
}

// refused fails the test unless the answer is an error of that status and type whose
// message holds the words, and whose body says the same status.
func (r reply) refused(status int, typ string, words ...string) reply {
	r.t.Helper()
	var e wireError
	if err := json.Unmarshal(r.Body.Bytes(), &e); err != nil {
		r.t.Fatalf("%s: %d, not an error: %s", r.what, r.Code, r.Body)
	}
	if r.Code != status || e.Error.Type != typ || e.Error.Code != status {
		r.t.Fatalf("%s: %d %s, want %d %s", r.what, r.Code, r.Body, status, typ)
	}
	for _, w := range words {
		require.Contains(r.t, e.Error.Message, w, r.what)
	}
	return r
}

// member is a member of the answer's body, found by the names of the members around it.
func (r reply) member(path ...string) any {
	r.t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(r.Body.Bytes()))
	d.UseNumber()
	require.NoError(r.t, d.Decode(&v), r.what)
	for _, p := range path {
		o, ok := v.(map[string]any)
		require.True(r.t, ok, "%s: no %s in %s", r.what, p, r.Body)
		v = o[p]
	}
	return v
}

func (r reply) text(path ...string) string {
	r.t.Helper()
	s, ok := r.member(path...).(string)
	require.True(r.t, ok, "%s: no string %v in %s", r.what, path, r.Body)
	return s
}

const schema = `{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"},{"id":2,"name":"data","required":false,"type":"string"}]}`

// namespace creates namespaces of the tree, each as dotted levels.
func (g *gateway) namespace(dotted ...string) {
	g.t.Helper()
	for _, d := range dotted {
		b, err := json.Marshal(map[string]any{"namespace": strings.Split(d, ".")})
		require.NoError(g.t, err)
		g.do("POST", "/v1/namespaces", string(b)).ok()
	}
}

// table creates a table and returns the answer.
func (g *gateway) table(namespace, name string) reply {
	g.t.Helper()
	return g.do("POST", "/v1/namespaces/"+dots(namespace)+"/tables", `{"name":`+quoted(name)+`,"schema":`+schema+`}`).ok()
}

// dots spells dotted levels as a segment of a path.
func dots(dotted string) string { return strings.ReplaceAll(dotted, ".", "%1F") }

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// setProperty is a commit that sets one property.
func setProperty(name, value string) string {
	return `{"requirements":[],"updates":[{"action":"set-properties","updates":{` + quoted(name) + `:` + quoted(value) + `}}]}`
}
