package hive

import (
	"context"

	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

var _ metastore.Inventory = (*Source)(nil)

// types are what a metastore calls the kinds of its objects, and what they are.
var types = []struct{ name, is string }{
	{"VIRTUAL_VIEW", "a Hive view"},
	{"MATERIALIZED_VIEW", "a materialized view of Hive"},
	{"MANAGED_TABLE", "a table that isn't Iceberg's (MANAGED_TABLE)"},
	{"EXTERNAL_TABLE", "a table that isn't Iceberg's (EXTERNAL_TABLE)"},
}

// Others lists the objects of one type, in one call, with the next type as the token. Only
// names are read: which format a table has (Hive's own, Delta, Hudi, Iceberg) would take reading
// each.
func (s *Source) Others(ctx context.Context, database, token string, _ int) ([]mounts.OtherObject, string, error) {
	const op = "list other objects"
	at := 0
	if token != "" {
		for at < len(types) && types[at].name != token {
			at++
		}
		if at == len(types) {
			return nil, "", errToken(op)
		}
	}
	names, err := s.ofType(ctx, database, types[at].name)
	if err != nil {
		return nil, "", s.fail(op, database, mounts.NoSuchNamespace, err)
	}
	others := make([]mounts.OtherObject, len(names))
	for i, name := range names {
		others[i] = mounts.OtherObject{Name: name, Is: types[at].is}
	}
	if at+1 == len(types) {
		return others, "", nil
	}
	return others, types[at+1].name, nil
}

func (s *Source) ofType(ctx context.Context, database, of string) ([]string, error) {
	if !plain(database) { // the answer doesn't say whose it is
		if _, err := s.database(ctx, database); err != nil {
			return nil, err
		}
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	names, err := list(ctx, s, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) ([]string, error) {
		return listed(c.GetTablesByType(ctx, s.qualified(database), "*", of))
	})
	return names, err
}
