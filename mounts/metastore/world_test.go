package metastore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
)

// memory is a storage without a disk below: nobody can ask whether a file is there.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	sick  error
	reads int
}

func (m *memory) Read(_ context.Context, l vend.Location, _ int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.sick != nil {
		return nil, m.sick
	}
	b, ok := m.files[l.String()]
	if !ok {
		return nil, vend.NotFound(l, nil)
	}
	return b, nil
}

func (m *memory) Create(_ context.Context, l vend.Location, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[l.String()] = data
	return nil
}

func (m *memory) Delete(_ context.Context, l vend.Location) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, l.String())
	return nil
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sick = err
}

// world is a metastore, the storage of its tables, and the mount over both.
type world struct {
	*metastore.Catalog
	source  *metastoretest.Source
	files   *memory           // nil where the storage is another one
	profile *vend.Profile     // where tables lie
	options metastore.Options // of the mount
}

func newWorld(t *testing.T, set ...func(*world)) *world {
	t.Helper()
	w := &world{source: metastoretest.New(), files: &memory{files: map[string][]byte{}}}
	w.profile = &vend.Profile{Name: "lake", Prefix: location(t, "s3://lake/wh"), Files: w.files}
	w.options = metastore.Options{
		Name: "legacy", Kind: "hive", Source: w.source, Documents: vend.NewDocuments(64 << 20), Now: time.Now,
	}
	for _, f := range set {
		f(w)
	}
	var err error
	w.options.Storage, err = vend.NewSet("legacy", w.profile)
	require.NoError(t, err)
	w.Catalog, err = metastore.New(w.options)
	require.NoError(t, err)
	return w
}

// withTable is a world with the table db.t.
func withTable(t *testing.T, set ...func(*world)) *world {
	t.Helper()
	w := newWorld(t, set...)
	w.source.PutDatabase("db", map[string]string{"owner": "someone"})
	w.write(t, table, 1)
	return w
}

var (
	db    = mounts.Namespace{"db"}
	table = db.Table("t")
)

func location(t *testing.T, s string) vend.Location {
	t.Helper()
	l, err := vend.ParseLocation(s)
	require.NoError(t, err)
	return l
}

// write makes or changes a table: version is in its document.
func (w *world) write(t *testing.T, id mounts.Identifier, version int) string {
	t.Helper()
	return w.point(t, id, fmt.Sprintf("%05d-%s.metadata.json", version, uuid.NewString()), version)
}

// point makes or changes a table whose metadata file has that name.
func (w *world) point(t *testing.T, id mounts.Identifier, name string, version int) string {
	t.Helper()
	l := location(t, fmt.Sprintf("%s/%x/metadata/%s", w.profile.Prefix, id.String(), name))
	require.NoError(t, w.profile.Files.Create(t.Context(), l, document(version)))
	w.source.Put(id.Namespace[0], id.Name, metastore.Object{Kind: metastore.Table, MetadataLocation: l.Verbatim()})
	return l.Verbatim()
}

func document(version int) []byte {
	return fmt.Appendf(nil, `{"format-version":2,"table-uuid":%q, "location":"s3://lake/t","big":9223372036854775807,"v":%d,"current-snapshot-id":2,`+
		`"refs":{"main":{"snapshot-id":2,"type":"branch"}},"snapshots":[{"snapshot-id":1},{"snapshot-id":2}]}`, uuid.NewString(), version)
}

func (w *world) fill(t *testing.T, c mounttest.Content) {
	t.Helper()
	for _, n := range c.Namespaces {
		w.source.PutDatabase(n.Name.String(), n.Properties)
		w.source.Put(n.Name.String(), "plain", metastore.Object{Is: "a plain table"})
		w.source.Put(n.Name.String(), "view", metastore.Object{Kind: metastore.View})
	}
	for _, id := range c.Tables {
		w.write(t, id, 1)
	}
}

// lowerNames are the awkward names that a metastore can hold.
func lowerNames() []string {
	var names []string
	for _, name := range mounttest.AwkwardNames() {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func load(t *testing.T, m mounts.Mount, id mounts.Identifier) (*mounts.Table, string) {
	t.Helper()
	table, err := m.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
	require.NoError(t, err)
	d, err := table.Metadata(t.Context())
	require.NoError(t, err)
	return table, string(d.Raw())
}

// reading is every operation on db and db.t, each with its error.
func reading(ctx context.Context, c *metastore.Catalog) map[string]error {
	errs := map[string]error{
		"TableExists": c.TableExists(ctx, mounttest.Caller, table),
		"ViewExists":  c.ViewExists(ctx, mounttest.Caller, table),
	}
	_, _, errs["ListNamespaces"] = c.ListNamespaces(ctx, mounttest.Caller, nil, mounts.Page{})
	_, _, errs["ListNested"] = c.ListNamespaces(ctx, mounttest.Caller, db, mounts.Page{})
	_, _, errs["ListTables"] = c.ListTables(ctx, mounttest.Caller, db, mounts.Page{})
	_, _, errs["ListViews"] = c.ListViews(ctx, mounttest.Caller, db, mounts.Page{})
	_, errs["LoadNamespace"] = c.LoadNamespace(ctx, mounttest.Caller, db)
	_, errs["LoadTable"] = c.LoadTable(ctx, mounttest.Caller, table, mounts.LoadOptions{})
	_, errs["LoadView"] = c.LoadView(ctx, mounttest.Caller, table)
	return errs
}

// wellRead checks errors of reading where the source is well: db.t is a table.
func wellRead(t *testing.T, errs map[string]error) {
	t.Helper()
	errs = maps.Clone(errs)
	for _, op := range []string{"LoadView", "ViewExists"} {
		require.True(t, mounts.Is(errs[op], mounts.NoSuchView), "%s: %v", op, errs[op])
		delete(errs, op)
	}
	for op, err := range errs {
		require.NoError(t, err, op)
	}
}

// checkError checks what every error must be: typed, named and without a word of the source's.
func checkError(t *testing.T, err error) mounts.Kind {
	t.Helper()
	e, ok := err.(*mounts.Error) //nolint:errorlint // mounts return it unwrapped
	require.True(t, ok, "%T: %v", err, err)
	require.NotEmpty(t, e.Op)
	for _, secret := range []string{"hunter2", "10.0.0.7"} {
		require.NotContains(t, e.Message(), secret)
	}
	return e.Kind
}
