package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// listing is an upstream whose lists of anything have these pages, whatever size was asked for.
func listing(t *testing.T, u *upstream, pages ...[]string) {
	t.Helper()
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "s") {
			return false
		}
		at := 0
		if token := r.URL.Query().Get("pageToken"); token != "" {
			_, _ = fmt.Sscanf(token, "page %d", &at)
		}
		answer := map[string]any{}
		if at+1 < len(pages) {
			answer["next-page-token"] = fmt.Sprintf("page %d", at+1)
		}
		namespaces, ids := []mounts.Namespace{}, []map[string]any{}
		for _, name := range pages[at] {
			namespaces = append(namespaces, mounts.Namespace{name})
			ids = append(ids, map[string]any{"namespace": db, "name": name})
		}
		answer["namespaces"], answer["identifiers"] = namespaces, ids
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
		return true
	})
}

// listAll is what each list of a mount says, page by page.
func listAll(t *testing.T, c *rest.Catalog) map[string][][]string {
	t.Helper()
	all := map[string][][]string{}
	page := func(of string, list func(mounts.Page) ([]string, string, error)) {
		for p := (mounts.Page{}); ; {
			names, next, err := list(p)
			require.NoError(t, err)
			require.Less(t, len(next), 200)
			all[of] = append(all[of], names)
			if p.Token = next; next == "" {
				return
			}
		}
	}
	ids := func(ids []mounts.Identifier, next string, err error) ([]string, string, error) {
		names := []string{}
		for _, id := range ids {
			require.Equal(t, db, id.Namespace)
			names = append(names, id.Name)
		}
		return names, next, err
	}
	page("namespaces", func(p mounts.Page) ([]string, string, error) {
		list, next, err := c.ListNamespaces(t.Context(), mounttest.Caller, nil, p)
		names := []string{}
		for _, n := range list {
			require.Len(t, n, 1)
			names = append(names, n[0])
		}
		return names, next, err
	})
	page("tables", func(p mounts.Page) ([]string, string, error) {
		return ids(c.ListTables(t.Context(), mounttest.Caller, db, p))
	})
	page("views", func(p mounts.Page) ([]string, string, error) {
		return ids(c.ListViews(t.Context(), mounttest.Caller, db, p))
	})
	return all
}

// What an upstream lists twice is listed once: on one page, at the edge of two, and behind an
// edge as many as came in before it.
func TestDuplicatesInLists(t *testing.T) {
	for name, c := range map[string]struct{ pages, want [][]string }{
		"none":             {[][]string{{"a", "b"}, {"c"}}, [][]string{{"a", "b"}, {"c"}}},
		"on one page":      {[][]string{{"a", "b", "a", "a", "c", "b"}}, [][]string{{"a", "b", "c"}}},
		"at an edge":       {[][]string{{"a", "b"}, {"b", "c"}, {"c", "d"}}, [][]string{{"a", "b"}, {"c"}, {"d"}}},
		"behind an edge":   {[][]string{{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, {"2", "3", "4", "5", "6", "7", "8", "9", "10"}}, [][]string{{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, {"10"}}},
		"small pages":      {[][]string{{"a"}, {"b"}, {"c"}, {"a"}, {"d"}}, [][]string{{"a"}, {"b"}, {"c"}, {}, {"d"}}},
		"at the end":       {[][]string{{"a", "b"}, {"a", "b"}}, [][]string{{"a", "b"}, {}}},
		"other case":       {[][]string{{"a", "A"}, {"a "}}, [][]string{{"a", "A"}, {"a "}}},
		"pages of nothing": {[][]string{{"a"}, {}, {"a", "b"}}, [][]string{{"a"}, {}, {"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t)
			listing(t, u, c.pages...)
			for of, got := range listAll(t, u.mount()) {
				require.Equal(t, c.want, got, of)
			}
		})
	}
}
