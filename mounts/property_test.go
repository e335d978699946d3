package mounts_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// letters are few, so that random names meet; some differ in case only.
var letters = []string{"a", "b", "A", "\u017f", "s", "\u212a", "k", "a.b", "\u0130"}

func randomPath(r *rand.Rand, depth int, from []string) mounts.Namespace {
	n := mounts.Namespace{}
	for range r.IntN(depth + 1) {
		n = append(n, from[r.IntN(len(from))])
	}
	return n
}

// randomTree has mounts of all sorts at random paths. Points that a tree can't hold are
// left out.
func randomTree(r *rand.Rand) *mounts.Tree {
	var points []mounts.Point
	for range r.IntN(6) {
		m := reading()
		for range r.IntN(8) {
			n := randomPath(r, 3, letters)
			for depth := range n {
				m.namespaces[n[:depth+1].Encode()] = nil
			}
		}
		p := mounts.Point{At: randomPath(r, 3, []string{"a", "b", "s", "k"}), Lower: r.IntN(3) == 0}
		switch r.IntN(3) {
		case 0:
			p.Mount = m
		case 1:
			p.Mount = folding{m}
		default:
			p.Mount = writable{m}
		}
		p.Source = randomPath(r, 1, letters)
		if _, err := mounts.NewTree("piedmont", append(slices.Clone(points), p)); err == nil {
			points = append(points, p)
		}
	}
	made, err := mounts.NewTree("piedmont", points)
	if err != nil {
		panic(err)
	}
	return made
}

// Every child that is listed is where its own name leads, is below the parent, and no
// page size changes what is listed. (Twice for a mount that holds one name in two cases.)
func TestListedChildrenResolveToThemselves(t *testing.T) {
	seen := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		in := randomTree(r)
		path := randomPath(r, 3, letters)
		parent, err := in.Resolve(ctx, who, path)
		require.NoError(t, err)
		whole, _, err := in.ListNamespaces(ctx, who, parent, mounts.Page{})
		if err != nil {
			require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%v", err)
			continue
		}
		points := map[string]int{}
		for _, n := range whole {
			seen++
			child, err := in.Resolve(ctx, who, n)
			require.NoError(t, err)
			assert.Equal(t, n, child.Path, "seed %d", seed)
			assert.Equal(t, parent.Path.Join(mounts.Namespace{n.Last()}), n, "seed %d", seed)
			if child.Place == mounts.MountPoint || child.Place == mounts.Synthetic {
				points[n.Encode()]++
				assert.Equal(t, 1, points[n.Encode()], "seed %d: %q is listed once", seed, n)
			}
		}
		size := 1 + r.IntN(4)
		assert.Equal(t, joined(whole), listed(t, in, strings.Join(path, "/"), size), "seed %d, page size %d", seed, size)
	}
	assert.Greater(t, seen, 500, "the trees are worth the test")
}

func joined(list []mounts.Namespace) (paths []string) {
	for _, n := range list {
		paths = append(paths, strings.Join(n, "/"))
	}
	return paths
}

func TestResolveIsIdempotent(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		in := randomTree(r)
		checkResolve(t, in, randomPath(r, 5, letters).Table(letters[r.IntN(len(letters))]))
	}
}

// checkResolve asserts what holds for every name that resolves.
func checkResolve(t *testing.T, in *mounts.Tree, id mounts.Identifier) {
	t.Helper()
	got, err := in.ResolveTable(ctx, who, id)
	if err != nil {
		require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
		return
	}
	again, err := in.ResolveTable(ctx, who, got.Identifier())
	require.NoError(t, err)
	require.Equal(t, got, again, "%q", id)
	require.Len(t, got.Path, len(id.Namespace))
	require.NoError(t, got.Identifier().Validate())
	if got.Point == nil {
		return
	}
	require.True(t, got.Path.HasPrefix(got.Point.At))
	require.True(t, got.Namespace.HasPrefix(got.Point.Source))
	require.True(t, got.Path[len(got.Point.At):].Equal(got.Namespace[len(got.Point.Source):]))
	for _, p := range in.Points() {
		if got.Path.HasPrefix(p.At) {
			require.LessOrEqual(t, len(p.At), len(got.Point.At), "the longest prefix wins")
		}
	}
}

// Lower case has to be stable, or a name could be decided on as one and asked for as
// another.
func TestLowerCaseIsStable(t *testing.T) {
	p := at("low", reading())
	p.Lower = true
	in := tree(t, p)
	tried := 0
	for c := rune(0x80); c <= utf8.MaxRune; c++ {
		if !utf8.ValidRune(c) || unicode.ToLower(c) == c && unicode.ToUpper(c) == c {
			continue // no letter that has cases
		}
		tried++
		once, err := in.Resolve(ctx, who, mounts.Namespace{"low", "x" + string(c)})
		require.NoError(t, err)
		twice, err := in.Resolve(ctx, who, once.Path)
		require.NoError(t, err)
		if !once.Path.Equal(twice.Path) {
			t.Errorf("%U: %q, then %q", c, once.Path, twice.Path)
		}
	}
	assert.Greater(t, tried, 2000)
}

func FuzzResolve(f *testing.F) {
	root := at("", folding{reading("a/b")})
	low := at("legacy", reading("x"))
	low.Lower, low.Source = true, ns("Source/eu")
	in := tree(f, root, low, at("legacy/x/y", reading()), at("a/b", writing()))
	for _, seed := range []string{
		"a\x1fb\x1ft", "legacy\x1fX\x1ft", "LEGACY\x1fx\x1fY\x1ft", "legacy\x1f\u017f\x1f\u0130", "a\x1f\x1fb", "\xff\x1ft", "a\x1f..\x1ft", "t", "",
		strings.Repeat("a\x1f", 70), "legacy\x1f" + strings.Repeat("\u023a", 990) + "\x1ft",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		levels := strings.Split(encoded, mounts.Separator)
		last := len(levels) - 1
		checkResolve(t, in, mounts.Namespace(levels[:last]).Table(levels[last]))
	})
}
