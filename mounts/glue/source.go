package glue

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue"

	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
)

// Source is a Glue Data Catalog.
type Source struct {
	name    string
	region  string
	catalog string // empty for the credential's own
	client  *glue.Client
	pool    *http.Transport
	budget  *budget
	log     *slog.Logger
	known   atomic.Bool // Glue has answered for the catalog
}

var _ metastore.Source = (*Source)(nil)

// NewSource makes a source. It fails where an option is missing or contradicts another, or
// where the files that hold the process's own credentials can't be read; it asks nothing over
// the network. The error holds no secret.
func NewSource(ctx context.Context, o Options) (*Source, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", guard.Describe(o.Name), err)
	}
	pool := newPool()
	provider, err := o.credentials(ctx, newWeb(pool, credentialTimeout))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", guard.Describe(o.Name), err)
	}
	options := glue.Options{
		Region: o.Region, Credentials: provider,
		HTTPClient: newWeb(pool, 0), // calls end with their context
		// The guard before us tries again, so that the SDK must not multiply it.
		Retryer: aws.NopRetryer{},
	}
	if o.Endpoint != "" {
		options.BaseEndpoint = aws.String(o.Endpoint)
	}
	return &Source{
		name: o.Name, region: o.Region, catalog: o.CatalogID, client: glue.New(options), pool: pool,
		budget: newBudget(o.CallsPerSecond), log: o.Logger,
	}, nil
}

// Close closes the connections.
func (s *Source) Close() error {
	s.pool.CloseIdleConnections()
	return nil
}

// Health asks for the name of one database.
func (s *Source) Health(ctx context.Context) error {
	_, _, err := s.databases(ctx, "", 1)
	return s.fail("health", "", err)
}
