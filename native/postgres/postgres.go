// Package postgres keeps a registry in a PostgreSQL database, for a catalog that any
// number of processes serve. DESIGN.md says how, and why it is right.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"piedmont/native"
)

// Errors of Open and of reads. Each comes wrapped in what was attempted.
var (
	// ErrURL: the URL can't be parsed. What is wrong with it isn't said, since that may
	// quote a password.
	ErrURL = errors.New("the database URL is malformed: it must be postgres://user:password@host:port/database?option=value")
	// ErrNewerSchema: the database's tables were made by a newer release.
	ErrNewerSchema = errors.New("the database's schema is newer than this release knows")
	// ErrNoSchema: the database has no tables of ours yet; Open makes them. Only Look says so.
	ErrNoSchema = errors.New("the database has no tables of a registry yet")
	// ErrOlderSchema: the tables were made by an older release; Open upgrades them. Only Look
	// says so.
	ErrOlderSchema = errors.New("the database's schema is older than this release's")
	// ErrDamaged: tables, columns or rows that this package made are gone or changed.
	ErrDamaged = errors.New("the database holds a damaged registry")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the registry is closed")
)

// Options are the choices of Open that a URL has no room for. The zero Options are good.
type Options struct {
	// MaxConns is the most connections held; 0 means 16, or the URL's pool_max_conns.
	MaxConns int
	// MinConns is how many are held while there is nothing to do; 0 means none, or the
	// URL's pool_min_conns.
	MinConns int
	// ConnectTimeout bounds how long one connection takes to be made; 0 means 5 s, or the
	// URL's connect_timeout.
	ConnectTimeout time.Duration
	// StatementTimeout bounds one exchange with the database, and how long is waited for a
	// free connection, each; 0 means 30 s. When it ends the connection is given up and the
	// server told to stop.
	StatementTimeout time.Duration
}

const (
	defaultMaxConns         = 16
	defaultConnectTimeout   = 5 * time.Second
	defaultStatementTimeout = 30 * time.Second
)

// Registry is a native.Registry in a database. Open makes one.
type Registry struct {
	pool    *pgxpool.Pool
	connect *pgx.ConnConfig // for connections beside the pool
	timeout time.Duration   // of one exchange
	begin   string          // the statement that begins a commit
	clock   clock
	group   group

	prepares bool // unless the URL says that statements aren't to be kept

	fences    chan struct{} // holds a token for each fence under way
	fenceTime time.Duration // how long the outcome of a commit is looked for

	mu     sync.RWMutex // held for reading by each commit, so that Close waits for them
	closed atomic.Bool
	stop   context.CancelFunc // of the sweeper
	swept  chan struct{}      // closed when the sweeper has ended
}

var _ native.Registry = (*Registry)(nil)

// Open connects to the database at url, creates or upgrades its tables where needed, and
// serves the registry in them. TLS and everything else of a connection is in the URL, as
// libpq spells it (sslmode, sslrootcert, target_session_attrs …). Several processes may
// open one database at the same time. ctx bounds the opening only. Errors: ErrURL,
// ErrNewerSchema, ErrDamaged, or the database's; none shows the URL or a password.
func Open(ctx context.Context, url string, o Options) (*Registry, error) {
	r, err := open(ctx, url, o, beginReadCommitted)
	if err != nil {
		return nil, fmt.Errorf("open the registry in PostgreSQL: %w", err)
	}
	return r, nil
}

// Look is Open for who only wants to see what is there: it changes nothing in the database,
// and doesn't remove old receipts either. Where Open would create or upgrade tables it is
// ErrNoSchema or ErrOlderSchema, which says both versions.
func Look(ctx context.Context, url string, o Options) (*Registry, error) {
	r, err := connect(ctx, url, o, beginReadCommitted)
	if err == nil {
		err = r.ready(ctx, r.look)
	}
	if err != nil {
		return nil, fmt.Errorf("look into the registry in PostgreSQL: %w", err)
	}
	close(r.swept)
	r.stop = func() {}
	return r, nil
}

// maxFences is how many connections beside the pool may be open at once.
const maxFences = 4

func open(ctx context.Context, url string, o Options, begin string) (*Registry, error) {
	r, err := connect(ctx, url, o, begin)
	if err == nil {
		err = r.ready(ctx, r.migrate)
	}
	if err != nil {
		return nil, err
	}
	sweeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go r.sweepUntil(sweeping)
	return r, nil
}

func connect(ctx context.Context, url string, o Options, begin string) (*Registry, error) {
	config, err := parse(url, o)
	if err != nil {
		return nil, err
	}
	r := &Registry{
		connect: config.ConnConfig.Copy(), timeout: defaultStatementTimeout, begin: begin,
		fences: make(chan struct{}, maxFences), fenceTime: defaultFenceTime, swept: make(chan struct{}),
	}
	r.clock.start = time.Now()
	r.group.most = int(config.MaxConns)
	r.prepares = config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	if o.StatementTimeout > 0 {
		r.timeout = o.StatementTimeout
	}
	if r.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, database(err)
	}
	return r, nil
}

// ready sees to the schema, and closes the pool where that fails.
func (r *Registry) ready(ctx context.Context, schema func(context.Context) error) error {
	err := schema(ctx)
	if err == nil {
		err = r.setClock(ctx)
	}
	if err != nil {
		r.pool.Close()
	}
	return err
}

// Close refuses new commits, waits for those under way, for the finding out of their
// outcome too, and for reads, and closes the connections. Closing again does nothing.
func (r *Registry) Close() error {
	r.closed.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
	<-r.swept
	r.pool.Close()
	return nil
}
