package mounts_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestListPagesOverTheBorder(t *testing.T) {
	for _, root := range []mounts.Mount{reading("b", "d", "f", "m2", "z"), writing("b", "d", "f", "z")} {
		in := tree(t, at("", root), at("m3", reading()), at("m1", reading()), at("m2", reading()))
		want := []string{"m1", "m2", "m3", "b", "d", "f", "z"}
		for size := range 10 {
			assert.Equal(t, want, listed(t, in, "", size), "page size %d of %T", size, root)
		}
	}
}

func TestListWithoutARootMount(t *testing.T) {
	in := tree(t, at("c/d", reading("x")), at("a", reading()), at("b", reading()))
	for size := range 5 {
		assert.Equal(t, []string{"a", "b", "c"}, listed(t, in, "", size), "page size %d", size)
		assert.Equal(t, []string{"c/d"}, listed(t, in, "c", size))
		assert.Equal(t, []string{"c/d/x"}, listed(t, in, "c/d", size))
	}
	_, _, err := in.ListNamespaces(ctx, who, resolve(t, in, "nothing"), mounts.Page{})
	assert.True(t, mounts.Is(err, mounts.NoSuchNamespace))
}

func TestListAncestors(t *testing.T) {
	native := writing("a/other", "b")
	in := tree(t, at("", native), at("a/mount", reading()), at("legacy", reading("p/q", "z")), at("legacy/p/mount", reading()))
	assert.Equal(t, []string{"legacy", "a", "b"}, listed(t, in, "", 0), "an ancestor in a writable mount is that mount's own")
	assert.Equal(t, []string{"a/mount", "a/other"}, listed(t, in, "a", 0))
	assert.Equal(t, []string{"legacy/p", "legacy/z"}, listed(t, in, "legacy", 0), "a synthetic one is listed once")
	assert.Equal(t, []string{"legacy/p/mount", "legacy/p/q"}, listed(t, in, "legacy/p", 0), "and shows what the mount around it has there")
}

func TestListOfASickMount(t *testing.T) {
	root, below := reading("a"), reading("b")
	in := tree(t, at("", root), at("legacy", below))
	below.fail = sick
	assert.Equal(t, []string{"legacy", "a"}, listed(t, in, "", 0), "a sick mount below is still listed")
	_, _, err := in.ListNamespaces(ctx, who, resolve(t, in, "legacy"), mounts.Page{})
	assert.True(t, mounts.Is(err, mounts.Unavailable), "but can't be looked into")

	root.fail = sick
	names, _, err := in.ListNamespaces(ctx, who, resolve(t, in, ""), mounts.Page{})
	assert.True(t, mounts.Is(err, mounts.Unavailable), "mount points alone would say that the rest is gone")
	assert.Empty(t, names)
}

// Some upstreams ignore the parent or list all depths at once.
func TestListDropsWhatIsNoChild(t *testing.T) {
	up := reading("a/x")
	up.extra = [][]string{{}, {"a"}, {"b"}, {"a", "x", "deep"}, {"b", "y"}}
	assert.Equal(t, []string{"legacy/a/x"}, listed(t, tree(t, at("legacy", up)), "legacy/a", 0))
}

func TestListTokens(t *testing.T) {
	rooted := tree(t, at("", reading("x")), at("a", reading()), at("b", reading()))
	for _, token := range []string{"x", "p", "p-1", "p99999999999999999999", "q1", "1"} {
		_, _, err := rooted.ListNamespaces(ctx, who, resolve(t, rooted, ""), mounts.Page{Token: token})
		assert.True(t, mounts.Is(err, mounts.BadRequest), "%q: %v", token, err)
	}
	rootless := tree(t, at("a", reading()))
	_, next, err := rooted.ListNamespaces(ctx, who, resolve(t, rooted, ""), mounts.Page{Size: 2})
	require.NoError(t, err)
	_, _, err = rootless.ListNamespaces(ctx, who, resolve(t, rootless, ""), mounts.Page{Token: next})
	assert.True(t, mounts.Is(err, mounts.BadRequest), "a token of the tree before the root mount was taken away")
}

func TestMountPointsAlwaysExist(t *testing.T) {
	gone := at("gone", reading())
	gone.Source = ns("not/there")
	down := reading()
	down.fail = sick
	in := tree(t, gone, at("down", down), at("far/away", reading()))
	for _, path := range []string{"", "gone", "down", "far", "far/away"} {
		properties, err := in.LoadNamespace(ctx, who, resolve(t, in, path))
		require.NoError(t, err, path)
		assert.Equal(t, map[string]string{}, properties)
	}
	assert.Empty(t, listed(t, in, "gone", 0))
	tables, _, err := in.ListTables(ctx, who, resolve(t, in, "gone"), mounts.Page{})
	require.NoError(t, err)
	assert.Empty(t, tables)
}

func TestReads(t *testing.T) {
	in := tree(t, at("", writing("a:t", "legacy2")), at("legacy", reading("a:t", "p/q")), at("legacy/p/m", reading()), at("x/y", reading()))
	for _, c := range []struct {
		path, name string
		want       error
	}{
		{"a", "t", nil},
		{"legacy/a", "t", nil},
		{"a", "u", &mounts.Error{Kind: mounts.NoSuchTable, Name: "a.u"}},
		{"legacy/a", "u", &mounts.Error{Kind: mounts.NoSuchTable, Name: "legacy.a.u"}},
		{"legacy", "t", &mounts.Error{Kind: mounts.NoSuchTable, Name: "legacy.t"}},
		{"x", "t", &mounts.Error{Kind: mounts.NoSuchTable, Name: "x.t"}},
		{"no/where", "t", &mounts.Error{Kind: mounts.NoSuchTable, Name: "no.where.t"}},
	} {
		t.Run(fmt.Sprintf("%s %s", c.path, c.name), func(t *testing.T) {
			target := resolveTable(t, in, c.path, c.name)
			table, err := in.LoadTable(ctx, who, target, mounts.LoadOptions{})
			exists := in.TableExists(ctx, who, target)
			if c.want == nil {
				require.NoError(t, err)
				require.NoError(t, exists)
				assert.Equal(t, "a.t", table.Version)
				return
			}
			for _, err := range []error{err, exists} {
				assert.Equal(t, message(t, c.want), message(t, err))
			}
		})
	}
	properties, err := in.LoadNamespace(ctx, who, resolve(t, in, "legacy/p"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"inner": "p"}, properties, "a synthetic place shows the mount's own properties")
	_, err = in.LoadNamespace(ctx, who, resolve(t, in, "legacy/none"))
	assert.Equal(t, "Namespace does not exist: legacy.none", message(t, err))
	_, _, err = in.ListTables(ctx, who, resolve(t, in, "legacy/none"), mounts.Page{})
	assert.Equal(t, "Namespace does not exist: legacy.none", message(t, err))
}

// withViews is a catalog whose views have the names of its tables.
type withViews struct{ *readable }

func (v withViews) ListViews(ctx context.Context, c mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	return v.ListTables(ctx, c, n, p)
}

func (v withViews) LoadView(ctx context.Context, c mounts.Caller, id mounts.Identifier) (*mounts.View, error) {
	table, err := v.LoadTable(ctx, c, id, mounts.LoadOptions{})
	return (*mounts.View)(table), err
}

func (v withViews) ViewExists(ctx context.Context, c mounts.Caller, id mounts.Identifier) error {
	return v.TableExists(ctx, c, id)
}

// A listed name is spelled as it is decided on and asked for.
func TestListedNamesAreCanonical(t *testing.T) {
	point := at("m", withViews{reading("a:Orders,b")})
	point.Lower = true
	in := tree(t, point)
	want := []mounts.Identifier{ns("m/a").Table("orders"), ns("m/a").Table("b")}
	tables, _, err := in.ListTables(ctx, who, resolve(t, in, "m/a"), mounts.Page{})
	require.NoError(t, err)
	assert.Equal(t, want, tables)
	views, _, err := in.ListViews(ctx, who, resolve(t, in, "m/a"), mounts.Page{})
	require.NoError(t, err)
	assert.Equal(t, want, views)
}
