package guard

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// What Options mean where they are zero.
const (
	defaultTimeout     = 30 * time.Second
	defaultConcurrency = 16
	defaultQueueFactor = 8
	defaultFailures    = 5
	defaultCooldown    = 5 * time.Second
)

// maxHold bounds how long a source can ask to be left alone. A longer wish, or a mistaken
// one, costs one question every 30 seconds.
const maxHold = 30 * time.Second

// Options are what a Guard is made of. The zero Options are good ones, but for the name.
type Options struct {
	// Name is how messages call the mount: "mount 'legacy'", "the root mount".
	Name string
	// Timeout bounds a Do, its waiting and its retries included; 0 means 30 seconds.
	Timeout time.Duration
	// Concurrency is the most calls under way at once; 0 means 16.
	Concurrency int
	// Queue is the most callers that wait for their turn; more are refused at once. 0 means
	// eight times Concurrency, less than 0 none.
	Queue int
	// Failures is how many calls in a row must fail before the source is left alone, 0 means
	// 5; and they must be about three different objects at least, so that one broken table
	// doesn't stand for all.
	Failures int
	// Cooldown is how long a failed source is left alone, up to a quarter longer; 0 means 5
	// seconds.
	Cooldown time.Duration
	// Random gives numbers from 0 up to 1, for jitter; nil means those of math/rand. It may be
	// called by several goroutines at once.
	Random func() float64
}

// Guard guards one mount's source. Its methods may be called at once.
type Guard struct {
	name     string
	timeout  time.Duration
	queue    int64
	cooldown time.Duration
	random   func() float64
	began    time.Time // what times below are counted from, so that no change of the clock moves them

	slots   chan struct{}
	breaker *gobreaker.CircuitBreaker[struct{}]
	streak  streak

	heldUntil atomic.Int64 // the source asked to be left alone until then
	openUntil atomic.Int64 // the breaker is open until then
	probes    probes

	waiting atomic.Int64
	calls   atomic.Uint64
	failed  atomic.Uint64
	refused atomic.Uint64
	retried atomic.Uint64
	opened  atomic.Uint64
}

// New makes a guard.
func New(o Options) *Guard {
	o.fill()
	g := &Guard{
		name: o.Name, timeout: o.Timeout, queue: int64(o.Queue), cooldown: o.Cooldown, random: o.Random, began: time.Now(),
		slots: make(chan struct{}, o.Concurrency),
	}
	g.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: o.Name, MaxRequests: 1, Timeout: o.Cooldown,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return int(c.ConsecutiveFailures) >= o.Failures && g.streak.many()
		},
		IsExcluded:    func(err error) bool { return errors.Is(err, errNeither) },
		OnStateChange: g.changed,
	})
	return g
}

// Timeout is how long a Do takes at most.
func (g *Guard) Timeout() time.Duration { return g.timeout }

func (o *Options) fill() {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Queue == 0 {
		o.Queue = defaultQueueFactor * o.Concurrency
	}
	if o.Failures <= 0 {
		o.Failures = defaultFailures
	}
	if o.Cooldown <= 0 {
		o.Cooldown = defaultCooldown
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
}

// now is the time since the guard was made.
func (g *Guard) now() time.Duration { return time.Since(g.began) }

// Do makes a call that reads. op is the operation, name the object it is about, both as
// mounts.Error has them; what is about no object has the name "". The context of the call ends
// with the guard's deadline, and the call must keep to it.
//
// What the call returns is returned as it is, except that a context error without a kind gets
// one. Errors of the guard's own are *mounts.Error: Unavailable where the source wasn't asked,
// with RetryAfter, Timeout where it didn't answer, Internal where the call panicked.
func Do[T any](ctx context.Context, g *Guard, op, name string, call func(context.Context) (T, error)) (T, error) {
	within, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	a := about{op: op, name: name, caller: ctx}
	for tries := 1; ; tries++ {
		value, err := once(within, g, a, call)
		if err == nil {
			return value, nil
		}
		if !g.again(within, tries, err) {
			return value, g.explain(a, err)
		}
		g.retried.Add(1)
	}
}

// about is what a call is for.
type about struct {
	op, name string
	caller   context.Context // whose end is no fault of the source
}

// once waits for a turn and makes the call, if the breaker lets it pass.
func once[T any](ctx context.Context, g *Guard, a about, call func(context.Context) (T, error)) (value T, err error) {
	if err = g.admit(a); err != nil {
		return value, err
	}
	if err = g.enter(ctx, a); err != nil {
		return value, err
	}
	defer func() { <-g.slots }()
	_, shut := g.breaker.Execute(func() (struct{}, error) {
		g.calls.Add(1)
		value, err = recovered(ctx, g, a, call)
		return struct{}{}, g.verdict(a, err)
	})
	if shut == gobreaker.ErrOpenState || shut == gobreaker.ErrTooManyRequests { //nolint:errorlint // it returns just these
		return value, g.leftAlone(a)
	}
	return value, err
}

// enter takes a slot, at once or when its turn comes.
func (g *Guard) enter(ctx context.Context, a about) error {
	select {
	case g.slots <- struct{}{}: // never past those who wait: while they do there is no room
		return nil
	default:
	}
	if g.waiting.Add(1) > g.queue {
		g.waiting.Add(-1)
		return g.full(a)
	}
	defer g.waiting.Add(-1)
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return g.noTurn(a, ctx.Err())
	}
	err := g.admit(a) // the wait may have been long
	if ctx.Err() != nil {
		err = g.noTurn(a, ctx.Err()) // the turn came as the time was over
	}
	if err != nil {
		<-g.slots
	}
	return err
}

// Stats are a guard's gauges, and its counts since it was made.
type Stats struct {
	// UnderWay are the calls that run, Waiting the callers that wait for their turn.
	UnderWay, Waiting int
	// Calls were made, retries included. Failed are those of them that count against the source.
	Calls, Failed uint64
	// Refused are callers that were sent away without asking the source.
	Refused uint64
	// Retried are calls made once more after a failure.
	Retried uint64
	// Breaker is "closed", "half-open" or "open"; Opened is how often it opened.
	Breaker string
	Opened  uint64
}

// Stats reads gauges and counts.
func (g *Guard) Stats() Stats {
	return Stats{
		UnderWay: len(g.slots), Waiting: int(g.waiting.Load()), Calls: g.calls.Load(), Failed: g.failed.Load(),
		Refused: g.refused.Load(), Retried: g.retried.Load(), Breaker: g.breaker.State().String(), Opened: g.opened.Load(),
	}
}
