package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// upstream is a catalog that takes nothing it need not take: it reads the raw path,
// decodes each segment once, refuses unknown parameters and what isn't a read, and counts.
type upstream struct {
	t      *testing.T
	server *httptest.Server

	// How it is made; set before the first request.
	prefix    string // as it stands in paths
	separator string // advertised, and then the only one taken
	etags     bool
	modes     bool     // knows ?snapshots=refs
	endpoints []string // nil to advertise none
	pageSize  int      // its own; 0 for one page
	anyCase   bool     // takes any case for one, and keeps what it was given
	overrides map[string]string
	secret    string // of the client "id"; empty to ask for no token
	lifetime  int    // expires_in; 0 to leave it out

	mu         sync.Mutex
	namespaces map[string]map[string]string
	tables     map[string]*storedTable
	views      map[string]*storedTable
	calls      map[string]int // by method and the last fixed part of the path
	tokens     map[string]bool
	hook       func(w http.ResponseWriter, r *http.Request) bool // true if it answered
}

type storedTable struct {
	location, document, etag string
}

var allEndpoints = []string{
	"GET /v1/{prefix}/namespaces", "GET /v1/{prefix}/namespaces/{namespace}", "GET /v1/{prefix}/namespaces/{namespace}/tables",
	"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}", "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
	"GET /v1/{prefix}/namespaces/{namespace}/views",
	"GET /v1/{prefix}/namespaces/{namespace}/views/{view}", "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
}

// tableEndpoints are those of an upstream without views.
func tableEndpoints() []string {
	return slices.DeleteFunc(slices.Clone(allEndpoints), func(e string) bool { return strings.Contains(e, "/views") })
}

// secret is in all credentials and tokens, and must not be in anything that is logged or shown.
const secret = "s3cret"

// quiet takes what net/http logs of handlers that break off on purpose.
var quiet = log.New(io.Discard, "", 0)

func newUpstream(t *testing.T, set ...func(*upstream)) *upstream {
	t.Helper()
	u := &upstream{
		t: t, separator: "%1F", etags: true, modes: true, endpoints: allEndpoints,
		namespaces: map[string]map[string]string{}, tables: map[string]*storedTable{}, views: map[string]*storedTable{}, calls: map[string]int{}, tokens: map[string]bool{},
	}
	for _, f := range set {
		f(u)
	}
	u.server = httptest.NewServer(u)
	t.Cleanup(u.server.Close)
	return u
}

// mount is the upstream as a mount.
func (u *upstream) mount(set ...func(*rest.Options)) *rest.Catalog {
	u.t.Helper()
	o := rest.Options{
		Name: "legacy", URI: u.server.URL + "/iceberg", Warehouse: "wh", Timeout: 5 * time.Second,
		Documents: rest.NewDocuments(64 << 20), Now: time.Now, Logger: mounttest.Log(u.t, secret),
	}
	o.Guard.Failures = 10_000 // most tests of faults ask on
	if u.secret != "" {
		o.Credential = "id:" + u.secret
	}
	for _, f := range set {
		f(&o)
	}
	c, err := rest.New(o)
	require.NoError(u.t, err)
	u.t.Cleanup(func() { require.NoError(u.t, c.Close()) })
	return c
}

func (u *upstream) fill(c mounttest.Content) {
	for _, n := range c.Namespaces {
		u.createNamespace(n.Name, n.Properties)
	}
	for _, id := range c.Tables {
		u.write(id, 1)
	}
}

func (u *upstream) createNamespace(n mounts.Namespace, properties map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.namespaces[n.Encode()] = maps.Clone(properties)
}

// write makes or changes a table: version is in its document.
func (u *upstream) write(id mounts.Identifier, version int) *storedTable {
	u.mu.Lock()
	defer u.mu.Unlock()
	location := fmt.Sprintf("s3://lake/%s/metadata/%05d-%s.metadata.json", url.PathEscape(id.String()), version, uuid.NewString())
	t := &storedTable{location: location, etag: fmt.Sprintf(`W/"%s"`, uuid.NewString()), document: fmt.Sprintf(
		`{"format-version":2,"table-uuid":%q, "location":"s3://lake/t","big":9223372036854775807,"v":%d,"current-snapshot-id":2,`+
			`"refs":{"main":{"snapshot-id":2,"type":"branch"}},"snapshots":[{"snapshot-id":1},{"snapshot-id":2}]}`, uuid.NewString(), version)}
	u.tables[key(id)] = t
	return t
}

// writeView makes or changes a view.
func (u *upstream) writeView(id mounts.Identifier, version int) *storedTable {
	v := &storedTable{
		location: fmt.Sprintf("s3://lake/views/%05d-%s.metadata.json", version, uuid.NewString()), etag: fmt.Sprintf(`"%s"`, uuid.NewString()),
		document: fmt.Sprintf(`{"view-uuid":%q, "format-version":1,"location":"s3://lake/v","current-version-id":%d}`, uuid.NewString(), version),
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.views[key(id)] = v
	return v
}

func (u *upstream) drop(id mounts.Identifier) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.tables, key(id))
}

func key(id mounts.Identifier) string { return id.Namespace.Encode() + mounts.Separator + id.Name }

func (u *upstream) intercept(f func(w http.ResponseWriter, r *http.Request) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hook = f
}

// count is how often something was asked: "GET config", "POST token", "GET table", …
func (u *upstream) count(what string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls[what]
}

// mutations is how many requests came that were no reads and asked for no token.
func (u *upstream) mutations() (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for what, calls := range u.calls {
		if what != "POST token" && !strings.HasPrefix(what, "GET ") && !strings.HasPrefix(what, "HEAD ") {
			n += calls
		}
	}
	return n
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	what := r.Method + " " + kindOf(path)
	u.mu.Lock()
	u.calls[what]++
	hook := u.hook
	u.mu.Unlock()
	if hook != nil && hook(w, r) {
		return
	}
	if what == "POST token" {
		u.token(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		u.t.Errorf("%s %s: only reads are allowed", r.Method, path)
	}
	if r.Header.Get("User-Agent") != "Piedmont" || r.Header.Get("X-Client-Version") != "Piedmont" || r.Header.Get("X-Iceberg-Access-Delegation") != "" {
		u.t.Errorf("%s: headers %v", path, r.Header)
	}
	if strings.Contains(path, "+") {
		u.t.Errorf("%s: a plus in a path reads as a space to some", path)
	}
	if u.secret != "" && !u.knows(r.Header.Get("Authorization")) {
		u.fail(w, http.StatusUnauthorized, "NotAuthorizedException")
		return
	}
	rest, ok := strings.CutPrefix(path, "/iceberg/v1/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	if rest == "config" {
		u.config(w, r)
		return
	}
	if u.prefix != "" {
		if rest, ok = strings.CutPrefix(rest, u.prefix+"/"); !ok {
			http.NotFound(w, r)
			return
		}
	}
	u.route(w, r, strings.Split(rest, "/"))
}

func kindOf(path string) string {
	parts := strings.Split(path, "/")
	switch {
	case strings.HasSuffix(path, "/oauth/tokens"):
		return "token"
	case parts[len(parts)-1] == "config":
		return "config"
	case parts[len(parts)-1] == "namespaces":
		return "namespaces"
	case len(parts) > 1 && parts[len(parts)-2] == "tables":
		return "table"
	case len(parts) > 1 && parts[len(parts)-2] == "views":
		return "view"
	case len(parts) > 1 && parts[len(parts)-2] == "namespaces":
		return "namespace"
	}
	return parts[len(parts)-1]
}

func (u *upstream) route(w http.ResponseWriter, r *http.Request, parts []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case len(parts) == 1 && parts[0] == "namespaces" && u.allows(r, "pageToken", "pageSize", "parent"):
		u.listNamespaces(w, r)
	case len(parts) == 2 && parts[0] == "namespaces" && u.allows(r):
		u.loadNamespace(w, u.levels(parts[1]))
	case len(parts) == 3 && parts[2] == "tables" && u.allows(r, "pageToken", "pageSize"):
		u.list(w, r, u.levels(parts[1]), u.tables)
	case len(parts) == 3 && parts[2] == "views" && u.allows(r, "pageToken", "pageSize"):
		u.list(w, r, u.levels(parts[1]), u.views)
	case len(parts) == 4 && parts[2] == "tables" && u.allows(r, "snapshots"):
		u.loadTable(w, r, u.levels(parts[1]).Table(u.decode(parts[3])))
	case len(parts) == 4 && parts[2] == "views" && u.allows(r):
		u.load(w, r, u.views[stored(u, u.views, key(u.levels(parts[1]).Table(u.decode(parts[3]))))], "NoSuchViewException")
	default:
		http.NotFound(w, r)
	}
}

func (u *upstream) allows(r *http.Request, keys ...string) bool {
	for k := range r.URL.Query() {
		if !slices.Contains(keys, k) {
			u.t.Errorf("%s: parameter %s", r.URL, k)
		}
	}
	return true
}

func (u *upstream) decode(segment string) string {
	s, err := url.PathUnescape(segment)
	if err != nil {
		u.t.Errorf("segment %q: %v", segment, err)
	}
	return s
}

// levels splits on the escaped separator before it decodes, as Java's server does.
func (u *upstream) levels(segment string) mounts.Namespace {
	var n mounts.Namespace
	for level := range strings.SplitSeq(segment, u.separator) {
		n = append(n, u.decode(level))
	}
	return n
}

func (u *upstream) config(w http.ResponseWriter, r *http.Request) {
	if got := r.URL.Query().Get("warehouse"); got != "wh" {
		u.fail(w, http.StatusNotFound, "NoSuchWarehouseException")
		return
	}
	overrides := map[string]string{}
	maps.Copy(overrides, u.overrides)
	if u.prefix != "" {
		overrides["prefix"] = u.prefix
	}
	answer := map[string]any{"defaults": map[string]string{"prefix": "not-this", "namespace-separator": "%2A"}, "overrides": overrides}
	if u.prefix == "" {
		answer["defaults"] = map[string]string{}
	}
	if u.separator != "%1F" || u.prefix != "" {
		overrides["namespace-separator"] = u.separator
	}
	if u.endpoints != nil {
		answer["endpoints"] = u.endpoints
	}
	u.answer(w, answer)
}

func (u *upstream) knows(header string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	token, ok := strings.CutPrefix(header, "Bearer ")
	return ok && u.tokens[token]
}

func (u *upstream) token(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		u.t.Error("a request for a token carries a credential")
	}
	if r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("scope") == "" ||
		r.PostFormValue("client_id") != "id" || r.PostFormValue("client_secret") != u.secret {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"no"}`))
		return
	}
	token := "token-" + secret + "-" + uuid.NewString()
	u.mu.Lock()
	u.tokens[token] = true
	u.mu.Unlock()
	answer := map[string]any{"access_token": token, "token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
	if u.lifetime > 0 {
		answer["expires_in"] = u.lifetime
	}
	u.answer(w, answer)
}

func (u *upstream) revokeTokens() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.tokens)
}

func (u *upstream) plainSeparator() string { return u.decode(u.separator) }

func (u *upstream) listNamespaces(w http.ResponseWriter, r *http.Request) {
	var parent mounts.Namespace
	if p := r.URL.Query().Get("parent"); p != "" {
		parent = strings.Split(p, u.plainSeparator())
		if !u.has(parent) {
			u.fail(w, http.StatusNotFound, "NoSuchNamespaceException")
			return
		}
	}
	names := []any{}
	for _, encoded := range slices.Sorted(maps.Keys(u.namespaces)) {
		n := mounts.Namespace(strings.Split(encoded, mounts.Separator))
		if len(n) == len(parent)+1 && u.same(n.Parent().Encode(), parent.Encode()) {
			names = append(names, n)
		}
	}
	u.page(w, r, "namespaces", names)
}

func (u *upstream) has(n mounts.Namespace) bool {
	_, ok := u.namespaces[stored(u, u.namespaces, n.Encode())]
	return ok
}

func (u *upstream) same(a, b string) bool { return a == b || u.anyCase && strings.EqualFold(a, b) }

// stored is how the upstream spells a key, where it has it.
func stored[V any](u *upstream, of map[string]V, key string) string {
	for k := range of {
		if u.same(k, key) {
			return k
		}
	}
	return key
}

func (u *upstream) loadNamespace(w http.ResponseWriter, n mounts.Namespace) {
	if !u.has(n) {
		u.fail(w, http.StatusNotFound, "NoSuchNamespaceException")
		return
	}
	encoded := stored(u, u.namespaces, n.Encode())
	u.answer(w, map[string]any{"namespace": strings.Split(encoded, mounts.Separator), "properties": u.namespaces[encoded]})
}

func (u *upstream) list(w http.ResponseWriter, r *http.Request, n mounts.Namespace, of map[string]*storedTable) {
	if !u.has(n) {
		u.fail(w, http.StatusNotFound, "NoSuchNamespaceException")
		return
	}
	names := []any{}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		levels := strings.Split(k, mounts.Separator)
		if in := mounts.Namespace(levels[:len(levels)-1]); u.same(in.Encode(), n.Encode()) {
			names = append(names, map[string]any{"namespace": in, "name": levels[len(levels)-1]})
		}
	}
	u.page(w, r, "identifiers", names)
}

// page answers from an offset; the spec has paging begin with an empty token.
func (u *upstream) page(w http.ResponseWriter, r *http.Request, key string, names []any) {
	q := r.URL.Query()
	answer := map[string]any{}
	if q.Has("pageToken") && u.pageSize > 0 {
		from, err := strconv.Atoi(strings.TrimPrefix(q.Get("pageToken"), "from "))
		if q.Get("pageToken") != "" && (err != nil || from < 0 || from > len(names)) {
			u.fail(w, http.StatusBadRequest, "BadRequestException")
			return
		}
		names = names[from:]
		size := u.pageSize
		if n, err := strconv.Atoi(q.Get("pageSize")); err == nil {
			size = n
		}
		if size < len(names) {
			names = names[:size]
			answer["next-page-token"] = fmt.Sprintf("from %d", from+size)
		}
	}
	answer[key] = names
	u.answer(w, answer)
}

func (u *upstream) loadTable(w http.ResponseWriter, r *http.Request, id mounts.Identifier) {
	t := u.tables[stored(u, u.tables, key(id))]
	if t != nil && u.modes && r.URL.Query().Get("snapshots") == "refs" {
		reduced := *t
		reduced.document = strings.Replace(t.document, `{"snapshot-id":1},`, "", 1)
		reduced.etag += "-refs"
		t = &reduced
	}
	u.load(w, r, t, "NoSuchTableException")
}

func (u *upstream) load(w http.ResponseWriter, r *http.Request, t *storedTable, missing string) {
	if t == nil {
		u.fail(w, http.StatusNotFound, missing)
		return
	}
	if u.etags {
		w.Header().Set("ETag", t.etag)
		if r.Header.Get("If-None-Match") == t.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(300<<20)) // of the body that a GET would have
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"metadata-location":%q,"metadata":%s,"config":{"s3.secret-access-key":"theirs"},"storage-credentials":[]}`, t.location, t.document)
}

func (u *upstream) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		u.t.Error(err)
	}
}

// fail answers an error as the spec has it; for a HEAD the server drops the body.
func (u *upstream) fail(w http.ResponseWriter, status int, typ string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":"theirs: http://secret.host","type":%q,"code":%d}}`, typ, status)
}
