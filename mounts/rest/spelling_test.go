package rest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// lowered is a mount as a tree has it at a mount point with "case: lower".
type lowered struct{ *rest.Catalog }

func (lowered) Canonical(name string) string { return strings.ToLower(name) }

func upper(n mounts.Namespace) mounts.Namespace {
	return strings.Split(strings.ToUpper(n.Encode()), mounts.Separator)
}

// The suite, against an upstream that takes any case and keeps what was typed.
func TestConformanceOfKeptCase(t *testing.T) {
	for name, set := range map[string]func(*upstream){
		"plain": func(*upstream) {}, "pages": func(u *upstream) { u.pageSize = 2 }, "dots separate": func(u *upstream) { u.separator = "%2E" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t, set, func(u *upstream) { u.anyCase = true })
			mounttest.Run(t, mounttest.Suite{
				Open: func(t *testing.T, content mounttest.Content) mounts.Mount {
					for _, n := range content.Namespaces {
						u.createNamespace(upper(n.Name), n.Properties)
					}
					for _, id := range content.Tables {
						u.write(upper(id.Namespace).Table(strings.ToUpper(id.Name)), 1)
					}
					m, err := rest.New(rest.Options{
						Name: "legacy", URI: u.server.URL + "/iceberg/", Warehouse: "wh", Lower: true, Timeout: 10 * time.Second,
						Documents: rest.NewDocuments(64 << 20), Now: time.Now,
					})
					require.NoError(t, err)
					return lowered{m}
				},
				Nested: true, Names: slices.DeleteFunc(mounttest.AwkwardNames(), func(name string) bool {
					return strings.ToLower(strings.ToUpper(name)) != name || strings.Contains(name, u.plainSeparator())
				}),
			})
		})
	}
}

// A point of a tree makes names lower case, and its mount reads them so.
func throughTree(t *testing.T, c *rest.Catalog, source ...string) (*mounts.Tree, func(path ...string) mounts.Target) {
	t.Helper()
	tree, err := mounts.NewTree("all", []mounts.Point{{At: mounts.Namespace{"legacy"}, Mount: c, Kind: "rest", Source: source, Lower: true}})
	require.NoError(t, err)
	return tree, func(path ...string) mounts.Target {
		at, err := tree.Resolve(t.Context(), mounttest.Caller, append(mounts.Namespace{"legacy"}, path...))
		require.NoError(t, err)
		return at
	}
}

func lowerCase(o *rest.Options) { o.Lower = true }

// Whatever is listed can be asked for in the spelling of the list, and is the same in any other.
// A mount that isn't told to ignore case believes no other spelling: a policy is decided on one.
func TestKeptCase(t *testing.T) {
	u := newUpstream(t, func(u *upstream) { u.anyCase = true })
	for _, n := range []mounts.Namespace{{"DB"}, {"DB", "Inner"}, {"Dotted.Name"}, {"\u212aelvin", "\u017fharp"}} {
		u.createNamespace(n, map[string]string{"k": "v"})
		u.write(n.Table("Orders"), 1)
		u.writeView(n.Table("Recent"), 1)
	}
	c := u.mount(lowerCase)
	tree, at := throughTree(t, c)
	children, _, err := tree.ListNamespaces(t.Context(), mounttest.Caller, at(), mounts.Page{})
	require.NoError(t, err)
	require.ElementsMatch(t, []mounts.Namespace{{"legacy", "db"}, {"legacy", "dotted.name"}}, children)
	for _, path := range [][]string{{"db"}, {"DB"}, {"dB", "INNER"}, {"dotted.NAME"}, {"Kelvin", "Sharp"}} {
		n := at(path...)
		properties, err := tree.LoadNamespace(t.Context(), mounttest.Caller, n)
		require.NoError(t, err, path)
		require.Equal(t, "v", properties["k"])
		tables, _, err := tree.ListTables(t.Context(), mounttest.Caller, n, mounts.Page{})
		require.NoError(t, err, path)
		require.Equal(t, []mounts.Identifier{n.Path.Table("orders")}, tables)
		views, _, err := tree.ListViews(t.Context(), mounttest.Caller, n, mounts.Page{})
		require.NoError(t, err, path)
		require.Equal(t, []mounts.Identifier{n.Path.Table("recent")}, views)
		for _, name := range []string{"orders", "ORDERS"} {
			target, err := tree.ResolveTable(t.Context(), mounttest.Caller, mounts.Identifier{Namespace: n.Path, Name: name})
			require.NoError(t, err)
			require.NoError(t, tree.TableExists(t.Context(), mounttest.Caller, target))
			_, err = tree.LoadTable(t.Context(), mounttest.Caller, target, mounts.LoadOptions{})
			require.NoError(t, err, path)
		}
	}
	nested, _, err := tree.ListNamespaces(t.Context(), mounttest.Caller, at("db"), mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Namespace{{"legacy", "db", "inner"}}, nested)

	below, inDB := throughTree(t, c, "Db")
	nested, _, err = below.ListNamespaces(t.Context(), mounttest.Caller, inDB(), mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Namespace{{"legacy", "inner"}}, nested)
	tables, _, err := below.ListTables(t.Context(), mounttest.Caller, inDB("Inner"), mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{mounts.Namespace{"legacy", "inner"}.Table("orders")}, tables)

	u.createNamespace(mounts.Namespace{"DOTTED", "NAME"}, nil)
	_, err = c.LoadTable(t.Context(), mounttest.Caller, mounts.Namespace{"dotted.name"}.Table("orders"), mounts.LoadOptions{})
	require.Equal(t, mounts.BadGateway, checkError(t, err), "it may not tell the two apart")

	exact := u.mount()
	_, err = exact.LoadNamespace(t.Context(), mounttest.Caller, db)
	require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
	_, _, err = exact.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.Equal(t, mounts.NoSuchNamespace, checkError(t, err))
	children, _, err = exact.ListNamespaces(t.Context(), mounttest.Caller, nil, mounts.Page{})
	require.NoError(t, err)
	require.Contains(t, children, mounts.Namespace{"DB"})
}

// Two names of an upstream that are one in lower case are listed once, and that one is asked for
// in lower case.
func TestTwoNamesOfOneLowerCase(t *testing.T) {
	u := withTable(t)
	c := u.mount(lowerCase)
	listing(t, u, []string{"DB", "Db", "other"}, []string{"OTHER", "db", "last"})
	for of, got := range listAll(t, c) {
		require.Equal(t, [][]string{{"db", "other"}, {"last"}}, got, of)
	}
	u.intercept(nil)
	u.createNamespace(mounts.Namespace{"DB"}, nil)
	u.write(mounts.Namespace{"DB"}.Table("T"), 2)
	tree, at := throughTree(t, c)
	target, err := tree.ResolveTable(t.Context(), mounttest.Caller, at("DB").Path.Table("T"))
	require.NoError(t, err)
	loaded, err := tree.LoadTable(t.Context(), mounttest.Caller, target, mounts.LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, u.tables[key(table)].location, loaded.MetadataLocation)
}

// A name that only lower case makes too long to be asked for isn't listed.
func TestNamesThatGrowInLowerCase(t *testing.T) {
	u := withTable(t)
	c := u.mount(lowerCase)
	long := strings.Repeat("\u023a", mounts.MaxPathBytes/2-2) // two bytes, and three in lower case
	require.NoError(t, db.Table(long).Validate())
	listing(t, u, []string{long, "x"})
	for of, got := range listAll(t, c) {
		require.Equal(t, [][]string{{"x"}}, got, of)
	}
	require.EqualValues(t, 3, c.Stats().Skipped)
}
