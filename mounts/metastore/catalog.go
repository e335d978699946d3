package metastore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/vend"
)

// Options are what a Catalog needs. Source, Documents and Now are required.
type Options struct {
	// Name is the mount point's path as messages show it; empty for the root.
	Name string
	// Kind is what the source is, as messages show it: "hive", "glue".
	Kind string
	// Source is the metastore. The catalog closes it.
	Source Source
	// Guard bounds how the source is asked. Its Name is set here.
	Guard guard.Options
	// Storage are the profiles that the mount may read tables from; nil for none, which leaves
	// a mount that can be listed.
	Storage *vend.Set
	// Documents keeps metadata documents. Mounts may share one.
	Documents *vend.Documents
	// FreshFor lets loads be answered from memory for so long after the question to the source
	// was sent. 0 asks it each time. A source that is a Notifier is asked what has changed
	// meanwhile, once a second while anything is remembered.
	FreshFor time.Duration
	// MaxListingBytes bounds the names that are kept while clients page through them; 0 means
	// 64 MiB. A list that takes more than a quarter isn't kept: each of its pages asks anew.
	MaxListingBytes int64
	// Now is the clock.
	Now func() time.Time
	// Logger hears of names that can't be shown, and when it isn't known what changes; nil for none.
	Logger *slog.Logger
}

const defaultListingBytes = 64 << 20

// Catalog is a metastore as a mount. It can only be read.
type Catalog struct {
	mount     string // as messages call it
	source    Source
	guard     *guard.Guard
	patience  time.Duration
	storage   *vend.Set
	documents *vend.Documents
	now       func() time.Time
	log       *slog.Logger

	memory   *memory   // nil where FreshFor is 0
	follower *follower // nil where nobody tells of changes
	asking   cache.Flight[ObjectName, pointer]
	listings *cache.Cache[list, []string]
	listing  cache.Flight[page, *answer]
	skipped  atomic.Uint64
}

var (
	_ mounts.Mount         = (*Catalog)(nil)
	_ mounts.ViewReader    = (*Catalog)(nil)
	_ mounts.Canonicalizer = (*Catalog)(nil)
	_ mounts.HealthChecker = (*Catalog)(nil)
)

// New makes a catalog. It asks the source nothing: one that can't be reached must not stop the
// start.
func New(o Options) (*Catalog, error) {
	mount := describe(o.Name, o.Kind)
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("%s: %w", mount, err)
	}
	o.Guard.Name = mount
	c := &Catalog{
		mount: mount, source: o.Source, guard: guard.New(o.Guard), storage: o.Storage, documents: o.Documents,
		now: o.Now, log: o.Logger,
		listings: cache.NewWithClock(o.MaxListingBytes, sizeOfList, o.Now),
	}
	// A little longer than the guard: what hung to the end shall be counted by it as the source's
	// failure, not as callers who went away.
	c.patience = c.guard.Timeout() + c.guard.Timeout()/10
	if o.FreshFor > 0 {
		c.memory = newMemory(o.FreshFor, o.Now)
	}
	if source, ok := o.Source.(Notifier); ok && o.FreshFor > pollEvery {
		c.follower = follow(source, c)
	}
	return c, nil
}

func (o *Options) fill() error {
	switch {
	case o.Source == nil || o.Documents == nil || o.Now == nil:
		return errors.New("source, documents and clock are required")
	case o.FreshFor < 0 || o.MaxListingBytes < 0:
		return errors.New("fresh_for and the bound of listings can't be negative")
	}
	if o.MaxListingBytes == 0 {
		o.MaxListingBytes = defaultListingBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Storage == nil {
		var err error
		if o.Storage, err = vend.NewSet(o.Name); err != nil {
			return err
		}
	}
	return nil
}

// describe is how messages call the mount.
func describe(name, kind string) string { return guard.Describe(name) + " (" + kind + ")" }

// Canonical makes a name lower case, as metastores do.
func (c *Catalog) Canonical(name string) string { return mounts.Lower(name) }

// Health asks the source something cheap. It counts for the guard as any other call does.
func (c *Catalog) Health(ctx context.Context) error {
	_, err := guard.Do(ctx, c.guard, "health", "", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.source.Health(ctx)
	})
	return c.fail("health", "", err)
}

// Close ends the questions for what changes, and closes the source. Each Catalog must be closed.
func (c *Catalog) Close() error {
	if c.follower != nil {
		c.follower.close()
	}
	return c.source.Close()
}

// Stats are counts since the catalog was made.
type Stats struct {
	// Guard is how the source was asked.
	Guard guard.Stats
	// Skipped are names in lists that break our rules, so that nobody could ask for them.
	Skipped uint64
	// Events is how the mount heard of changes; nil where it doesn't ask.
	Events *Events
}

// Stats reads the counts.
func (c *Catalog) Stats() Stats {
	s := Stats{Guard: c.guard.Stats(), Skipped: c.skipped.Load()}
	if c.follower != nil {
		s.Events = c.follower.stats()
	}
	return s
}
