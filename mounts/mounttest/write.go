package mounttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// Writable is a mount that can be written: what RunWritable works on.
type Writable interface {
	mounts.Mount
	mounts.NamespaceWriter
	mounts.TableWriter
	mounts.TableRenamer
}

// RunWritable tests what a mount promises to those who write it. open makes an empty one
// each time it is called, whose source can hold namespaces in namespaces and every valid
// name; RunWritable closes it.
func RunWritable(t *testing.T, open func(t *testing.T) Writable) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, Writable)
	}{
		{"CreateNamespace", testCreateNamespace},
		{"DropNamespace", testDropNamespace},
		{"UpdateProperties", testUpdateProperties},
		{"CreateTable", testCreateTable},
		{"CreateRefused", testCreateRefused},
		{"Staged", testStaged},
		{"Commit", testCommit},
		{"CommitRefused", testCommitRefused},
		{"ReadsItsWrites", testReadsItsWrites},
		{"Drop", testDrop},
		{"Register", testRegister},
		{"Rename", testRename},
		{"RenameRefused", testRenameRefused},
		{"RenameKeepsTheTable", testRenameKeepsTheTable},
		{"Names", testNames},
		{"LongestNames", testLongestNames},
		{"ManyPages", testManyPages},
		{"PagesWhileChanging", testPagesWhileChanging},
		{"GivenMapsAndSlices", testGivenMapsAndSlices},
		{"EndedContextWrites", testEndedContextWrites},
		{"OneCreateWins", testOneCreateWins},
		{"AllCommitsLand", testAllCommitsLand},
		{"OneConditionalCommitWins", testOneConditionalCommitWins},
		{"CreateAndDropNamespaceRace", testCreateAndDropNamespaceRace},
		{"RenamesRace", testRenamesRace},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			t.Cleanup(func() { require.NoError(t, w.Close()) })
			c.test(t, w)
		})
	}
}

// Fill puts the content of a Suite into a mount that can be written.
func Fill(t *testing.T, w Writable, c Content) {
	t.Helper()
	for _, n := range c.Namespaces {
		mustCreateNamespace(t, w, n.Name, n.Properties)
	}
	for _, id := range c.Tables {
		mustCreate(t, w, id)
	}
}

func mustCreateNamespace(t *testing.T, w Writable, n mounts.Namespace, properties map[string]string) {
	t.Helper()
	_, err := w.CreateNamespace(t.Context(), Caller, n, properties)
	require.NoError(t, err, "%q", n)
}

// mustCreate creates a table, in a namespace that is there.
func mustCreate(t *testing.T, w Writable, id mounts.Identifier) *mounts.Table {
	t.Helper()
	table, err := w.CreateTable(t.Context(), Caller, id, createBody(id.Name, ""))
	require.NoError(t, err, "%q", id)
	return table
}

// createBody is a CreateTableRequest; more are further members, each with a comma before it.
func createBody(name, more string) []byte {
	quoted, err := json.Marshal(name)
	if err != nil {
		panic(err) // strings always can
	}
	return fmt.Appendf(nil, `{"name":%s,"schema":{"type":"struct","schema-id":0,"fields":[`+
		`{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"data","required":false,"type":"string"}]}%s}`, quoted, more)
}

// setProperty is a CommitTableRequest that sets one property if the requirements hold.
func setProperty(key, value string, requirements ...string) []byte {
	list := "["
	for i, r := range requirements {
		if i > 0 {
			list += ","
		}
		list += r
	}
	return fmt.Appendf(nil, `{"requirements":%s],"updates":[{"action":"set-properties","updates":{%q:%q}}]}`, list, key, value)
}

// properties are those of a table as its document has them.
func properties(t *testing.T, table *mounts.Table) map[string]string {
	t.Helper()
	d, err := table.Metadata(t.Context())
	require.NoError(t, err)
	checkDocument(t, d)
	var metadata struct{ Properties map[string]string }
	require.NoError(t, json.Unmarshal(d.Raw(), &metadata))
	return metadata.Properties
}

// load loads a table that is there.
func load(t *testing.T, m mounts.Mount, id mounts.Identifier) *mounts.Table {
	t.Helper()
	table, err := m.LoadTable(t.Context(), Caller, id, mounts.LoadOptions{})
	require.NoError(t, err, "%q", id)
	return table
}

// sameTable checks that two answers are of one state of a table.
func sameTable(t *testing.T, a, b *mounts.Table) {
	t.Helper()
	require.Equal(t, a.Version, b.Version)
	require.Equal(t, a.MetadataLocation, b.MetadataLocation)
	require.Equal(t, a.Storage, b.Storage)
	da, err := a.Metadata(t.Context())
	require.NoError(t, err)
	db, err := b.Metadata(t.Context())
	require.NoError(t, err)
	require.Equal(t, string(da.Raw()), string(db.Raw()))
}

// target is where a tree with this mount at its root leads an identifier.
func target(t *testing.T, m mounts.Mount, id mounts.Identifier) mounts.Target {
	t.Helper()
	tree, err := mounts.NewTree("test", []mounts.Point{{Mount: m, Kind: "test"}})
	require.NoError(t, err)
	at, err := tree.ResolveTable(t.Context(), Caller, id)
	require.NoError(t, err)
	return at
}

func testCreateNamespace(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	given := map[string]string{"owner": "x", "": "empty key", "ü": "\"'\\"}
	stored, err := w.CreateNamespace(t.Context(), Caller, n, given)
	require.NoError(t, err)
	for key, value := range given {
		require.Equal(t, value, stored[key])
	}
	loaded, err := w.LoadNamespace(t.Context(), Caller, n)
	require.NoError(t, err)
	require.Equal(t, stored, loaded)

	_, err = w.CreateNamespace(t.Context(), Caller, n, nil)
	wantKind(t, err, mounts.AlreadyExists, n)
	loaded, err = w.LoadNamespace(t.Context(), Caller, n)
	require.NoError(t, err)
	require.Equal(t, stored, loaded, "a refused create changes nothing")

	_, err = w.CreateNamespace(t.Context(), Caller, mounts.Namespace{"b", "c"}, nil)
	wantKind(t, err, mounts.NoSuchNamespace, "the parent is missing")
	require.Equal(t, "b", name(err))
	stored, err = w.CreateNamespace(t.Context(), Caller, n.Child("c"), nil)
	require.NoError(t, err)
	require.NotNil(t, stored)
}

func testDropNamespace(t *testing.T, w Writable) {
	a := mounts.Namespace{"a"}
	wantKind(t, w.DropNamespace(t.Context(), Caller, a), mounts.NoSuchNamespace, a)
	mustCreateNamespace(t, w, a, nil)
	mustCreateNamespace(t, w, a.Child("b"), nil)
	mustCreateNamespace(t, w, mounts.Namespace{"ab"}, nil) // no child of a
	wantKind(t, w.DropNamespace(t.Context(), Caller, a), mounts.NamespaceNotEmpty, "it holds a namespace")
	require.NoError(t, w.DropNamespace(t.Context(), Caller, a.Child("b")))
	mustCreate(t, w, a.Table("t"))
	wantKind(t, w.DropNamespace(t.Context(), Caller, a), mounts.NamespaceNotEmpty, "it holds a table")
	require.NoError(t, w.DropTable(t.Context(), Caller, a.Table("t"), false))
	require.NoError(t, w.DropNamespace(t.Context(), Caller, a))
	_, err := w.LoadNamespace(t.Context(), Caller, a)
	wantKind(t, err, mounts.NoSuchNamespace, a)
	require.Equal(t, []mounts.Namespace{{"ab"}}, pageNamespaces(t, w, nil, 0))
	mustCreateNamespace(t, w, a, map[string]string{"second": "life"})
	loaded, err := w.LoadNamespace(t.Context(), Caller, a)
	require.NoError(t, err)
	require.Equal(t, "life", loaded["second"])
}

func testUpdateProperties(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	_, err := w.UpdateProperties(t.Context(), Caller, n, nil, map[string]string{"k": "v"})
	wantKind(t, err, mounts.NoSuchNamespace, n)
	mustCreateNamespace(t, w, n, map[string]string{"keep": "1", "change": "1", "remove": "1"})
	done, err := w.UpdateProperties(t.Context(), Caller, n, []string{"remove", "missing"}, map[string]string{"change": "2", "add": "2"})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"change", "add"}, done.Updated)
	require.ElementsMatch(t, []string{"remove"}, done.Removed)
	require.ElementsMatch(t, []string{"missing"}, done.Missing)
	loaded, err := w.LoadNamespace(t.Context(), Caller, n)
	require.NoError(t, err)
	for key, value := range map[string]string{"keep": "1", "change": "2", "add": "2"} {
		require.Equal(t, value, loaded[key])
	}
	require.NotContains(t, loaded, "remove")

	_, err = w.UpdateProperties(t.Context(), Caller, n, []string{"keep"}, map[string]string{"keep": "3"})
	wantKind(t, err, mounts.Unprocessable, "a key in both")
	done, err = w.UpdateProperties(t.Context(), Caller, n, nil, nil)
	require.NoError(t, err)
	require.NotNil(t, done.Updated)
	require.NotNil(t, done.Removed)
	require.NotNil(t, done.Missing)
	again, err := w.LoadNamespace(t.Context(), Caller, n)
	require.NoError(t, err)
	require.Equal(t, loaded, again)
}

// What a mount is given it doesn't keep, and what it returns it doesn't use again.
func testGivenMapsAndSlices(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	given := map[string]string{"k": "v"}
	stored, err := w.CreateNamespace(t.Context(), Caller, n, given)
	require.NoError(t, err)
	want := maps.Clone(stored)
	clear(given)
	clear(stored)
	n[0] = "b"
	loaded, err := w.LoadNamespace(t.Context(), Caller, mounts.Namespace{"a"})
	require.NoError(t, err)
	require.Equal(t, want, loaded)

	id := mounts.Namespace{"a"}.Table("t")
	body := createBody("t", `,"properties":{"k":"v"}`)
	table, err := w.CreateTable(t.Context(), Caller, id, body)
	require.NoError(t, err)
	clear(body)
	require.Equal(t, "v", properties(t, table)["k"])
	require.Equal(t, "v", properties(t, load(t, w, id))["k"])
	body = setProperty("k", "w")
	table, err = w.CommitTable(t.Context(), Caller, id, body)
	require.NoError(t, err)
	clear(body)
	require.Equal(t, "w", properties(t, table)["k"])
	require.Equal(t, "w", properties(t, load(t, w, id))["k"])
}

// A write whose caller has gone tells no lie about what exists, and leaves the mount whole.
func testEndedContextWrites(t *testing.T, w Writable) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	n := mounts.Namespace{"a"}
	mustCreateNamespace(t, w, n, nil)
	mustCreate(t, w, n.Table("t"))
	_, createNamespace := w.CreateNamespace(ended, Caller, mounts.Namespace{"b"}, nil)
	_, updateProperties := w.UpdateProperties(ended, Caller, n, nil, map[string]string{"k": "v"})
	_, createTable := w.CreateTable(ended, Caller, n.Table("u"), createBody("u", ""))
	_, commit := w.CommitTable(ended, Caller, n.Table("t"), setProperty("k", "v"))
	rename := w.RenameTable(ended, Caller, target(t, w, n.Table("t")), target(t, w, n.Table("v")))
	for what, err := range map[string]error{
		"create namespace": createNamespace, "update": updateProperties, "create table": createTable, "commit": commit, "rename": rename,
	} {
		if err == nil {
			continue // it was done all the same
		}
		kinds := []mounts.Kind{mounts.Unavailable, mounts.Timeout, mounts.CommitFailed, mounts.CommitStateUnknown}
		require.Contains(t, kinds, mounts.KindOf(err), "%s: %v", what, err)
	}
	tables := pageTables(t, w, n, 0)
	require.True(t, slices.ContainsFunc(tables, func(id mounts.Identifier) bool { return id.Name == "t" || id.Name == "v" }))
	for _, id := range tables {
		document(t, w, id, mounts.LoadOptions{})
	}
}
