package mounts_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// ok stands for no error where a table of cases wants a Kind.
const ok = mounts.Kind(255)

func requireKind(t *testing.T, want mounts.Kind, err error) {
	t.Helper()
	if want == ok {
		require.NoError(t, err)
		return
	}
	require.Error(t, err)
	require.Equal(t, want, mounts.KindOf(err), "%v", err)
}

// writeTree has every kind of place: a writable root or none, an upstream at "up", one
// mounted below it, one below an ancestor.
func writeTree(t *testing.T, rooted bool) (*mounts.Tree, *readable) {
	up := reading("db:t", "p")
	points := []mounts.Point{at("up", up), at("up/p/deep", writing("x")), at("far/away", up)}
	if rooted {
		points = append(points, at("", writing("far", "db:t")))
	}
	return tree(t, points...), up
}

func TestCreateNamespace(t *testing.T) {
	for _, c := range []struct {
		path             string
		rooted, rootless mounts.Kind
	}{
		{"", mounts.BadRequest, mounts.BadRequest},
		{"new", ok, mounts.Unsupported},
		{"new/below/nothing", mounts.NoSuchNamespace, mounts.NoSuchNamespace},
		{"db", mounts.AlreadyExists, mounts.Unsupported},
		{"up", mounts.AlreadyExists, mounts.AlreadyExists},
		{"up/db", mounts.AlreadyExists, mounts.AlreadyExists},
		{"up/new", mounts.Unsupported, mounts.Unsupported},
		{"up/p", mounts.AlreadyExists, mounts.AlreadyExists},
		{"up/p/deep", mounts.AlreadyExists, mounts.AlreadyExists},
		{"up/p/deep/x", mounts.AlreadyExists, mounts.AlreadyExists},
		{"up/p/deep/y", ok, ok},
		{"far", mounts.AlreadyExists, mounts.AlreadyExists},
		{"far/new", ok, mounts.Unsupported},
		{"far/away", mounts.AlreadyExists, mounts.AlreadyExists},
	} {
		for rooted, want := range map[bool]mounts.Kind{true: c.rooted, false: c.rootless} {
			in, _ := writeTree(t, rooted)
			_, err := in.CreateNamespace(ctx, who, resolve(t, in, c.path), map[string]string{})
			t.Logf("%q with a root mount: %t", c.path, rooted)
			requireKind(t, want, err)
		}
	}
}

func TestCreateNamespaceWhereTheUpstreamIsDown(t *testing.T) {
	in, up := writeTree(t, true)
	up.fail = sick
	_, err := in.CreateNamespace(ctx, who, resolve(t, in, "up/new"), nil)
	requireKind(t, mounts.Unavailable, err)
}

func TestChangeNamespace(t *testing.T) {
	for _, c := range []struct {
		path                   string
		drop, update           mounts.Kind
		dropless, updatelesser mounts.Kind // without a root mount
	}{
		{"", mounts.Unsupported, mounts.Unsupported, mounts.Unsupported, mounts.Unsupported},
		{"db", ok, ok, mounts.NoSuchNamespace, mounts.NoSuchNamespace},
		{"none", mounts.NoSuchNamespace, mounts.NoSuchNamespace, mounts.NoSuchNamespace, mounts.NoSuchNamespace},
		{"far", mounts.NamespaceNotEmpty, ok, mounts.Unsupported, mounts.Unsupported},
		{"far/away", mounts.Unsupported, mounts.Unsupported, mounts.Unsupported, mounts.Unsupported},
		{"up", mounts.Unsupported, mounts.Unsupported, mounts.Unsupported, mounts.Unsupported},
		{"up/db", mounts.Unsupported, mounts.Unsupported, mounts.Unsupported, mounts.Unsupported},
		{"up/p", mounts.Unsupported, mounts.Unsupported, mounts.Unsupported, mounts.Unsupported},
		{"up/p/deep", mounts.Unsupported, mounts.Unsupported, mounts.Unsupported, mounts.Unsupported},
		{"up/p/deep/x", ok, ok, ok, ok},
	} {
		for _, rooted := range []bool{true, false} {
			drop, update := c.drop, c.update
			if !rooted {
				drop, update = c.dropless, c.updatelesser
			}
			in, up := writeTree(t, rooted)
			t.Logf("%q with a root mount: %t", c.path, rooted)
			_, err := in.UpdateProperties(ctx, who, resolve(t, in, c.path), []string{"k"}, nil)
			requireKind(t, update, err)
			requireKind(t, drop, in.DropNamespace(ctx, who, resolve(t, in, c.path)))
			assert.Empty(t, up.asked, "nothing reaches the upstream")
		}
	}
}

func TestTables(t *testing.T) {
	for _, c := range []struct {
		path                 string
		create, commit, drop mounts.Kind
	}{
		{"db", ok, ok, ok},
		{"none", mounts.NoSuchNamespace, mounts.NoSuchTable, mounts.NoSuchTable},
		{"up", mounts.Unsupported, mounts.Forbidden, mounts.Unsupported},
		{"up/db", mounts.Unsupported, mounts.Forbidden, mounts.Unsupported},
		{"up/none", mounts.Unsupported, mounts.Forbidden, mounts.Unsupported},
		{"up/p/deep", mounts.Unsupported, mounts.NoSuchTable, mounts.NoSuchTable},
		{"up/p/deep/x", ok, mounts.NoSuchTable, mounts.NoSuchTable},
		{"far/away", mounts.Unsupported, mounts.Forbidden, mounts.Unsupported},
	} {
		in, up := writeTree(t, true)
		target := resolveTable(t, in, c.path, "t")
		t.Log(c.path)
		_, err := in.CommitTable(ctx, who, target, nil)
		requireKind(t, c.commit, err)
		requireKind(t, c.drop, in.DropTable(ctx, who, target, true))
		_, err = in.CreateTable(ctx, who, target, nil)
		requireKind(t, c.create, err)
		_, err = in.RegisterTable(ctx, who, target, mounts.RegisterRequest{})
		requireKind(t, c.create, err)
		assert.Empty(t, up.asked, "nothing reaches the upstream")
	}
	in, _ := writeTree(t, false)
	for path, want := range map[string]mounts.Kind{"none": mounts.NoSuchNamespace, "far": mounts.Unsupported} {
		_, err := in.CreateTable(ctx, who, resolveTable(t, in, path, "t"), nil)
		requireKind(t, want, err)
		requireKind(t, mounts.NoSuchTable, in.DropTable(ctx, who, resolveTable(t, in, path, "t"), false))
	}
}

func TestRefusalsNameTheMount(t *testing.T) {
	in, _ := writeTree(t, true)
	_, err := in.CommitTable(ctx, who, resolveTable(t, in, "up/db", "t"), nil)
	assert.Equal(t, "The mount at 'up' (upstream) is read-only: 'up.db.t' can't be changed through it", message(t, err))
	again := in.DropTable(ctx, who, resolveTable(t, in, "up/db", "t"), false)
	assert.Equal(t, message(t, err), message(t, again), "403 and 406 say the same")

	err = in.RenameTable(ctx, who, resolveTable(t, in, "up/db", "t"), resolveTable(t, in, "db", "u"))
	assert.Equal(t, "Cannot rename up.db.t in the mount at 'up' (upstream) to db.u in the mount at the root (native): both must lie in mounts that can be written",
		message(t, err))
}

func TestRenameTable(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     mounts.Kind
	}{
		{"db", "db", ok},
		{"db", "up/p/deep/x", ok},
		{"db", "up/db", mounts.Unsupported},
		{"up/db", "db", mounts.Unsupported},
		{"up/db", "up/db", mounts.Unsupported},
		{"up", "db", mounts.Unsupported},
		{"db", "up/p/deep", mounts.Unsupported},
		{"up/p/deep", "db", mounts.NoSuchTable},
		{"none", "db", mounts.NoSuchTable},
	} {
		in, up := writeTree(t, true)
		t.Logf("%s to %s", c.from, c.to)
		requireKind(t, c.want, in.RenameTable(ctx, who, resolveTable(t, in, c.from, "t"), resolveTable(t, in, c.to, "u")))
		assert.Empty(t, up.asked, "nothing reaches the upstream")
	}
	in, _ := writeTree(t, false)
	for _, c := range []struct {
		from, to string
		want     mounts.Kind
	}{
		{"up/p/deep/x", "none", mounts.NoSuchNamespace},
		{"up/p/deep/x", "far", mounts.Unsupported},
		{"up/db", "none", mounts.Unsupported},
		{"none", "far", mounts.NoSuchTable},
	} {
		requireKind(t, c.want, in.RenameTable(ctx, who, resolveTable(t, in, c.from, "t"), resolveTable(t, in, c.to, "u")))
	}
}
