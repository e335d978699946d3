package glue

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

// Parameters of a table that say what it is.
const (
	paramTableType = "table_type"        // by Iceberg's catalogs: ICEBERG, ICEBERG-VIEW; other formats do the same
	paramMetadata  = "metadata_location" // by Iceberg's catalogs; Trino's materialized views have one too
	paramProvider  = "spark.sql.sources.provider"
	paramTrinoView = "presto_view"
	paramComment   = "comment"
)

// Object reads a table or view of any kind. Where Glue has it, that takes one call.
func (s *Source) Object(ctx context.Context, database, name string) (metastore.Object, error) {
	const op = "loadTable"
	full := database + "." + name
	t, err := s.table(ctx, place{s.catalog, database}, name)
	if absent(err) {
		t, err = s.throughLink(ctx, database, name, err)
	}
	if err != nil {
		return metastore.Object{}, s.missing(ctx, op, full, mounts.NoSuchTable, err)
	}
	o := object(t)
	if t.TargetTable == nil || o.Kind != metastore.Other {
		return o, nil
	}
	// A link whose target Glue shows has the target's parameters.
	t, err = s.follow(ctx, t.TargetTable)
	switch {
	case err != nil:
		return metastore.Object{}, s.fail(op, full, err)
	case t == nil:
		o.Is = "a resource link to nothing"
		return o, nil
	}
	return object(t), nil
}

// throughLink asks for a table that isn't there in the target of a database that is a link
// which Glue did not follow. Else the absence stays one.
func (s *Source) throughLink(ctx context.Context, database, name string, absence error) (*types.Table, error) {
	target, err := s.target(ctx, database)
	switch {
	case absent(err):
		return nil, absence
	case err != nil:
		return nil, err
	case target == nil:
		return nil, absence
	}
	return s.table(ctx, *target, name)
}

// kindOf goes by the one parameter that Iceberg's catalogs agree on.
func kindOf(t *types.Table) metastore.Kind {
	switch strings.ToLower(t.Parameters[paramTableType]) {
	case "iceberg":
		return metastore.Table
	case "iceberg-view":
		return metastore.View
	}
	return metastore.Other
}

func object(t *types.Table) metastore.Object {
	o := metastore.Object{
		Kind: kindOf(t), Owner: aws.ToString(t.Owner), Parameters: t.Parameters, Modified: aws.ToTime(t.UpdateTime),
	}
	if t.StorageDescriptor != nil {
		o.Location = aws.ToString(t.StorageDescriptor.Location)
	}
	if o.Parameters == nil {
		o.Parameters = map[string]string{}
	}
	if o.Kind == metastore.Other {
		o.Is = what(t)
	} else {
		o.MetadataLocation = t.Parameters[paramMetadata]
	}
	return o
}

// what says what a table is that isn't Iceberg's, in words of ours alone.
func what(t *types.Table) string {
	if aws.ToBool(t.IsMultiDialectView) {
		return "a view of the Glue Data Catalog"
	}
	if aws.ToString(t.TableType) == "VIRTUAL_VIEW" {
		return whatView(t)
	}
	format := strings.ToLower(t.Parameters[paramTableType])
	if format == "" {
		format = strings.ToLower(t.Parameters[paramProvider])
	}
	switch {
	case format == "delta":
		return "a Delta Lake table"
	case format == "hudi" || t.StorageDescriptor != nil && strings.HasPrefix(aws.ToString(t.StorageDescriptor.InputFormat), "org.apache.hudi."):
		return "a Hudi table"
	case format == "paimon":
		return "a Paimon table"
	case format == "lance":
		return "a Lance table"
	case aws.ToString(t.TableType) == "GOVERNED":
		return "a governed table of Lake Formation"
	}
	return "a plain Glue table"
}

// whatView: Athena and Trino mark their views by the same parameter.
func whatView(t *types.Table) string {
	switch {
	case t.Parameters[paramTrinoView] != "true":
		return "a Hive view"
	case strings.Contains(t.Parameters[paramComment], "Materialized"):
		return "a materialized view of Trino"
	}
	return "a view of Athena or Trino"
}
