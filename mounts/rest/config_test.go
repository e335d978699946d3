package rest_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

func TestOptions(t *testing.T) {
	good := func() rest.Options {
		return rest.Options{Name: "legacy", URI: "https://host/path", Documents: rest.NewDocuments(1 << 20), Now: time.Now}
	}
	for name, change := range map[string]func(*rest.Options){
		"nothing":               func(*rest.Options) {},
		"a slash at the end":    func(o *rest.Options) { o.URI = "http://host:8181/" },
		"credential":            func(o *rest.Options) { o.Credential = "id:secret:with:colons" },
		"token":                 func(o *rest.Options) { o.Token = "abc.def" },
		"sigv4":                 func(o *rest.Options) { o.SigV4 = &rest.SigV4{Region: "eu-west-1", Service: "glue"} },
		"ten gigabytes at most": func(o *rest.Options) { o.MaxResponseBytes = 10 << 30 },
	} {
		o := good()
		change(&o)
		c, err := rest.New(o)
		require.NoError(t, err, name)
		require.Equal(t, rest.Stats{Guard: guard.Stats{Breaker: "closed"}}, c.Stats(), "New asks nothing")
		require.NoError(t, c.Close())
	}
	for name, change := range map[string]func(*rest.Options){
		"no uri":             func(o *rest.Options) { o.URI = "" },
		"a relative uri":     func(o *rest.Options) { o.URI = "/path" },
		"another scheme":     func(o *rest.Options) { o.URI = "ftp://host/s3cret" },
		"a user in it":       func(o *rest.Options) { o.URI = "https://user:s3cret@host/" },
		"a query in it":      func(o *rest.Options) { o.URI = "https://host/?token=s3cret" },
		"an unreadable uri":  func(o *rest.Options) { o.URI = "https://host:s3cret/%zz" },
		"two credentials":    func(o *rest.Options) { o.Token, o.Credential = "s3cret", "id:s3cret" },
		"no id":              func(o *rest.Options) { o.Credential = "s3cret" },
		"an empty id":        func(o *rest.Options) { o.Credential = ":s3cret" },
		"an empty secret":    func(o *rest.Options) { o.Credential = "id:" },
		"a token of lines":   func(o *rest.Options) { o.Token = "s3cret\r\nX-Evil: 1" },
		"a bad token server": func(o *rest.Options) { o.Credential, o.OAuth2ServerURI = "id:s3cret", "s3cret" },
		"no region":          func(o *rest.Options) { o.SigV4 = &rest.SigV4{Service: "glue"} },
		"half a key":         func(o *rest.Options) { o.SigV4 = &rest.SigV4{Region: "r", Service: "s", SecretAccessKey: "s3cret"} },
		"no documents":       func(o *rest.Options) { o.Documents = nil },
		"no clock":           func(o *rest.Options) { o.Now = nil },
		"a negative timeout": func(o *rest.Options) { o.Timeout = -1 },
		"a negative age":     func(o *rest.Options) { o.FreshFor = -1 },
		"a negative bound":   func(o *rest.Options) { o.MaxResponseBytes = -1 },
	} {
		o := good()
		change(&o)
		_, err := rest.New(o)
		require.ErrorContains(t, err, "mount 'legacy'", name)
		require.NotContains(t, err.Error(), "s3cret", name)
	}
}

// answering gives an upstream whose configuration is the body, for requests that ask for
// it, and records the raw request line of all others.
func answering(t *testing.T, config string) (*rest.Catalog, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/config") {
			_, _ = w.Write([]byte(config))
			return
		}
		mu.Lock()
		lines = append(lines, r.Method+" "+r.RequestURI)
		mu.Unlock()
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := rest.New(rest.Options{Name: "legacy", URI: server.URL + "/base//", Documents: rest.NewDocuments(1 << 20), Now: time.Now})
	require.NoError(t, err)
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return lines
	}
}

// The bytes on the wire, since upstreams read them raw.
func TestPaths(t *testing.T) {
	c, lines := answering(t, `{"defaults":{},"overrides":{}}`)
	ctx := t.Context()
	n := mounts.Namespace{"a b", "c+d", "e%/f"}
	_, _, _ = c.ListNamespaces(ctx, mounttest.Caller, nil, mounts.Page{})
	_, _, _ = c.ListNamespaces(ctx, mounttest.Caller, n, mounts.Page{Token: "1.a.t+/=&", Size: 7})
	_, _ = c.LoadNamespace(ctx, mounttest.Caller, n)
	_, _, _ = c.ListTables(ctx, mounttest.Caller, n, mounts.Page{Size: 1})
	_, _ = c.LoadTable(ctx, mounttest.Caller, n.Table("ü?x;y"), mounts.LoadOptions{})
	require.Equal(t, []string{
		"GET /base/v1/namespaces?pageToken=",
		"GET /base/v1/namespaces?pageToken=t%2B%2F%3D%26&pageSize=7&parent=a%20b%1Fc%2Bd%1Fe%25%2Ff",
		"GET /base/v1/namespaces/a%20b%1Fc%2Bd%1Fe%25%2Ff",
		"GET /base/v1/namespaces/a%20b%1Fc%2Bd%1Fe%25%2Ff/tables?pageToken=&pageSize=1",
		"GET /base/v1/namespaces/a%20b%1Fc%2Bd%1Fe%25%2Ff/tables/%C3%BC%3Fx%3By",
	}, lines())
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"empty":               {`{}`, "/base/v1/namespaces/a%1Fb"},
		"nulls":               {`{"defaults":null,"overrides":null,"endpoints":null}`, "/base/v1/namespaces/a%1Fb"},
		"null values":         {`{"overrides":{"prefix":null,"namespace-separator":null}}`, "/base/v1/namespaces/a%1Fb"},
		"default prefix":      {`{"defaults":{"prefix":"wh"}}`, "/base/v1/wh/namespaces/a%1Fb"},
		"override wins":       {`{"defaults":{"prefix":"x"},"overrides":{"prefix":"wh"}}`, "/base/v1/wh/namespaces/a%1Fb"},
		"escaped prefix":      {`{"overrides":{"prefix":"arn%3Aaws%3as3%2Fx"}}`, "/base/v1/arn%3Aaws%3as3%2Fx/namespaces/a%1Fb"},
		"several segments":    {`{"overrides":{"prefix":"/catalogs/12:34/"}}`, "/base/v1/catalogs/12:34/namespaces/a%1Fb"},
		"a raw prefix":        {`{"overrides":{"prefix":"my wh+ü"}}`, "/base/v1/my%20wh%2B%C3%BC/namespaces/a%1Fb"},
		"a percent alone":     {`{"overrides":{"prefix":"100%"}}`, "/base/v1/100%25/namespaces/a%1Fb"},
		"dot":                 {`{"overrides":{"namespace-separator":"%2E"}}`, "/base/v1/namespaces/a%2Eb"},
		"a raw dot":           {`{"overrides":{"namespace-separator":"."}}`, "/base/v1/namespaces/a.b"},
		"a raw 1F":            {`{"overrides":{"namespace-separator":"\u001f"}}`, "/base/v1/namespaces/a%1Fb"},
		"lower case":          {`{"overrides":{"namespace-separator":"%1f"}}`, "/base/v1/namespaces/a%1fb"},
		"other keys":          {`{"overrides":{"x":1,"y":{}},"other":[],"idempotency-key-lifetime":"PT30M"}`, "/base/v1/namespaces/a%1Fb"},
		"a relative uri":      {`{"overrides":{"uri":"/other"}}`, "/other/v1/namespaces/a%1Fb"},
		"another host":        {`{"overrides":{"uri":"http://evil.example/"}}`, "/base/v1/namespaces/a%1Fb"},
		"another port":        {`{"overrides":{"uri":"http://127.0.0.1:1/"}}`, "/base/v1/namespaces/a%1Fb"},
		"host without scheme": {`{"overrides":{"uri":"//evil.example/"}}`, "/base/v1/namespaces/a%1Fb"},
		"no uri at all":       {`{"overrides":{"uri":"http://[::1"}}`, "/base/v1/namespaces/a%1Fb"},
	} {
		t.Run(name, func(t *testing.T) {
			m, lines := answering(t, c.config)
			_, err := m.LoadNamespace(t.Context(), mounttest.Caller, mounts.Namespace{"a", "b"})
			require.Error(t, err)
			require.Equal(t, []string{"GET " + c.want}, lines())
		})
	}
}

func TestConfigsThatAreNone(t *testing.T) {
	for name, config := range map[string]string{
		"html":               `<html>`,
		"array":              `[]`,
		"duplicate":          `{"overrides":{},"overrides":{}}`,
		"duplicate key":      `{"overrides":{"prefix":"a","prefix":"b"}}`,
		"overrides a list":   `{"overrides":[]}`,
		"prefix a number":    `{"overrides":{"prefix":1}}`,
		"prefix climbs":      `{"overrides":{"prefix":"a/../../x"}}`,
		"prefix climbs, %2E": `{"overrides":{"prefix":"%2e%2E"}}`,
		"a long prefix":      `{"overrides":{"prefix":"` + strings.Repeat("x", 2<<10+1) + `"}}`,
		"a hole in it":       `{"overrides":{"prefix":"a//b"}}`,
		"a slash separates":  `{"overrides":{"namespace-separator":"%2F"}}`,
		"a long separator":   `{"overrides":{"namespace-separator":"123456789"}}`,
		"endpoints a string": `{"endpoints":"GET"}`,
		"endpoint a number":  `{"endpoints":[1]}`,
		"too large":          `{"overrides":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, lines := answering(t, config)
			_, err := m.LoadNamespace(t.Context(), mounttest.Caller, db)
			require.Equal(t, mounts.BadGateway, checkError(t, err))
			require.Empty(t, lines())
			require.Error(t, m.Health(t.Context()))
		})
	}
}

func TestUnknownWarehouse(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.Warehouse = "another" })
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, c), "the mount is wrong, the table isn't absent")
	require.Error(t, c.Health(t.Context()))
	for _, answer := range []http.HandlerFunc{
		says(404, `{"error":{"message":"Unable to find warehouse","type":"NotFoundException","code":404}}`),
		says(404, `{"error":{"message":"m","type":"NoSuchTableException","code":404}}`),
		says(400, `{"error":{"message":"Please specify a warehouse","type":"BadRequestException","code":400}}`),
	} {
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true })
		require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
		require.Equal(t, mounts.Unavailable, checkError(t, c.TableExists(t.Context(), mounttest.Caller, table)))
	}
}

// Who copies a URI from a client's address bar adds the /v1 that belongs to the routes.
func TestURIWithVersion(t *testing.T) {
	u := withTable(t)
	for _, end := range []string{"/iceberg/v1", "/iceberg/v1/"} {
		c := u.mount(func(o *rest.Options) { o.URI = u.server.URL + end })
		_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		require.Equal(t, mounts.Unavailable, checkError(t, err))
		require.ErrorContains(t, err, "leave out its last /v1")
	}
}

// What the upstream says decides which advice helps.
func TestAdviceOnConfigs(t *testing.T) {
	const (
		version   = "has no catalog at the mount's uri: leave out its last /v1"
		elsewhere = "has no catalog at the mount's uri"
		unknown   = "does not know the warehouse that the mount names"
		unnamed   = "names no warehouse: name the one that is meant"
	)
	for _, c := range []struct {
		end, warehouse string
		status         int
		typ            string
		want, not      string
	}{
		{"/iceberg/v1", "wh", 404, "", version, "warehouse"},
		{"/iceberg/v1", "wh", 404, "NoSuchEndpointException", version, "warehouse"},
		{"/iceberg/v1/", "wh", 404, "NoSuchWarehouseException", unknown, "/v1"},
		{"/iceberg/v1", "wh", 404, "NotFoundException", unknown, "/v1"},
		{"/iceberg/v1", "", 404, "NotFoundException", unnamed, "/v1"},
		{"/iceberg", "wh", 404, "NoSuchEndpointException", elsewhere, "/v1"},
		{"/iceberg", "wh", 404, "NotFoundException", unknown, "/v1"},
		{"/iceberg", "", 404, "NotFoundException", unnamed, "the mount names"},
		{"/iceberg", "", 400, "BadRequestException", unnamed, "the mount names"},
		{"/iceberg", "wh", 400, "BadRequestException", unknown, "/v1"},
	} {
		u := withTable(t)
		u.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			if c.typ == "" {
				w.WriteHeader(c.status)
			} else {
				u.fail(w, c.status, c.typ)
			}
			return true
		})
		m := u.mount(func(o *rest.Options) { o.URI, o.Warehouse = u.server.URL+c.end, c.warehouse })
		_, err := m.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		require.Equal(t, mounts.Unavailable, checkError(t, err), "%+v", c)
		var e *mounts.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Message(), c.want, "%+v", c)
		require.NotContains(t, e.Message(), c.not, "%+v", c)
	}
}

func TestEndpointsAreHonoured(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.endpoints = []string{"POST /v1/{prefix}/namespaces"} })
	for op, err := range reading(t.Context(), u.mount()) {
		switch op {
		case "ListViews":
			require.NoError(t, err)
		case "LoadView", "ViewExists":
			require.Equal(t, mounts.NoSuchView, checkError(t, err), op)
		default:
			require.Equal(t, mounts.Unsupported, checkError(t, err), op)
		}
	}
	require.Equal(t, map[string]int{"GET config": 1}, u.calls)

	for _, none := range [][]string{nil, {}} {
		u = withTable(t, func(u *upstream) { u.endpoints = none })
		c := u.mount()
		for op, err := range reading(t.Context(), c) {
			require.NoError(t, err, op)
		}
		require.Zero(t, u.count("HEAD table"), "none of the endpoints that need not be advertised is a HEAD")
		u = withTable(t, func(u *upstream) {
			u.endpoints, u.overrides = none, map[string]string{"view-endpoints-supported": "false"}
		})
		for op, err := range reading(t.Context(), u.mount()) {
			if strings.Contains(op, "View") && op != "ListViews" {
				require.Equal(t, mounts.NoSuchView, checkError(t, err), op)
			} else {
				require.NoError(t, err, op)
			}
		}
	}
}

// A failed configuration is asked for again, and one that fits no more too.
func TestConfigIsAskedAgain(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	var sick atomic.Bool
	sick.Store(true)
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if sick.Load() && strings.HasSuffix(r.URL.Path, "/config") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
	sick.Store(false)
	load(t, c, table)
	load(t, c, table)
	require.Equal(t, 7, u.count("GET config"), "three tries of each call, and one that got it")

	u.prefix = "moved"
	require.Equal(t, mounts.BadGateway, kindOfLoad(t, c), "under the old prefix there is nothing any more")
	load(t, c, table)
	require.Equal(t, 8, u.count("GET config"))
}

// An old configuration is asked for again, and serves on where no other is to be had.
func TestOldConfig(t *testing.T) {
	u := withTable(t)
	var clock atomic.Int64
	c := u.mount(func(o *rest.Options) { o.Now = func() time.Time { return time.Unix(clock.Load(), 0) } })
	load(t, c, table)
	clock.Store(299)
	load(t, c, table)
	require.Equal(t, 1, u.count("GET config"))
	u.prefix = "moved"
	clock.Store(300)
	load(t, c, table)
	require.Equal(t, 2, u.count("GET config"))

	for i, sick := range []http.HandlerFunc{
		says(503, ""), says(200, "<html>"), says(404, `{"error":{"message":"m","type":"NotFoundException","code":404}}`),
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			config := strings.HasSuffix(r.URL.Path, "/config")
			if config {
				sick(w, r)
			}
			return config
		})
		clock.Add(300)
		load(t, c, table)
		load(t, c, table)
		require.Equal(t, 3+i, u.count("GET config"), "once, not by each call")
	}
	u.intercept(nil)
	u.prefix = "moved/again"
	clock.Add(300)
	load(t, c, table)
}

// Callers share one question for the configuration.
func TestConfigIsShared(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	release := make(chan struct{})
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/config") {
			<-release
		}
		return false
	})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { load(t, c, table) })
	}
	require.Eventually(t, func() bool { return u.count("GET config") == 1 }, 5*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	close(release)
	wg.Wait()
	require.Equal(t, 1, u.count("GET config"))
}

// A level that holds the upstream's separator reads like two levels to an upstream that
// decodes before it splits; what it has there then is another namespace.
func TestNamesWithTheSeparator(t *testing.T) {
	n := mounts.Namespace{"a.b"}
	u := withTable(t, func(u *upstream) { u.separator = "%2E" })
	u.createNamespace(n, nil)
	u.write(n.Table("t"), 1)
	c := u.mount()
	load(t, c, n.Table("t"))
	require.NoError(t, c.TableExists(t.Context(), mounttest.Caller, n.Table("t")))
	tables, _, err := c.ListTables(t.Context(), mounttest.Caller, n, mounts.Page{})
	require.NoError(t, err)
	require.Len(t, tables, 1)
	_, _, err = c.ListNamespaces(t.Context(), mounttest.Caller, n, mounts.Page{})
	require.Equal(t, mounts.BadGateway, checkError(t, err), "?parent= can't tell them apart")

	for separator, level := range map[string]string{
		"%2E": "a.b", "%1F": "a.b", // SeaweedFS 4.48 does so with the default too
		"%24": "a$b",
	} {
		n := mounts.Namespace{level}
		u = withTable(t, func(u *upstream) { u.separator = separator })
		nested := mounts.Namespace{"a", "b"}
		u.createNamespace(nested, nil)
		u.write(nested.Table("t"), 1)
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			switch path := r.URL.EscapedPath(); {
			case strings.HasSuffix(path, "/namespaces/"+level):
				says(200, `{"namespace":["a","b"],"properties":{}}`)(w, r)
			case strings.HasSuffix(path, "/namespaces/"+level+"/tables/t"):
				says(200, `{"metadata":{"secret":true}}`)(w, r)
			case strings.HasSuffix(path, "/namespaces/"+level+"/tables"):
				says(200, `{"identifiers":[]}`)(w, r)
			default:
				return false
			}
			return true
		})
		c = u.mount()
		_, err = c.LoadTable(t.Context(), mounttest.Caller, n.Table("t"), mounts.LoadOptions{})
		require.Equal(t, mounts.NoSuchTable, checkError(t, err))
		require.Equal(t, mounts.NoSuchTable, checkError(t, c.TableExists(t.Context(), mounttest.Caller, n.Table("t"))))
		_, err = c.LoadNamespace(t.Context(), mounttest.Caller, n)
		require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
		_, _, err = c.ListTables(t.Context(), mounttest.Caller, n, mounts.Page{})
		require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
		load(t, c, nested.Table("t"))
	}
}

// An upstream that joins levels by dots answers with the name it was asked for, as Iceberg's
// catalog over JDBC does. Where both readings are there neither a load nor a list is believed.
func TestNamesThatMayBeTwo(t *testing.T) {
	dotted, nested := mounts.Namespace{"a.b"}, mounts.Namespace{"a", "b"}
	u := newUpstream(t)
	c := u.mount()
	for _, n := range []mounts.Namespace{dotted, nested} {
		u.createNamespace(n, nil)
		u.write(n.Table("t"), 1)
		u.writeView(n.Table("v"), 1)
	}
	load(t, c, nested.Table("t"))
	errs := map[string]error{"TableExists": c.TableExists(t.Context(), mounttest.Caller, dotted.Table("t"))}
	_, errs["LoadTable"] = c.LoadTable(t.Context(), mounttest.Caller, dotted.Table("t"), mounts.LoadOptions{})
	_, errs["LoadView"] = c.LoadView(t.Context(), mounttest.Caller, dotted.Table("v"))
	_, errs["LoadNamespace"] = c.LoadNamespace(t.Context(), mounttest.Caller, dotted)
	_, _, errs["ListTables"] = c.ListTables(t.Context(), mounttest.Caller, dotted, mounts.Page{})
	_, _, errs["ListViews"] = c.ListViews(t.Context(), mounttest.Caller, dotted, mounts.Page{})
	_, _, errs["ListNamespaces"] = c.ListNamespaces(t.Context(), mounttest.Caller, dotted, mounts.Page{})
	for op, err := range errs {
		require.Equal(t, mounts.BadGateway, checkError(t, err), op)
	}
	require.Zero(t, u.count("HEAD table")+u.count("GET view"))
	require.Zero(t, c.Stats().Guard.Failed, "the upstream did nothing wrong")

	u.mu.Lock()
	delete(u.namespaces, nested.Encode())
	u.mu.Unlock()
	load(t, c, dotted.Table("t"))
	// whose refusal of so many levels is as good as an absence
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		deep := strings.HasSuffix(r.URL.EscapedPath(), "/namespaces/a%1Fb")
		if deep {
			u.fail(w, http.StatusBadRequest, "BadRequestException")
		}
		return deep
	})
	load(t, c, dotted.Table("t"))
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		deep := strings.HasSuffix(r.URL.EscapedPath(), "/namespaces/a%1Fb")
		if deep {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return deep
	})
	_, err := c.LoadTable(t.Context(), mounttest.Caller, dotted.Table("t"), mounts.LoadOptions{})
	require.Equal(t, mounts.Unavailable, checkError(t, err))
}

// Where namespaces can't be looked at, such names can't be asked for at all.
func TestNamesThatCantBeMadeSure(t *testing.T) {
	u := withTable(t, func(u *upstream) {
		u.endpoints = slices.DeleteFunc(slices.Clone(allEndpoints), func(e string) bool { return strings.HasSuffix(e, "{namespace}") })
	})
	c := u.mount()
	load(t, c, table)
	_, err := c.LoadTable(t.Context(), mounttest.Caller, mounts.Namespace{"d.b"}.Table("t"), mounts.LoadOptions{})
	require.Equal(t, mounts.Unsupported, checkError(t, err))
	require.Equal(t, mounts.Unsupported, checkError(t, c.TableExists(t.Context(), mounttest.Caller, mounts.Namespace{"d.b"}.Table("t"))))
}

// A Nessie reads these as the table t. Others may have tables of such names.
func TestNessieMarks(t *testing.T) {
	for _, is := range []string{"true", "false"} {
		u := withTable(t, func(u *upstream) { u.overrides = map[string]string{"nessie.is-nessie-catalog": is} })
		c := u.mount()
		for _, name := range []string{"t@main", "t#2026-01-01T00:00:00Z", "`t`", "'t'", `"t"`} {
			u.write(db.Table(name), 1)
			u.writeView(db.Table(name), 1)
			_, ofTable := c.LoadTable(t.Context(), mounttest.Caller, db.Table(name), mounts.LoadOptions{})
			_, ofView := c.LoadView(t.Context(), mounttest.Caller, db.Table(name))
			for _, err := range []error{
				ofTable, ofView,
				c.TableExists(t.Context(), mounttest.Caller, db.Table(name)), c.ViewExists(t.Context(), mounttest.Caller, db.Table(name)),
			} {
				if is == "true" {
					require.Equal(t, mounts.BadRequest, checkError(t, err), name)
				} else {
					require.NoError(t, err, name)
				}
			}
		}
		load(t, c, table)
	}
}
