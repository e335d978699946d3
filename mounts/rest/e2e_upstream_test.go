//go:build e2e

package rest_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

func open(t *testing.T, o rest.Options) *rest.Catalog {
	t.Helper()
	m, err := rest.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() }) // it holds connections alone
	return m
}

// Views are seen as tables are.
func testSeesViews(t *testing.T, w *writer, o rest.Options) {
	m := open(t, o)
	n := mounts.Namespace{unique("v")}
	other := n.Child("inner")
	w.fill(mounttest.Content{Namespaces: []mounttest.Namespace{{Name: n}, {Name: other}}, Tables: []mounts.Identifier{n.Table("t")}})
	require.Empty(t, listViews(t, m, n))
	names := []mounts.Identifier{n.Table("v1"), n.Table("v2"), n.Table("v3")}
	for _, id := range names {
		w.createView(id)
	}
	w.createView(other.Table("deep"))
	require.ElementsMatch(t, names, listViews(t, m, n))
	require.ElementsMatch(t, []mounts.Identifier{other.Table("deep")}, listViews(t, m, other))
	tables, _, err := m.ListTables(t.Context(), mounttest.Caller, n, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{n.Table("t")}, tables)

	id, versions := names[0], map[string]bool{}
	require.NoError(t, m.ViewExists(t.Context(), mounttest.Caller, id))
	for i := range 3 {
		w.do(http.MethodPost, w.path(n)+"/views/v1", fmt.Sprintf(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"k":"v%d"}}]}`, i))
		loaded, d := loadView(t, m, id)
		require.Contains(t, string(d.Raw()), fmt.Sprintf(`"v%d"`, i))
		require.Contains(t, string(w.do(http.MethodGet, w.path(n)+"/views/v1", "")), string(d.Raw()), "byte for byte")
		require.False(t, versions[loaded.Version])
		versions[loaded.Version] = true
	}
	w.do(http.MethodDelete, w.path(n)+"/views/v1", "")
	for _, missing := range []mounts.Identifier{id, n.Table("t"), n.Table("missing"), n.Child("missing").Table("v1")} {
		_, err := m.LoadView(t.Context(), mounttest.Caller, missing)
		require.True(t, mounts.Is(err, mounts.NoSuchView), "%v", err)
		require.True(t, mounts.Is(m.ViewExists(t.Context(), mounttest.Caller, missing), mounts.NoSuchView))
	}
	_, _, err = m.ListViews(t.Context(), mounttest.Caller, n.Child("missing"), mounts.Page{})
	require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%v", err)
}

// recorder passes requests on and keeps what they were and what came back.
type recorder struct {
	*httptest.Server
	mu    sync.Mutex
	lines []string
}

func record(t *testing.T, uri string) *recorder {
	t.Helper()
	target, err := url.Parse(uri)
	require.NoError(t, err)
	r := &recorder{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	proxy.ModifyResponse = func(resp *http.Response) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lines = append(r.lines, fmt.Sprintf("%s %s %d", resp.Request.Method, resp.Request.URL.RequestURI(), resp.StatusCode))
		return nil
	}
	r.Server = httptest.NewServer(proxy)
	t.Cleanup(r.Close)
	r.URL += target.Path
	return r
}

// took is what passed since it was asked last.
func (r *recorder) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// What a load asks: one question, with the tag where there is one, and for the snapshots of
// branches and tags alone where that is enough.
func testQuestions(t *testing.T, w *writer, o rest.Options, k kind) {
	through := record(t, o.URI)
	o.URI = through.URL
	o.Documents = rest.NewDocuments(16 << 20)
	n := mounts.Namespace{unique("q")}
	w.fill(mounttest.Content{Namespaces: []mounttest.Namespace{{Name: n}}, Tables: []mounts.Identifier{n.Table("t")}})
	for id := range 3 {
		w.do(http.MethodPost, w.path(n)+"/tables/t", fmt.Sprintf(`{"requirements":[],"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":%d,"sequence-number":%d,`+
			`"timestamp-ms":%d,"manifest-list":"s3://lake/none.avro","summary":{"operation":"append"},"schema-id":0}},`+
			`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}]}`, id+1, id+1, time.Now().UnixMilli(), id+1))
	}
	snapshots := func(d mounts.Document) int {
		return len(regexp.MustCompile(`"manifest-list"`).FindAllIndex(d.Raw(), -1))
	}
	status, all := 200, 3
	if k.tags {
		status = 304
	}
	if k.latest {
		all = 1
	}
	m := open(t, o)
	require.NoError(t, m.Health(t.Context()))
	_, err := m.LoadTable(t.Context(), mounttest.Caller, n.Table("t"), mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs})
	require.NoError(t, err)
	through.took()
	for _, c := range []struct {
		mode      mounts.Snapshots
		snapshots int
		line      string
	}{
		{mounts.SnapshotsRefs, 1, fmt.Sprintf("/tables/t?snapshots=refs %d", status)},
		{mounts.SnapshotsAll, all, "/tables/t 200"},
		{mounts.SnapshotsAll, all, fmt.Sprintf("/tables/t %d", status)},
		{mounts.SnapshotsRefs, 1, fmt.Sprintf("/tables/t %d", status)}, // it is known whole now
	} {
		loaded, err := m.LoadTable(t.Context(), mounttest.Caller, n.Table("t"), mounts.LoadOptions{Snapshots: c.mode})
		require.NoError(t, err)
		d, err := loaded.Metadata(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.snapshots, snapshots(d))
		lines := through.took()
		require.Len(t, lines, 1)
		require.True(t, strings.HasSuffix(lines[0], c.line), "%s: want %s", lines[0], c.line)
	}
	_, _, err = m.ListTables(t.Context(), mounttest.Caller, n, mounts.Page{Size: 10})
	require.NoError(t, err)
	require.Len(t, through.took(), 1)
	require.NoError(t, m.TableExists(t.Context(), mounttest.Caller, n.Table("t")))
	lines := through.took()
	require.Len(t, lines, 1)
	require.Equal(t, k.heads, strings.HasPrefix(lines[0], "HEAD "), lines[0])
}

// A level that holds a dot is one level, or it can't be read; what has two levels isn't read
// under a name of one.
func testDots(t *testing.T, w *writer, o rest.Options, k kind) {
	if k.refuses == "" {
		return // its names hold no dots
	}
	m := open(t, o)
	top := unique("d")
	dotted, nested := mounts.Namespace{top + ".x"}, mounts.Namespace{top + "y", "z"}
	w.fill(mounttest.Content{
		Namespaces: []mounttest.Namespace{{Name: dotted}, {Name: nested.Parent()}, {Name: nested}},
		Tables:     []mounts.Identifier{dotted.Table("t.1"), nested.Table("t")},
	})
	load(t, m, nested.Table("t"))
	_, err := m.LoadTable(t.Context(), mounttest.Caller, mounts.Namespace{top + "y.z"}.Table("t"), mounts.LoadOptions{})
	require.Error(t, err)
	_, err = m.LoadNamespace(t.Context(), mounttest.Caller, mounts.Namespace{top + "y.z"})
	require.Error(t, err)
	tables, _, err := m.ListTables(t.Context(), mounttest.Caller, dotted, mounts.Page{})
	if k.joins {
		require.True(t, mounts.Is(err, mounts.BadGateway), "%v", err)
		load(t, m, mounts.Namespace{top, "x"}.Table("t.1"))
		return
	}
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{dotted.Table("t.1")}, tables)
	load(t, m, dotted.Table("t.1"))
	_, err = m.LoadTable(t.Context(), mounttest.Caller, mounts.Namespace{top, "x"}.Table("t.1"), mounts.LoadOptions{})
	require.True(t, mounts.Is(err, mounts.NoSuchTable), "%v", err)
}

// Clients send 0x1F between levels, whatever the upstream wants there: a mount of a Piedmont
// that mounts it reads what the upstream has.
func testBehindPiedmont(t *testing.T, w *writer, o rest.Options) {
	binary := os.Getenv("PIEDMONT_BIN")
	require.NotEmpty(t, binary, "PIEDMONT_BIN names no binary: run make test")
	n := mounts.Namespace{unique("b"), "inner", "deep"}
	w.fill(mounttest.Content{
		Namespaces: []mounttest.Namespace{{Name: n[:1]}, {Name: n[:2]}, {Name: n}}, Tables: []mounts.Identifier{n.Table("t")},
	})
	w.createView(n.Table("v"))
	uri, credential := serve(t, binary, o)
	behind := open(t, rest.Options{Name: "piedmont", URI: uri, Credential: credential, Documents: rest.NewDocuments(1 << 20), Now: time.Now})
	through := mounts.Namespace{"up"}
	for _, level := range n {
		children, _, err := behind.ListNamespaces(t.Context(), mounttest.Caller, through, mounts.Page{})
		require.NoError(t, err)
		through = through.Child(level)
		require.Contains(t, children, through)
	}
	_, theirs := load(t, open(t, o), n.Table("t"))
	for range 2 {
		_, ours := load(t, behind, through.Table("t"))
		require.Equal(t, string(theirs.Raw()), string(ours.Raw()))
	}
	loadView(t, behind, through.Table("v"))
	require.Equal(t, []mounts.Identifier{through.Table("v")}, listViews(t, behind, through))
	_, err := behind.LoadTable(t.Context(), mounttest.Caller, mounts.Namespace{through.String()}.Table("t"), mounts.LoadOptions{})
	require.True(t, mounts.Is(err, mounts.NoSuchTable), "levels joined by the upstream's separator are one level: %v", err)
}

// serve runs a Piedmont with the upstream mounted at "up".
func serve(t testing.TB, binary string, o rest.Options) (uri, credential string) {
	t.Helper()
	key, err := exec.Command(binary, "keys", "new", "--id", "test").Output()
	require.NoError(t, err)
	credential, _, _ = strings.Cut(string(key), "\n")
	hash := regexp.MustCompile(`sha256: (\S+)`).FindSubmatch(key)
	require.NotNil(t, hash)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	config := filepath.Join(dir, "piedmont.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
listen: %s
data: %s
registry: {bolt: {path: registry.db}}
auth:
  admins: [test]
  keys: [{id: test, principal: test, sha256: %s}]
mounts: [{at: up, rest: {uri: %q, warehouse: %q, credential: %q}}]
`, address, filepath.Join(dir, "data"), hash[1], o.URI, o.Warehouse, o.Credential), 0o600))
	cmd := exec.Command(binary, "serve", "--config", config)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it holds nothing that is kept
		_ = cmd.Wait()
		mounttest.NoSecrets(t, out.String(), "adminsecret", credential)
	})
	uri = "http://" + address
	require.Eventually(t, func() bool {
		resp, err := http.Get(uri + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond)
	return uri, credential
}
