package hive

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"

	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
)

// kind is what messages call a mount of this package.
const kind = "hive"

// New is a metastore as a mount: a Source by o in a Catalog by m, whose Name, Kind and Source
// are set here, and its Guard's Concurrency by o.Connections. It asks nothing, as NewSource.
func New(o Options, m metastore.Options) (*metastore.Catalog, error) {
	s, err := NewSource(o)
	if err != nil {
		return nil, err
	}
	m.Name, m.Kind, m.Source = o.Name, kind, s
	m.Guard.Concurrency = cap(s.pool.slots)
	return metastore.New(m)
}

// Source is a Hive Metastore.
type Source struct {
	name    string
	catalog string // empty for the only one, or the default one
	pool    *pool
	events  *pool       // of one connection, for notifications alone
	known   atomic.Bool // the metastore has the catalog
}

var _ metastore.Source = (*Source)(nil)

// NewSource makes a source. It fails where an option is missing or contradicts another or a
// file of certificates can't be read, and asks the metastore nothing: one that can't be
// reached must not stop the start. The error holds no secret.
func NewSource(o Options) (*Source, error) {
	urls, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(o.Name), err)
	}
	s := &Source{name: o.Name, catalog: o.Catalog}
	if s.pool, err = o.pool(urls, o.Connections); err == nil {
		s.events, err = o.pool(urls, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(o.Name), err)
	}
	return s, nil
}

// pool is for connections to all metastores.
func (o *Options) pool(urls []*url.URL, connections int) (*pool, error) {
	endpoints, err := o.endpoints(urls)
	if err != nil {
		return nil, err
	}
	return newPool(endpoints, connections, o.Now), nil
}

// describe is how messages call the mount.
func describe(name string) string { return guard.Describe(name) + " (" + kind + ")" }

// Close closes the connections.
func (s *Source) Close() error {
	s.pool.close()
	s.events.close()
	return nil
}

// Health asks for the database that every metastore has. So it learns more than that the
// process runs: the metastore has to ask its own database.
func (s *Source) Health(ctx context.Context) error {
	_, err := s.database(ctx, "default")
	if absent(err) {
		return nil // somebody dropped it: that was an answer too
	}
	return s.fail("health", "", mounts.Internal, err)
}

// qualified is a database's name in calls that have no place for a catalog.
func (s *Source) qualified(database string) string {
	if s.catalog == "" {
		return database
	}
	return "@" + s.catalog + "#" + database
}

// ready makes sure, once, that the metastore has the catalog. One of version 2 has none and
// would take the name for a part of the database's, or for nothing; a newer one answers for
// a catalog that it doesn't have as for an empty one.
func (s *Source) ready(ctx context.Context) error {
	if s.catalog == "" || s.known.Load() {
		return nil
	}
	r, err := ask(ctx, s, maxObject, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) (*hms.GetCatalogsResponse, error) {
		return some(c.GetCatalogs(ctx))
	})
	switch {
	case unknownMethod(err):
		return guard.Broken("is older than Hive 3 and has no catalogs, but the mount names one", err)
	case err != nil:
		return err
	case !slices.Contains(r.Names, s.catalog):
		return guard.Broken("does not have the catalog that the mount names", nil)
	}
	s.known.Store(true)
	return nil
}
