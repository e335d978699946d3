package router_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
)

// FuzzCommit sends a commit through the whole handler: never a fault of ours, never a
// change without a 200, and what a 200 says is what the next load finds.
func FuzzCommit(f *testing.F) {
	g, tag := withTable(f, settings{})
	f.Fuzz(func(t *testing.T, body string) {
		g.t = t
		r := g.do("POST", tableT, body)
		loaded := g.do("GET", tableT, "")
		switch {
		case r.Code == http.StatusOK:
			if loaded.Code != 200 || loaded.Header().Get("ETag") != r.Header().Get("ETag") {
				t.Fatalf("committed %s\nloaded %d %s", r.Body, loaded.Code, loaded.Body)
			}
			g.do("DELETE", tableT, "").ok()
			tag = g.table("ns", "t").Header().Get("ETag")
		case r.Code < 400 || r.Code > 499 || r.member("error", "type") == nil:
			t.Fatalf("%d %s", r.Code, r.Body)
		case loaded.Header().Get("ETag") != tag:
			t.Fatalf("refused with %d, yet changed: %s", r.Code, loaded.Body)
		}
	})
}

// FuzzCreate sends a create through the whole handler.
func FuzzCreate(f *testing.F) {
	g := newGateway(f)
	g.namespace("ns")
	f.Fuzz(func(t *testing.T, body string) {
		g.t = t
		files := len(g.files())
		r := g.do("POST", "/v1/namespaces/ns/tables", body)
		tables, _ := g.do("GET", "/v1/namespaces/ns/tables", "").ok().member("identifiers").([]any)
		if r.Code == http.StatusOK {
			for _, table := range tables {
				name, _ := table.(map[string]any)["name"].(string)
				location := g.do("GET", "/v1/namespaces/ns/tables/"+url.PathEscape(name), "").ok().text("metadata", "location")
				g.do("DELETE", "/v1/namespaces/ns/tables/"+url.PathEscape(name), "").ok()
				if err := os.RemoveAll(strings.TrimPrefix(location, "file://")); err != nil {
					t.Fatal(err) // else counting the files takes longer and longer
				}
			}
			return
		}
		if r.Code < 400 || r.Code > 499 || r.member("error", "type") == nil {
			t.Fatalf("%d %s", r.Code, r.Body)
		}
		if len(tables) > 0 || len(g.files()) != files {
			t.Fatalf("refused with %d, yet there are %v", r.Code, tables)
		}
	})
}

// FuzzRequest sends anything anywhere as a principal without a policy, who can change
// nothing, and as an admin: no answer is a fault of ours, and each error says the status
// that the answer has.
func FuzzRequest(f *testing.F) {
	g, _ := withTable(f, settings{})
	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return // no request that a server would be handed
		}
		for _, credential := range []string{nobody, ops} {
			name, value, _ := strings.Cut(header, ": ")
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body))
			r.Method, r.URL, r.RequestURI = method, u, target
			r.Header[http.CanonicalHeaderKey(name)] = []string{value}
			r.Header.Set("Authorization", "Bearer "+credential)
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			got := reply{w, t, method + " " + target}
			if w.Code < 200 || w.Code > 499 || w.Code >= 300 && w.Code != 304 && w.Code < 400 {
				t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
			}
			if w.Code >= 400 && method != "HEAD" && u.Path != "/v1/oauth/tokens" && !strings.Contains(w.Header().Get("Content-Encoding"), "gzip") {
				got.refused(w.Code, got.text("error", "type"))
			}
		}
	})
}
