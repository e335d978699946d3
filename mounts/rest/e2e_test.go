//go:build e2e

package rest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// The suite against a real catalog. The environment names it, as .ci/weed, .ci/fixture and
// .ci/nessie set it:
//
//	PIEDMONT_TEST_REST_URI         base, without /v1
//	PIEDMONT_TEST_REST_CREDENTIAL  id:secret; empty for a catalog without authentication
//	PIEDMONT_TEST_REST_WAREHOUSE   its ?warehouse=
//	PIEDMONT_TEST_REST_KIND        a key of kinds; empty for weed
func TestRealUpstream(t *testing.T) {
	o, k := options(t)
	w := newWriter(t, o)
	mounttest.Run(t, mounttest.Suite{
		Open: func(t *testing.T, c mounttest.Content) mounts.Mount {
			w.fill(c)
			m, err := rest.New(o)
			require.NoError(t, err)
			return m
		},
		Nested: true, Exclusive: k.exclusive, Names: k.names(), Prefix: unique("p") + "_",
	})
	t.Run("Writes", func(t *testing.T) { testSeesWrites(t, w, o) })
}

// kind is what is special about an upstream.
type kind struct {
	tags      bool     // it has ETags
	modes     bool     // it knows snapshots=refs
	refuses   string   // characters that its names can't hold; empty for all but letters, digits and _
	refused   []string // names that it can't hold
	exclusive bool     // tables and namespaces share names
}

var kinds = map[string]kind{
	"weed": {},
	// Jetty takes none of these in a path, and a dot is its separator: see testDots.
	"memory": {tags: true, modes: true, refuses: "/\\%;."},
	"jdbc":   {tags: true, modes: true, refuses: "/\\%;."},
	"nessie": {refuses: "@#`'\"", refused: []string{"..."}, exclusive: true},
}

func (k kind) names() []string {
	if k.refuses == "" {
		return []string{"under_score", "d1g1ts"}
	}
	return slices.DeleteFunc(mounttest.AwkwardNames(), func(name string) bool {
		return strings.ContainsAny(name, k.refuses) || slices.Contains(k.refused, name)
	})
}

func unique(prefix string) string { return fmt.Sprintf("%s%d", prefix, time.Now().UnixNano()) }

func options(t testing.TB) (rest.Options, kind) {
	t.Helper()
	if os.Getenv("PIEDMONT_TEST_REST_URI") == "" {
		t.Fatal("PIEDMONT_TEST_REST_URI names no upstream: run make test")
	}
	name := cmp.Or(os.Getenv("PIEDMONT_TEST_REST_KIND"), "weed")
	k, ok := kinds[name]
	require.True(t, ok, "PIEDMONT_TEST_REST_KIND: %s", name)
	return rest.Options{
		Name: "upstream", URI: os.Getenv("PIEDMONT_TEST_REST_URI"), Warehouse: os.Getenv("PIEDMONT_TEST_REST_WAREHOUSE"),
		Credential: os.Getenv("PIEDMONT_TEST_REST_CREDENTIAL"), Documents: rest.NewDocuments(64 << 20), Now: time.Now,
		Logger: mounttest.Log(t, "adminsecret"),
	}, k
}

// Each load sees what was committed before it, the document is the upstream's own, and
// what was dropped is gone.
func testSeesWrites(t *testing.T, w *writer, o rest.Options) {
	m, err := rest.New(o)
	require.NoError(t, err)
	defer func() { _ = m.Close() }() // it holds connections alone
	n := mounts.Namespace{unique("w")}
	id := n.Table("t")
	w.fill(mounttest.Content{Namespaces: []mounttest.Namespace{{Name: n}}, Tables: []mounts.Identifier{id}})
	versions := map[string]bool{}
	for i := range 5 {
		w.do(http.MethodPost, w.path(n)+"/tables/t", fmt.Sprintf(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"k":"v%d"}}]}`, i))
		loaded, d := load(t, m, id)
		require.Contains(t, string(d.Raw()), fmt.Sprintf(`"v%d"`, i))
		require.False(t, versions[loaded.Version])
		versions[loaded.Version] = true
		theirs := w.do(http.MethodGet, w.path(n)+"/tables/t", "")
		require.True(t, bytes.Contains(theirs, d.Raw()), "byte for byte")
		_, err := cache.NewDocument(d.Raw())
		require.NoError(t, err)
	}
	w.do(http.MethodDelete, w.path(n)+"/tables/t?purgeRequested=true", "")
	_, err = m.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
	require.True(t, mounts.Is(err, mounts.NoSuchTable), "%v", err)
	require.True(t, mounts.Is(m.TableExists(t.Context(), mounttest.Caller, id), mounts.NoSuchTable))
}

// BenchmarkRealUpstream compares a load through the mount with the bare conditional request
// to the same table.
func BenchmarkRealUpstream(b *testing.B) {
	if os.Getenv("PIEDMONT_TEST_REST_URI") == "" {
		b.Skip("PIEDMONT_TEST_REST_URI is not set")
	}
	o, _ := options(b)
	w := newWriter(b, o)
	n := mounts.Namespace{unique("b")}
	w.fill(mounttest.Content{Namespaces: []mounttest.Namespace{{Name: n}}, Tables: []mounts.Identifier{n.Table("t")}})
	w.etag = w.header.Get("ETag")
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			w.do(http.MethodGet, w.path(n)+"/tables/t", "")
		}
	})
	m, err := rest.New(o)
	require.NoError(b, err)
	defer func() { _ = m.Close() }() // it holds connections alone
	b.Run("mount", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.LoadTable(b.Context(), mounttest.Caller, n.Table("t"), mounts.LoadOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// writer fills a catalog with few requests of its own, so that it shares no code with
// what is tested.
type writer struct {
	t                             testing.TB
	base, token, sep, plain, etag string
	header                        http.Header // of the last answer
}

func newWriter(t testing.TB, o rest.Options) *writer {
	t.Helper()
	w := &writer{t: t, base: strings.TrimRight(o.URI, "/") + "/v1", sep: "%1F"}
	if id, secret, ok := strings.Cut(o.Credential, ":"); ok {
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}, "scope": {"catalog"}}
		resp, err := http.PostForm(w.base+"/oauth/tokens", form)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }() // read whole
		var answer struct {
			Token string `json:"access_token"`
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		w.token = answer.Token
	}
	var config struct{ Defaults, Overrides map[string]string }
	require.NoError(t, json.Unmarshal(w.do(http.MethodGet, "/config?warehouse="+url.QueryEscape(o.Warehouse), ""), &config))
	for _, from := range []map[string]string{config.Defaults, config.Overrides} {
		if s := from["namespace-separator"]; s != "" {
			w.sep = s
		}
	}
	prefix := config.Overrides["prefix"]
	if prefix == "" {
		prefix = config.Defaults["prefix"]
	}
	if prefix != "" {
		w.base += "/" + prefix
	}
	var err error
	w.plain, err = url.PathUnescape(w.sep)
	require.NoError(t, err)
	return w
}

func (w *writer) do(method, path, body string) []byte {
	w.t.Helper()
	r, err := http.NewRequest(method, w.base+path, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	if w.etag != "" {
		r.Header.Set("If-None-Match", w.etag)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer func() { _ = resp.Body.Close() }() // read whole
	w.header = resp.Header
	answer, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.True(w.t, resp.StatusCode < 300 || resp.StatusCode == http.StatusNotModified, "%s %s: %s", method, path, answer)
	return answer
}

func (w *writer) path(n mounts.Namespace) string {
	levels := make([]string, len(n))
	for i, level := range n {
		levels[i] = strings.ReplaceAll(url.PathEscape(level), "+", "%2B")
	}
	return "/namespaces/" + strings.Join(levels, w.sep)
}

func (w *writer) fill(c mounttest.Content) {
	w.t.Helper()
	for _, n := range c.Namespaces {
		properties := n.Properties
		if properties == nil {
			properties = map[string]string{}
		}
		body, err := json.Marshal(map[string]any{"namespace": n.Name, "properties": properties})
		require.NoError(w.t, err)
		w.do(http.MethodPost, "/namespaces", string(body))
	}
	for _, id := range c.Tables {
		name, err := json.Marshal(id.Name)
		require.NoError(w.t, err)
		w.do(http.MethodPost, w.path(id.Namespace)+"/tables", fmt.Sprintf(
			`{"name":%s,"properties":{},"stage-create":false,"schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}}`, name))
	}
}
