package mounttest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func testCreateTable(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	mustCreateNamespace(t, w, n, nil)
	id := n.Table("t")
	created := mustCreate(t, w, id)
	require.NotEmpty(t, created.MetadataLocation)
	sameTable(t, created, load(t, w, id))
	require.NoError(t, w.TableExists(t.Context(), Caller, id))
	require.Equal(t, []mounts.Identifier{id}, pageTables(t, w, n, 0))

	_, err := w.CreateTable(t.Context(), Caller, id, createBody("t", ""))
	wantKind(t, err, mounts.AlreadyExists, id)
	sameTable(t, created, load(t, w, id))
}

func testCreateRefused(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	_, err := w.CreateTable(t.Context(), Caller, n.Table("t"), createBody("t", ""))
	wantKind(t, err, mounts.NoSuchNamespace, "create in a missing namespace")
	mustCreateNamespace(t, w, n, nil)
	for _, body := range []string{
		``, `{`, `[]`, `null`, `"x"`, `{}`, `{"name":"t"}`, `{"name":"t","schema":null}`, `{"name":"t","schema":{"type":"struct"}}`,
		`{"name":"t","schema":{"type":"struct","fields":[{"id":1,"name":"x","required":true,"type":"nonsense"}]}}`,
		string(createBody("t", "")) + "{}",
	} {
		_, err := w.CreateTable(t.Context(), Caller, n.Table("t"), []byte(body))
		require.Contains(t, []mounts.Kind{mounts.BadRequest, mounts.InvalidArgument}, mounts.KindOf(err), "%s: %v", body, err)
	}
	require.Empty(t, pageTables(t, w, n, 0))
	wantKind(t, w.TableExists(t.Context(), Caller, n.Table("t")), mounts.NoSuchTable, "nothing was created")
}

// A staged table isn't there until a commit that asserts its absence makes it.
func testStaged(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	mustCreateNamespace(t, w, n, nil)
	id := n.Table("t")
	for range 2 {
		staged, err := w.CreateTable(t.Context(), Caller, id, createBody("t", `,"stage-create":true`))
		require.NoError(t, err)
		require.Empty(t, staged.MetadataLocation)
		wantKind(t, w.TableExists(t.Context(), Caller, id), mounts.NoSuchTable, "it is only staged")
	}
	require.Empty(t, pageTables(t, w, n, 0))
	body := func(location string) []byte {
		return fmt.Appendf(nil, `{"requirements":[{"type":"assert-create"}],"updates":[{"action":"assign-uuid","uuid":"0c2a7b8e-37c5-4a5f-9d5c-6f3f0d6f1a01"},`+
			`{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","schema":{"type":"struct","schema-id":0,"fields":[]},"last-column-id":0},`+
			`{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},`+
			`{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1},`+
			`{"action":"set-location","location":%q}]}`, location)
	}
	staged, err := w.CreateTable(t.Context(), Caller, id, createBody("t", `,"stage-create":true`))
	require.NoError(t, err)
	created, err := w.CommitTable(t.Context(), Caller, id, body(location(t, staged)))
	require.NoError(t, err)
	sameTable(t, created, load(t, w, id))
	_, err = w.CommitTable(t.Context(), Caller, id, body(location(t, staged)))
	require.Contains(t, []mounts.Kind{mounts.AlreadyExists, mounts.CommitFailed}, mounts.KindOf(err), "%v", err)
	sameTable(t, created, load(t, w, id))
}

// location is the table's own, as its document has it.
func location(t *testing.T, table *mounts.Table) string {
	t.Helper()
	return member[string](t, table, "location")
}

func member[T any](t *testing.T, table *mounts.Table, key string) T {
	t.Helper()
	d, err := table.Metadata(t.Context())
	require.NoError(t, err)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(d.Raw(), &members))
	var v T
	require.NoError(t, json.Unmarshal(members[key], &v), key)
	return v
}

func assertUUID(uuid string) string {
	return fmt.Sprintf(`{"type":"assert-table-uuid","uuid":%q}`, uuid)
}

func testCommit(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	mustCreateNamespace(t, w, n, nil)
	id := n.Table("t")
	before := mustCreate(t, w, id)
	uuid := member[string](t, before, "table-uuid")
	versions := map[string]bool{before.Version: true}
	for i := range 5 {
		value := fmt.Sprint(i)
		after, err := w.CommitTable(t.Context(), Caller, id, setProperty("k", value, assertUUID(uuid)))
		require.NoError(t, err)
		require.False(t, versions[after.Version], "a version came back")
		versions[after.Version] = true
		require.NotEqual(t, before.MetadataLocation, after.MetadataLocation)
		require.Equal(t, value, properties(t, after)["k"])
		sameTable(t, after, load(t, w, id))
	}
	require.Equal(t, uuid, member[string](t, load(t, w, id), "table-uuid"))
}

func testCommitRefused(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	_, err := w.CommitTable(t.Context(), Caller, n.Table("t"), setProperty("k", "v"))
	wantKind(t, err, mounts.NoSuchTable, "commit to a table without a namespace")
	mustCreateNamespace(t, w, n, nil)
	_, err = w.CommitTable(t.Context(), Caller, n.Table("t"), setProperty("k", "v"))
	wantKind(t, err, mounts.NoSuchTable, "commit to a missing table")
	created := mustCreate(t, w, n.Table("t"))
	for body, kind := range map[string]mounts.Kind{
		string(setProperty("k", "v", assertUUID("00000000-0000-0000-0000-000000000000"))):                mounts.CommitFailed,
		string(setProperty("k", "v", `{"type":"assert-current-schema-id","current-schema-id":7}`)):       mounts.CommitFailed,
		string(setProperty("k", "v", `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":17}`)): mounts.CommitFailed,
		string(setProperty("k", "v", `{"type":"assert-something-new"}`)):                                 mounts.BadRequest,
		`{"requirements":[],"updates":[{"action":"do-something-new"}]}`:                                  mounts.BadRequest,
		`{"requirements":{},"updates":[]}`:                                                               mounts.BadRequest,
		`not json`:                                                                                       mounts.BadRequest,
		`{"requirements":[],"updates":[{"action":"set-properties","updates":{"k":1}}]}`:                  mounts.BadRequest,
	} {
		_, err := w.CommitTable(t.Context(), Caller, n.Table("t"), []byte(body))
		require.Equal(t, kind, mounts.KindOf(err), "%s: %v", body, err)
	}
	sameTable(t, created, load(t, w, n.Table("t")))
}

// Nothing that was answered is forgotten: each read after a write sees it.
func testReadsItsWrites(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	mustCreateNamespace(t, w, n, nil)
	for i := range 20 {
		id := n.Table(fmt.Sprint("t", i))
		mustCreate(t, w, id)
		_, err := w.CommitTable(t.Context(), Caller, id, setProperty("k", "v"))
		require.NoError(t, err)
		require.Equal(t, "v", properties(t, load(t, w, id))["k"])
		require.Contains(t, pageTables(t, w, n, 0), id)
		require.NoError(t, w.DropTable(t.Context(), Caller, id, false))
		require.Empty(t, pageTables(t, w, n, 0))
	}
}

func testDrop(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	id := n.Table("t")
	wantKind(t, w.DropTable(t.Context(), Caller, id, false), mounts.NoSuchTable, "in a missing namespace")
	mustCreateNamespace(t, w, n, nil)
	wantKind(t, w.DropTable(t.Context(), Caller, id, true), mounts.NoSuchTable, id)
	for _, purge := range []bool{false, true} {
		first := mustCreate(t, w, id)
		require.NoError(t, w.DropTable(t.Context(), Caller, id, purge))
		_, err := w.LoadTable(t.Context(), Caller, id, mounts.LoadOptions{})
		wantKind(t, err, mounts.NoSuchTable, id)
		wantKind(t, w.DropTable(t.Context(), Caller, id, purge), mounts.NoSuchTable, id)
		again := mustCreate(t, w, id)
		require.NotEqual(t, first.Version, again.Version)
		require.NotEqual(t, location(t, first), location(t, again), "files of the one before may still be there")
		require.NoError(t, w.DropTable(t.Context(), Caller, id, purge))
	}
}

func testRegister(t *testing.T, w Writable) {
	n := mounts.Namespace{"a"}
	id := n.Table("t")
	_, err := w.RegisterTable(t.Context(), Caller, id, mounts.RegisterRequest{MetadataLocation: "file:///nowhere/x.metadata.json"})
	require.Error(t, err)
	mustCreateNamespace(t, w, n, nil)
	first := mustCreate(t, w, id)
	second, err := w.CommitTable(t.Context(), Caller, id, setProperty("k", "v"))
	require.NoError(t, err)
	_, err = w.RegisterTable(t.Context(), Caller, id, mounts.RegisterRequest{MetadataLocation: first.MetadataLocation})
	wantKind(t, err, mounts.AlreadyExists, id)
	require.NoError(t, w.DropTable(t.Context(), Caller, id, false))

	registered, err := w.RegisterTable(t.Context(), Caller, n.Table("u"), mounts.RegisterRequest{MetadataLocation: second.MetadataLocation})
	require.NoError(t, err)
	require.Equal(t, second.MetadataLocation, registered.MetadataLocation)
	sameTable(t, registered, load(t, w, n.Table("u")))
	require.Equal(t, "v", properties(t, registered)["k"])
	_, err = w.CommitTable(t.Context(), Caller, n.Table("u"), setProperty("k", "w"))
	require.NoError(t, err)

	back, err := w.RegisterTable(t.Context(), Caller, n.Table("u"), mounts.RegisterRequest{MetadataLocation: first.MetadataLocation, Overwrite: true})
	if mounts.Is(err, mounts.Unsupported) {
		require.Equal(t, "w", properties(t, load(t, w, n.Table("u")))["k"], "refused, so nothing changed")
		return
	}
	require.NoError(t, err)
	require.Equal(t, first.MetadataLocation, back.MetadataLocation)
	sameTable(t, back, load(t, w, n.Table("u")))
}
