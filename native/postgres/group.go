package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"piedmont/native"
)

// lone is a commit that is the swap of one record, on its way with others like it.
type lone struct {
	swap   step
	bytes  int     // of what it writes
	number uint64  // in the order of coming
	id     receipt // from when it was sent
	done   chan sent
}

// newLone is the swap that a plan is.
func newLone(p *plan) *lone {
	s := &lone{swap: p.steps[0], done: make(chan sent, 1)}
	for _, arg := range s.swap.args {
		b, _ := arg.([]byte) // all are
		s.bytes += len(b)
	}
	return s
}

// sent is what became of a swap.
type sent struct {
	result result
	err    error
	// unclear: its answer was lost, because of err; late: since it didn't come in time.
	unclear, late bool
}

// swap is attempt for a commit that swaps one record: it shares a round trip and a
// transaction with others. The result is passed where the record was locked, since a group
// waits for no lock. Until its group has a connection, for which it waits no longer than
// attempt does, ctx may end it.
func (r *Registry) swap(ctx context.Context, p *plan, conditions []native.Condition) (result, error) {
	s := newLone(p)
	if r.group.add(s) {
		go r.sendGroups() //nolint:gosec,contextcheck // for whoever comes, so nobody's context
	}
	waiting, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var o sent
	select {
	case o = <-s.done:
	case <-waiting.Done():
		if r.group.withdraw(s) {
			return failed, notApplied(unconnected(waiting.Err()))
		}
		o = <-s.done
	}
	switch {
	case o.unclear:
		return r.foundOut(ctx, s.id, o.err, o.late)
	case o.result == passed:
		return r.whyPassed(ctx, conditions)
	}
	return o.result, o.err
}

// whyPassed says why a swap found nothing to change: a condition doesn't hold, or the record
// is locked.
func (r *Registry) whyPassed(ctx context.Context, conditions []native.Condition) (result, error) {
	conn, err := r.acquire(ctx)
	if err != nil {
		return failed, notApplied(err)
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	failures, err := find(ctx, conn, conditions)
	switch {
	case err != nil:
		return undone, database(err)
	case len(failures) > 0:
		return failed, &native.ConflictError{Failures: failures}
	}
	return passed, nil
}

// sendGroups sends what waits, group after group, until nothing does.
func (r *Registry) sendGroups() {
	for again := true; again; {
		upTo := r.group.came()
		slow := time.AfterFunc(groupPatience, func() {
			if r.group.leave() {
				r.sendGroups()
			}
		})
		if conn, err := r.acquire(context.Background()); err != nil {
			tellAll(r.group.take(upTo), sent{result: failed, err: notApplied(err)})
		} else if taken := r.group.take(math.MaxUint64); len(taken) > 0 { // not before: until here a swap can be withdrawn
			r.sendGroup(conn, taken)
		} else {
			conn.Release()
		}
		again = r.group.goOn(!slow.Stop())
	}
}

// sendGroup carries out swaps in one round trip and tells each what became of it.
func (r *Registry) sendGroup(conn *pgxpool.Conn, taken []*lone) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	steps, first := r.groupSteps(taken)
	if err := r.prepare(ctx, conn, steps); err != nil {
		conn.Release()
		tellAll(taken, sent{result: undone, err: database(err)})
		return
	}
	sure := first + len(taken)
	rows, at, err := send(ctx, conn, steps, sure)
	safe := err != nil && surelyUndone(err, at, sure)
	if safe {
		rollback(ctx, conn)
	}
	conn.Release() // where it is closed the pool drops it
	switch {
	case safe: // perhaps because of one of them, so each tries by itself
		tellAll(taken, sent{result: undone, err: database(err)})
	case err != nil:
		tellAll(taken, sent{err: err, unclear: true, late: ctx.Err() != nil})
	default:
		for i, s := range taken {
			s.done <- sent{result: swapped(rows[first+i])}
		}
	}
}

func tellAll(taken []*lone, o sent) {
	for _, s := range taken {
		s.done <- o
	}
}

func swapped(rows int64) result {
	if rows == 0 {
		return passed
	}
	return applied
}

// groupSteps are the statements of a group; those from first on are its swaps. A single
// one is a transaction by itself.
func (r *Registry) groupSteps(taken []*lone) (steps []step, first int) {
	steps = make([]step, 0, len(taken)+2)
	if len(taken) > 1 {
		steps, first = append(steps, step{sql: r.begin}), 1
	}
	for _, s := range taken {
		s.id = r.newReceipt()
		steps = append(steps, step{sql: groupSwapSQL, args: append(s.swap.args[:4:4], s.id.minute, s.id.id[:])})
	}
	if len(taken) > 1 {
		steps = append(steps, step{sql: commitSQL})
	}
	return steps, first
}
