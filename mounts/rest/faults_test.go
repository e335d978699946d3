package rest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// afterConfig answers everything but the configuration.
func afterConfig(f http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/config") {
			return false
		}
		f(w, r)
		return true
	}
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// withoutHead are the endpoints of an upstream that answers no HEAD.
func withoutHead() []string {
	return slices.DeleteFunc(slices.Clone(allEndpoints), func(e string) bool { return e[0] == 'H' })
}

// reading is every operation, each with its error.
func reading(ctx context.Context, c *rest.Catalog) map[string]error {
	errs := map[string]error{"TableExists": c.TableExists(ctx, mounttest.Caller, table)}
	_, _, errs["ListNamespaces"] = c.ListNamespaces(ctx, mounttest.Caller, nil, mounts.Page{})
	_, _, errs["ListNested"] = c.ListNamespaces(ctx, mounttest.Caller, db, mounts.Page{})
	_, _, errs["ListTables"] = c.ListTables(ctx, mounttest.Caller, db, mounts.Page{})
	_, errs["LoadNamespace"] = c.LoadNamespace(ctx, mounttest.Caller, db)
	_, _, errs["ListViews"] = c.ListViews(ctx, mounttest.Caller, db, mounts.Page{})
	_, errs["LoadTable"] = c.LoadTable(ctx, mounttest.Caller, table, mounts.LoadOptions{})
	_, errs["LoadRefs"] = c.LoadTable(ctx, mounttest.Caller, table, mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs})
	_, errs["LoadView"] = c.LoadView(ctx, mounttest.Caller, aView)
	errs["ViewExists"] = c.ViewExists(ctx, mounttest.Caller, aView)
	return errs
}

// What an upstream, or something in front of it, may answer to any question. None of it
// is an absence.
func TestAnswersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   mounts.Kind
	}{
		"html":                {says(200, "<html>sign in</html>"), mounts.BadGateway},
		"empty":               {says(200, ""), mounts.BadGateway},
		"truncated":           {says(200, `{"metadata":{"a":`), mounts.BadGateway},
		"array":               {says(200, `[]`), mounts.BadGateway},
		"another object":      {says(200, `{"status":"ok"}`), mounts.BadGateway},
		"bytes behind":        {says(200, `{"metadata":{},"namespaces":[],"identifiers":[],"namespace":["db"]} x`), mounts.BadGateway},
		"bytes inside":        {says(200, `{"metadata":{} "x":1},"namespaces":[] [],"identifiers":[] [],"namespace":["db"] 1}`), mounts.BadGateway},
		"two objects":         {says(200, `{"metadata":{}}{}`), mounts.BadGateway},
		"duplicate keys":      {says(200, `{"metadata":{},"metadata":{},"namespaces":[],"namespaces":[],"identifiers":[],"identifiers":[],"namespace":[],"namespace":[]}`), mounts.BadGateway},
		"wrong types":         {says(200, `{"metadata":[],"namespaces":{},"identifiers":"x","namespace":7}`), mounts.BadGateway},
		"wrong inner types":   {says(200, `{"metadata":"{}","namespaces":[["a"],[1]],"identifiers":[{"namespace":["db"],"name":1}],"namespace":["db"],"properties":{"k":1}}`), mounts.BadGateway},
		"null entries":        {says(200, `{"metadata":null,"namespaces":[null],"identifiers":[null],"namespace":null}`), mounts.BadGateway},
		"bad location":        {says(200, `{"metadata":{},"metadata-location":1,"next-page-token":1,"namespaces":[],"identifiers":[],"namespace":["db"],"properties":[]}`), mounts.BadGateway},
		"not UTF-8":           {says(200, "{\"metadata\":{\"\xff\":1}}"), mounts.BadGateway},
		"nested too deep":     {says(200, strings.Repeat(`{"metadata":`, 2000)+"1"+strings.Repeat("}", 2000)), mounts.BadGateway},
		"204":                 {says(204, ""), mounts.BadGateway},
		"206":                 {says(206, `{}`), mounts.BadGateway},
		"304 unasked":         {says(304, ""), mounts.BadGateway},
		"400 of a proxy":      {says(400, "bad request"), mounts.BadGateway},
		"400 typed":           {says(400, `{"error":{"message":"m","type":"BadRequestException","code":400}}`), mounts.BadRequest},
		"401":                 {says(401, `{"error":{"message":"m","type":"NotAuthorizedException","code":401}}`), mounts.Unavailable},
		"403":                 {says(403, `{"error":{"message":"m","type":"ForbiddenException","code":403}}`), mounts.Unavailable},
		"404 of a route":      {says(404, "404 page not found"), mounts.BadGateway},
		"404 html":            {says(404, "<html>NoSuchTableException</html>"), mounts.BadGateway},
		"404 of another type": {says(404, `{"error":{"message":"m","type":"NoSuchWarehouseException","code":404}}`), mounts.BadGateway},
		"404 bare model":      {says(404, `{"message":"m","type":"NoSuchTableException","code":404}`), mounts.BadGateway},
		"404 other code":      {says(404, `{"error":{"message":"m","type":"NoSuchTableException","code":500}}`), mounts.BadGateway},
		"404 duplicate type":  {says(404, `{"error":{"type":"NoSuchTableException","type":"NoSuchNamespaceException","code":404}}`), mounts.BadGateway},
		"500 typed as 404":    {says(500, `{"error":{"message":"m","type":"NoSuchTableException","code":404}}`), mounts.Unavailable},
		"500 without code":    {says(500, `{"error":{"message":"m","type":"NoSuchTableException"}}`), mounts.Unavailable},
		"405":                 {says(405, ""), mounts.BadGateway},
		"408":                 {says(408, ""), mounts.Timeout},
		"419":                 {says(419, ""), mounts.Unavailable},
		"500":                 {says(500, "oops"), mounts.Unavailable},
		"502":                 {says(502, ""), mounts.Unavailable},
		"503":                 {says(503, ""), mounts.Unavailable},
		"504":                 {says(504, ""), mounts.Timeout},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, mounts.BadGateway},
		"permanent redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusPermanentRedirect) }, mounts.BadGateway},
		"announced too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "400000000")
			w.WriteHeader(200)
		}, mounts.BadGateway},
		"connection closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, mounts.Unavailable},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"metadata":{}`)
		}, mounts.BadGateway},
		"broken gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "not gzip at all")
		}, mounts.BadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t, func(u *upstream) { u.endpoints = withoutHead() }) // which has no body
			m := u.mount()
			u.server.Config.ErrorLog = quiet
			u.intercept(afterConfig(c.answer))
			for op, err := range reading(t.Context(), m) {
				require.Error(t, err, op)
				require.Equal(t, c.want, checkError(t, err), "%s: %v", op, err)
			}
			u.intercept(nil)
			for op, err := range reading(t.Context(), m) {
				require.NoError(t, err, "%s, once the upstream is well again", op)
			}
		})
	}
}

// A list of nothing but names that can't be asked for isn't a fault.
func TestNamesThatBreakTheRules(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	bad := `"", "\u001f", "a\u001fb", "a\nb", "..", "` + strings.Repeat("x", 2001) + `"`
	u.intercept(afterConfig(func(w http.ResponseWriter, r *http.Request) {
		levels, names := []string{}, []string{}
		for name := range strings.SplitSeq(bad, ", ") {
			levels = append(levels, "["+name+"]")
			names = append(names, `{"namespace":["db"],"name":`+name+`}`)
		}
		if strings.HasSuffix(r.URL.Path, "/tables") {
			_, _ = fmt.Fprintf(w, `{"identifiers":[%s,{"namespace":["db"],"name":"good"},{"namespace":["db","x"],"name":"other"}]}`, strings.Join(names, ","))
			return
		}
		_, _ = fmt.Fprintf(w, `{"namespaces":[%s,["good"],["good","nested"],[]],"next-page-token":null}`, strings.Join(levels, ","))
	}))
	namespaces, next, err := c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Namespace{{"good"}}, namespaces)
	require.Empty(t, next)
	tables, _, err := c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{db.Table("good")}, tables)
	require.EqualValues(t, 12, c.Stats().Skipped)
}

func TestTokensThatNeverEnd(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	list := func(next string) func(http.ResponseWriter, *http.Request) bool {
		return afterConfig(says(200, fmt.Sprintf(`{"namespaces":[["a"]],"identifiers":[],"next-page-token":%q}`, next)))
	}
	u.intercept(list("again"))
	_, next, err := c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(next, ".again"), next)
	_, _, err = c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{Token: next})
	require.Equal(t, mounts.BadGateway, checkError(t, err))
	_, _, err = c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Token: next})
	require.Equal(t, mounts.BadGateway, checkError(t, err))

	u.intercept(list(""))
	_, next, err = c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{Token: "1.1.x"})
	require.NoError(t, err)
	require.Empty(t, next, "an empty token is no page: Java's client asks for ever there")
	u.intercept(list(strings.Repeat("x", 20_000)))
	_, _, err = c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.Equal(t, mounts.BadGateway, checkError(t, err))
}

// Tokens that lead in a circle, behind any number of pages that don't, end in an error, not in
// a client that asks for ever. A list without a circle, however long, doesn't.
func TestTokensInACircle(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	const long = 300
	for before := range 6 {
		for around := 1; around <= 9; around++ {
			u.intercept(afterConfig(func(w http.ResponseWriter, r *http.Request) {
				at, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
				next := at + 1
				if next >= before+around {
					next = before + 1
				}
				_, _ = fmt.Fprintf(w, `{"identifiers":[{"namespace":["db"],"name":"t"}],"next-page-token":"%d"}`, next)
			}))
			pages := 0
			for p := (mounts.Page{}); ; pages++ {
				require.Less(t, pages, 3*(before+around)+3, "%d before a circle of %d", before, around)
				_, next, err := c.ListTables(t.Context(), mounttest.Caller, db, p)
				if err != nil {
					require.Equal(t, mounts.BadGateway, checkError(t, err))
					break
				}
				p.Token = next
			}
		}
	}
	u.intercept(afterConfig(func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
		next := fmt.Sprint(at + 1)
		if at == long {
			next = ""
		}
		_, _ = fmt.Fprintf(w, `{"identifiers":[{"namespace":["db"],"name":"t"}],"next-page-token":%q}`, next)
	}))
	pages := 0
	for p := (mounts.Page{}); ; pages++ {
		_, next, err := c.ListTables(t.Context(), mounttest.Caller, db, p)
		require.NoError(t, err)
		if p.Token = next; next == "" {
			break
		}
	}
	require.Equal(t, long, pages)
}

// A token of somebody's own making is refused, before the upstream is asked.
func TestForeignTokens(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	for _, token := range []string{"x", "1.1.", "1.1", "0.1.x", "-1.1.x", "1.-1.x", "!.1.x", "1..x", "1.1-.x", "1.1--2.x", "1.1-!.x", "1.1" + strings.Repeat("-1", 9) + ".x", "1.1." + strings.Repeat("x", 4097), strings.Repeat("z", 30) + ".1.x"} {
		_, _, err := c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{Token: token})
		require.True(t, mounts.Is(err, mounts.BadRequest), "%s: %v", token, err)
		_, _, err = c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{Token: token})
		require.True(t, mounts.Is(err, mounts.BadRequest), "%s: %v", token, err)
	}
	require.Empty(t, u.calls)
}

// Some upstreams (SeaweedFS 4.48) answer an empty list for a namespace that isn't there.
func TestEmptyListsAreConfirmed(t *testing.T) {
	u := withTable(t)
	u.createNamespace(mounts.Namespace{"empty"}, nil)
	c := u.mount()
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/tables") && !r.URL.Query().Has("parent") {
			return false
		}
		says(200, `{"identifiers":[],"namespaces":[]}`)(w, r)
		return true
	})
	missing, empty := mounts.Namespace{"missing"}, mounts.Namespace{"empty"}
	_, _, err := c.ListTables(t.Context(), mounttest.Caller, missing, mounts.Page{})
	require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
	_, _, err = c.ListNamespaces(t.Context(), mounttest.Caller, missing, mounts.Page{})
	require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
	_, _, err = c.ListTables(t.Context(), mounttest.Caller, empty, mounts.Page{})
	require.NoError(t, err)
	_, _, err = c.ListNamespaces(t.Context(), mounttest.Caller, empty, mounts.Page{})
	require.NoError(t, err)
}

// endless writes until the client has gone.
func endless(chunk string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"x":"`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
			if pause > 0 {
				_ = http.NewResponseController(w).Flush()
				time.Sleep(pause)
			}
		}
	}
}

func TestAnswersThatNeverEnd(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.endpoints = withoutHead() })
	c := u.mount(func(o *rest.Options) { o.MaxResponseBytes = 1 << 20 })
	require.NoError(t, c.Health(t.Context()))
	u.intercept(afterConfig(endless(strings.Repeat("y", 64<<10), 0)))
	for op, err := range reading(t.Context(), c) {
		require.Equal(t, mounts.BadGateway, checkError(t, err), op)
	}
	u.intercept(nil)
	c = u.mount(func(o *rest.Options) { o.Timeout = 200 * time.Millisecond })
	require.Eventually(t, func() bool { return c.Health(t.Context()) == nil }, 10*time.Second, time.Millisecond)
	for name, f := range map[string]http.HandlerFunc{
		"drip":   endless("y", 10*time.Millisecond),
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		u.intercept(afterConfig(f))
		began := time.Now()
		for op, err := range reading(t.Context(), c) {
			require.Equal(t, mounts.Timeout, checkError(t, err), "%s: %s", name, op)
		}
		require.Less(t, time.Since(began), 10*time.Second)
	}
}

// What announces too much isn't read at all.
func TestAnnouncedSize(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.Timeout = time.Minute })
	u.intercept(afterConfig(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "400000000")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	require.Equal(t, mounts.BadGateway, kindOfLoad(t, c))
}

// A gzip bomb is bounded by what it unpacks to.
func TestUnpackedSizeCounts(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(z, `{"metadata":{"x":"`)
	block := bytes.Repeat([]byte{'y'}, 1<<20)
	for range 32 {
		_, _ = z.Write(block)
	}
	_, _ = io.WriteString(z, `"}}`)
	require.NoError(t, z.Close())
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.MaxResponseBytes = 4 << 20 })
	u.intercept(afterConfig(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Equal(t, mounts.BadGateway, kindOfLoad(t, c))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20))
}

// A list of millions of empty entries would take a hundred times its size in memory.
func TestListsOfManyEntriesAreBounded(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	u.intercept(afterConfig(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"namespaces":[`)
		chunk := strings.Repeat("[],", 1<<16)
		for range 65 {
			_, _ = io.WriteString(w, chunk)
		}
		_, _ = io.WriteString(w, `[]]}`)
	}))
	_, _, err := c.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.Equal(t, mounts.BadGateway, checkError(t, err))
}

// A hundred thousand names at once take memory in proportion.
func TestLargeList(t *testing.T) {
	const many = 100_000
	u := withTable(t)
	c := u.mount()
	var body bytes.Buffer
	body.WriteString(`{"identifiers":[`)
	for i := range many {
		fmt.Fprintf(&body, `{"namespace":["db"],"name":"a_table_with_a_name_%d"},`, i)
	}
	body.WriteString(`{"namespace":["db"],"name":"last"}]}`)
	u.intercept(afterConfig(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body.Bytes()) }))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tables, next, err := c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Len(t, tables, many+1)
	require.Empty(t, next)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*body.Len()), "of %d bytes", body.Len())
}

// Where a redirect leads nobody goes, and no credential.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	u := withTable(t, func(u *upstream) { u.secret = secret })
	c := u.mount()
	load(t, c, table)
	for _, status := range []int{301, 302, 303, 307, 308} {
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
			return true
		})
		for op, err := range reading(t.Context(), c) {
			require.Equal(t, mounts.BadGateway, checkError(t, err), op)
		}
	}
	require.Zero(t, asked.Load())
}

// A table that is dropped between a list and its load is gone, and so is its namespace.
func TestDroppedBehindAList(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	tables, _, err := c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{table}, tables)
	u.drop(table)
	require.Equal(t, mounts.NoSuchTable, kindOfLoad(t, c))
	u.mu.Lock()
	delete(u.namespaces, db.Encode())
	u.mu.Unlock()
	_, _, err = c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
}

// An upstream that is down stops neither New nor anything for longer than its timeout,
// and works as soon as it is up.
func TestDownAtTheStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.URI = "http://" + address + "/iceberg" })
	for op, err := range reading(t.Context(), c) {
		require.Equal(t, mounts.Unavailable, checkError(t, err), op)
	}
	require.Error(t, c.Health(t.Context()))
	l, err = net.Listen("tcp", address)
	require.NoError(t, err)
	up := &http.Server{Handler: u, ReadHeaderTimeout: time.Second}
	go func() { _ = up.Serve(l) }()
	t.Cleanup(func() { _ = up.Close() })
	for op, err := range reading(t.Context(), c) {
		require.NoError(t, err, op)
	}
	require.NoError(t, c.Health(t.Context()))
}

// Whoever gives up isn't told that something doesn't exist, and takes nobody along.
func TestGivingUp(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	entered := make(chan struct{}, 10)
	release := make(chan struct{})
	u.intercept(afterConfig(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-release
		stored := u.tables[key(table)]
		_, _ = fmt.Fprintf(w, `{"metadata-location":%q,"metadata":%s}`, stored.location, stored.document)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() {
		_, err := c.LoadTable(ctx, mounttest.Caller, table, mounts.LoadOptions{})
		errs <- err
	}()
	<-entered
	cancel()
	err := <-errs
	require.Equal(t, mounts.Unavailable, checkError(t, err))
	require.True(t, errors.Is(err, context.Canceled))
	close(release)
	load(t, c, table)
}
