package authz

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func BenchmarkCredential(b *testing.B) {
	c := &clock{at: time.Now()}
	a := newAuthenticator(b, &memory{}, c)
	token, _, err := a.Token("etl", secretETL)
	require.NoError(b, err)
	for name, credential := range map[string]string{"key": "etl:" + secretETL, "token": token} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Credential(ctx, credential); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("token first seen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := a.tokens.verify(ctx, token); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sign", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := a.Token("etl", secretETL); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// manyPolicies permit n teams one namespace each, and the last one to the group that asks.
func manyPolicies(n int) string {
	var text strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&text, "permit(principal in Group::\"team%d\", action in Action::\"read\", resource in Namespace::\"area%d\");\n", i, i)
	}
	text.WriteString(`permit(principal in Group::"readers", action in Action::"read", resource in Namespace::"sales");`)
	return text.String()
}

func BenchmarkAllowed(b *testing.B) {
	id, o := user("etl", "writers", "readers"), table("sales/eu", "orders")
	for _, n := range []int{1, 20, 1000} {
		a := authorizer(b, manyPolicies(n))
		b.Run(fmt.Sprintf("remembered/policies=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !a.Allowed(id, LoadTable, o) {
					b.Fatal("denied")
				}
			}
		})
		b.Run(fmt.Sprintf("decided/policies=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a.decide(id, LoadTable, o, o.ID()) != permitted {
					b.Fatal("denied")
				}
			}
		})
	}
}

// The deepest name that a client may send, against policies about namespaces elsewhere.
func BenchmarkAllowedDeep(b *testing.B) {
	o := Object{Type: Table, Path: strings.Split(strings.Repeat("twenty_nine_letters_or_so_..,", mounts.MaxLevels)[:30*mounts.MaxLevels-mounts.MaxLevels-1], ","), Name: "t", InMount: true}
	require.NoError(b, mounts.Identifier{Namespace: o.Path, Name: o.Name}.Validate())
	for _, n := range []int{20, 1000} {
		a := authorizer(b, strings.ReplaceAll(manyPolicies(n), "team", "readers"), `permit(principal, action, resource in Namespace::"twenty");`)
		id := user("etl", "readers", "readers0", "readers1", "readers2")
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.decide(id, LoadTable, o, o.ID())
			}
		})
	}
}

func BenchmarkVisibleChildren(b *testing.B) {
	id, parent := user("etl", "readers"), namespace("sales/eu")
	for name, extra := range map[string]string{
		"uniform": "", "told apart": `forbid(principal, action, resource) when { resource.name like "secret_*" };`,
	} {
		a := authorizer(b, manyPolicies(20), extra)
		for _, n := range []int{300, 1000} {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("table_%04d", i)
			}
			b.Run(fmt.Sprintf("%s/names=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					visible := a.VisibleChildren(id, parent, Table, names)
					for i := range names {
						if !visible(i) {
							b.Fatal("hidden")
						}
					}
				}
			})
		}
	}
}
