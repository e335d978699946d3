package survey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"piedmont/mounts"
)

const (
	// tries is how often a question is put that nobody answers, though others are answered.
	tries = 3
	// enough is how many questions must have failed before there is no hope: one table may be to
	// blame for its own.
	enough = 3
	// firstPause comes before the second try. It doubles up to maxPause.
	firstPause = time.Second
	maxPause   = 15 * time.Second
)

// asker puts questions to a catalog or to a storage profile, no more a second than its limiter
// allows. A question that isn't answered is put again: a few times where others are answered, else
// until patience is over. Then there is no hope, and nothing is asked any more.
type asker struct {
	limiter  *rate.Limiter // nil for no limit
	timeout  time.Duration // of one question
	patience time.Duration
	asked    func() // counts questions; nil for not at all

	mu       sync.Mutex
	answers  uint64
	failing  time.Time // since when nothing was answered; zero where the last question was
	failed   int       // questions that weren't answered since then
	hold     time.Time // no question before that: whoever was asked said so
	hopeless error
}

// errGivenUp is what questions end with that aren't put any more.
var errGivenUp = errors.New("given up")

// ask puts a question until it is answered. An error that tells something is an answer too. Beside
// those it returns errGivenUp, or what ended the context.
func (a *asker) ask(ctx context.Context, question func(context.Context) error) error {
	p := &patient{}
	for {
		if err := a.turn(ctx, p); err != nil {
			return err
		}
		err := a.put(ctx, question)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || !unanswered(err) {
			a.answered()
			return err
		}
		if err, again := a.unanswered(p, err); !again {
			return err
		}
		if err := sleep(ctx, min(firstPause<<min(p.tries-1, 10), maxPause)); err != nil {
			return err
		}
	}
}

// patient is a question that waits for its answer.
type patient struct {
	tries   int
	answers uint64 // to others, when its last try began to wait
	counted bool   // among those that failed since answers
}

// turn waits until the question may be put.
func (a *asker) turn(ctx context.Context, p *patient) error {
	a.mu.Lock()
	hold, hopeless := a.hold, a.hopeless
	if p.tries == 0 {
		p.answers = a.answers
	}
	a.mu.Unlock()
	if hopeless != nil {
		return hopeless
	}
	if err := sleep(ctx, time.Until(hold)); err != nil {
		return err
	}
	if a.limiter == nil {
		return nil
	}
	err := a.limiter.Wait(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

func (a *asker) put(ctx context.Context, question func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if a.asked != nil {
		a.asked()
	}
	err := question(within)
	if err != nil && within.Err() != nil && !unanswered(err) {
		return &mounts.Error{Kind: mounts.Timeout, Op: "survey", Detail: "no answer in time", Err: err}
	}
	return err
}

func (a *asker) answered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers++
	a.failing, a.failed = time.Time{}, 0
}

// unanswered says whether to put a question again that came back with err.
func (a *asker) unanswered(p *patient, err error) (_ error, again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	others := a.answers != p.answers
	p.tries++
	p.answers, p.counted = a.answers, p.counted && !others
	if a.failing.IsZero() {
		a.failing = now
	}
	if !p.counted {
		a.failed++
		p.counted = true
	}
	over := now.Sub(a.failing) >= a.patience
	if a.hopeless == nil && over && a.failed >= enough && p.tries >= tries {
		a.hopeless = fmt.Errorf("%w: nothing was answered for %s: %w", errGivenUp, a.patience, err)
	}
	var e *mounts.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		if until := now.Add(min(e.RetryAfter, maxPause)); until.After(a.hold) {
			a.hold = until
		}
	}
	switch {
	case a.hopeless != nil:
		return a.hopeless, false
	case p.tries >= tries && (others || over):
		return err, false
	}
	return nil, true
}
