package glue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

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
