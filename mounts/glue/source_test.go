package glue

import (
	"fmt"
	"maps"
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

// links is a fake with links of all sorts.
func links(t *testing.T) *fake {
	f := newFake(t)
	shared := f.databaseIn(partner, "shared", map[string]any{"Parameters": map[string]string{"owner": "them"}})
	shared.iceberg("orders", "s3://b/shared")
	shared.table("plain", "EXTERNAL_TABLE", nil)
	f.databaseIn(partner, "secret", map[string]any{}).denied = "Insufficient Lake Formation permission(s) on secret at 10.0.0.7"
	f.databases[partner+"/secret"].iceberg("t", "s3://b/secret")
	f.databaseIn(partner, "hollow", map[string]any{})
	f.link("link", partner, "shared", "eu-west-1")
	f.link("tosecret", partner, "secret", "")
	f.link("tohollow", partner, "hollow", "")
	f.link("tonothing", partner, "gone", "")
	f.link("far", partner, "shared", "us-east-1")
	f.link("loop", account, "loop", "")
	f.link("tolink", account, "link", "")
	d := f.database("db", nil)
	d.tableLink("orders", partner, "shared", "orders", "")
	d.tableLink("plain", partner, "shared", "plain", "")
	d.tableLink("secret", partner, "secret", "t", "")
	d.tableLink("nothing", partner, "shared", "gone", "")
	d.tableLink("far", partner, "shared", "orders", "us-east-1")
	d.tableLink("loop", account, "db", "loop", "")
	d.tableLink("tolink", account, "db", "orders", "")
	return f
}

// Links that Glue follows cost nothing more.
func TestLinksThatGlueFollows(t *testing.T) {
	f := links(t)
	s := f.source(t)
	names, next, err := s.Objects(t.Context(), "link", metastore.Table, "", 0)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Equal(t, []string{"orders"}, names)
	o, err := s.Object(t.Context(), "link", "orders")
	require.NoError(t, err)
	require.Equal(t, "s3://b/shared", o.MetadataLocation)
	o, err = s.Object(t.Context(), "db", "orders")
	require.NoError(t, err)
	require.Equal(t, "s3://b/shared", o.MetadataLocation)
	require.Equal(t, []string{"GetTables", "GetTable", "GetTable"}, f.took())
	names, _, err = s.Objects(t.Context(), "db", metastore.Table, "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"far", "orders"}, names, "Glue follows into other Regions")
	d, err := s.Database(t.Context(), "link")
	require.NoError(t, err)
	require.Equal(t, "them", d.Properties["owner"])
	o, err = s.Object(t.Context(), "db", "plain")
	require.NoError(t, err)
	require.Equal(t, "a plain Glue table", o.Is)
}

// Links that Glue did not follow are followed one step, or named: never an absence.
func TestLinksThatGlueDoesNotFollow(t *testing.T) {
	for _, follows := range []bool{true, false} {
		f := links(t)
		f.follows = follows
		s := f.source(t)
		o, err := s.Object(t.Context(), "link", "orders")
		require.NoError(t, err)
		require.Equal(t, "s3://b/shared", o.MetadataLocation)
		o, err = s.Object(t.Context(), "db", "orders")
		require.NoError(t, err)
		require.Equal(t, "s3://b/shared", o.MetadataLocation)
		names, _, err := s.Objects(t.Context(), "link", metastore.Table, "", 0)
		require.NoError(t, err)
		require.Equal(t, []string{"orders"}, names)

		_, err = s.Object(t.Context(), "db", "secret")
		requireKind(t, err, mounts.Unavailable, "has a resource link as db.secret, to a table that the mount's credential may not read")
		o, err = s.Object(t.Context(), "db", "nothing")
		require.NoError(t, err)
		require.Equal(t, "a resource link to nothing", o.Is)
		_, err = s.Object(t.Context(), "db", "loop")
		requireKind(t, err, mounts.BadGateway, "another resource link as db.loop")

		const refused = "to a database that the mount's credential may not read"
		_, err = s.Object(t.Context(), "tosecret", "t")
		requireKind(t, err, mounts.Unavailable, refused)
		_, _, err = s.Objects(t.Context(), "tosecret", metastore.Table, "", 0)
		requireKind(t, err, mounts.Unavailable, refused)
		_, err = s.Object(t.Context(), "tonothing", "t")
		requireKind(t, err, mounts.NoSuchTable, "")
		_, _, err = s.Objects(t.Context(), "tonothing", metastore.Table, "", 0)
		requireKind(t, err, mounts.NoSuchNamespace, "tonothing is a resource link to nothing")
		names, next, err := s.Objects(t.Context(), "tohollow", metastore.Table, "", 0)
		require.NoError(t, err)
		require.Empty(t, names)
		require.Empty(t, next)
		_, err = s.Object(t.Context(), "link", "gone")
		requireKind(t, err, mounts.NoSuchTable, "")
		_, _, err = s.Objects(t.Context(), "loop", metastore.Table, "", 0)
		requireKind(t, err, mounts.BadGateway, "another resource link as loop")
		_, err = s.Object(t.Context(), "loop", "t")
		requireKind(t, err, mounts.BadGateway, "another resource link as loop")
		if follows {
			continue
		}
		_, _, err = s.Objects(t.Context(), "far", metastore.Table, "", 0)
		requireKind(t, err, mounts.Unavailable, "into another Region as far")
		_, err = s.Object(t.Context(), "db", "far")
		requireKind(t, err, mounts.Unavailable, "into another Region as db.far")
		_, err = s.Object(t.Context(), "db", "tolink")
		requireKind(t, err, mounts.BadGateway, "another resource link as db.tolink")
		_, _, err = s.Objects(t.Context(), "tolink", metastore.Table, "", 0)
		requireKind(t, err, mounts.BadGateway, "another resource link as tolink")
	}
}

// pages follows the tokens of a list, whose pages hold at most size names.
func pages(t *testing.T, size int, list func(token string, size int) ([]string, string, error)) (names []string, count int) {
	t.Helper()
	for token := ""; ; count++ {
		page, next, err := list(token, size)
		require.NoError(t, err)
		if size > 0 {
			require.LessOrEqual(t, len(page), size)
		}
		names = append(names, page...)
		if next == "" {
			return names, count + 1
		}
		require.NotEqual(t, token, next)
		token = next
	}
}

func TestPaging(t *testing.T) {
	f := newFake(t)
	d, sparse, want := f.database("dense", nil), f.database("sparse", nil), map[string]bool{}
	for i := range 437 {
		d.iceberg(fmt.Sprintf("t%04d", i), "s3://b/m")
		want[fmt.Sprintf("t%04d", i)] = true
	}
	for i := range 2500 {
		sparse.table(fmt.Sprintf("h%04d", i), "EXTERNAL_TABLE", nil)
	}
	sparse.iceberg("h1234a", "s3://b/m")
	sparse.iceberg("h2499a", "s3://b/m")
	for i := range 250 {
		f.database(fmt.Sprintf("db%03d", i), nil)
	}
	f.link("alink", partner, "dense", "")
	f.databaseIn(partner, "dense", map[string]any{}).tables = d.tables
	s := f.source(t)
	for _, size := range []int{0, 17, 99, 100, 101, 437, 1000} {
		for _, follows := range []bool{true, false} {
			f.mu.Lock()
			f.follows = follows
			f.mu.Unlock()
			for _, database := range []string{"dense", "alink"} {
				names, _ := pages(t, size, func(token string, size int) ([]string, string, error) {
					return s.Objects(t.Context(), database, metastore.Table, token, size)
				})
				require.Equal(t, slices.Sorted(maps.Keys(want)), names, "%s by %d", database, size)
			}
		}
		names, _ := pages(t, size, func(token string, size int) ([]string, string, error) { return s.Databases(t.Context(), token, size) })
		require.Len(t, names, 253)
	}
	f.took()
	names, count := pages(t, 0, func(token string, size int) ([]string, string, error) {
		return s.Objects(t.Context(), "dense", metastore.Table, token, size)
	})
	require.Len(t, names, 437)
	require.Equal(t, 1, count)
	require.Len(t, f.took(), 5, "calls for 437 tables")
	names, count = pages(t, 1000, func(token string, size int) ([]string, string, error) {
		return s.Objects(t.Context(), "sparse", metastore.Table, token, size)
	})
	require.Equal(t, []string{"h1234a", "h2499a"}, names)
	require.Len(t, f.took(), 26, "calls for 2,502 tables, 2 of Iceberg")
	require.Equal(t, 3, count, "pages of at most ten calls")
	names, _, err := s.Objects(t.Context(), "dense", metastore.Table, "", 150)
	require.NoError(t, err)
	require.Len(t, names, 100, "a call for the rest of a page would bring little")
	require.Len(t, f.took(), 1)
}

// A token of another list, or of nobody, is refused.
func TestForeignTokens(t *testing.T) {
	f := newFake(t)
	for _, name := range []string{"a", "b"} {
		d := f.database(name, nil)
		for i := range 5 {
			d.iceberg(fmt.Sprint("t", i), "s3://b/m")
		}
	}
	s := f.source(t)
	_, next, err := s.Objects(t.Context(), "a", metastore.Table, "", 2)
	require.NoError(t, err)
	for _, token := range []string{next + "x", next[1:], "d", "dnonsense", "lnonsense", "~"} {
		_, _, err = s.Objects(t.Context(), "a", metastore.Table, token, 2)
		if token == "d" { // the beginning
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, token)
		require.False(t, mounts.Is(err, mounts.NoSuchNamespace), token)
	}
	_, _, err = s.Objects(t.Context(), "b", metastore.Table, next, 2)
	requireKind(t, err, mounts.BadRequest, "page token")
	_, _, err = s.Databases(t.Context(), "nonsense", 2)
	requireKind(t, err, mounts.BadRequest, "page token")
}

// What was found before a call failed is a page, and the next page meets the failure.
func TestFailureMidPaging(t *testing.T) {
	f := newFake(t)
	d := f.database("db", nil)
	for i := range 350 {
		d.iceberg(fmt.Sprintf("t%03d", i), "s3://b/m")
	}
	calls := 0
	f.setSpoil(func(method string, _ request, w http.ResponseWriter) bool {
		calls++
		if calls == 3 || calls == 4 {
			refuse(w, 400, "ThrottlingException", "Rate exceeded")
			return true
		}
		return false
	})
	s := f.source(t)
	names, next, err := s.Objects(t.Context(), "db", metastore.Table, "", 1000)
	require.NoError(t, err)
	require.Len(t, names, 200)
	_, _, err = s.Objects(t.Context(), "db", metastore.Table, next, 1000)
	requireKind(t, err, mounts.Unavailable, "takes no more requests")
	rest, next, err := s.Objects(t.Context(), "db", metastore.Table, next, 1000)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, rest, 150)
}
