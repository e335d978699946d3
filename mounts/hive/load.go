package hive

import (
	"context"
	"strconv"
	"strings"
	"time"

	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

// Parameters of a table that say what it is.
const (
	paramTableType = "table_type"        // by Iceberg's catalogs: ICEBERG, ICEBERG-VIEW; other formats do the same
	paramMetadata  = "metadata_location" // by Iceberg's catalogs
	paramProvider  = "spark.sql.sources.provider"
	paramModified  = "transient_lastDdlTime" // seconds since 1970, by the metastore itself
)

// Object reads a table or view of any kind, in one call.
func (s *Source) Object(ctx context.Context, database, name string) (metastore.Object, error) {
	t, err := s.table(ctx, database, name)
	if err != nil {
		return metastore.Object{}, s.fail("loadTable", database+"."+name, mounts.NoSuchTable, err)
	}
	o := metastore.Object{Owner: t.Owner, Parameters: t.Parameters}
	if t.Sd != nil {
		o.Location = t.Sd.Location
	}
	if seconds, err := strconv.ParseInt(t.Parameters[paramModified], 10, 64); err == nil && seconds > 0 {
		o.Modified = time.Unix(seconds, 0)
	}
	if o.Parameters == nil {
		o.Parameters = map[string]string{}
	}
	switch strings.ToLower(t.Parameters[paramTableType]) {
	case "iceberg":
		o.Kind, o.MetadataLocation = metastore.Table, t.Parameters[paramMetadata]
	case "iceberg-view":
		o.Kind, o.MetadataLocation = metastore.View, t.Parameters[paramMetadata]
	default:
		o.Is = what(t)
	}
	return o, nil
}

// table also makes sure that the metastore calls the table what we do: it ignores spaces
// around names.
func (s *Source) table(ctx context.Context, database, name string) (*hms.Table, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	request := hms.NewGetTableRequest()
	request.DbName, request.TblName = database, name
	if s.catalog != "" {
		request.CatName = &s.catalog
	}
	// Else a metastore of version 3 has an error for tables with transactions of Hive's.
	request.Capabilities = &hms.ClientCapabilities{Values: []hms.ClientCapability{hms.ClientCapability_INSERT_ONLY_TABLES}}
	r, err := ask(ctx, s, maxObject, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) (*hms.GetTableResult_, error) {
		return some(c.GetTableReq(ctx, request))
	})
	switch {
	case err != nil:
		return nil, err
	case r.Table.DbName != database || r.Table.TableName != name:
		return nil, errOtherName
	}
	return r.Table, nil
}

// what says what a table is that isn't Iceberg's, in words of ours alone.
func what(t *hms.Table) string {
	format := strings.ToLower(t.Parameters[paramTableType])
	if format == "" {
		format = strings.ToLower(t.Parameters[paramProvider])
	}
	switch {
	case t.TableType == "VIRTUAL_VIEW":
		return "a Hive view"
	case t.TableType == "MATERIALIZED_VIEW":
		return "a materialized view of Hive"
	case format == "delta":
		return "a Delta Lake table"
	case format == "hudi" || t.Sd != nil && strings.HasPrefix(t.Sd.InputFormat, "org.apache.hudi."):
		return "a Hudi table"
	case format == "paimon":
		return "a Paimon table"
	case format == "lance":
		return "a Lance table"
	case t.TableType == "MANAGED_TABLE" || t.TableType == "EXTERNAL_TABLE":
		return "a plain Hive table (" + t.TableType + ")"
	}
	return "a plain Hive table"
}
