package rest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// Catalog is an upstream catalog as a Mount. It can only be read.
type Catalog struct {
	name      string
	identity  string // keys the shared cache: tags of one upstream mean nothing at another
	base      *url.URL
	warehouse string
	lower     bool
	client    *client
	guard     *guard.Guard
	patience  time.Duration
	freshFor  time.Duration
	documents *Documents
	storage   func(string) (string, bool)
	now       func() time.Time
	log       *slog.Logger

	known    atomic.Pointer[settings]
	hasViews atomic.Bool // the upstream didn't say so, but answered as one that has
	warned   warned
	asking   cache.Flight[struct{}, *settings]
	loading  cache.Flight[DocumentKey, *Entry]
	underWay underWay
	skipped  atomic.Uint64
}

var (
	_ mounts.Mount         = (*Catalog)(nil)
	_ mounts.ViewReader    = (*Catalog)(nil)
	_ mounts.HealthChecker = (*Catalog)(nil)
)

// New makes a catalog. It fails where an option is missing or contradicts another, and
// asks the upstream nothing: one that can't be reached must not stop the start. The error
// holds no secret.
func New(o Options) (*Catalog, error) {
	base, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", guard.Describe(o.Name), err)
	}
	c := &Catalog{
		name: o.Name, identity: rand.Text(), base: base, warehouse: o.Warehouse, lower: o.Lower, freshFor: o.FreshFor,
		documents: o.Documents, storage: o.Storage, now: o.Now, log: o.Logger,
		client: newClient(o), guard: guard.New(o.Guard),
		// A little longer than the guard: what hung to the end shall be counted by it as the
		// upstream's failure, not as callers who went away.
		patience: o.Guard.Timeout + o.Guard.Timeout/10,
	}
	c.client.auth = o.authorizer(c.client, base)
	return c, nil
}

// Close gives back idle connections. What the shared cache holds of the mount ages out.
func (c *Catalog) Close() error {
	c.client.http.CloseIdleConnections()
	return nil
}

// Health asks the upstream for its configuration, which is used from then on. It counts for
// the guard as any other call does.
func (c *Catalog) Health(ctx context.Context) error {
	_, err := guarded(ctx, c, "health", "", c.fetchSettings)
	return c.fail("health", "", err)
}

// Stats are counts since the catalog was made.
type Stats struct {
	// Guard is how the upstream was asked. A call may be several requests.
	Guard guard.Stats
	// Requests sent to the upstream, those for tokens included.
	Requests uint64
	// Skipped are names in lists that break our rules or are no names in a path, so that nobody
	// could ask for them.
	Skipped uint64
}

// Stats reads the counts.
func (c *Catalog) Stats() Stats {
	return Stats{Guard: c.guard.Stats(), Requests: c.client.requests.Load(), Skipped: c.skipped.Load()}
}
