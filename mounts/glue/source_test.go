package glue

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
	"piedmont/vend/local"
)

// storage is a profile on this machine's disk.
func storage(t *testing.T) (dir string, set *vend.Set) {
	t.Helper()
	dir = t.TempDir()
	prefix, err := vend.ParseLocation("file://" + dir + "/")
	require.NoError(t, err)
	files, err := local.New("disk", prefix)
	require.NoError(t, err)
	set, err = vend.NewSet("aws", &vend.Profile{Name: "disk", Prefix: prefix, Files: files})
	require.NoError(t, err)
	return dir, set
}

// write makes a metadata file and tells where.
func write(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "00001-"+uuid.NewString()+".metadata.json")
	text := fmt.Sprintf(`{"format-version":2,"table-uuid":%q,"location":"file://%s","refs":{},"snapshots":[]}`, uuid.NewString(), dir)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return "file://" + path
}

func catalog(t *testing.T, s *Source, set *vend.Set) *metastore.Catalog {
	t.Helper()
	c, err := metastore.New(metastore.Options{Name: "aws", Kind: "glue", Source: s, Storage: set, Documents: vend.NewDocuments(64 << 20), Now: time.Now})
	require.NoError(t, err)
	return c
}

func (f *fake) fill(t *testing.T, dir string, c mounttest.Content) {
	for _, n := range c.Namespaces {
		d := f.database(n.Name.String(), n.Properties)
		d.table("plain", "EXTERNAL_TABLE", nil)
		d.table("aview", "VIRTUAL_VIEW", map[string]string{"presto_view": "true"})
	}
	for _, id := range c.Tables {
		f.databases[account+"/"+id.Namespace.String()].iceberg(id.Name, write(t, dir))
	}
}

// lowerNames are the awkward names that Glue can hold.
func lowerNames() []string {
	var names []string
	for _, name := range mounttest.AwkwardNames() {
		names = append(names, lower(name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestConformance(t *testing.T) {
	mounttest.Run(t, mounttest.Suite{
		Names: lowerNames(),
		Open: func(t *testing.T, c mounttest.Content) mounts.Mount {
			f := newFake(t)
			dir, set := storage(t)
			f.fill(t, dir, c)
			s, err := NewSource(t.Context(), Options{Region: "eu-west-1", Endpoint: f.url, AccessKeyID: keyID, SecretAccessKey: secret, CallsPerSecond: 100_000})
			require.NoError(t, err)
			return catalog(t, s, set)
		},
	})
}

func TestReadOnly(t *testing.T) {
	f := newFake(t)
	mounttest.RunReadOnly(t, mounttest.ReadOnlySuite{
		Kind: "glue",
		Open: func(t *testing.T, c mounttest.Content) mounts.Mount {
			dir, set := storage(t)
			f.fill(t, dir, c)
			return catalog(t, f.source(t), set)
		},
		Mutations: func() int {
			return len(slices.DeleteFunc(f.took(), func(method string) bool { return strings.HasPrefix(method, "Get") }))
		},
	})
}

// The pointer moves, and a table is no view.
func TestThroughCatalog(t *testing.T) {
	f := newFake(t)
	dir, set := storage(t)
	d := f.database("sales", nil)
	d.iceberg("orders", write(t, dir))
	d.table("recent", "VIRTUAL_VIEW", map[string]string{"table_type": "ICEBERG-VIEW", "metadata_location": write(t, dir)})
	d.table("events", "EXTERNAL_TABLE", map[string]string{"table_type": "DELTA"})
	c := catalog(t, f.source(t), set)
	id := mounts.Namespace{"sales"}.Table("orders")
	before, err := c.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"GetTable"}, f.took(), "one call")
	f.mu.Lock()
	d.iceberg("orders", write(t, dir))
	f.mu.Unlock()
	after, err := c.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
	require.NoError(t, err)
	require.NotEqual(t, before.Version, after.Version)
	_, err = after.Metadata(t.Context())
	require.NoError(t, err)

	views, _, err := c.ListViews(t.Context(), mounttest.Caller, mounts.Namespace{"sales"}, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{mounts.Namespace{"sales"}.Table("recent")}, views)
	_, err = c.LoadView(t.Context(), mounttest.Caller, views[0])
	require.NoError(t, err)
	err = c.TableExists(t.Context(), mounttest.Caller, mounts.Namespace{"sales"}.Table("events"))
	requireKind(t, err, mounts.NoSuchTable, "sales.events is a Delta Lake table, not an Iceberg table")
}

func requireKind(t *testing.T, err error, kind mounts.Kind, text string) mounts.Error {
	t.Helper()
	e, ok := err.(*mounts.Error) //nolint:errorlint // sources return it unwrapped
	require.True(t, ok, "%T: %v", err, err)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Contains(t, e.Message(), text)
	for _, hidden := range []string{"10.0.0.7", "127.0.0.1", secret} {
		require.NotContains(t, e.Message(), hidden)
	}
	require.NotContains(t, e.Error(), secret)
	return *e
}

func TestWhatObjectsAre(t *testing.T) {
	f := newFake(t)
	d := f.database("db", nil)
	d.table("upper", "EXTERNAL_TABLE", map[string]string{"table_type": "ICEBERG", "metadata_location": "s3://b/m"})
	d.table("lower", "EXTERNAL_TABLE", map[string]string{"table_type": "iceberg", "metadata_location": "s3://b/m"})
	d.table("nowhere", "EXTERNAL_TABLE", map[string]string{"table_type": "Iceberg"})
	d.table("view", "VIRTUAL_VIEW", map[string]string{"table_type": "iceberg-VIEW", "metadata_location": "s3://b/v"})
	d.table("athena", "VIRTUAL_VIEW", map[string]string{"presto_view": "true", "comment": "Presto View"})
	// Its metadata is that of the table which stores it.
	d.table("trinomv", "VIRTUAL_VIEW", map[string]string{"presto_view": "true", "comment": "Presto Materialized View", "metadata_location": "s3://b/m"})
	d.table("hiveview", "VIRTUAL_VIEW", nil)
	d.table("multi", "VIRTUAL_VIEW", nil)["IsMultiDialectView"] = true
	d.table("delta", "EXTERNAL_TABLE", map[string]string{"table_type": "DELTA"})
	d.table("sparkdelta", "EXTERNAL_TABLE", map[string]string{"spark.sql.sources.provider": "delta"})
	d.table("hudi", "EXTERNAL_TABLE", nil)["StorageDescriptor"] = map[string]any{"InputFormat": "org.apache.hudi.hadoop.HoodieParquetInputFormat"}
	d.table("paimon", "EXTERNAL_TABLE", map[string]string{"table_type": "PAIMON"})
	d.table("lance", "EXTERNAL_TABLE", map[string]string{"table_type": "LANCE"})
	d.table("governed", "GOVERNED", nil)
	delete(d.table("plain", "EXTERNAL_TABLE", map[string]string{"table_type": "nonsense"}), "StorageDescriptor")
	delete(d.table("bare", "", nil), "Parameters")
	s := f.source(t)
	for name, want := range map[string]metastore.Object{
		"upper": {Kind: metastore.Table, MetadataLocation: "s3://b/m"}, "lower": {Kind: metastore.Table, MetadataLocation: "s3://b/m"},
		"nowhere": {Kind: metastore.Table}, "view": {Kind: metastore.View, MetadataLocation: "s3://b/v"},
		"athena": {Is: "a view of Athena or Trino"}, "trinomv": {Is: "a materialized view of Trino"}, "hiveview": {Is: "a Hive view"},
		"multi": {Is: "a view of the Glue Data Catalog"}, "delta": {Is: "a Delta Lake table"}, "sparkdelta": {Is: "a Delta Lake table"},
		"hudi": {Is: "a Hudi table"}, "paimon": {Is: "a Paimon table"}, "lance": {Is: "a Lance table"},
		"governed": {Is: "a governed table of Lake Formation"}, "plain": {Is: "a plain Glue table"}, "bare": {Is: "a plain Glue table"},
	} {
		o, err := s.Object(t.Context(), "db", name)
		require.NoError(t, err, name)
		require.Equal(t, []any{want.Kind, want.Is, want.MetadataLocation}, []any{o.Kind, o.Is, o.MetadataLocation}, name)
		require.NotNil(t, o.Parameters, name)
		require.Equal(t, "someone", o.Owner)
		require.Equal(t, time.Unix(1.75e9, 0).UTC(), o.Modified.UTC())
	}
	tables, next, err := s.Objects(t.Context(), "db", metastore.Table, "", 0)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Equal(t, []string{"lower", "nowhere", "upper"}, tables)
	views, _, err := s.Objects(t.Context(), "db", metastore.View, "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"view"}, views)
	_, _, err = s.Objects(t.Context(), "db", metastore.Other, "", 0)
	require.Error(t, err)
}

func TestDatabaseProperties(t *testing.T) {
	f := newFake(t)
	f.databaseIn(account, "db", map[string]any{"Parameters": map[string]string{"owner": "me"}, "LocationUri": "s3://lake/db", "Description": "a \"b\" ü"})
	f.databaseIn(account, "bare", map[string]any{})
	s := f.source(t)
	d, err := s.Database(t.Context(), "db")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"owner": "me", "location": "s3://lake/db", "comment": "a \"b\" ü"}, d.Properties)
	d, err = s.Database(t.Context(), "bare")
	require.NoError(t, err)
	require.Equal(t, map[string]string{}, d.Properties)
}

// Another account's catalog, by its id; its own without one.
func TestCrossAccount(t *testing.T) {
	f := newFake(t)
	f.database("own", nil).iceberg("t", "s3://b/own")
	f.databaseIn(partner, "theirs", map[string]any{}).iceberg("t", "s3://b/theirs")
	for id, want := range map[string]string{"": "own", account: "own", partner: "theirs"} {
		s := f.source(t, func(o *Options) { o.CatalogID = id })
		names, _, err := s.Databases(t.Context(), "", 0)
		require.NoError(t, err)
		require.Equal(t, []string{want}, names)
		o, err := s.Object(t.Context(), want, "t")
		require.NoError(t, err)
		require.Equal(t, "s3://b/"+want, o.MetadataLocation)
		require.NoError(t, s.Health(t.Context()))
	}
}

// A catalog that doesn't exist is no catalog without tables.
func TestMissingCatalog(t *testing.T) {
	f := newFake(t)
	f.database("db", nil)
	const text = "does not have the catalog that the mount names"
	s := f.source(t, func(o *Options) { o.CatalogID = account + ":s3tablescatalog/gone" })
	_, _, err := s.Databases(t.Context(), "", 0)
	requireKind(t, err, mounts.BadGateway, text)
	_, err = s.Database(t.Context(), "db")
	requireKind(t, err, mounts.BadGateway, text)
	_, err = s.Object(t.Context(), "db", "t")
	requireKind(t, err, mounts.BadGateway, text)
	_, _, err = s.Objects(t.Context(), "db", metastore.Table, "", 0)
	requireKind(t, err, mounts.BadGateway, text)
	requireKind(t, s.Health(t.Context()), mounts.BadGateway, text)
}

// An absence costs the calls that make it certain, the question after the catalog but once.
func TestAbsence(t *testing.T) {
	f := newFake(t)
	f.database("db", nil)
	s := f.source(t, func(o *Options) { o.CatalogID = account })
	_, err := s.Object(t.Context(), "gone", "t")
	requireKind(t, err, mounts.NoSuchTable, "")
	require.Equal(t, []string{"GetTable", "GetDatabase", "GetDatabases"}, f.took())
	_, err = s.Object(t.Context(), "gone", "t")
	requireKind(t, err, mounts.NoSuchTable, "")
	require.Equal(t, []string{"GetTable", "GetDatabase"}, f.took())
	_, err = s.Object(t.Context(), "db", "t")
	requireKind(t, err, mounts.NoSuchTable, "")
	_, err = s.Database(t.Context(), "gone")
	requireKind(t, err, mounts.NoSuchNamespace, "")
	_, _, err = s.Objects(t.Context(), "gone", metastore.Table, "", 0)
	requireKind(t, err, mounts.NoSuchNamespace, "")
	names, next, err := s.Objects(t.Context(), "db", metastore.Table, "", 0)
	require.NoError(t, err)
	require.Empty(t, names)
	require.Empty(t, next)
}

// What Glue calls otherwise than it was asked for is an absence: a policy was decided on the
// name that was asked for.
func TestOtherName(t *testing.T) {
	f := newFake(t)
	f.database("db", nil)
	f.setSpoil(func(method string, in request, w http.ResponseWriter) bool {
		switch in.Name {
		case " t":
			answer(w, map[string]any{"Table": map[string]any{"Name": "t", "Parameters": map[string]string{"table_type": "ICEBERG"}}})
		case " db":
			answer(w, map[string]any{"Database": map[string]any{"Name": "db"}})
		default:
			return false
		}
		return true
	})
	s := f.source(t)
	_, err := s.Object(t.Context(), "db", " t")
	requireKind(t, err, mounts.NoSuchTable, "")
	_, err = s.Database(t.Context(), " db")
	requireKind(t, err, mounts.NoSuchNamespace, "")
}

func TestNamesGlueRefuses(t *testing.T) {
	f := newFake(t)
	f.database("db", nil)
	s := f.source(t)
	_, err := s.Object(t.Context(), "db", strings.Repeat("n", 256))
	requireKind(t, err, mounts.BadRequest, "does not accept the name")
}

func TestOptions(t *testing.T) {
	role := func(o *Options) { o.RoleARN = "arn:aws:iam::444455556666:role/path/reader" }
	for text, set := range map[string]func(*Options){
		"region: it is required":     func(o *Options) { o.Region = "" },
		"region: want one":           func(o *Options) { o.Region = "eu-west-1.evil.example/" },
		"catalog_id":                 func(o *Options) { o.CatalogID = "a b" },
		"access_key_id":              func(o *Options) { o.SecretAccessKey = "" },
		"calls_per_second":           func(o *Options) { o.CallsPerSecond = -1 },
		"endpoint: want":             func(o *Options) { o.Endpoint = "https://u:hunter2@host" },
		"sts_endpoint: want":         func(o *Options) { o.STSEndpoint = "host:1" },
		"role_arn, which is missing": func(o *Options) { o.ExternalID = "x1" },
		"role_arn: want":             func(o *Options) { o.RoleARN = "arn:aws:iam::444455556666:user/me" },
		"session_name":               func(o *Options) { role(o); o.SessionName = "a b" },
		"external_id: want":          func(o *Options) { role(o); o.ExternalID = "a\nb" },
	} {
		o := Options{Name: "aws", Region: "eu-west-1", AccessKeyID: keyID, SecretAccessKey: secret}
		set(&o)
		_, err := NewSource(t.Context(), o)
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, "mount 'aws': ")
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), secret)
	}
	for _, id := range []string{account, account + ":s3tablescatalog/bucket", account + ":redshift/db", "s3tablescatalog/b"} {
		_, err := NewSource(t.Context(), Options{Region: "us-gov-west-1", CatalogID: id, AccessKeyID: keyID, SecretAccessKey: secret})
		require.NoError(t, err, id)
	}
}
