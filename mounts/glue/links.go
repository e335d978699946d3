package glue

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// Resource links of Lake Formation. Glue follows them itself where the credential may read the
// target. What stands here is for those that it didn't follow: it says why, or follows one step,
// for catalogs that speak Glue's API and don't.

// target is where a database links to; nil for one that is no link.
func (s *Source) target(ctx context.Context, database string) (*place, error) {
	d, err := s.database(ctx, place{s.catalog, database})
	if err != nil || d.TargetDatabase == nil {
		return nil, err
	}
	t := d.TargetDatabase
	p := &place{aws.ToString(t.CatalogId), aws.ToString(t.DatabaseName)}
	if err := s.reachable(t.Region, p.database); err != nil {
		return nil, err
	}
	next, err := s.database(ctx, *p)
	switch {
	case denied(err):
		return nil, notShared("database", err)
	case absent(err): // what is asked of it will say so
		return p, nil
	case err != nil:
		return nil, err
	case next.TargetDatabase != nil:
		return nil, guard.Broken("has a resource link to another resource link as {name}, which is not followed", nil)
	}
	return p, nil
}

// follow reads the table that a table links to; nil for nothing and for another link.
func (s *Source) follow(ctx context.Context, link *types.TableIdentifier) (*types.Table, error) {
	p, name := place{aws.ToString(link.CatalogId), aws.ToString(link.DatabaseName)}, aws.ToString(link.Name)
	if err := s.reachable(link.Region, p.database); err != nil {
		return nil, err
	}
	t, err := s.table(ctx, p, name)
	switch {
	case denied(err):
		return nil, notShared("table", err)
	case absent(err):
		return nil, nil
	case err == nil && t.TargetTable != nil:
		return nil, guard.Broken("has a resource link to another resource link as {name}, which is not followed", nil)
	}
	return t, err
}

// reachable says whether a target is in the Region that is asked.
func (s *Source) reachable(region *string, database string) error {
	if r := aws.ToString(region); r != "" && r != s.region {
		return &guard.Fault{Kind: mounts.Unavailable, Text: "has a resource link into another Region as {name}, which Glue did not follow"}
	}
	if database == "" {
		return guard.Broken(notGlue, errNoResult)
	}
	return nil
}

func notShared(what string, err error) error {
	return &guard.Fault{Kind: mounts.Unavailable, Text: "has a resource link as {name}, to a " + what + " that the mount's credential may not read", Err: err}
}
