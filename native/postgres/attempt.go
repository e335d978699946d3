package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"piedmont/native"
)

// result is how one try of a commit ended.
type result uint8

const (
	applied result = iota
	failed         // for good; the error is Commit's
	undone         // surely not applied; may be tried again
	fenced         // as undone, after the connection was lost
	lacking        // as undone: there was nothing to delete
	stale          // as undone: the receipt's minute may have passed, or a row of the guard be gone
	passed         // as undone: the record was locked
)

// attempt tries a commit once. Until it has a connection ctx may end it, not later.
func (r *Registry) attempt(ctx context.Context, p *plan, conditions []native.Condition) (result, error) {
	conn, err := r.acquire(ctx)
	if err != nil {
		return failed, notApplied(err)
	}
	begun, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	id := r.newReceipt()
	var at int
	steps, sure := r.statements(p, id)
	if err := r.prepare(begun, conn, steps); err != nil {
		conn.Release()
		if refused(err) {
			return failed, notApplied(database(err))
		}
		return undone, database(err)
	}
	if !p.hopeless {
		_, at, err = send(begun, conn, steps, sure)
	}
	switch {
	case err == nil && !p.hopeless:
		conn.Release()
		return applied, nil
	case p.hopeless, surelyUndone(err, at, sure):
		defer conn.Release()
		f := condition
		if !p.hopeless {
			f = faultOf(steps, at, err)
		}
		return settle(begun, conn, f, conditions, err)
	}
	conn.Release() // closed: the pool drops it
	return r.foundOut(ctx, id, err, begun.Err() != nil)
}

// foundOut is findOut for a commit that isn't tried again where it took too long already.
func (r *Registry) foundOut(ctx context.Context, id receipt, cause error, late bool) (result, error) {
	result, err := r.findOut(ctx, id, cause)
	if result == fenced && late {
		return failed, notApplied(err)
	}
	return result, err
}

// acquire takes a connection from the pool.
func (r *Registry) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return nil, unconnected(err)
	}
	return conn, nil
}

// unconnected is the error of who got no connection.
func unconnected(err error) error { return fmt.Errorf("get a connection: %w", database(err)) }

// statements are all of a commit. While it is at one of the first, as many as sure says,
// an error surely undoes it. The receipt is first, so that whoever asks for it waits for
// the commit from its beginning. Before any row the guard is locked, in the order of
// classes; see DESIGN.md. What most commits are, the swap of one record, is one statement.
func (r *Registry) statements(p *plan, id receipt) (steps []step, sure int) {
	if p.isSwap() {
		args := append(p.steps[0].args[:4:4], id.minute, id.id[:])
		return []step{{sql: loneSwapSQL, args: args, fault: condition}}, 1
	}
	steps = make([]step, 0, len(p.steps)+5)
	steps = append(steps, step{sql: r.begin}, step{sql: receiptSQL, args: []any{id.minute, id.id[:]}})
	for class, held := range p.guard {
		switch held {
		case free:
		case shared:
			shard := rand.IntN(shards) //nolint:gosec // spreads out locks, guards nothing
			steps = append(steps, step{sql: shareGuardSQL, args: []any{class, shard}})
		case alone:
			steps = append(steps, step{sql: holdGuardSQL, args: []any{class}})
		}
	}
	if len(p.low) > 0 {
		steps = append(steps, step{sql: emptySQL, args: []any{p.low, p.high}, fault: condition})
	}
	steps = append(steps, p.steps...)
	return append(steps, step{sql: commitSQL}), len(steps)
}

// prepare prepares, once on each connection, what a commit may need. The driver's own
// cache would forget all statements of a batch that fails, and a conflict isn't rare.
func (r *Registry) prepare(ctx context.Context, conn *pgxpool.Conn, steps []step) error {
	if !r.prepares {
		return nil
	}
	for _, s := range steps {
		if _, err := conn.Conn().Prepare(ctx, s.sql, s.sql); err != nil {
			return err
		}
	}
	for _, sql := range [...]string{rollbackSQL, findSQL} {
		if _, err := conn.Conn().Prepare(ctx, sql, sql); err != nil {
			return err
		}
	}
	return nil
}

// send runs statements in one round trip; rows is how many rows each changed. Where one
// fails, the ones after it aren't run, and at is its index; it is their number where the
// transaction failed at its end. What comes after COMMIT was answered isn't looked at.
func send(ctx context.Context, conn *pgxpool.Conn, steps []step, sure int) (rows []int64, at int, err error) {
	batch := &pgx.Batch{}
	for _, s := range steps {
		batch.Queue(s.sql, s.args...)
	}
	results, rows := conn.SendBatch(ctx, batch), make([]int64, len(steps))
	for at = range steps {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close() // repeats the error
			return nil, at, err
		}
		rows[at] = tag.RowsAffected()
	}
	if err = results.Close(); sure < len(steps) {
		return rows, 0, nil
	}
	return rows, len(steps), err
}

// surelyUndone tells whether a commit that failed at a statement can't have been
// applied. Its end may fail after the fact, except by colliding.
func surelyUndone(err error, at, sure int) bool {
	if pgconn.SafeToRetry(err) {
		return true
	}
	return refused(err) && code(err) != codeOutcomeUnknown && (at < sure || collided(err))
}

// faultOf is what the failure of a statement means.
func faultOf(steps []step, at int, err error) fault {
	switch c := code(err); {
	case at == len(steps):
	case c == codeDivisionByZero, c == codeUniqueViolation && steps[at].sql == insertSQL:
		return steps[at].fault
	}
	return unexpected
}

// settle ends the transaction of a commit that was surely undone, and says what follows.
func settle(ctx context.Context, conn *pgxpool.Conn, f fault, conditions []native.Condition, cause error) (result, error) {
	if f == condition {
		failures, err := find(ctx, conn, conditions)
		switch {
		case err != nil:
			return undone, fmt.Errorf("a condition failed, but what was found can't be read: %w", database(err))
		case len(failures) > 0:
			return failed, &native.ConflictError{Failures: failures}
		}
		// They changed since, or it was the receipt that failed.
		return stale, errors.New("conditions fail and hold again in turn")
	}
	rollback(ctx, conn)
	switch {
	case f == missing:
		return lacking, nil
	case pgconn.SafeToRetry(cause), collided(cause):
		return undone, database(cause)
	case code(cause) == codeDivisionByZero:
		return stale, database(cause)
	}
	return failed, notApplied(database(cause))
}

// rollback ends a failed transaction. Where that fails too, the pool drops the connection.
func rollback(ctx context.Context, conn *pgxpool.Conn) {
	if !conn.Conn().IsClosed() && conn.Conn().PgConn().TxStatus() != 'I' {
		_, _ = conn.Exec(ctx, rollbackSQL)
	}
}
