package glue

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
)

// The keys that Iceberg's GlueCatalog gives what Glue keeps beside the parameters of a
// database.
const (
	keyLocation = "location"
	keyComment  = "comment"
)

// lower is how Glue spells names.
func lower(name string) string { return strings.ToLower(name) }

// Databases lists the catalog's own databases, resource links included, one page at a time in
// Glue's order. Databases that others share with the account aren't among them: they have the
// names that others gave them.
func (s *Source) Databases(ctx context.Context, token string, size int) ([]string, string, error) {
	const op = "listNamespaces"
	names, next, err := fill(token, size, func(token string, n int) ([]string, string, error) {
		return s.databases(ctx, token, n)
	})
	for i, name := range names {
		names[i] = lower(name)
	}
	return names, next, s.fail(op, "", err)
}

// maxCalls is how many calls one page of ours may take. Glue pages through tables of all kinds,
// so that a page of its may hold none that is wanted.
const maxCalls = 10

// fill makes one page of several of Glue's: size names at most, or as many as the calls give.
// It ends early rather than ask for a few more. What was found before a call failed is a page
// too: whoever goes on meets the failure again.
func fill(token string, size int, ask func(token string, n int) ([]string, string, error)) ([]string, string, error) {
	if size <= 0 {
		size = maxCalls * maxPage
	}
	var names []string
	for calls := range maxCalls {
		found, next, err := ask(token, min(size-len(names), maxPage))
		if err != nil {
			if calls > 0 {
				return names, token, nil
			}
			return nil, "", err
		}
		if next != "" && next == token {
			return nil, "", guard.Broken("gave a list that does not end", nil)
		}
		names, token = append(names, found...), next
		left := size - len(names)
		if token == "" || left == 0 || len(names) > 0 && left < maxPage {
			break
		}
	}
	return names, token, nil
}

// Database reads a database's parameters, location and comment. Those of a resource link are its
// target's, where the mount's credential may read that.
func (s *Source) Database(ctx context.Context, name string) (metastore.Database, error) {
	const op = "loadNamespaceMetadata"
	d, err := s.database(ctx, place{s.catalog, name})
	if err != nil {
		return metastore.Database{}, s.missing(ctx, op, name, mounts.NoSuchNamespace, err)
	}
	return metastore.Database{Properties: properties(d)}, nil
}

func properties(d *types.Database) map[string]string {
	p := make(map[string]string, len(d.Parameters)+2)
	for key, value := range d.Parameters {
		p[key] = value
	}
	for key, value := range map[string]*string{keyLocation: d.LocationUri, keyComment: d.Description} {
		if aws.ToString(value) != "" {
			p[key] = *value
		}
	}
	return p
}

// What page tokens of objects begin with.
const (
	directToken = "d" // and Glue's token
	linkedToken = "l" // and Glue's token in the target of a resource link
)

// Objects lists the Iceberg tables or views of a database, one page at a time in Glue's order.
// A resource link to a table is among them where Glue shows what it links to.
func (s *Source) Objects(ctx context.Context, database string, kind metastore.Kind, token string, size int) ([]string, string, error) {
	const op = "listTables"
	if kind != metastore.Table && kind != metastore.View {
		return nil, "", s.fail(op, database, errors.New("only Iceberg tables and views are listed"))
	}
	return s.objects(ctx, op, database, func(t *types.Table) bool { return kindOf(t) == kind }, token, size)
}

// objects lists the entries of a database that are wanted.
func (s *Source) objects(ctx context.Context, op, database string, want func(*types.Table) bool, token string, size int) ([]string, string, error) {
	direct, ok := strings.CutPrefix(token, directToken)
	linked, through := strings.CutPrefix(token, linkedToken)
	if token != "" && !ok && !through {
		return nil, "", errToken(op)
	}
	if through {
		return s.linked(ctx, op, database, nil, want, linked, size)
	}
	names, next, err := s.page(ctx, place{s.catalog, database}, want, direct, size)
	if token == "" && (absent(err) || err == nil && len(names) == 0 && next == "") {
		return s.linked(ctx, op, database, err, want, "", size)
	}
	return names, prefixed(directToken, next), s.missing(ctx, op, database, mounts.NoSuchNamespace, err)
}

// linked is for a database in which nothing was found: it may be missing, or a resource link
// that wasn't followed, of which it lists the target. err is what Glue said of its tables.
func (s *Source) linked(ctx context.Context, op, database string, err error, want func(*types.Table) bool, token string, size int) ([]string, string, error) {
	target, missing := s.target(ctx, database)
	switch {
	case missing != nil:
		return nil, "", s.missing(ctx, op, database, mounts.NoSuchNamespace, missing)
	case target == nil && err != nil:
		return nil, "", s.fail(op, database, &guard.Fault{Kind: mounts.Unavailable, Text: "has {name}, but not its tables: it may just have been made", Err: err})
	case target == nil && token != "": // it was a link when the token was made
		return nil, "", errToken(op)
	case target == nil:
		return nil, "", nil
	}
	names, next, err := s.page(ctx, *target, want, token, size)
	if absent(err) {
		err = &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: database, Detail: "Namespace does not exist: {name} is a resource link to nothing", Err: err}
	}
	return names, prefixed(linkedToken, next), s.fail(op, database, err)
}

func (s *Source) page(ctx context.Context, p place, want func(*types.Table) bool, token string, size int) ([]string, string, error) {
	return fill(token, size, func(token string, n int) ([]string, string, error) {
		return s.tables(ctx, p, want, token, n)
	})
}

func errToken(op string) error {
	return &mounts.Error{Kind: mounts.BadRequest, Op: op, Detail: "Invalid pageToken"}
}

func prefixed(prefix, token string) string {
	if token == "" {
		return ""
	}
	return prefix + token
}

// missing is fail for a question about one thing, whose absence is of that kind.
func (s *Source) missing(ctx context.Context, op, name string, kind mounts.Kind, err error) error {
	if !absent(err) {
		return s.fail(op, name, err)
	}
	if unsure := s.sure(ctx); unsure != nil {
		return s.fail(op, name, unsure)
	}
	return &mounts.Error{Kind: kind, Op: op, Name: name, Err: err}
}
