package hive

import (
	"testing"
	"time"

	hms "github.com/beltran/gohive/hive_metastore"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

// filled is a metastore with one of everything.
func filled(t *testing.T, version int) *fake {
	f := newFake(t, version)
	f.database("sales", map[string]string{"team": "crm", "location": "ignored"})
	f.databases["hive.sales"].Description = "what was sold"
	owner, group := "alice", hms.PrincipalType_GROUP
	f.databases["hive.sales"].OwnerName, f.databases["hive.sales"].OwnerType = &owner, &group
	f.database("void", nil)
	f.table("sales", "orders", "EXTERNAL_TABLE", map[string]string{"table_type": "ICEBERG", "metadata_location": "s3://b/1.metadata.json", "transient_lastDdlTime": "1700000000"}).Owner = "bob"
	f.table("sales", "lower", "EXTERNAL_TABLE", map[string]string{"table_type": "iceberg", "metadata_location": "s3://b/2.metadata.json"})
	f.table("sales", "lost", "MANAGED_TABLE", map[string]string{"table_type": "IceBerg"})
	f.table("sales", "seen", "VIRTUAL_VIEW", map[string]string{"table_type": "ICEBERG-VIEW", "metadata_location": "s3://b/v.json"})
	f.table("sales", "plain", "EXTERNAL_TABLE", map[string]string{"metadata_location": "s3://b/3.metadata.json"})
	f.table("sales", "managed", "MANAGED_TABLE", nil)
	f.table("sales", "acid", "MANAGED_TABLE", map[string]string{"transactional": "true", "transactional_properties": "insert_only"})
	f.table("sales", "view", "VIRTUAL_VIEW", nil).Sd = nil
	f.table("sales", "mv", "MATERIALIZED_VIEW", nil)
	f.table("sales", "delta", "EXTERNAL_TABLE", map[string]string{"spark.sql.sources.provider": "delta"})
	f.table("sales", "hudi", "EXTERNAL_TABLE", map[string]string{"spark.sql.sources.provider": "HUDI"})
	f.table("sales", "hudi2", "EXTERNAL_TABLE", nil).Sd.InputFormat = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
	f.table("sales", "paimon", "EXTERNAL_TABLE", map[string]string{"table_type": "PAIMON"})
	f.table("sales", "lance", "EXTERNAL_TABLE", map[string]string{"table_type": "lance"})
	f.table("sales", "odd", "<script>", map[string]string{"table_type": "<script>"})
	return f
}

func TestDatabases(t *testing.T) {
	s := filled(t, 2).start().source(nil)
	names, next, err := s.Databases(t.Context(), "", 1)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Equal(t, []string{"default", "sales", "void"}, names)
	_, _, err = s.Databases(t.Context(), "x", 0)
	wantError(t, err, mounts.BadRequest, "Invalid pageToken")
}

func TestDatabase(t *testing.T) {
	s := filled(t, 3).start().source(nil)
	d, err := s.Database(t.Context(), "sales")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"team": "crm", "location": "file:/warehouse/sales", "comment": "what was sold",
		"hive.metastore.database.owner": "alice", "hive.metastore.database.owner-type": "GROUP",
	}, d.Properties)
	d, err = s.Database(t.Context(), "void")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"location": "file:/warehouse/void"}, d.Properties)
}

// A metastore that can't ask its own database says that there is no such database, and why.
func TestFailureThatLooksLikeAbsence(t *testing.T) {
	for _, message := range []string{
		"sales: Exception thrown when executing query : SELECT",        // 2.3, 3.1
		"database hive.sales: Exception thrown when executing query :", // 4.0
	} {
		f := filled(t, 3).start()
		s := f.source(nil)
		f.mu.Lock()
		f.sick = message
		f.mu.Unlock()
		_, err := s.Database(t.Context(), "sales")
		wantError(t, err, mounts.Unavailable, failed)
		_, _, err = s.Objects(t.Context(), "sales", metastore.View, "", 0)
		require.NoError(t, err, "the list wasn't empty")
		_, _, err = s.Objects(t.Context(), "void", metastore.View, "", 0)
		wantError(t, err, mounts.Unavailable, failed)
		_, accepted, _ := f.connections()
		require.Equal(t, 1, accepted)
	}
	f := filled(t, 3).start()
	s := f.source(nil)
	f.sick = "default: Exception thrown"
	wantError(t, s.Health(t.Context()), mounts.Unavailable, failed)
	for _, message := range []string{"nosuch", "database hive.nosuch"} {
		f.mu.Lock()
		f.sick = message
		f.mu.Unlock()
		_, err := s.Database(t.Context(), "nosuch")
		require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%v", err)
	}
}

func TestObjects(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	for _, c := range []struct {
		database string
		kind     metastore.Kind
		want     []string
	}{
		{"sales", metastore.Table, []string{"lost", "lower", "orders"}},
		{"sales", metastore.View, []string{"seen"}},
		{"void", metastore.Table, []string{}},
	} {
		before := f.total()
		names, next, err := s.Objects(t.Context(), c.database, c.kind, "", 1)
		require.NoError(t, err)
		require.Empty(t, next)
		require.Equal(t, c.want, names)
		if len(c.want) > 0 {
			require.Equal(t, before+1, f.total(), "one call")
		}
	}
	_, _, err := s.Objects(t.Context(), "sales", metastore.Table, "x", 0)
	wantError(t, err, mounts.BadRequest, "Invalid pageToken")
}

func TestObject(t *testing.T) {
	s := filled(t, 3).start().source(nil)
	o, err := s.Object(t.Context(), "sales", "orders")
	require.NoError(t, err)
	require.Equal(t, metastore.Object{
		Kind: metastore.Table, MetadataLocation: "s3://b/1.metadata.json", Location: "file:/warehouse/sales/orders", Owner: "bob",
		Parameters: map[string]string{"table_type": "ICEBERG", "metadata_location": "s3://b/1.metadata.json", "transient_lastDdlTime": "1700000000"},
		Modified:   time.Unix(1700000000, 0),
	}, o)
	for name, want := range map[string]metastore.Object{
		"lower":   {Kind: metastore.Table, MetadataLocation: "s3://b/2.metadata.json"},
		"lost":    {Kind: metastore.Table},
		"seen":    {Kind: metastore.View, MetadataLocation: "s3://b/v.json"},
		"plain":   {Is: "a plain Hive table (EXTERNAL_TABLE)"},
		"managed": {Is: "a plain Hive table (MANAGED_TABLE)"},
		"acid":    {Is: "a plain Hive table (MANAGED_TABLE)"},
		"view":    {Is: "a Hive view"},
		"mv":      {Is: "a materialized view of Hive"},
		"delta":   {Is: "a Delta Lake table"},
		"hudi":    {Is: "a Hudi table"},
		"hudi2":   {Is: "a Hudi table"},
		"paimon":  {Is: "a Paimon table"},
		"lance":   {Is: "a Lance table"},
		"odd":     {Is: "a plain Hive table"},
	} {
		got, err := s.Object(t.Context(), "sales", name)
		require.NoError(t, err, name)
		require.NotNil(t, got.Parameters)
		require.Equal(t, want, metastore.Object{Kind: got.Kind, Is: got.Is, MetadataLocation: got.MetadataLocation}, name)
	}
}

// What a metastore would take for another name isn't there, whatever the call.
func TestOtherNames(t *testing.T) {
	for _, version := range []int{2, 3} {
		f := filled(t, version).start()
		s := f.source(nil)
		for _, name := range []string{"nosuch", " sales", "sales ", "@hive#sales", "@hive", "@spark#sales", "a'b", "é", "sales\t"} {
			_, err := s.Database(t.Context(), name)
			require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%q: %v", name, err)
			for _, kind := range []metastore.Kind{metastore.Table, metastore.View} {
				_, _, err = s.Objects(t.Context(), name, kind, "", 0)
				require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%q: %v", name, err)
			}
			_, err = s.Object(t.Context(), name, "orders")
			require.True(t, mounts.Is(err, mounts.NoSuchTable), "%q: %v", name, err)
			_, err = s.Object(t.Context(), "sales", name)
			require.True(t, mounts.Is(err, mounts.NoSuchTable), "%q: %v", name, err)
		}
		_, err := s.Object(t.Context(), "sales", " orders")
		require.True(t, mounts.Is(err, mounts.NoSuchTable), "%v", err)
	}
}

func TestCatalogs(t *testing.T) {
	f := filled(t, 3)
	other := hms.NewDatabase()
	other.Name = "jobs"
	f.databases["spark.jobs"] = other
	run := f.table("jobs", "runs", "EXTERNAL_TABLE", map[string]string{"table_type": "ICEBERG"})
	delete(f.tables, "hive.jobs.runs")
	f.tables["spark.jobs.runs"] = run
	f.start()
	s := f.source(func(o *Options) { o.Catalog = "Spark" })
	names, _, err := s.Databases(t.Context(), "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"jobs"}, names)
	names, _, err = s.Objects(t.Context(), "jobs", metastore.Table, "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"runs"}, names)
	_, err = s.Database(t.Context(), "jobs")
	require.NoError(t, err)
	_, err = s.Object(t.Context(), "jobs", "runs")
	require.NoError(t, err)
	_, err = s.Object(t.Context(), "sales", "orders")
	require.True(t, mounts.Is(err, mounts.NoSuchTable), "another catalog's")
	require.NoError(t, s.Health(t.Context()), "a catalog without default")
	require.Equal(t, 1, f.counted("get_catalogs"))

	s = f.source(func(o *Options) { o.Catalog = "nosuch" })
	_, err = s.Object(t.Context(), "jobs", "runs")
	wantError(t, err, mounts.BadGateway, "The catalog behind mount 'legacy' (hive) does not have the catalog that the mount names")

	old := filled(t, 2).start()
	s = old.source(func(o *Options) { o.Catalog = "spark" })
	const refused = "The catalog behind mount 'legacy' (hive) is older than Hive 3 and has no catalogs, but the mount names one"
	_, _, err = s.Databases(t.Context(), "", 0)
	wantError(t, err, mounts.BadGateway, refused)
	_, err = s.Database(t.Context(), "sales")
	wantError(t, err, mounts.BadGateway, refused)
	_, _, err = s.Objects(t.Context(), "sales", metastore.Table, "", 0)
	wantError(t, err, mounts.BadGateway, refused)
	_, err = s.Object(t.Context(), "sales", "orders")
	wantError(t, err, mounts.BadGateway, refused)

	s = old.source(func(o *Options) { o.Catalog = "HIVE" })
	_, err = s.Object(t.Context(), "sales", "orders")
	require.NoError(t, err, "the default catalog, which needs no name")
}

func TestUser(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(func(o *Options) { o.User = "gateway" })
	for range 3 {
		require.NoError(t, s.Health(t.Context()))
	}
	require.Equal(t, []string{"gateway"}, f.users, "once for each connection")
}

func TestHealth(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	require.NoError(t, s.Health(t.Context()))
	f.mu.Lock()
	delete(f.databases, "hive.default")
	f.mu.Unlock()
	require.NoError(t, s.Health(t.Context()))
	dead := f.source(func(o *Options) { o.URIs = []string{"thrift://127.0.0.1:1"} })
	wantError(t, dead.Health(t.Context()), mounts.Unavailable, "The catalog behind mount 'legacy' (hive) can't be reached right now")
}
