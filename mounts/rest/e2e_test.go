//go:build e2e

package rest_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
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
	t.Run("Views", func(t *testing.T) { testSeesViews(t, w, o) })
	t.Run("Questions", func(t *testing.T) { testQuestions(t, w, o, k) })
	t.Run("Dots", func(t *testing.T) { testDots(t, w, o, k) })
	t.Run("Piedmont", func(t *testing.T) { testBehindPiedmont(t, w, o) })
}

// kind is what is special about an upstream.
type kind struct {
	tags      bool     // it has ETags
	heads     bool     // it advertises HEAD
	joins     bool     // it knows a namespace by its levels joined with dots
	latest    bool     // it keeps the latest snapshot of a table and no others
	exclusive bool     // tables and namespaces share names
	refuses   string   // characters that its names can't hold; empty for all but letters, digits and _
	refused   []string // names that it can't hold
}

var kinds = map[string]kind{
	"weed": {},
	// Jetty takes none of these in a path, and a dot is its separator: see testDots.
	"memory": {tags: true, heads: true, refuses: "/\\%;."},
	"jdbc":   {tags: true, heads: true, joins: true, refuses: "/\\%;."},
	"nessie": {refuses: "@#`'\"", refused: []string{"..."}, exclusive: true, latest: true},
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
	m := open(t, o)
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
	_, err := m.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
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
	b.Run("piedmont", func(b *testing.B) {
		binary := os.Getenv("PIEDMONT_BIN")
		if binary == "" {
			b.Skip("PIEDMONT_BIN is not set")
		}
		uri, credential := serve(b, binary, o)
		p := newWriter(b, rest.Options{URI: uri, Credential: credential})
		path := p.path(append(mounts.Namespace{"up"}, n...)) + "/tables/t"
		p.do(http.MethodGet, path, "")
		p.etag = p.header.Get("ETag")
		b.ResetTimer()
		for b.Loop() {
			p.do(http.MethodGet, path, "")
		}
	})
}
