package hive

import (
	"context"
	"errors"
	"slices"
	"strings"

	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

// The keys that Iceberg's HiveCatalog gives what a metastore keeps beside the parameters
// of a database.
const (
	keyLocation  = "location"
	keyComment   = "comment"
	keyOwner     = "hive.metastore.database.owner"
	keyOwnerType = "hive.metastore.database.owner-type"
)

// Databases lists all databases, in alphabetical order: metastores know no pages.
func (s *Source) Databases(ctx context.Context, token string, _ int) ([]string, string, error) {
	const op = "listNamespaces"
	if token != "" {
		return nil, "", errToken(op)
	}
	err := s.ready(ctx)
	if err != nil {
		return nil, "", s.fail(op, "", mounts.Internal, err)
	}
	names, err := list(ctx, s, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) ([]string, error) {
		if s.catalog == "" {
			return listed(c.GetAllDatabases(ctx))
		}
		return listed(c.GetDatabases(ctx, s.qualified("*")))
	})
	return names, "", s.fail(op, "", mounts.Internal, err)
}

func errToken(op string) error {
	return &mounts.Error{Kind: mounts.BadRequest, Op: op, Detail: "Invalid pageToken"}
}

// listed makes an error of a list that isn't there: an empty one isn't nil.
func listed(names []string, err error) ([]string, error) {
	if err == nil && names == nil {
		err = errNoResult
	}
	return names, err
}

// list asks for names.
func list(ctx context.Context, s *Source, question asked[[]string]) ([]string, error) {
	names, err := ask(ctx, s, maxList, question)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		names[i] = strings.ToLower(name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Database reads a database's parameters, location, comment and owner.
func (s *Source) Database(ctx context.Context, name string) (metastore.Database, error) {
	d, err := s.database(ctx, name)
	return d, s.fail("loadNamespaceMetadata", name, mounts.NoSuchNamespace, err)
}

// database also makes sure that the metastore calls the database what we do. It takes
// "@hive#db" and " db" for "db", which would pass a policy on that.
func (s *Source) database(ctx context.Context, name string) (metastore.Database, error) {
	if strings.HasPrefix(name, "@") {
		return metastore.Database{}, errOtherName
	}
	if err := s.ready(ctx); err != nil {
		return metastore.Database{}, err
	}
	d, err := ask(ctx, s, maxObject, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) (*hms.Database, error) {
		return some(c.GetDatabase(ctx, s.qualified(name)))
	})
	switch {
	case err != nil:
		return metastore.Database{}, doubted(name, err)
	case d.Name != name:
		return metastore.Database{}, errOtherName
	}
	return metastore.Database{Properties: properties(d)}, nil
}

func properties(d *hms.Database) map[string]string {
	p := make(map[string]string, len(d.Parameters)+4)
	for key, value := range d.Parameters {
		p[key] = value
	}
	for key, value := range map[string]string{keyLocation: d.LocationUri, keyComment: d.Description, keyOwner: d.GetOwnerName()} {
		if value != "" {
			p[key] = value
		}
	}
	if d.OwnerType != nil && d.GetOwnerName() != "" {
		p[keyOwnerType] = d.OwnerType.String()
	}
	return p
}

// filters find the objects of a kind by what Iceberg's catalogs write into their
// parameters, in any case of letters. The pattern is a regular expression over the whole
// value, which the metastore turns into LOWER(…) LIKE. Never "=": over the parameters it
// compares a CLOB, which Derby and Oracle can't, and the metastore tries for 20 seconds.
var filters = map[metastore.Kind]string{
	metastore.Table: `hive_filter_field_params__table_type like "(?i)iceberg"`,
	metastore.View:  `hive_filter_field_params__table_type like "(?i)iceberg-view"`,
}

const noLimit = -1

// Objects lists all Iceberg tables or views of a database, in alphabetical order, in one
// call.
func (s *Source) Objects(ctx context.Context, database string, kind metastore.Kind, token string, _ int) ([]string, string, error) {
	const op = "listTables"
	if token != "" {
		return nil, "", errToken(op)
	}
	names, err := s.objects(ctx, database, filters[kind])
	return names, "", s.fail(op, database, mounts.NoSuchNamespace, err)
}

func (s *Source) objects(ctx context.Context, database, filter string) ([]string, error) {
	if filter == "" {
		return nil, errors.New("only Iceberg tables and views are listed")
	}
	// The answer doesn't say whose it is.
	if !plain(database) {
		if _, err := s.database(ctx, database); err != nil {
			return nil, err
		}
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	names, err := list(ctx, s, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) ([]string, error) {
		return listed(c.GetTableNamesByFilter(ctx, s.qualified(database), filter, noLimit))
	})
	if err != nil || len(names) > 0 {
		return names, err
	}
	_, err = s.database(ctx, database) // a missing one has an empty list too
	return names, err
}

// plain says whether a metastore can't take the name for another's.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' })
}
