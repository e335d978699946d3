package authz

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

var everyAction = []Action{
	ListNamespaces, LoadNamespaceMetadata, NamespaceExists, ListTables, LoadTable, TableExists, ReportMetrics, ListViews, LoadView, ViewExists,
	CreateNamespace, CreateTable, UpdateTable, RenameTable, CreateView, ReplaceView, RenameView,
	DropNamespace, UpdateProperties, RegisterTable, UnregisterTable, DropTable, RegisterView, DropView,
}

// objectOf is an object that the action is about.
func objectOf(a Action) Object {
	switch a {
	case LoadTable, TableExists, ReportMetrics, CreateTable, UpdateTable, RenameTable, RegisterTable, UnregisterTable, DropTable:
		return table("a/b", "t")
	case LoadView, ViewExists, CreateView, ReplaceView, RenameView, RegisterView, DropView:
		return view("a/b", "v")
	default:
		return namespace("a/b")
	}
}

func TestDefaultPolicies(t *testing.T) {
	a, err := NewAuthorizer(nil)
	require.NoError(t, err)
	admin := Identity{Caller: mounts.Caller{Principal: "root"}, Admin: true}
	require.Len(t, everyAction, len(actionGroups))
	for _, action := range everyAction {
		assert.True(t, a.Allowed(admin, action, objectOf(action)), action)
		for _, other := range []Identity{user("admin"), user("root", "admin"), user(""), user(`Role::"admin"`)} {
			assert.False(t, a.Allowed(other, action, objectOf(action)), "nobody is an admin by name: %v", other)
		}
	}
}

func TestPolicies(t *testing.T) {
	etl, writer := user("etl"), user("w", "writers", "others")
	oidc := user("https://idp.example/realm/etl")
	for _, c := range []struct {
		name, policy string
		yes, no      func(a *Authorizer) bool
	}{
		{
			"a user", `permit(principal == User::"etl", action, resource);`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a", "t")) },
			func(a *Authorizer) bool { return a.Allowed(oidc, LoadTable, table("a", "t")) },
		},
		{
			"a group", `permit(principal in Group::"writers", action, resource);`,
			func(a *Authorizer) bool { return a.Allowed(writer, DropView, view("a", "v")) },
			func(a *Authorizer) bool { return a.Allowed(user("writers"), DropView, view("a", "v")) },
		},
		{
			"an action", `permit(principal, action == Action::"loadTable", resource);`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a", "t")) },
			func(a *Authorizer) bool { return a.Allowed(etl, TableExists, table("a", "t")) },
		},
		{
			"a group of actions", `permit(principal, action in Action::"read", resource);`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a", "t")) },
			func(a *Authorizer) bool { return a.Allowed(etl, UpdateTable, table("a", "t")) },
		},
		{
			"groups of actions and an action", `permit(principal, action in [Action::"write", Action::"dropTable"], resource);`,
			func(a *Authorizer) bool {
				return a.Allowed(etl, CreateTable, table("a", "t")) && a.Allowed(etl, DropTable, table("a", "t"))
			},
			func(a *Authorizer) bool {
				return a.Allowed(etl, RegisterTable, table("a", "t")) || a.Allowed(etl, LoadTable, table("a", "t"))
			},
		},
		{
			"a namespace and all below", `permit(principal, action, resource in Namespace::"a.b");`,
			func(a *Authorizer) bool {
				return a.Allowed(etl, NamespaceExists, namespace("a/b")) && a.Allowed(etl, LoadTable, table("a/b/c/d", "t"))
			},
			func(a *Authorizer) bool {
				return a.Allowed(etl, NamespaceExists, namespace("a")) || a.Allowed(etl, LoadTable, table("a/bb", "t")) ||
					a.Allowed(etl, LoadTable, table("a.b", "t"))
			},
		},
		{
			"the root is around everything", `permit(principal, action, resource in Namespace::"");`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, in("legacy", table("legacy/a", "t"))) },
			func(*Authorizer) bool { return false },
		},
		{
			"one namespace", `permit(principal, action, resource == Namespace::"a.b");`,
			func(a *Authorizer) bool { return a.Allowed(etl, ListTables, namespace("a/b")) },
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a/b", "t")) },
		},
		{
			"one table", `permit(principal, action, resource == Table::"a.t");`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a", "t")) },
			func(a *Authorizer) bool {
				return a.Allowed(etl, LoadTable, table("a", "u")) || a.Allowed(etl, LoadView, view("a", "t")) || a.Allowed(etl, ListTables, namespace("a/t"))
			},
		},
		{
			"a mount", `permit(principal, action, resource in Mount::"legacy");`,
			func(a *Authorizer) bool {
				return a.Allowed(etl, NamespaceExists, in("legacy", namespace("legacy"))) && a.Allowed(etl, LoadTable, in("legacy", table("legacy/a", "t")))
			},
			func(a *Authorizer) bool {
				return a.Allowed(etl, LoadTable, in("legacy.eu", table("legacy/eu/a", "t"))) || a.Allowed(etl, LoadTable, table("legacy/a", "t"))
			},
		},
		{
			"the root mount", `permit(principal, action, resource in Mount::"");`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a", "t")) },
			func(a *Authorizer) bool {
				return a.Allowed(etl, LoadTable, in("legacy", table("legacy/a", "t"))) ||
					a.Allowed(etl, NamespaceExists, Object{Type: Namespace, Path: ns("far")})
			},
		},
		{
			"tables only", `permit(principal, action, resource is Table in Namespace::"a");`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a/b", "t")) },
			func(a *Authorizer) bool {
				return a.Allowed(etl, NamespaceExists, namespace("a/b")) || a.Allowed(etl, LoadView, view("a/b", "t"))
			},
		},
		{
			"a name", `permit(principal, action, resource) when { resource.name like "tmp_*" };`,
			func(a *Authorizer) bool {
				return a.Allowed(etl, LoadTable, table("a", "tmp_1")) && a.Allowed(etl, ListTables, namespace("a/tmp_2"))
			},
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("tmp_a", "t")) },
		},
		{
			"a path", `permit(principal, action, resource) when { resource.path like "a.*" };`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a/b", "t")) },
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("ab", "t")) },
		},
		{
			"a namespace spelled out", `permit(principal, action, resource) when { Namespace::"a.b%25".name == "b%" && Namespace::"a.b%25" in Namespace::"" };`,
			func(a *Authorizer) bool {
				return a.Allowed(etl, LoadTable, table("a/b%/c", "t")) && a.Allowed(etl, ListTables, namespace("a/b%"))
			},
			func(a *Authorizer) bool {
				return a.Allowed(etl, LoadTable, table("a/b%c", "t")) || a.Allowed(etl, LoadTable, table("x", "t"))
			},
		},
		{
			"unless", `permit(principal, action, resource) unless { principal in Group::"writers" };`,
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a", "t")) },
			func(a *Authorizer) bool { return a.Allowed(writer, LoadTable, table("a", "t")) },
		},
		{
			"forbid wins", `permit(principal, action, resource); forbid(principal, action in Action::"manage", resource in Namespace::"a");`,
			func(a *Authorizer) bool { return a.Allowed(etl, DropTable, table("b", "t")) },
			func(a *Authorizer) bool { return a.Allowed(etl, DropTable, table("a", "t")) },
		},
		{
			"forbid binds admins", `forbid(principal, action, resource == Table::"a.t");`,
			func(a *Authorizer) bool {
				return a.Allowed(Identity{Caller: etl.Caller, Admin: true}, DropTable, table("a", "u"))
			},
			func(a *Authorizer) bool {
				return a.Allowed(Identity{Caller: etl.Caller, Admin: true}, DropTable, table("a", "t"))
			},
		},
		{
			"an OIDC principal is none of ours", `permit(principal == User::"https://idp.example/realm/etl", action, resource);`,
			func(a *Authorizer) bool { return a.Allowed(oidc, LoadTable, table("a", "t")) },
			func(a *Authorizer) bool { return a.Allowed(etl, LoadTable, table("a", "t")) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := authorizer(t, c.policy)
			for range 2 { // decided, then remembered
				assert.True(t, c.yes(a))
				assert.False(t, c.no(a))
			}
		})
	}
}

func TestPolicyTyposAreRefused(t *testing.T) {
	for _, c := range []struct{ policy, want string }{
		{`permit(principal, action == Action::"loadTabel", resource);`, "loadTabel"},
		{`permit(principal, action in Action::"reads", resource);`, "reads"},
		{`permit(principal, action == Action::"read", resource);`, "applicable action"},
		{`permit(principal, action == Action::"loadTable", resource == Namespace::"a");`, "applicable action"},
		{`permit(principal, action, resource in Nmespace::"a");`, "Nmespace"},
		{`permit(principal, action, resource is Tabel);`, "Tabel"},
		{`permit(principal, action, resource == Mount::"m");`, "applicable action"},
		{`permit(principal == Group::"g", action, resource);`, "applicable action"},
		{`permit(principal in Gruop::"g", action, resource);`, "Gruop"},
		{`permit(principal in Role::"admins", action, resource);`, `Role::"admins"`},
		{`permit(principal, action, resource) when { principal in Role::"boss" };`, `Role::"boss"`},
		{`forbid(principal, action, resource) when { resource.nam == "x" };`, "nam"},
		{`forbid(principal, action, resource) when { resource has owner };`, "owner"},
		{`forbid(principal, action, resource) when { resource is Tabel };`, "Tabel"},
		{`forbid(principal, action, resource) when { resource is Tabel in Namespace::"a" };`, "Tabel"},
		{`forbid(principal, action, resource) when { principal.name == "x" };`, "name"},
		{`forbid(principal, action, resource) when { context.table == "x" };`, "table"},
		{`forbid(principal, action, resource) when { principal == "etl" };`, "not compatible"},
		{`forbid(principal, action, resource) when { 1 };`, "Bool"},
		{`permit(principal, action, resource)`, ""},
		{`allow(principal, action, resource);`, ""},
	} {
		_, err := NewAuthorizer([]PolicyFile{
			{Name: "good.cedar", Text: []byte("permit(principal, action, resource);")},
			{Name: "dir/bad.cedar", Text: []byte("// a comment\npermit(principal, action, resource);\n\n" + c.policy)},
		})
		require.Error(t, err, c.policy)
		assert.Contains(t, err.Error(), c.want)
		assert.Contains(t, err.Error(), "dir/bad.cedar")
		if c.want != "" {
			assert.Contains(t, err.Error(), "line 4")
		}
	}
	_, err := NewAuthorizer([]PolicyFile{{Name: "empty.cedar"}, {Name: "comment.cedar", Text: []byte("// none yet")}})
	require.NoError(t, err)
}

func TestAllPolicyFaultsInOneRun(t *testing.T) {
	_, err := NewAuthorizer([]PolicyFile{
		{Name: "a.cedar", Text: []byte("permit(principal, action == Action::\"loadTabel\", resource);\n\npermit(principal in Gruop::\"g\", action, resource);")},
		{Name: "b.cedar", Text: []byte("\nallow();")},
		{Name: "c.cedar", Text: []byte("\n\npermit(principal, action, resource is Tabel);")},
		{Name: "d.cedar", Text: []byte("permit(principal, action, resource);")},
	})
	require.Error(t, err)
	for _, want := range []string{"a.cedar, line 1: ", "loadTabel", "a.cedar, line 3: ", "Gruop", "policy file b.cedar: ", "<input>:2:", "c.cedar, line 3: ", "Tabel"} {
		assert.Contains(t, err.Error(), want)
	}
	assert.NotContains(t, err.Error(), "d.cedar")
}

// No file's name may put its policies in the place of others.
func TestPolicyFilesDontReplaceEachOther(t *testing.T) {
	admin := Identity{Admin: true}
	for _, name := range []string{"admins", "0", "same.cedar"} {
		a, err := NewAuthorizer([]PolicyFile{
			{Name: name, Text: []byte(`permit(principal == User::"a", action, resource);`)},
			{Name: name, Text: []byte(`permit(principal == User::"b", action, resource);`)},
		})
		require.NoError(t, err)
		for _, id := range []Identity{admin, user("a"), user("b")} {
			assert.True(t, a.Allowed(id, LoadTable, table("a", "t")), "%s: %v", name, id)
		}
	}
}

func TestIDs(t *testing.T) {
	for want, o := range map[string]Object{
		"":               namespace(""),
		"a":              namespace("a"),
		"a.b":            namespace("a/b"),
		"a%2Eb":          namespace("a.b"),
		"a%252Eb":        namespace("a%2Eb"),
		"a%25":           namespace("a%"),
		"a.t%2Eu":        table("a", "t.u"),
		"日本.😀":           table("日本", "😀"),
		"%2E%2E%2E.%25":  table("...", "%"),
		"a b.c+d/e.\"f'": table("a b/c+d\x2fe", `"f'`),
	} {
		if strings.Contains(want, "/") { // a level with a slash can't be written with ns
			o.Path = mounts.Namespace{"a b", "c+d/e"}
		}
		assert.Equal(t, want, o.ID())
	}
}

// Long names must not fill the memory.
func TestLongNamesAreNotRemembered(t *testing.T) {
	a := authorizer(t, `permit(principal, action, resource in Namespace::"a");`)
	for _, o := range []Object{table("a", strings.Repeat("x", maxRemembered)), namespace("a/" + strings.Repeat("x", 2*maxRemembered))} {
		assert.True(t, a.Visible(user("u"), o))
		assert.True(t, a.LeadsToVisible(user("u"), o))
		assert.True(t, a.VisibleChildren(user("u"), o, Table, []string{"t"})(0))
	}
	assert.Zero(t, a.made.Len())
	assert.True(t, a.Visible(user("u"), table("a", "t")))
	assert.Equal(t, 1, a.made.Len())
}

// Two principals, groups or mounts never share a remembered decision, whatever they are
// called.
func TestRememberedDecisionsDontMix(t *testing.T) {
	a := authorizer(t,
		`permit(principal in Group::"g", action, resource);`,
		`permit(principal, action, resource in Mount::"m");`,
	)
	o := Object{Type: Table, Path: ns("a"), Name: "t"}
	asked := []struct {
		id   Identity
		o    Object
		want bool
	}{
		{user("u", "g"), o, true},
		{Identity{Caller: mounts.Caller{Principal: "u"}, Admin: true}, o, true},
		{user("u"), in("m", table("a", "t")), true},
		{user("u"), o, false},
		{user("u\x00\x00g"), o, false},
		{user("u\x00admin\x00"), o, false},
		{user("u", "x\x00g"), o, false},
		{user("u", "x", "g"), o, true},
		{user("u", "xg"), o, false},
		{user("u", "x1:g"), o, false},
		{user("u", "1:g"), o, false},
		{user("u"), in("", table("a", "t")), false},
		{user("u"), in("m.n", table("a", "t")), false},
		{user("u"), in("+m", table("a", "t")), false},
		{user("u"), Object{Type: View, Path: ns("a"), Name: "t"}, false},
		{user("u"), Object{Type: Table, Path: ns("a"), Name: "t", Mount: "m"}, false},
	}
	for range 2 {
		for _, q := range asked {
			action := LoadTable
			if q.o.Type == View {
				action = LoadView
			}
			assert.Equal(t, q.want, a.Allowed(q.id, action, q.o), "%+v %+v", q.id, q.o)
		}
	}
}

// TestAForbidThatCannotBeEvaluatedDenies: Cedar passes over a policy that fails; for a
// forbid that would be an open door.
func TestAForbidThatCannotBeEvaluatedDenies(t *testing.T) {
	var heard []PolicyError
	a := authorizer(t, `permit(principal, action, resource);`, "",
		`forbid(principal, action in Action::"manage", resource) when { Namespace::"a".name == "x" };`,
		`permit(principal, action, resource) when { principal == User::"v" && Namespace::"a".name == "x" };`,
	).Reporting(func(e PolicyError) { heard = append(heard, e) })
	etl := user("etl")
	assert.True(t, a.Allowed(etl, DropTable, table("a", "t")), "the namespace around an object can be asked about")
	assert.Empty(t, heard)
	for range 2 {
		assert.False(t, a.Allowed(etl, DropTable, table("b", "t")))
		assert.True(t, a.Forbidden(etl, DropTable, table("b", "t")))
	}
	require.Len(t, heard, 1, "one decision, remembered")
	assert.Equal(t, "test.cedar", heard[0].File)
	assert.Equal(t, 3, heard[0].Line)
	assert.True(t, heard[0].Forbid)
	assert.Contains(t, heard[0].Message, "does not exist")
	assert.True(t, a.Allowed(user("v"), LoadTable, table("b", "t")), "a permit that fails takes nothing away")
	require.Len(t, heard, 2)
	assert.False(t, heard[1].Forbid)
	assert.False(t, a.Forbidden(etl, LoadTable, table("b", "t")))
	assert.False(t, authorizer(t).Forbidden(etl, LoadTable, table("b", "t")), "nothing permits it, nothing forbids it")
}
