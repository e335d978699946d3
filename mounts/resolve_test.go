package mounts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestResolve(t *testing.T) {
	root, deep, up := writing(), writing(), reading()
	rooted := tree(t, at("", root), at("a/b", deep), at("legacy", up), at("legacy/x/y", deep))
	rootless := tree(t, at("a/b", deep), at("legacy", up))
	for _, c := range []struct {
		name  string
		in    *mounts.Tree
		path  string
		point string // "none" where no mount is around
		inner string
		place mounts.Place
	}{
		{"the root with a mount", rooted, "", "", "", mounts.MountPoint},
		{"inside the root mount", rooted, "sales/eu", "", "sales/eu", mounts.Inside},
		{"an ancestor inside a writable mount", rooted, "a", "", "a", mounts.Ancestor},
		{"the longest prefix wins", rooted, "a/b", "a.b", "", mounts.MountPoint},
		{"below a mount point", rooted, "a/b/c/d", "a.b", "c/d", mounts.Inside},
		{"beside a mount point", rooted, "a/bb", "", "a/bb", mounts.Inside},
		{"a mount point in the root mount", rooted, "legacy", "legacy", "", mounts.MountPoint},
		{"a dot doesn't lead to a mount", rooted, "a.b", "", "a.b", mounts.Inside},
		{"an ancestor inside a mount that can't be written", rooted, "legacy/x", "legacy", "x", mounts.Synthetic},
		{"a mount inside a mount", rooted, "legacy/x/y/z", "legacy.x.y", "z", mounts.Inside},
		{"exact case by default", rooted, "Legacy", "", "Legacy", mounts.Inside},
		{"the root without a mount", rootless, "", "none", "", mounts.Synthetic},
		{"an ancestor outside every mount", rootless, "a", "none", "", mounts.Synthetic},
		{"nothing", rootless, "c", "none", "", mounts.Inside},
		{"nothing below an ancestor", rootless, "a/c", "none", "", mounts.Inside},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := resolve(t, c.in, c.path)
			assert.Equal(t, c.path, strings.Join(got.Path, "/"))
			assert.Equal(t, c.place, got.Place)
			assert.Equal(t, c.inner, strings.Join(got.Namespace, "/"))
			if c.point == "none" {
				assert.Nil(t, got.Point)
				return
			}
			require.NotNil(t, got.Point)
			assert.Equal(t, c.point, got.Point.Name())
		})
	}
}

func TestResolveSourceBothWays(t *testing.T) {
	up := reading("sales/eu/west:orders", "sales/us", "salesforce/eu", "secret:plans")
	p := at("legacy", up)
	p.Source = ns("sales")
	in := tree(t, p)

	got := resolveTable(t, in, "legacy/eu/west", "orders")
	assert.Equal(t, ns("sales/eu/west").Table("orders"), got.Inner())
	assert.Equal(t, ns("legacy/eu/west").Table("orders"), got.Identifier())
	require.NoError(t, in.TableExists(ctx, who, got))
	assert.Equal(t, []string{"legacy/eu", "legacy/us"}, listed(t, in, "legacy", 0))
	assert.Equal(t, []string{"legacy/eu/west"}, listed(t, in, "legacy/eu", 0))

	tables, _, err := in.ListTables(ctx, who, resolve(t, in, "legacy/eu/west"), mounts.Page{})
	require.NoError(t, err)
	assert.Equal(t, []mounts.Identifier{ns("legacy/eu/west").Table("orders")}, tables)
	assert.True(t, mounts.Is(in.TableExists(ctx, who, resolveTable(t, in, "legacy/secret", "plans")), mounts.NoSuchTable),
		"what lies outside the subtree can't be reached")
}

// spellings are ways to write "sales", "kelvin" and "istanbul" that somebody may take for
// the same name: long s, Kelvin sign, dotted capital I.
var spellings = map[string][]string{
	"sales":    {"SALES", "Sales", "\u017fales", "\u017fALE\u017f", "sale\u017f"},
	"kelvin":   {"KELVIN", "\u212aelvin", "\u212aELVIN"},
	"istanbul": {"ISTANBUL", "\u0130stanbul", "\u0130STANBUL"},
}

func TestNoSpellingSlipsPastAMountPoint(t *testing.T) {
	root := at("", reading("sales/hidden", "kelvin/hidden", "istanbul/hidden"))
	root.Lower = true
	in := tree(t, root, at("sales", reading()), at("kelvin", reading()), at("istanbul", reading()))
	for want, all := range spellings {
		for _, spelled := range all {
			got := resolve(t, in, spelled+"/hidden")
			assert.Equal(t, want, got.Point.Name(), "%q", spelled)
			assert.Equal(t, want, got.Path[0])
			assert.Equal(t, mounts.Inside, got.Place)
		}
	}
}

func TestCanonicalNames(t *testing.T) {
	hive := reading("db1:ice")
	lowered := at("low", reading("db1:ice"))
	lowered.Lower = true
	in := tree(t, at("hive", folding{hive}), lowered, at("exact", reading("DB1:Ice")))

	for _, mount := range []string{"hive", "low"} {
		got := resolveTable(t, in, mount+"/DB1", "ICE")
		assert.Equal(t, mount+".db1.ice", got.Identifier().String())
		assert.Equal(t, "db1.ice", got.Inner().String())
		require.NoError(t, in.TableExists(ctx, who, got))
	}
	assert.Equal(t, "exact.DB1.Ice", resolveTable(t, in, "exact/DB1", "Ice").Identifier().String())
	assert.Nil(t, resolve(t, in, "HIVE").Point, "the mount point itself is spelled by the mount around it, and here is none")
	assert.Contains(t, hive.asked, "db1/ice")
}

// What a mount lists is spelled canonically too, or policies would see another name in a
// list than in a load, and a mount point would stand beside the namespace it hides.
func TestListsAreCanonical(t *testing.T) {
	up := reading("Sales:Orders,items", "HR")
	root := at("", up)
	root.Lower = true
	in := tree(t, root, at("hr", reading()))
	assert.Equal(t, []string{"hr", "sales"}, listed(t, in, "", 0))

	up.namespaces["sales"] = up.namespaces["Sales"]
	tables, _, err := in.ListTables(ctx, who, resolve(t, in, "SALES"), mounts.Page{})
	require.NoError(t, err)
	assert.ElementsMatch(t, []mounts.Identifier{ns("sales").Table("orders"), ns("sales").Table("items")}, tables)
}

func TestSourceOfACatalogThatIgnoresCase(t *testing.T) {
	up := reading("Sales/eu")
	up.extra = [][]string{{"sales", "us"}, {"other", "x"}}
	p := at("legacy", folding{up})
	p.Source = ns("Sales")
	assert.Equal(t, []string{"legacy/eu", "legacy/us"}, listed(t, tree(t, p), "legacy", 0))
}

func TestResolveRefusesBadNames(t *testing.T) {
	low := at("low", reading())
	low.Lower = true
	in := tree(t, at("", writing()), low)
	for _, path := range []string{"a//b", "a/./b", "a/../b", "a/\x1f", "a/b\x00", "low/\xff", "low/" + strings.Repeat("x", 2000)} {
		_, err := in.Resolve(ctx, who, ns(path))
		assert.True(t, mounts.Is(err, mounts.BadRequest), "%q: %v", path, err)
	}
	for _, id := range []mounts.Identifier{
		{Name: "t"}, ns("a").Table(""), ns("a").Table(".."), ns("low").Table("\xff"), ns("low").Table("a\x1fb"), ns("a//b").Table("t"),
	} {
		got, err := in.ResolveTable(ctx, who, id)
		assert.True(t, mounts.Is(err, mounts.BadRequest), "%q: %v", id, err)
		assert.Equal(t, mounts.Target{}, got)
	}
}

// İ is shorter in lower case, Ⱥ longer: what counts is the canonical name as well.
func TestResolveBoundsTheCanonicalName(t *testing.T) {
	p := at("low", reading())
	p.Lower = true
	in := tree(t, p)
	name := strings.Repeat("\u023a", 990) // two bytes, three in lower case
	require.NoError(t, ns("low/"+name).Validate())
	_, err := in.Resolve(ctx, who, ns("low/"+name))
	assert.True(t, mounts.Is(err, mounts.BadRequest))
}
