package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"piedmont/native"
)

// receipt names a commit. Its row enters the database with the commit, so whoever manages
// to put a row of this name there first has made sure that the commit never happens.
//
// Rows are kept for 15 minutes. The server takes a row only while its minute is at most
// five minutes old by its own clock, so that neither a commit nor a question that was
// held up on its way can come when the other's row is gone already.
type receipt struct {
	minute time.Time
	id     native.Version
}

func (r *Registry) newReceipt() receipt {
	return receipt{minute: r.clock.now().Truncate(time.Minute), id: native.NewVersion()}
}

// clock estimates what time it is at the server: whose clocks differ, replicas or their
// servers, mustn't matter.
type clock struct {
	start time.Time    // has a monotonic reading
	ahead atomic.Int64 // of the server's clock at start, as nanoseconds since 1970
}

func (c *clock) now() time.Time { return time.Unix(0, c.ahead.Load()).Add(time.Since(c.start)).UTC() }

// setClock asks the server for the time.
func (r *Registry) setClock(ctx context.Context) error {
	var now time.Time
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.pool.QueryRow(ctx, clockSQL).Scan(&now); err != nil {
		return fmt.Errorf("read the database's clock: %w", database(err))
	}
	r.clock.ahead.Store(now.Add(-time.Since(r.clock.start)).UnixNano())
	return nil
}

const (
	// defaultFenceTime bounds how long the outcome of a commit is looked for.
	defaultFenceTime = 30 * time.Second
	// fenceTries is how many questions fit into that time. One waits for the commit
	// where that is still running.
	fenceTries = 6
)

var errTooOld = errors.New("the commit is too old to be asked about")

// findOut settles a commit whose answer was lost, because of cause. The
// end of the caller's context doesn't end this.
func (r *Registry) findOut(ctx context.Context, id receipt, cause error) (result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.fenceTime)
	defer cancel()
	for try := 1; ; try++ {
		never, err := r.fence(ctx, id)
		switch {
		case err == nil && never:
			return fenced, database(cause)
		case err == nil:
			return applied, nil
		case errors.Is(err, errTooOld), pause(ctx, try+fenceTries) != nil:
			return failed, unknown(fmt.Errorf("%w; then: %w", database(cause), err))
		}
	}
}

// fence makes sure that a commit never happens, or learns that it has. It has a
// connection of its own: those of the pool may have broken in the same way.
func (r *Registry) fence(ctx context.Context, id receipt) (never bool, err error) {
	select {
	case r.fences <- struct{}{}:
		defer func() { <-r.fences }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, r.fenceTime/fenceTries)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, r.connect)
	if err != nil {
		return false, database(err)
	}
	defer func() { _ = conn.Close(ctx) }() // the answer is here or lost
	err = conn.QueryRow(ctx, fenceSQL, id.minute, id.id[:]).Scan(&never)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, errTooOld
	}
	return never, database(err)
}

const (
	sweepEvery = 30 * time.Second
	// sweepRows bounds what one statement deletes.
	sweepRows = 5_000
)

// sweepUntil removes old receipts, and sets the clock, again and again. What fails is
// done the next time.
func (r *Registry) sweepUntil(ctx context.Context) {
	defer close(r.swept)
	from := time.Time{}
	for {
		timer := time.NewTimer(sweepEvery/2 + rand.N(sweepEvery)) //nolint:gosec // spreads out replicas
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if r.setClock(ctx) == nil {
			from = r.sweep(ctx, from)
		}
	}
}

// sweep removes receipts that are old, from a minute before which none are left. It
// returns the next such minute: the index keeps what was removed for a while, and a
// sweep that began at the start would step over all of it each time.
func (r *Registry) sweep(ctx context.Context, from time.Time) time.Time {
	done := r.clock.now().Add(-time.Hour) // far behind whatever may still come
	for {
		n, err := r.sweepSome(ctx, from)
		if err != nil {
			return from
		}
		if n < sweepRows {
			return done
		}
	}
}

func (r *Registry) sweepSome(ctx context.Context, from time.Time) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	tag, err := r.pool.Exec(ctx, sweepSQL, from, sweepRows)
	return tag.RowsAffected(), err
}
