package mounts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestNewTreeRefuses(t *testing.T) {
	lowered := at("", reading())
	lowered.Lower = true
	for _, c := range []struct {
		name   string
		points []mounts.Point
		want   string
	}{
		{"two at one path", []mounts.Point{at("a/b", reading()), at("a/b", reading())}, "two mounts at 'a.b'"},
		{"two at the root", []mounts.Point{at("", reading()), at("", reading())}, "two mounts at ''"},
		{"a dot", []mounts.Point{at("a/b.c", reading())}, "dot"},
		{"a percent sign", []mounts.Point{at("a%", reading())}, "percent"},
		{"an empty level", []mounts.Point{{At: mounts.Namespace{"a", ""}, Mount: reading()}}, "empty level"},
		{"dots only", []mounts.Point{at("..", reading())}, "can't be a name"},
		{"a control character", []mounts.Point{at("a\x1fb", reading())}, "control character"},
		{"the tree's own name", []mounts.Point{at("piedmont", reading())}, "would mean both"},
		{"upper case inside a lower-case mount", []mounts.Point{lowered, at("Legacy", reading())}, "lower case"},
		{"upper case inside a mount that ignores case", []mounts.Point{at("", folding{reading()}), at("Legacy", reading())}, "lower case"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := mounts.NewTree("piedmont", c.points)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
	for _, word := range []string{"namespaces", "tables", "views", "transactions", "config", "oauth"} {
		_, err := mounts.NewTree("piedmont", []mounts.Point{at(word, reading())})
		require.ErrorContains(t, err, "the REST protocol uses this word")
		_, err = mounts.NewTree("piedmont", []mounts.Point{at("x/"+word, reading())})
		require.NoError(t, err, "inside a longer path the prefix is another word")
	}
}

func TestTreeTellsItsPoints(t *testing.T) {
	in := tree(t, at("b/c", reading()), at("", reading()), at("a", reading()))
	var names []string
	for _, p := range in.Points() {
		names = append(names, p.Name())
	}
	assert.Equal(t, []string{"b.c", "", "a"}, names, "in the order given")
	assert.Equal(t, "piedmont", in.Name())
	assert.Equal(t, "b.c", in.Point("b.c").Name())
	assert.Nil(t, in.Point(""), "the root mount has no name")
	assert.True(t, resolve(t, in, "").LeadsToMount("b"))
	assert.False(t, resolve(t, in, "").LeadsToMount("c"))
	assert.True(t, resolve(t, in, "b").AboveMount())
	assert.False(t, resolve(t, in, "a").AboveMount())
	assert.False(t, resolve(t, in, "a/x").AboveMount())
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", 999)
	for _, c := range []struct {
		name string
		id   mounts.Identifier
		want string // empty where it is valid
	}{
		{"plain", ns("a/b").Table("t"), ""},
		{"any text", ns("日本/a.b/%2F +").Table("😀"), ""},
		{"no namespace", mounts.Identifier{Name: "t"}, "needs a namespace"},
		{"an empty level", ns("a//b").Table("t"), "empty level"},
		{"an empty name", ns("a").Table(""), "empty name"},
		{"a dot", ns("a/.").Table("t"), "can't be a name"},
		{"two dots", ns("a").Table(".."), "can't be a name"},
		{"three dots", ns("a").Table("..."), ""},
		{"a separator", ns("a").Table("b\x1fc"), "control character"},
		{"a newline", ns("a\n").Table("t"), "control character"},
		{"delete", ns("a").Table("\x7f"), "control character"},
		{"broken UTF-8", ns("a\xc3").Table("t"), "not valid UTF-8"},
		{"64 levels", mounts.Namespace(strings.Split(strings.Repeat("a/", 63)+"a", "/")).Table("t"), ""},
		{"65 levels", mounts.Namespace(strings.Split(strings.Repeat("a/", 64)+"a", "/")).Table("t"), "64 levels"},
		{"2,000 bytes", mounts.Namespace{long, long[1:]}.Table("x"), ""},
		{"2,001 bytes", mounts.Namespace{long, long[1:]}.Table("xy"), "2,000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.id.Validate()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			requireKind(t, mounts.BadRequest, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
	require.NoError(t, mounts.Namespace{}.Validate(), "the root")
	require.NoError(t, mounts.Namespace{long, long + "x"}.Validate(), "2,000 bytes")
	requireKind(t, mounts.BadRequest, mounts.Namespace{long, long + "xy"}.Validate())
}

func TestNamespaceNeverSharesMemory(t *testing.T) {
	base := make(mounts.Namespace, 1, 8)
	base[0] = "a"
	one, two := base.Child("x"), base.Child("y")
	joined := base.Join(ns("z"))
	assert.Equal(t, []mounts.Namespace{ns("a/x"), ns("a/y"), ns("a/z")}, []mounts.Namespace{one, two, joined})
	joined[0] = "changed"
	assert.Equal(t, "a", base[0])
}

func TestNamespace(t *testing.T) {
	assert.True(t, ns("a/b").HasPrefix(ns("a")))
	assert.True(t, ns("a").HasPrefix(nil))
	assert.False(t, ns("ab").HasPrefix(ns("a")))
	assert.False(t, ns("a").HasPrefix(ns("a/b")))
	assert.Equal(t, mounts.Namespace{}, ns("a").Parent())
	assert.True(t, mounts.Namespace{}.Parent().IsRoot())
	assert.Empty(t, mounts.Namespace{}.Last())
	assert.Equal(t, "a\x1fb", ns("a/b").Encode())
	assert.True(t, ns("a").Table("t").Equal(ns("a").Table("t")))
	assert.False(t, ns("a.b").Table("t").Equal(ns("a/b").Table("t")), "though both read a.b.t")
	assert.Equal(t, "t", mounts.Identifier{Name: "t"}.String())
}
