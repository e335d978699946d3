package mounts_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestWarehouse(t *testing.T) {
	one := at("one", reading())
	one.Source = ns("sales")
	in := tree(t, at("", writing()), at("legacy/eu", reading()), one)
	for _, c := range []struct {
		name   string
		at     string
		prefix string
		want   mounts.Kind
	}{
		{"", "", "", ok},
		{"piedmont", "", "", ok},
		{"legacy.eu", "legacy/eu", "legacy.eu", ok},
		{"legacy", "", "", mounts.NoSuchWarehouse},
		{"legacy.eu.x", "", "", mounts.NoSuchWarehouse},
		{"Piedmont", "", "", mounts.NoSuchWarehouse},
		{"one", "", "", mounts.BadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := in.Warehouse(c.name)
			requireKind(t, c.want, err)
			assert.Equal(t, ns(c.at), w.At)
			assert.Equal(t, c.prefix, w.Prefix)
		})
	}
	w, err := in.Warehouse("legacy.eu")
	require.NoError(t, err)
	assert.Equal(t, ns("legacy/eu/a/b"), w.Down(ns("a/b")))
	assert.Equal(t, ns("a/b"), w.Up(w.Down(ns("a/b"))))
	assert.Equal(t, ns("legacy/eu"), w.Down(nil))
}

func TestNamesInErrors(t *testing.T) {
	for _, c := range []struct {
		name               string
		at, source         string
		mountSays, treeSay string
	}{
		{"the root mount", "", "", "a.b", "a.b"},
		{"a prefix", "legacy/eu", "", "a.b", "legacy.eu.a.b"},
		{"a source", "", "sales", "sales.a", "a"},
		{"both", "legacy", "sales/eu", "sales.eu.t", "legacy.t"},
		{"the source itself", "legacy", "sales", "sales", "legacy"},
		{"a name that only begins like the source", "legacy", "sales", "salesforce.t", "salesforce.t"},
		{"no name", "legacy", "sales", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := reading()
			up.fail = fmt.Errorf("wrapped: %w", &mounts.Error{Kind: mounts.BadGateway, Name: c.mountSays, Other: c.mountSays, Detail: "{name} {other}"})
			p := at(c.at, up)
			p.Source = ns(c.source)
			in := tree(t, p)
			target, err := in.ResolveTable(ctx, who, ns(c.at).Child("x").Table("t"))
			require.NoError(t, err)
			_, err = in.LoadTable(ctx, who, target, mounts.LoadOptions{})
			var e *mounts.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.treeSay, e.Name)
			assert.Equal(t, c.treeSay, e.Other)
			assert.Equal(t, c.mountSays, errorOf(t, up.fail).Name, "the mount's own error is left as it is")
		})
	}
}

// TestNamesInErrorsOfDocuments: they come up behind the load.
func TestNamesInErrorsOfDocuments(t *testing.T) {
	for path, want := range map[string]string{"": "a.t", "legacy/eu": "legacy.eu.a.t"} {
		in := tree(t, at(path, reading("a:t")))
		target, err := in.ResolveTable(ctx, who, ns(path).Child("a").Table("t"))
		require.NoError(t, err)
		table, err := in.LoadTable(ctx, who, target, mounts.LoadOptions{})
		require.NoError(t, err)
		_, err = table.Metadata(ctx)
		assert.Equal(t, "The metadata file of "+want+" is gone", errorOf(t, err).Message())
	}
}

func errorOf(t *testing.T, err error) *mounts.Error {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	return e
}

func TestNamesInErrorsOfAWarehouse(t *testing.T) {
	in := tree(t, at("", writing()), at("legacy/eu", reading()))
	w, err := in.Warehouse("legacy.eu")
	require.NoError(t, err)
	for name, want := range map[string]string{"legacy.eu.a.t": "a.t", "legacy.eufoo": "legacy.eufoo", "other": "other", "": ""} {
		restored := w.Restore(&mounts.Error{Kind: mounts.NoSuchTable, Name: name})
		assert.Equal(t, want, errorOf(t, restored).Name)
	}
	plain := errors.New("plain")
	assert.Equal(t, plain, w.Restore(plain))
	require.NoError(t, w.Restore(nil))
	whole, err := in.Warehouse("")
	require.NoError(t, err)
	assert.Equal(t, "legacy.eu.a", errorOf(t, whole.Restore(&mounts.Error{Name: "legacy.eu.a"})).Name)
}

func TestPrepare(t *testing.T) {
	prepare := func(t *testing.T, points ...mounts.Point) (warnings []string, err error) {
		return warnings, tree(t, points...).Prepare(ctx, who, func(s string) { warnings = append(warnings, s) })
	}
	t.Run("creates ancestors in a writable mount", func(t *testing.T) {
		root := writing("b")
		for range 2 { // the second time they are there
			_, err := prepare(t, at("", root), at("a/b/c", reading()))
			require.NoError(t, err)
		}
		assert.Contains(t, root.namespaces, ns("a").Encode())
		assert.Contains(t, root.namespaces, ns("a/b").Encode())
		assert.NotContains(t, root.namespaces, ns("a/b/c").Encode(), "the mount point itself is none of its namespaces")
	})
	t.Run("refuses to hide a namespace of a writable mount", func(t *testing.T) {
		_, err := prepare(t, at("", writing("legacy")), at("legacy", reading()))
		requireKind(t, mounts.AlreadyExists, err)
		assert.Contains(t, err.Error(), "The mount at 'legacy' would hide a namespace of the mount at the root (native)")
	})
	t.Run("fails with the writable mount", func(t *testing.T) {
		for _, path := range []string{"legacy", "a/legacy"} {
			root := writing()
			root.fail = sick
			_, err := prepare(t, at("", root), at(path, reading()))
			requireKind(t, mounts.Unavailable, err)
		}
	})
	t.Run("warns of one hidden in an upstream", func(t *testing.T) {
		warnings, err := prepare(t, at("up", reading("x", "p/q")), at("up/x", reading()), at("up/p/other", reading()))
		require.NoError(t, err)
		assert.Equal(t, []string{"the mount at 'up.x' hides a namespace of the mount at 'up' (upstream)"}, warnings)
	})
	t.Run("starts with an upstream that is down", func(t *testing.T) {
		up := reading()
		up.fail = sick
		warnings, err := prepare(t, at("up", up), at("up/x/y", reading()))
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Equal(t, []string{"x/y/"}, up.asked, "asked once, for the mount point")
	})
	t.Run("asks by the names of the source", func(t *testing.T) {
		root := writing("s/legacy", "other")
		p := at("", root)
		p.Source = ns("s")
		_, err := prepare(t, p, at("other", reading()), at("a/b", reading()))
		require.NoError(t, err)
		assert.Contains(t, root.namespaces, ns("s/a").Encode())
		_, err = prepare(t, p, at("legacy", reading()))
		requireKind(t, mounts.AlreadyExists, err)
	})
}
