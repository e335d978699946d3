package mounttest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// maxPages bounds how long the tests follow tokens: a list that never ends is a fault.
const maxPages = 2000

// pageNamespaces lists the children of a namespace, by pages of at most size.
func pageNamespaces(t *testing.T, m mounts.Mount, parent mounts.Namespace, size int) []mounts.Namespace {
	t.Helper()
	var all []mounts.Namespace
	token := ""
	for range maxPages {
		names, next, err := m.ListNamespaces(t.Context(), Caller, parent, mounts.Page{Token: token, Size: size})
		require.NoError(t, err)
		all = append(all, names...)
		if next == "" {
			return all
		}
		require.NotEqual(t, token, next, "the next page is this one")
		token = next
	}
	t.Fatalf("more than %d pages below '%s'", maxPages, parent)
	return nil
}

// pageTables is pageNamespaces for tables.
func pageTables(t *testing.T, m mounts.Mount, n mounts.Namespace, size int) []mounts.Identifier {
	t.Helper()
	var all []mounts.Identifier
	token := ""
	for range maxPages {
		names, next, err := m.ListTables(t.Context(), Caller, n, mounts.Page{Token: token, Size: size})
		require.NoError(t, err)
		all = append(all, names...)
		if next == "" {
			return all
		}
		require.NotEqual(t, token, next, "the next page is this one")
		token = next
	}
	t.Fatalf("more than %d pages of tables in '%s'", maxPages, n)
	return nil
}

// children is what the content holds directly below a namespace.
func (c Content) children(parent mounts.Namespace) []mounts.Namespace {
	var all []mounts.Namespace
	for _, n := range c.Namespaces {
		if len(n.Name) == len(parent)+1 && n.Name.HasPrefix(parent) {
			all = append(all, n.Name)
		}
	}
	return all
}

// tables is what the content holds directly in a namespace.
func (c Content) tables(n mounts.Namespace) []mounts.Identifier {
	var all []mounts.Identifier
	for _, id := range c.Tables {
		if id.Namespace.Equal(n) {
			all = append(all, id)
		}
	}
	return all
}

// own leaves out what a shared source holds besides the content.
func (r *reader) own(names []mounts.Namespace) []mounts.Namespace {
	if r.Prefix == "" {
		return names
	}
	return slices.DeleteFunc(names, func(n mounts.Namespace) bool {
		return !slices.ContainsFunc(r.content.Namespaces, func(o Namespace) bool { return o.Name.HasPrefix(n) })
	})
}

func testListNamespaces(t *testing.T, r *reader) {
	listed := pageNamespaces(t, r, nil, 0)
	for _, n := range listed {
		require.Len(t, n, 1, "only direct children are listed")
	}
	require.ElementsMatch(t, r.content.children(nil), r.own(listed))
}

func testListNestedNamespaces(t *testing.T, r *reader) {
	for _, n := range r.content.Namespaces {
		require.ElementsMatch(t, r.content.children(n.Name), pageNamespaces(t, r, n.Name, 0), "below %q", n.Name)
	}
}

func testListTables(t *testing.T, r *reader) {
	for _, n := range r.content.Namespaces {
		require.ElementsMatch(t, r.content.tables(n.Name), pageTables(t, r, n.Name, 0), "in %q", n.Name)
	}
}

// Pages of any size add up to the same list, nothing twice and nothing lost.
func testPages(t *testing.T, r *reader) {
	many := r.content.Namespaces[0].Name
	tables, children := r.content.tables(many), r.content.children(many)
	for _, size := range []int{1, 2, 3, len(tables) - 1, len(tables), len(tables) + 1, 1000} {
		require.ElementsMatch(t, tables, pageTables(t, r, many, size), "pages of %d", size)
		require.ElementsMatch(t, r.content.children(nil), r.own(pageNamespaces(t, r, nil, size)), "pages of %d", size)
		require.ElementsMatch(t, children, pageNamespaces(t, r, many, size), "pages of %d", size)
	}
}

// A token that isn't the mount's own is refused, or ends the list; whether the namespace
// exists it says nothing about.
func testForeignToken(t *testing.T, r *reader) {
	many := r.content.Namespaces[0].Name
	for _, token := range []string{"no token", "~~~~", "%", "\u00ff", "eyJhIjoxfQ=="} {
		_, _, err := r.ListTables(t.Context(), Caller, many, mounts.Page{Token: token, Size: 2})
		require.False(t, absence(err), "%s: %v", token, err)
		_, _, err = r.ListNamespaces(t.Context(), Caller, nil, mounts.Page{Token: token, Size: 2})
		require.False(t, absence(err), "%s: %v", token, err)
	}
}

// What a list returned belongs to the caller, who may write over it.
func testListsAreTheCallers(t *testing.T, r *reader) {
	many := r.content.Namespaces[0].Name
	for range 2 {
		names := pageNamespaces(t, r, nil, 0)
		require.ElementsMatch(t, r.content.children(nil), r.own(slices.Clone(names)))
		for i := range names {
			names[i] = mounts.Namespace{"gone"}
		}
		tables := pageTables(t, r, many, 0)
		require.ElementsMatch(t, r.content.tables(many), tables)
		for i := range tables {
			tables[i] = mounts.Identifier{Namespace: mounts.Namespace{"gone"}, Name: "gone"}
		}
		properties, err := r.LoadNamespace(t.Context(), Caller, many)
		require.NoError(t, err)
		require.Equal(t, "someone", properties["owner"])
		properties["owner"] = "gone"
	}
}

func testLoadNamespace(t *testing.T, r *reader) {
	for _, n := range r.content.Namespaces {
		properties, err := r.LoadNamespace(t.Context(), Caller, n.Name)
		require.NoError(t, err, "%q", n.Name)
		require.NotNil(t, properties)
		for key, value := range n.Properties {
			require.Equal(t, value, properties[key], "%q of %q", key, n.Name)
		}
	}
}

// The root exists and holds no tables of its own.
func testRoot(t *testing.T, r *reader) {
	properties, err := r.LoadNamespace(t.Context(), Caller, nil)
	require.NoError(t, err)
	require.NotNil(t, properties)
	tables, next, err := r.ListTables(t.Context(), Caller, mounts.Namespace{}, mounts.Page{})
	require.NoError(t, err)
	require.Empty(t, tables)
	require.Empty(t, next)
}
