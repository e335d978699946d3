// Package mounttest holds every mounts.Mount to its contract. The test of a mount calls
// Run, and RunWritable where it can be written, each in one line; what is special about
// the mount it tests besides.
package mounttest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// Suite is a mount to be tested as one that can be read.
type Suite struct {
	// Open makes a mount whose source holds the content. It is called once; Run closes the
	// mount.
	Open func(t *testing.T, c Content) mounts.Mount
	// Nested says that the source holds namespaces in namespaces.
	Nested bool
	// Exclusive says that a namespace can't hold a table and a namespace of the same name.
	Exclusive bool
	// Names are the names besides plain ones that the source can hold, in any part of an
	// identifier: AwkwardNames, or some of them.
	Names []string
	// Prefix begins the names of all top-level namespaces of the content, for a source
	// that others use too. Whatever else its root holds is not looked at then.
	Prefix string
}

// Content is what a source holds. Each namespace stands behind its parent.
type Content struct {
	Namespaces []Namespace
	Tables     []mounts.Identifier
}

// Namespace is a namespace with the properties it was created with. A source may add more.
type Namespace struct {
	Name       mounts.Namespace
	Properties map[string]string
}

// Caller is who asks in all tests.
var Caller = mounts.Caller{Principal: "tester", Groups: []string{"testers"}}

// AwkwardNames are names that something between a client and a table may get wrong.
func AwkwardNames() []string {
	return []string{
		"a.b", "with space", " around ", "plus+sign", "100%", "%2F", "a%1Fb", "a/b", `back\slash`, `"quoted"`, "'single'",
		"a&b=c?d#e", "semi;colon", "at@colon:", "$x", "star*", "~", "...", "[x]", "Übergröße", "e\u0301", "\u00e9", "雪", "😀",
		"namespaces", "tables", "null", "CamelCase",
	}
}

// content is what every source is filled with.
func (s Suite) content() Content {
	var c Content
	add := func(n mounts.Namespace, properties map[string]string, tables ...string) {
		c.Namespaces = append(c.Namespaces, Namespace{Name: n, Properties: properties})
		for _, name := range tables {
			c.Tables = append(c.Tables, n.Table(name))
		}
	}
	top := func(name string) mounts.Namespace { return mounts.Namespace{s.Prefix + name} }
	add(top("many"), map[string]string{"owner": "someone"}, append([]string{"t1", "t2", "t3", "t4", "t5"}, s.Names...)...)
	add(top("empty"), nil)
	add(top("one"), map[string]string{"comment": "a, \"b\" and ü"}, "t1")
	if s.Nested {
		if s.Exclusive {
			add(top("many").Child("inner"), map[string]string{"owner": "another"}, "t1")
		} else {
			add(top("many").Child("inner"), map[string]string{"owner": "another"}, "t1", "deep")
		}
		add(top("many").Child("inner").Child("deep"), nil, "t1")
		add(top("one").Child("inner"), nil)
	}
	for _, name := range s.Names {
		add(top(name), nil, "t1")
		if s.Nested {
			add(top("empty").Child(name), nil, "t1")
		}
	}
	return c
}

// reader is what the tests of reading work on.
type reader struct {
	mounts.Mount
	Suite
	content Content
}

// Run tests what a mount promises to those who read it.
func Run(t *testing.T, s Suite) {
	t.Helper()
	r := &reader{Suite: s, content: s.content()}
	r.Mount = s.Open(t, r.content)
	for _, c := range []struct {
		name string
		test func(*testing.T, *reader)
	}{
		{"ListNamespaces", testListNamespaces},
		{"ListNestedNamespaces", testListNestedNamespaces},
		{"ListTables", testListTables},
		{"Pages", testPages},
		{"ForeignToken", testForeignToken},
		{"ListsAreTheCallers", testListsAreTheCallers},
		{"LoadNamespace", testLoadNamespace},
		{"Root", testRoot},
		{"LoadTable", testLoadTable},
		{"LoadTwice", testLoadTwice},
		{"LoadRefs", testLoadRefs},
		{"TableExists", testTableExists},
		{"NoSuchNamespace", testNoSuchNamespace},
		{"NoSuchTable", testNoSuchTable},
		{"OtherSpellings", testOtherSpellings},
		{"Canonical", testCanonical},
		{"EndedContext", testEndedContext},
		{"Health", testHealth},
		{"Concurrent", testConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
	require.NoError(t, r.Close())
}

// wantKind checks that err is an *mounts.Error of the kind.
func wantKind(t *testing.T, err error, kind mounts.Kind, what any) {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e, "%v", what)
	require.Equal(t, kind, e.Kind, "%v: %v", what, err)
}

// absence says whether err says that something doesn't exist.
func absence(err error) bool {
	return mounts.Is(err, mounts.NoSuchNamespace) || mounts.Is(err, mounts.NoSuchTable) || mounts.Is(err, mounts.NotFound)
}

// reads is every method of a Mount, on a namespace and a table.
func reads(m mounts.Mount, n mounts.Namespace, id mounts.Identifier) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"ListNamespaces": func(ctx context.Context) error {
			_, _, err := m.ListNamespaces(ctx, Caller, n, mounts.Page{})
			return err
		},
		"LoadNamespace": func(ctx context.Context) error { _, err := m.LoadNamespace(ctx, Caller, n); return err },
		"ListTables": func(ctx context.Context) error {
			_, _, err := m.ListTables(ctx, Caller, n, mounts.Page{})
			return err
		},
		"LoadTable": func(ctx context.Context) error {
			table, err := m.LoadTable(ctx, Caller, id, mounts.LoadOptions{})
			if err == nil {
				_, err = table.Metadata(ctx)
			}
			return err
		},
		"TableExists": func(ctx context.Context) error { return m.TableExists(ctx, Caller, id) },
	}
}

func testEndedContext(t *testing.T, r *reader) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range reads(r, r.content.Namespaces[0].Name, r.content.Tables[0]) {
		// An answer from memory is as good; an absence would be a lie.
		err := call(ended)
		require.False(t, absence(err), "%s: %v", name, err)
		require.NoError(t, call(t.Context()), "%s after a call that was given up", name)
	}
}

func testHealth(t *testing.T, r *reader) {
	h, ok := r.Mount.(mounts.HealthChecker)
	if !ok {
		return // the mount doesn't claim that it can tell
	}
	require.NoError(t, h.Health(t.Context()))
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("given up"))
	_ = h.Health(ended) // may fail or not, but comes back
}
