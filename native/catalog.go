package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/native/metadata"
	"piedmont/vend"
)

// Options are what a Catalog needs. All fields but Logger are required.
type Options struct {
	// ID keys the catalog's state in the registry. Moving the mount keeps it.
	ID string
	// Registry holds the state. The caller owns it: several catalogs share one, and it
	// outlives them.
	Registry Registry
	// Warehouse is the location under which tables without a location of their own are put.
	Warehouse string
	// Storage are the profiles that tables may lie in; Warehouse must lie in one.
	Storage *vend.Set
	// Documents is where loaded metadata documents are kept.
	Documents *vend.Documents
	// FormatVersions are the table format versions that may be created and upgraded to;
	// none means 1, 2 and 3. Tables of other versions are served all the same.
	FormatVersions []int
	// DefaultFormatVersion is that of a create that asks for none; 0 means 2, or the
	// highest allowed if 2 isn't.
	DefaultFormatVersion int
	// UndropWindow is how long a dropped table can be restored; 0 means not at all.
	UndropWindow time.Duration
	// Now is the clock.
	Now func() time.Time
	// Logger hears of files that could not be cleaned up; nil for none.
	Logger *slog.Logger
}

// parsedBytes bounds the documents kept parsed, so that a commit to a hot table need not
// split its base again.
const parsedBytes = 64 << 20

// placedBytes bounds the locations whose profile is remembered.
const placedBytes = 8 << 20

// placed is where a location leads: profiles never change while a catalog lives.
type placed struct {
	profile  *vend.Profile
	location vend.Location
}

// Catalog is a catalog we own: a Mount that can be written, over a Registry.
type Catalog struct {
	id        string
	registry  Registry
	warehouse vend.Location
	storage   *vend.Set
	documents *vend.Documents
	formats   []int
	format    int // for creates that ask for none
	undrop    time.Duration
	placed    *cache.Cache[string, placed]
	parsed    *cache.Cache[vend.DocumentKey, *metadata.Document]
	heads     *heads
	queues    queues
	cleaner   *cleaner
	patience  time.Duration // commitTimeout, but for tests
	now       func() time.Time
	log       *slog.Logger
}

var (
	_ mounts.Mount           = (*Catalog)(nil)
	_ mounts.NamespaceWriter = (*Catalog)(nil)
	_ mounts.TableWriter     = (*Catalog)(nil)
	_ mounts.TableRenamer    = (*Catalog)(nil)

	_ mounts.TransactionCommitter = (*Catalog)(nil)
	_ mounts.ReceiptKeeper        = (*Catalog)(nil)
	_ mounts.ViewReader           = (*Catalog)(nil)
	_ mounts.ViewWriter           = (*Catalog)(nil)
)

// New makes a catalog. It fails where an option is missing or the warehouse lies in no
// storage profile of the mount; it asks neither registry nor storage.
func New(o Options) (*Catalog, error) {
	if err := CheckID(o.ID); err != nil {
		return nil, fmt.Errorf("native mount %q: %w", o.ID, err)
	}
	if o.Registry == nil || o.Storage == nil || o.Documents == nil || o.Now == nil {
		return nil, fmt.Errorf("native mount %q: registry, storage, documents and clock are required", o.ID)
	}
	_, warehouse, err := o.Storage.Find(o.Warehouse)
	if err != nil {
		return nil, fmt.Errorf("native mount %q: warehouse: %w", o.ID, err)
	}
	formats, format, err := formatVersions(o)
	if err != nil {
		return nil, fmt.Errorf("native mount %q: %w", o.ID, err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("catalog", o.ID)
	return &Catalog{
		id: o.ID, registry: o.Registry, warehouse: warehouse, storage: o.Storage, documents: o.Documents, now: o.Now, log: o.Logger,
		formats: formats, format: format, undrop: max(o.UndropWindow, 0),
		placed: cache.New(placedBytes, func(location string, _ placed) int64 { return 3 * int64(len(location)) }),
		parsed: cache.New(parsedBytes, func(_ vend.DocumentKey, d *metadata.Document) int64 { return d.Size() }),
		heads:  newHeads(), queues: queues{waiting: map[Key]*queue{}}, cleaner: newCleaner(o.Logger), patience: commitTimeout,
	}, nil
}

// formatVersions fills in and checks the format versions of the options.
func formatVersions(o Options) (allowed []int, standard int, err error) {
	allowed, standard = slices.Clone(o.FormatVersions), o.DefaultFormatVersion
	if len(allowed) == 0 {
		allowed = []int{1, 2, 3}
	}
	for _, v := range allowed {
		if v < 1 || v > 3 {
			return nil, 0, fmt.Errorf("format version %d: there are 1, 2 and 3", v)
		}
	}
	if standard == 0 {
		if standard = 2; !slices.Contains(allowed, standard) {
			standard = slices.Max(allowed)
		}
	}
	if !slices.Contains(allowed, standard) {
		return nil, 0, fmt.Errorf("default format version %d isn't among the allowed %v", standard, allowed)
	}
	return allowed, standard, nil
}

// Close waits for the commits under way and, for a limited time, for the files that are
// being deleted. The registry stays open.
func (c *Catalog) Close() error {
	c.queues.wait()
	c.cleaner.wait()
	return nil
}

// Health reads one key.
func (c *Catalog) Health(ctx context.Context) error {
	_, _, err := c.registry.Get(ctx, kindSigningKey)
	return err
}

// unavailable is the answer where the registry couldn't be read, or surely didn't write.
func unavailable(op, name string, err error) error {
	if e := (*mounts.Error)(nil); errors.As(err, &e) {
		return err
	}
	return &mounts.Error{Kind: mounts.Unavailable, Op: op, Name: name, Detail: "The registry can't be reached right now; nothing was changed", Err: err}
}

// committed turns the outcome of a registry commit into what callers may know. conflict
// answers for a *ConflictError; it may be nil where no condition can fail.
func committed(op, name string, err error, conflict func(*ConflictError) error) error {
	var lost *ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lost) && conflict != nil:
		return conflict(lost)
	case errors.Is(err, ErrNotApplied):
		return unavailable(op, name, err)
	}
	return &mounts.Error{
		Kind: mounts.CommitStateUnknown, Op: op, Name: name,
		Detail: "It is unknown whether the change to {name} was applied: look before trying again", Err: err,
	}
}

// attempts bounds how often a change is tried again after it lost a race.
const attempts = 20

// jitter is how long to wait after that many lost races, up to a quarter of a second.
func jitter(losses int) time.Duration {
	return time.Duration(rand.Int64N(int64(time.Millisecond) << min(losses, 8))) //nolint:gosec // needs no secrecy
}

// errLost is what a try returns that lost a race and may be made again.
var errLost = errors.New("lost the race")

// retry tries until the outcome is another than errLost, backing off with jitter. After
// the last try, or when the context ends, it is CommitFailed: surely nothing was done.
func retry(ctx context.Context, op, name string, try func() error) error {
	for i := range attempts {
		err := try()
		if !errors.Is(err, errLost) {
			return err
		}
		select {
		case <-ctx.Done():
			return &mounts.Error{
				Kind: mounts.CommitFailed, Op: op, Name: name, Retryable: true, Err: ctx.Err(),
				Detail: "Commit to {name} was given up while others changed it; nothing was written",
			}
		case <-time.After(jitter(i)):
		}
	}
	return lostTooOften(op, name)
}

// lostTooOften is the answer of a change that lost every race it may.
func lostTooOften(op, name string) error {
	return &mounts.Error{
		Kind: mounts.CommitFailed, Op: op, Name: name, Retryable: true,
		Detail: "Commit to {name} lost against concurrent changes too often; nothing was written",
	}
}
