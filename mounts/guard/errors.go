package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"piedmont/mounts"
)

// maxTries is how often a call is made at most, and firstBackoff the most that passes before
// the second time; it doubles then.
const (
	maxTries     = 3
	firstBackoff = 25 * time.Millisecond
)

// again waits before a call is made once more. It is false where that can't help: only what
// is Unavailable for no stated time may pass at once.
func (g *Guard) again(ctx context.Context, tries int, err error) bool {
	var e *mounts.Error
	if tries >= maxTries || !errors.As(err, &e) || e.Kind != mounts.Unavailable || e.RetryAfter > 0 || ctx.Err() != nil {
		return false
	}
	wait := time.Duration(g.random() * float64(firstBackoff<<(tries-1)))
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// recovered makes the call, and an error of a panic.
func recovered[T any](ctx context.Context, g *Guard, a about, call func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = g.error(a, mounts.Internal, "could not be asked: a fault in this server", 0, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return call(ctx)
}

// explain gives the end of a context a kind, where the call left it without one.
func (g *Guard) explain(a about, err error) error {
	var e *mounts.Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, context.Canceled):
		return g.error(a, mounts.Unavailable, "was not waited for: the request was given up", 0, err)
	case errors.Is(err, context.DeadlineExceeded):
		return g.error(a, mounts.Timeout, "did not answer in time", 0, err)
	}
	return err
}

// busy is how long callers should stay away from a source that has enough to do.
const busy = time.Second

func (g *Guard) full(a about) error {
	g.refused.Add(1)
	return g.error(a, mounts.Unavailable, "has too many requests waiting already", busy, nil)
}

func (g *Guard) noTurn(a about, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return cause // explain has words for it
	}
	g.refused.Add(1)
	return g.error(a, mounts.Unavailable, "is busy: the request waited for its turn in vain", busy, cause)
}

func (g *Guard) heldBack(a about, left time.Duration) error {
	g.refused.Add(1)
	return g.error(a, mounts.Unavailable, "takes no more requests right now", left, nil)
}

// leftAlone is the refusal while the breaker is open, or waits for what its probe says.
func (g *Guard) leftAlone(a about) error {
	g.refused.Add(1)
	left := time.Duration(g.openUntil.Load()) - g.now()
	if left <= 0 {
		left = busy
	}
	return g.error(a, mounts.Unavailable, "failed several times in a row and is left alone for a moment", left, nil)
}

// error is an error of the guard's own. Its text follows "The catalog behind mount 'x' ".
func (g *Guard) error(a about, kind mounts.Kind, text string, retryAfter time.Duration, cause error) error {
	return &mounts.Error{
		Kind: kind, Op: a.op, Name: a.name, Detail: "The catalog behind " + g.name + " " + text, RetryAfter: retryAfter, Err: cause,
	}
}
