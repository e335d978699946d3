package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"piedmont/native"
)

const (
	// maxGroup bounds the swaps that share a transaction.
	maxGroup = 64
	// maxSenders is how many groups are on their way before a swap waits for one to end. The
	// fewer there are, the more share the server's work; with only one, what comes meanwhile would
	// wait for two.
	maxSenders = 2
	// groupPatience is how long a group counts among them: one that takes longer is on a long
	// way, or stalls.
	groupPatience = 2 * time.Millisecond
)

// lone is a commit that is the swap of one record, on its way with others like it.
type lone struct {
	swap step
	id   receipt // from when it was sent
	done chan sent
}

// sent is what became of a swap.
type sent struct {
	result result
	err    error
	// unclear: its answer was lost, because of err; late: since it didn't come in time.
	unclear, late bool
}

// group holds the swaps that wait while others are on their way, so that they share a
// transaction, and its sync. See DESIGN.md.
type group struct {
	mu      sync.Mutex
	waiting []*lone
	senders int // how many will take what waits
}

// swap is attempt for a commit that swaps one record: it shares a round trip and a
// transaction with others. The result is passed where the record was locked, since a group
// waits for no lock.
func (r *Registry) swap(ctx context.Context, p *plan, conditions []native.Condition) (result, error) {
	s := &lone{swap: p.steps[0], done: make(chan sent, 1)}
	if r.group.add(s) {
		go r.sendGroups(context.WithoutCancel(ctx))
	}
	var o sent
	select {
	case o = <-s.done:
	case <-ctx.Done():
		if r.group.withdraw(s) {
			return failed, notApplied(ctx.Err())
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

// add hands in a swap, and says whether somebody must be sent to take it.
func (g *group) add(s *lone) (send bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, s)
	if send = g.senders < maxSenders; send {
		g.senders++
	}
	return send
}

// withdraw takes a swap back; false where it has been taken.
func (g *group) withdraw(s *lone) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, s)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// take takes the next swaps; where there are none, whoever asked is no longer expected to.
func (g *group) take() []*lone {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), maxGroup)
	if n == 0 {
		g.senders--
	}
	taken := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return taken
}

// leave says that who took the last swaps doesn't take the next, and whether somebody else
// must be sent.
func (g *group) leave() (send bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if send = len(g.waiting) > 0; !send {
		g.senders--
	}
	return send
}

// sendGroups sends what waits, group after group, until nothing does. A group that takes
// long is its last, and another goroutine goes on.
func (r *Registry) sendGroups(ctx context.Context) {
	for {
		conn, err := r.acquire(ctx)
		taken := r.group.take() // not before: until it has a connection a commit can be withdrawn
		switch {
		case err != nil:
			tellAll(taken, sent{result: failed, err: notApplied(err)})
		case len(taken) == 0:
			conn.Release()
		default:
			slow := time.AfterFunc(groupPatience, func() {
				if r.group.leave() {
					r.sendGroups(ctx)
				}
			})
			r.sendGroup(ctx, conn, taken)
			if !slow.Stop() {
				return
			}
		}
		if len(taken) == 0 {
			return
		}
	}
}

// sendGroup carries out swaps in one round trip and tells each what became of it.
func (r *Registry) sendGroup(ctx context.Context, conn *pgxpool.Conn, taken []*lone) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	steps, first := r.groupSteps(taken)
	if err := r.prepare(ctx, conn, steps); err != nil {
		conn.Release()
		result, err := unprepared(err)
		tellAll(taken, sent{result: result, err: err})
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
