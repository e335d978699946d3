package authz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// The names are few, so that policies and objects meet; some need escapes.
var names = []string{"a", "b", "a.b", "c%"}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// randomPath is a namespace of up to depth levels. Those that begin with "m" are in the
// mount "m", and those with "m", "a" in the mount "m.a"; others are in the root mount.
func randomPath(r *rand.Rand, depth int) mounts.Namespace {
	n := mounts.Namespace{}
	for range r.IntN(depth + 1) {
		n = append(n, pick(r, names))
	}
	if r.IntN(2) == 0 {
		n = append(mounts.Namespace{"m"}, n...)
	}
	return n
}

func placed(o Object) Object {
	o.InMount = true
	switch {
	case o.Path.HasPrefix(ns("m/a")):
		o.Mount = "m.a"
	case o.Path.HasPrefix(ns("m")):
		o.Mount = "m"
	}
	o.AboveMount = o.Type == Namespace && (len(o.Path) == 0 || o.Path.Equal(ns("m")))
	return o
}

func randomObject(r *rand.Rand) Object {
	o := Object{Type: pick(r, objectTypes), Path: randomPath(r, 3)}
	if o.Type != Namespace {
		o.Path, o.Name = append(o.Path, pick(r, names)), pick(r, names)
	}
	return placed(o)
}

func spelled(o Object) string { return fmt.Sprintf("%s::%q", o.Type, o.ID()) }

// randomPolicy is any policy that the schema lets pass, mostly about seeing.
func randomPolicy(r *rand.Rand) string {
	o := randomObject(r)
	space := spelled(placed(Object{Type: Namespace, Path: randomPath(r, 3)}))
	action := pick(r, []string{
		"action", "action", `action in Action::"read"`, `action == Action::"namespaceExists"`, `action == Action::"tableExists"`,
		`action in [Action::"viewExists", Action::"tableExists"]`, `action in Action::"manage"`, `action in [Action::"manage", Action::"read"]`,
	})
	resource := pick(r, []string{
		"resource", "resource == " + spelled(o), "resource in " + spelled(o), "resource in " + space, "resource in " + space,
		"resource is Table", "resource is Namespace", "resource is View in " + space, "resource is Namespace in " + space,
		`resource in Mount::""`, `resource in Mount::"m"`, `resource in Mount::"m.a"`, `resource is Table in Mount::"m"`,
	})
	condition := pick(r, []string{
		"", "", "", "", ` when { resource.name == "a" }`, ` when { resource.path like "*b" }`, ` unless { resource in ` + space + ` }`,
		` when { resource is Table }`, ` when { principal in Group::"g" }`, ` unless { principal == User::"u" }`,
		` when { ` + space + ` in Mount::"m" }`, ` when { ` + space + `.name == "a" }`, ` when { [` + space + `].contains(` + space + `) }`,
		` when { if principal in Group::"g" then resource has name else true }`,
		` when { principal in Group::"g" && resource in ` + space + ` }`, ` unless { principal in Group::"g" || resource is Table }`,
		` when { resource == ` + spelled(o) + ` }`, ` unless { resource != ` + spelled(o) + ` }`, ` when { resource in [` + space + `, Namespace::"a"] }`,
		` when { resource.path like "m.a*" }`, ` when { resource.path like "m*" }`, ` unless { resource.path like "a.b" }`, ` when { resource.path like "*" }`,
		` when { resource.path == "` + o.ID() + `" }`, ` when { resource is Table in ` + space + ` }`, ` when { [` + spelled(o) + `].contains(resource) }`,
		` when { if resource in ` + space + ` then principal in Group::"g" else resource in Mount::"m" }`,
		` when { resource.path like "m.a.*b" } unless { action == Action::"tableExists" }`, ` when { {x: resource}.x in ` + space + ` }`,
	})
	effect := pick(r, []string{"permit", "permit", "forbid"})
	principal := pick(r, []string{"principal", "principal", `principal == User::"u"`, `principal in Group::"g"`, "principal is User", `principal in Role::"admin"`})
	return effect + "(" + principal + ", " + action + ", " + resource + ")" + condition + ";"
}

var people = []Identity{user("u"), user("v", "g", "h"), {Caller: mounts.Caller{Principal: "root"}, Admin: true}}

// randomAuthorizer has a few policies; those that the validator refuses are left out.
func randomAuthorizer(r *rand.Rand) (*Authorizer, string) {
	var text strings.Builder
	for range 1 + r.IntN(4) {
		policy := randomPolicy(r) + "\n"
		if _, err := NewAuthorizer([]PolicyFile{{Name: "one", Text: []byte(policy)}}); err == nil {
			text.WriteString(policy)
		}
	}
	a, err := NewAuthorizer([]PolicyFile{{Name: "all", Text: []byte(text.String())}})
	if err != nil {
		panic(err)
	}
	return a, text.String()
}

// The shortcut for siblings is never another answer than deciding one by one.
func TestVisibleChildrenIsDecidingOneByOne(t *testing.T) {
	uniform, mixed := 0, 0
	for seed := range uint64(1200) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, policies := randomAuthorizer(r)
		path, typ, id := randomPath(r, 3), pick(r, objectTypes), pick(r, people)
		parent := placed(Object{Type: Namespace, Path: path})
		children := append(slices.Clone(names), "z")
		visible := a.VisibleChildren(id, parent, typ, children)
		if a.tellsApart(typ, parent) {
			mixed++
		} else {
			uniform++
		}
		for i, name := range children {
			o := Object{Type: typ, Path: path, Name: name, Mount: parent.Mount, InMount: true}
			if typ == Namespace {
				o.Path, o.Name = path.Child(name), ""
			}
			require.Equal(t, a.decide(id, existence(typ), o, o.ID()) == permitted, visible(i), "seed %d: %v on %v with\n%s", seed, id, o, policies)
		}
	}
	assert.Greater(t, uniform, 150)
	assert.Greater(t, mixed, 150)
	// Cedar knows an object spelled out only while it decides about it or what is below.
	spelledOut := authorizer(t, `permit(principal, action, resource) when { Namespace::"m.b" in Mount::"m" };`)
	some := spelledOut.VisibleChildren(user("u"), in("m", namespace("m")), Namespace, []string{"a", "b"})
	assert.False(t, some(0))
	assert.True(t, some(1))
	none := authorizer(t).VisibleChildren(user("u"), namespace("a"), Table, nil)
	assert.False(t, none(0))
}

// below is everything of up to three more levels at or below a namespace.
func everythingBelow(path mounts.Namespace, depth int) []Object {
	list := []Object{placed(Object{Type: Namespace, Path: path})}
	for _, name := range append(slices.Clone(names), "m") {
		if len(path) > 0 {
			list = append(list, placed(Object{Type: Table, Path: path, Name: name}), placed(Object{Type: View, Path: path, Name: name}))
		}
		if depth > 0 {
			list = append(list, everythingBelow(path.Child(name), depth-1)...)
		}
	}
	return list
}

// Whoever sees something sees the mount points and ancestors that lead there.
func TestLeadsToVisibleNeverHidesWhatIsVisible(t *testing.T) {
	visible, hidden := 0, 0
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, policies := randomAuthorizer(r)
		id := pick(r, people)
		o := placed(Object{Type: Namespace, Path: pick(r, []mounts.Namespace{{}, ns("m"), ns("m/a"), ns("a")})})
		leads := a.LeadsToVisible(id, o)
		if !leads {
			hidden++
		}
		for _, inside := range everythingBelow(o.Path, 2) {
			if a.decide(id, existence(inside.Type), inside, inside.ID()) == permitted {
				visible++
				require.True(t, leads, "seed %d: %v sees %v but not %v with\n%s", seed, id, inside, o, policies)
				break
			}
		}
	}
	assert.Greater(t, visible, 50)
	assert.Greater(t, hidden, 50)
}

func TestLeadsToVisible(t *testing.T) {
	everything := `permit(principal, action, resource);`
	mount, nested := in("m", namespace("m")), in("m.a", namespace("m/a"))
	above := mount
	above.AboveMount = true
	for _, c := range []struct {
		name     string
		policies string
		o        Object
		want     bool
	}{
		{"nothing permitted", "", mount, false},
		{"a table below", `permit(principal, action, resource == Table::"m.x.t");`, mount, true},
		{"a table elsewhere", `permit(principal, action, resource == Table::"mm.x.t");`, mount, false},
		{"the mount below", `permit(principal, action, resource in Mount::"m.a");`, above, true},
		{"the mount around a mount", `permit(principal, action, resource in Mount::"m");`, nested, false},
		{"another's table", `permit(principal == User::"v", action, resource in Namespace::"m.x");`, mount, false},
		{"loading only", `permit(principal, action == Action::"loadTable", resource);`, mount, false},
		{"all of it forbidden", everything + `forbid(principal, action, resource in Namespace::"m");`, mount, false},
		{"all of its mount forbidden", everything + `forbid(principal, action, resource in Mount::"m");`, mount, false},
		{"its mount forbidden, one below is not", everything + `forbid(principal, action, resource in Mount::"m");`, above, true},
		{"forbidden to others", everything + `forbid(principal == User::"v", action, resource);`, mount, true},
		{"tables are forbidden", `permit(principal, action, resource in Namespace::"m.x"); forbid(principal, action, resource is Table);`, mount, true},
		{"namespaces are forbidden", `permit(principal, action, resource in Namespace::"m.x"); forbid(principal, action == Action::"namespaceExists", resource);`, mount, true},
		{"a part is forbidden", everything + `forbid(principal, action, resource in Namespace::"m.x");`, mount, true},
		{"perhaps forbidden", `permit(principal, action, resource in Namespace::"m.x"); forbid(principal, action, resource) when { resource.name == "t" };`, mount, true},
		{"permitted to others by a condition", `permit(principal, action, resource) when { principal in Group::"audit" };`, mount, false},
		{"permitted by a condition", `permit(principal, action, resource) when { principal == User::"u" };`, mount, true},
		{"permitted unless in no group", `permit(principal, action, resource) unless { principal in Group::"audit" };`, mount, true},
		{"others' table, by a condition", `permit(principal, action, resource) when { principal in Group::"g" && resource in Namespace::"m" };`, mount, false},
		{"a namespace elsewhere, by a condition", `permit(principal, action, resource) when { resource in Namespace::"team" };`, mount, false},
		{"a namespace below, by a condition", `permit(principal, action, resource) when { resource in Namespace::"m.x" };`, mount, true},
		{"a namespace around, by a condition", `permit(principal, action, resource) when { resource in Namespace::"m" };`, nested, true},
		{"a table below, by a condition", `permit(principal, action, resource) when { resource == Table::"m.x.t" };`, mount, true},
		{"one of a set", `permit(principal, action, resource) when { resource in [Namespace::"b", Namespace::"m.x"] };`, mount, true},
		{"none of a set", `permit(principal, action, resource) when { resource in [Namespace::"b", Namespace::"m.x"] };`, nested, false},
		{"any name", `permit(principal, action, resource) when { resource.name like "x*" };`, mount, true},
		{"a path below", `permit(principal, action, resource) when { resource.path like "m.x*.t" };`, mount, true},
		{"a path elsewhere", `permit(principal, action, resource) when { resource.path like "mm*" };`, mount, false},
		{"any type but one", `permit(principal, action, resource) when { resource is Table } unless { resource is Table };`, mount, false},
		{"only an action that shows nothing", `permit(principal, action, resource) when { action == Action::"loadTable" };`, mount, false},
		{"forbidden by a condition", everything + `forbid(principal, action, resource) when { principal == User::"u" && resource in Namespace::"m" };`, mount, false},
		{"forbidden to others by a condition", everything + `forbid(principal, action, resource) when { principal == User::"v" };`, mount, true},
		{"a part forbidden by a condition", everything + `forbid(principal, action, resource) when { resource in Namespace::"m.x" };`, mount, true},
		{"all but a part forbidden", everything + `forbid(principal, action, resource) unless { resource in Namespace::"m.x" };`, mount, true},
		{"all but another part forbidden", everything + `forbid(principal, action, resource) unless { resource in Namespace::"b" };`, mount, false},
		{"every path below forbidden", everything + `forbid(principal, action, resource) when { resource.path like "m*" };`, mount, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := authorizer(t, c.policies)
			for range 2 {
				assert.Equal(t, c.want, a.LeadsToVisible(user("u"), c.o))
			}
		})
	}
}

// Two objects of a type never share an id, and the entity of one is never taken for the
// other's.
func FuzzID(f *testing.F) {
	for _, seed := range [][2]string{{"a\x1fb", "a.b"}, {"a%2Eb", "a.b"}, {"a%\x1f2E", "a%2E"}, {"%25", "%"}, {"\x1f", ""}, {"😀", "😀\x1f"}, {"a%2", "a%25"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		p, q := mounts.Namespace(strings.Split(one, "\x1f")), mounts.Namespace(strings.Split(two, "\x1f"))
		if p.Validate() != nil || q.Validate() != nil {
			return
		}
		a, b := Object{Type: Namespace, Path: p}, Object{Type: Namespace, Path: q}
		require.Equal(t, p.Equal(q), a.ID() == b.ID(), "%q %q", p, q)
		require.Equal(t, p.HasPrefix(q), atOrBelow(a.ID(), b.ID()), "%q %q", p, q)
		as := Object{Type: Table, Path: p.Parent(), Name: p.Last()}
		require.Equal(t, a.ID(), as.ID(), "a table's id is that of a namespace of its path, under another type")
	})
}
