package mounttest

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// document loads a table and its document, which must be what Document promises.
func document(t *testing.T, m mounts.Mount, id mounts.Identifier, o mounts.LoadOptions) (*mounts.Table, mounts.Document) {
	t.Helper()
	table, err := m.LoadTable(t.Context(), Caller, id, o)
	require.NoError(t, err, "%q", id)
	require.NotEmpty(t, table.Version, "%q", id)
	d, err := table.Metadata(t.Context())
	require.NoError(t, err, "%q", id)
	checkDocument(t, d)
	return table, d
}

// checkDocument: one JSON object, and the deflated form unpacks to the same bytes.
func checkDocument(t *testing.T, d mounts.Document) {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(d.Raw(), &members))
	require.Contains(t, members, "format-version")
	require.Contains(t, members, "location")
	blocks, crc := d.Deflated()
	require.Equal(t, crc32.ChecksumIEEE(d.Raw()), crc)
	final := []byte{0x01, 0x00, 0x00, 0xff, 0xff} // an empty last block
	plain, err := io.ReadAll(flate.NewReader(io.MultiReader(bytes.NewReader(blocks), bytes.NewReader(final))))
	require.NoError(t, err)
	require.True(t, bytes.Equal(d.Raw(), plain), "the deflated form unpacks to something else")
}

func testLoadTable(t *testing.T, r *reader) {
	uuids := map[string]mounts.Identifier{}
	for _, id := range r.content.Tables {
		_, d := document(t, r, id, mounts.LoadOptions{})
		var metadata struct {
			UUID string `json:"table-uuid"`
		}
		require.NoError(t, json.Unmarshal(d.Raw(), &metadata))
		if metadata.UUID == "" {
			continue // format version 1 may have none
		}
		other, taken := uuids[metadata.UUID]
		require.False(t, taken, "%q and %q are one table", id, other)
		uuids[metadata.UUID] = id
	}
}

// A table that doesn't change keeps its version, location and document.
func testLoadTwice(t *testing.T, r *reader) {
	for _, id := range r.content.Tables {
		first, d1 := document(t, r, id, mounts.LoadOptions{})
		again, d2 := document(t, r, id, mounts.LoadOptions{})
		require.Equal(t, first.Version, again.Version, "%q", id)
		require.Equal(t, first.MetadataLocation, again.MetadataLocation, "%q", id)
		require.Equal(t, first.Storage, again.Storage, "%q", id)
		require.JSONEq(t, string(d1.Raw()), string(d2.Raw()), "%q", id)
	}
}

// Reduced to what branches and tags name, a document differs in its snapshots alone.
func testLoadRefs(t *testing.T, r *reader) {
	id := r.content.Tables[0]
	table, all := document(t, r, id, mounts.LoadOptions{})
	reduced, refs := document(t, r, id, mounts.LoadOptions{Snapshots: mounts.SnapshotsRefs})
	require.Equal(t, table.Version, reduced.Version)
	require.Equal(t, withoutSnapshots(t, all), withoutSnapshots(t, refs))
	require.LessOrEqual(t, len(refs.Raw()), len(all.Raw()))
}

func withoutSnapshots(t *testing.T, d mounts.Document) map[string]any {
	t.Helper()
	var members map[string]any
	require.NoError(t, json.Unmarshal(d.Raw(), &members))
	delete(members, "snapshots")
	return members
}

func testTableExists(t *testing.T, r *reader) {
	for _, id := range r.content.Tables {
		require.NoError(t, r.TableExists(t.Context(), Caller, id), "%q", id)
	}
}

func testNoSuchNamespace(t *testing.T, r *reader) {
	missing := []mounts.Namespace{{r.Prefix + "missing"}}
	if r.Nested {
		one := r.content.Namespaces[0].Name
		missing = append(missing, one.Child("missing"), mounts.Namespace{r.Prefix + "missing", "inner"}, one.Child("t1"))
	}
	for _, n := range missing {
		_, _, err := r.ListNamespaces(t.Context(), Caller, n, mounts.Page{})
		wantKind(t, err, mounts.NoSuchNamespace, n)
		require.Equal(t, n.String(), name(err))
		_, err = r.LoadNamespace(t.Context(), Caller, n)
		wantKind(t, err, mounts.NoSuchNamespace, n)
		require.Equal(t, n.String(), name(err))
		_, _, err = r.ListTables(t.Context(), Caller, n, mounts.Page{})
		wantKind(t, err, mounts.NoSuchNamespace, n)
		require.Equal(t, n.String(), name(err))
	}
}

// name is the object an error is about.
func name(err error) string {
	e, _ := err.(*mounts.Error) //nolint:errorlint // mounts return it unwrapped; wantKind has looked
	if e == nil {
		return ""
	}
	return e.Name
}

func testNoSuchTable(t *testing.T, r *reader) {
	many, missing := r.content.Namespaces[0].Name, mounts.Namespace{r.Prefix + "missing"}
	ids := []mounts.Identifier{many.Table("missing"), missing.Table("t1"), r.content.Namespaces[1].Name.Table("t1")}
	if r.Nested {
		ids = append(ids, many.Table("inner"), many.Child("missing").Table("t1"))
	}
	for _, id := range ids {
		_, err := r.LoadTable(t.Context(), Caller, id, mounts.LoadOptions{})
		wantKind(t, err, mounts.NoSuchTable, id)
		require.Equal(t, id.String(), name(err))
		err = r.TableExists(t.Context(), Caller, id)
		wantKind(t, err, mounts.NoSuchTable, id)
		require.Equal(t, id.String(), name(err))
	}
}

// A policy is decided on one spelling, so no other spelling may lead to the same table,
// unless the mount tells its canonical form.
func testOtherSpellings(t *testing.T, r *reader) {
	if _, ok := r.Mount.(mounts.Canonicalizer); ok {
		return // the mount takes several spellings and says so
	}
	held := map[string]bool{}
	for _, id := range r.content.Tables {
		held[id.Namespace.Encode()+mounts.Separator+id.Name] = true
	}
	for _, id := range r.content.Tables {
		for _, other := range otherSpellings(id) {
			if held[other.Namespace.Encode()+mounts.Separator+other.Name] || other.Validate() != nil {
				continue
			}
			_, err := r.LoadTable(t.Context(), Caller, other, mounts.LoadOptions{})
			require.Error(t, err, "%q is found as %q", id, other)
			require.Error(t, r.TableExists(t.Context(), Caller, other), "%q is found as %q", id, other)
		}
	}
}

func otherSpellings(id mounts.Identifier) []mounts.Identifier {
	swap := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}, s)
	}
	swapped := make(mounts.Namespace, len(id.Namespace))
	for i, level := range id.Namespace {
		swapped[i] = swap(level)
	}
	return []mounts.Identifier{
		id.Namespace.Table(swap(id.Name)), swapped.Table(id.Name),
		mounts.Namespace{id.Namespace.String()}.Table(id.Name),                     // levels joined
		mounts.Namespace(strings.Split(id.Namespace.String(), ".")).Table(id.Name), // a level split
		id.Namespace.Table(" " + id.Name), id.Namespace.Table(id.Name + " "), id.Namespace.Table(id.Name + "/"),
		id.Namespace.Table(strings.ReplaceAll(id.Name, "+", " ")), id.Namespace.Table(strings.ReplaceAll(id.Name, " ", "+")),
		id.Namespace.Table(strings.ReplaceAll(id.Name, "%2F", "/")), id.Namespace.Table("./" + id.Name),
		// what some catalogs take for a branch, a time, parameters or quotes
		id.Namespace.Table(id.Name + "@main"), renamed(id, "@main"), id.Namespace.Table(id.Name + "#2999-01-01T00:00:00Z"),
		id.Namespace.Table(id.Name + ";v=1"), renamed(id, ";v=1"), id.Namespace.Table(id.Name + "?ref=main"),
		id.Namespace.Table("`" + id.Name + "`"), id.Namespace.Table("'" + id.Name + "'"), id.Namespace.Table(`"` + id.Name + `"`),
	}
}

// renamed is the same table in a namespace of another name.
func renamed(id mounts.Identifier, suffix string) mounts.Identifier {
	return id.Namespace.Parent().Child(id.Namespace.Last() + suffix).Table(id.Name)
}

// Canonical is a fixed point, and its spelling is the one that lists have.
func testCanonical(t *testing.T, r *reader) {
	c, ok := r.Mount.(mounts.Canonicalizer)
	if !ok {
		return // the mount takes one spelling
	}
	for _, s := range append(AwkwardNames(), "Plain", "ÄÖÜ", "İ") {
		require.Equal(t, c.Canonical(s), c.Canonical(c.Canonical(s)))
	}
	for _, n := range pageNamespaces(t, r, nil, 0) {
		require.Equal(t, n.Last(), c.Canonical(n.Last()))
	}
	for _, id := range pageTables(t, r, r.content.Namespaces[0].Name, 0) {
		require.Equal(t, id.Name, c.Canonical(id.Name))
	}
}

// All methods may be called at once.
func testConcurrent(t *testing.T, r *reader) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, id := range r.content.Tables {
				for name, call := range reads(r, id.Namespace, id) {
					if err := call(t.Context()); err != nil {
						t.Errorf("%s of %q: %v", name, id, err)
					}
				}
			}
		})
	}
	wg.Wait()
}
