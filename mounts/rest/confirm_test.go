package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
)

// A list of which nothing stays is believed only of a namespace that exists, and so is a last page
// of which nothing does.
func TestListsOfNothingOfOursAreConfirmed(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	missing := mounts.Namespace{"missing"}
	for name, body := range map[string]string{
		"of others":         `{"identifiers":[{"namespace":["db"],"name":"t"}],"namespaces":[["db"],["db","x"]]}`,
		"breaking rules":    `{"identifiers":[{"namespace":["missing"],"name":""}],"namespaces":[["missing",""]]}`,
		"nothing":           `{"identifiers":[],"namespaces":[]}`,
		"null, empty token": `{"identifiers":null,"namespaces":null,"next-page-token":""}`,
	} {
		for _, p := range []mounts.Page{{}, {Token: "1.1.x"}} {
			u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				lists := strings.HasSuffix(r.URL.Path, "/tables") || strings.HasSuffix(r.URL.Path, "/views") || r.URL.Query().Has("parent")
				if lists {
					says(200, body)(w, r)
				}
				return lists
			})
			errs := map[string]error{}
			_, _, errs["tables"] = c.ListTables(t.Context(), mounttest.Caller, missing, p)
			_, _, errs["views"] = c.ListViews(t.Context(), mounttest.Caller, missing, p)
			_, _, errs["namespaces"] = c.ListNamespaces(t.Context(), mounttest.Caller, missing, p)
			for of, err := range errs {
				require.Equal(t, mounts.NoSuchNamespace, checkError(t, err), "%s: %s %v", name, of, p)
			}
		}
	}
	asked := u.count("GET namespace")
	u.intercept(afterConfig(says(200, `{"identifiers":[],"namespaces":[],"next-page-token":"y"}`)))
	_, next, err := c.ListTables(t.Context(), mounttest.Caller, missing, mounts.Page{})
	require.NoError(t, err)
	require.NotEmpty(t, next)
	require.Equal(t, asked, u.count("GET namespace"), "the last page tells")
}
