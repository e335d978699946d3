package guard

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"piedmont/mounts"
)

// What a call tells the breaker besides nil, which is a success.
var (
	errFailed  = errors.New("the source failed")
	errNeither = errors.New("nothing was learned of the source")
)

// verdict is what a call's outcome says of the source. An absence, a refusal or a bad request
// is an answer, and so a success. A caller that went away, a fault of ours and a source that
// says when to come back say nothing.
func (g *Guard) verdict(a about, err error) error {
	if err == nil {
		g.streak.end()
		return nil
	}
	var e *mounts.Error
	typed := errors.As(err, &e)
	switch {
	case a.caller.Err() != nil:
		return errNeither
	case typed && e.RetryAfter > 0:
		g.hold(e.RetryAfter)
		return errNeither
	case typed && e.Kind == mounts.Internal:
		return errNeither
	case typed && e.Kind != mounts.Unavailable && e.Kind != mounts.Timeout && e.Kind != mounts.BadGateway:
		g.streak.end()
		return nil
	}
	g.failed.Add(1)
	g.streak.add(a.name)
	return errFailed
}

// hold makes all callers wait as long as the source asked to be left alone.
func (g *Guard) hold(d time.Duration) {
	until := int64(g.now() + min(d, maxHold))
	for {
		held := g.heldUntil.Load()
		if held >= until || g.heldUntil.CompareAndSwap(held, until) {
			return
		}
	}
}

// admit refuses a caller while the source is left alone.
func (g *Guard) admit(a about) error {
	held, open := time.Duration(g.heldUntil.Load()), time.Duration(g.openUntil.Load())
	if held == 0 && open == 0 {
		return nil // it never was
	}
	now := g.now()
	if left := held - now; left > 0 {
		return g.heldBack(a, left)
	}
	if open > now || g.probes.barred(a.name, now) {
		return g.leftAlone(a)
	}
	return nil
}

// changed hears of the breaker's states. It is called with the breaker locked.
func (g *Guard) changed(_ string, from, to gobreaker.State) {
	switch to {
	case gobreaker.StateClosed:
		g.probes.clear()
	case gobreaker.StateHalfOpen:
	case gobreaker.StateOpen:
		// Replicas that saw the source fail at the same time don't try it again all at once.
		until := g.now() + g.cooldown + time.Duration(g.random()*float64(g.cooldown)/4)
		g.openUntil.Store(int64(until))
		if from == gobreaker.StateClosed {
			g.opened.Add(1)
			return
		}
		g.probes.bar(g.streak.latest(), until+g.cooldown)
	}
}

// distinct is how many objects must have failed before the breaker may open.
const distinct = 3

// streak is what failed since the last success.
type streak struct {
	some  atomic.Bool // spares successes the lock
	mu    sync.Mutex
	names [distinct]string
	count int    // of names
	last  string // the object that failed last
}

func (s *streak) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.some.Store(true)
	s.last = name
	for _, known := range s.names[:s.count] {
		if known == name {
			return
		}
	}
	if s.count < distinct {
		s.names[s.count] = name
		s.count++
	}
}

func (s *streak) end() {
	if !s.some.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.some.Store(false)
	s.count = 0
}

// many says whether enough different objects failed.
func (s *streak) many() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count == distinct
}

func (s *streak) latest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// probes bars the object whose probe failed from being the next probe too: one broken table
// that is asked for all the time would keep the breaker open for ever.
type probes struct {
	any   atomic.Bool
	mu    sync.Mutex
	name  string
	until time.Duration
}

func (p *probes) bar(name string, until time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.until = name, until
	p.any.Store(true)
}

func (p *probes) barred(name string, now time.Duration) bool {
	if !p.any.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name == name && p.until > now
}

func (p *probes) clear() { p.any.Store(false) }
