package rest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

func loadView(t *testing.T, c *rest.Catalog, id mounts.Identifier) (*mounts.View, mounts.Document) {
	t.Helper()
	v, err := c.LoadView(t.Context(), mounttest.Caller, id)
	require.NoError(t, err)
	d, err := v.Metadata(t.Context())
	require.NoError(t, err)
	return v, d
}

func listViews(t *testing.T, c *rest.Catalog, n mounts.Namespace) []mounts.Identifier {
	t.Helper()
	var all []mounts.Identifier
	for p := (mounts.Page{Size: 2}); ; {
		views, next, err := c.ListViews(t.Context(), mounttest.Caller, n, p)
		require.NoError(t, err)
		all = append(all, views...)
		if p.Token = next; next == "" {
			return all
		}
	}
}

// A view is the upstream's, byte for byte, and known ones cost a 304.
func TestViews(t *testing.T) {
	for name, set := range map[string]func(*upstream){
		"plain":   func(*upstream) {},
		"pages":   func(u *upstream) { u.pageSize = 2 },
		"no tags": func(u *upstream) { u.etags = false },
		"no head": func(u *upstream) { u.endpoints = withoutHead() },
		"silent":  func(u *upstream) { u.endpoints = nil },
		"by the other key": func(u *upstream) {
			u.endpoints, u.overrides = nil, map[string]string{"view-endpoints-supported": "true"}
		},
		"separated by dots": func(u *upstream) { u.separator = "%2E" },
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t, set)
			c := u.mount()
			inner := mounts.Namespace{"db", "in/ner"}
			u.createNamespace(inner, nil)
			others := []mounts.Identifier{db.Table("a view+%"), db.Table("雪"), db.Table("Übung"), inner.Table("deep")}
			for _, id := range others {
				u.writeView(id, 1)
			}
			require.ElementsMatch(t, append([]mounts.Identifier{aView}, others[:3]...), listViews(t, c, db))
			require.Equal(t, others[3:], listViews(t, c, inner))
			for _, id := range append(others, aView) {
				require.NoError(t, c.ViewExists(t.Context(), mounttest.Caller, id))
				stored := u.views[key(id)]
				v, d := loadView(t, c, id)
				require.Equal(t, stored.document, string(d.Raw()))
				require.Equal(t, stored.location, v.MetadataLocation)
				again, same := loadView(t, c, id)
				require.Same(t, d, same)
				require.Equal(t, v.Version, again.Version)
				changed := u.writeView(id, 2)
				moved, d := loadView(t, c, id)
				require.Equal(t, changed.document, string(d.Raw()))
				require.NotEqual(t, v.Version, moved.Version)
			}
			for _, id := range []mounts.Identifier{table, db.Table("missing"), {Namespace: mounts.Namespace{"missing"}, Name: "v"}} {
				_, err := c.LoadView(t.Context(), mounttest.Caller, id)
				require.Equal(t, mounts.NoSuchView, checkError(t, err))
				require.Equal(t, mounts.NoSuchView, checkError(t, c.ViewExists(t.Context(), mounttest.Caller, id)))
			}
			_, err := c.LoadTable(t.Context(), mounttest.Caller, aView, mounts.LoadOptions{})
			require.Equal(t, mounts.NoSuchTable, checkError(t, err))
			_, _, err = c.ListViews(t.Context(), mounttest.Caller, mounts.Namespace{"missing"}, mounts.Page{})
			require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
			require.Zero(t, c.Stats().Guard.Failed)
		})
	}
}

// An upstream that says it has no views isn't asked for them.
func TestNoViews(t *testing.T) {
	for name, set := range map[string]func(*upstream){
		"not advertised": func(u *upstream) { u.endpoints = tableEndpoints() },
		"by the other key": func(u *upstream) {
			u.endpoints, u.overrides = nil, map[string]string{"view-endpoints-supported": "false"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t, set)
			c := u.mount()
			noViews(t, c)
			require.Equal(t, map[string]int{"GET config": 1, "GET namespace": 2}, u.calls)
		})
	}
}

// noViews: the list is empty where the namespace exists, and there is no view.
func noViews(t *testing.T, c *rest.Catalog) {
	t.Helper()
	require.Empty(t, listViews(t, c, db))
	_, _, err := c.ListViews(t.Context(), mounttest.Caller, mounts.Namespace{"missing"}, mounts.Page{})
	require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
	_, err = c.LoadView(t.Context(), mounttest.Caller, aView)
	require.Equal(t, mounts.NoSuchView, checkError(t, err))
	require.Equal(t, mounts.NoSuchView, checkError(t, c.ViewExists(t.Context(), mounttest.Caller, aView)))
}

// One that doesn't say is asked, and may not know the route. Anything else is no absence.
func TestSilentAboutViews(t *testing.T) {
	refuse := func(u *upstream, answer http.HandlerFunc) {
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/views") {
				return false
			}
			answer(w, r)
			return true
		})
	}
	for _, answer := range []http.HandlerFunc{
		says(404, "404 page not found"), says(405, ""), says(406, ""), says(501, "<html>"),
		says(406, `{"error":{"message":"m","type":"UnsupportedOperationException","code":406}}`),
	} {
		u := withTable(t, func(u *upstream) { u.endpoints = nil })
		c := u.mount()
		refuse(u, answer)
		noViews(t, c)
		require.Equal(t, 1, u.count("GET config"), "a route that is missing is no sign that all has moved")
		require.Zero(t, c.Stats().Guard.Failed)
		u.intercept(nil)
		loadView(t, c, aView)
	}
	for status, want := range map[int]mounts.Kind{500: mounts.Unavailable, 502: mounts.Unavailable, 504: mounts.Timeout, 403: mounts.Unavailable, 302: mounts.BadGateway} {
		u := withTable(t, func(u *upstream) { u.endpoints = nil })
		c := u.mount()
		refuse(u, says(status, ""))
		_, _, err := c.ListViews(t.Context(), mounttest.Caller, db, mounts.Page{})
		require.Equal(t, want, checkError(t, err))
		_, err = c.LoadView(t.Context(), mounttest.Caller, aView)
		require.Equal(t, want, checkError(t, err))
	}
	for _, missing := range []bool{false, true} { // it has views: then it knows the routes
		u := withTable(t, func(u *upstream) { u.endpoints = nil })
		c := u.mount()
		if missing {
			require.Equal(t, mounts.NoSuchView, checkError(t, c.ViewExists(t.Context(), mounttest.Caller, db.Table("missing"))))
		} else {
			loadView(t, c, aView)
		}
		refuse(u, says(404, "404 page not found"))
		_, err := c.LoadView(t.Context(), mounttest.Caller, aView)
		require.Equal(t, mounts.BadGateway, checkError(t, err))
		_, _, err = c.ListViews(t.Context(), mounttest.Caller, db, mounts.Page{})
		require.Equal(t, mounts.BadGateway, checkError(t, err))
	}
}

func TestFreshForViews(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.FreshFor = time.Minute })
	first, _ := loadView(t, c, aView)
	require.Zero(t, first.Asked)
	u.writeView(aView, 2)
	remembered, _ := loadView(t, c, aView)
	require.NotZero(t, remembered.Asked)
	require.Equal(t, first.Version, remembered.Version)
	require.Equal(t, 1, u.count("GET view"))
}

// A table and a view of one name, one after the other, don't take each other's place.
func TestTableBecomesView(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	load(t, c, table)
	u.drop(table)
	u.writeView(table, 1)
	require.Equal(t, mounts.NoSuchTable, kindOfLoad(t, c))
	_, d := loadView(t, c, table)
	require.Contains(t, string(d.Raw()), "view-uuid")
}
