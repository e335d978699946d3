package glue

import (
	"context"
	"errors"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"piedmont/mounts/guard"
)

// place is a database in a catalog.
type place struct{ catalog, database string }

// maxPage is the most entries that Glue gives at once.
const maxPage = 100

var (
	errNoResult  = errors.New("an answer without a result")
	errOtherName = errors.New("the Data Catalog has something of another name there")
)

// call makes one call within the budget, which hears of throttling.
func call[In, Out any](ctx context.Context, s *Source, ask func(context.Context, *In, ...func(*glue.Options)) (*Out, error), in *In) (*Out, error) {
	if err := s.budget.take(ctx); err != nil {
		return nil, err
	}
	out, err := ask(ctx, in)
	if throttled(err) {
		if limit, lowered := s.budget.throttled(); lowered {
			s.log.Warn("Glue throttles the mount", slog.String("mount", guard.Describe(s.name)), slog.Float64("calls_per_second", limit))
		}
	}
	if err != nil {
		return nil, err
	}
	s.known.Store(true)
	return out, nil
}

// optional is nil for what is left out.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return aws.String(text)
}

// databases lists names of databases, at most n, or all at once: there are servers that speak
// Glue's API and know no pages.
func (s *Source) databases(ctx context.Context, token string, n int) ([]string, string, error) {
	out, err := call(ctx, s, s.client.GetDatabases, &glue.GetDatabasesInput{
		CatalogId: optional(s.catalog), NextToken: optional(token), MaxResults: aws.Int32(int32(n)),
		AttributesToGet: []types.DatabaseAttributes{types.DatabaseAttributesName},
	})
	switch {
	case absent(err): // nothing but the catalog was named
		return nil, "", guard.Broken("does not have the catalog that the mount names", err)
	case err != nil:
		return nil, "", err
	case out.DatabaseList == nil:
		return nil, "", guard.Broken(notGlue, errNoResult)
	case len(out.DatabaseList) > n && out.NextToken != nil:
		return nil, "", guard.Broken(tooMany, nil)
	}
	names := make([]string, 0, len(out.DatabaseList))
	for i := range out.DatabaseList {
		names = append(names, aws.ToString(out.DatabaseList[i].Name))
	}
	return names, aws.ToString(out.NextToken), nil
}

// database reads one, and makes sure that Glue calls it what we do. A resource link may go by
// its target's name.
func (s *Source) database(ctx context.Context, p place) (*types.Database, error) {
	out, err := call(ctx, s, s.client.GetDatabase, &glue.GetDatabaseInput{CatalogId: optional(p.catalog), Name: &p.database})
	switch {
	case err != nil:
		return nil, err
	case out.Database == nil || out.Database.Name == nil:
		return nil, guard.Broken(notGlue, errNoResult)
	case lower(*out.Database.Name) != lower(p.database) && out.Database.TargetDatabase == nil:
		return nil, errOtherName
	}
	return out.Database, nil
}

// table is database for a table.
func (s *Source) table(ctx context.Context, p place, name string) (*types.Table, error) {
	out, err := call(ctx, s, s.client.GetTable, &glue.GetTableInput{CatalogId: optional(p.catalog), DatabaseName: &p.database, Name: &name})
	switch {
	case err != nil:
		return nil, err
	case out.Table == nil || out.Table.Name == nil:
		return nil, guard.Broken(notGlue, errNoResult)
	case lower(*out.Table.Name) != lower(name) && out.Table.TargetTable == nil:
		return nil, errOtherName
	}
	return out.Table, nil
}

// tables lists the names of the tables in a database that want accepts. For n see databases.
func (s *Source) tables(ctx context.Context, p place, want func(*types.Table) bool, token string, n int) ([]string, string, error) {
	out, err := call(ctx, s, s.client.GetTables, &glue.GetTablesInput{
		CatalogId: optional(p.catalog), DatabaseName: &p.database, NextToken: optional(token), MaxResults: aws.Int32(int32(n)),
	})
	switch {
	case err != nil:
		return nil, "", err
	case len(out.TableList) > n && out.NextToken != nil:
		return nil, "", guard.Broken(tooMany, nil)
	}
	var names []string
	for i := range out.TableList {
		if want(&out.TableList[i]) {
			names = append(names, lower(aws.ToString(out.TableList[i].Name)))
		}
	}
	return names, aws.ToString(out.NextToken), nil
}

// sure makes certain that an absence is one: Glue has the same words for a catalog that
// doesn't exist. Once it answered for the catalog that is there.
func (s *Source) sure(ctx context.Context) error {
	if s.catalog == "" || s.known.Load() {
		return nil
	}
	_, _, err := s.databases(ctx, "", 1)
	return err
}
