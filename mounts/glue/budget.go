package glue

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

const (
	// atOnce is how close refusals are that count as one: calls that were under way together
	// were throttled together.
	atOnce = time.Second
	// recovery is how long the rate takes from nothing to the full one.
	recovery = 30 * time.Second
	// least is the lowest rate, as a part of the full one.
	least = 1.0 / 16
)

// budget bounds the calls a second. Throttling halves the rate, and time lets it grow back:
// so several processes under one quota find a share each.
type budget struct {
	full    rate.Limit
	limiter *rate.Limiter

	mu      sync.Mutex
	lowered time.Time // when it was last; zero where the rate is full
	low     rate.Limit
}

func newBudget(callsPerSecond int) *budget {
	return &budget{full: rate.Limit(callsPerSecond), limiter: rate.NewLimiter(rate.Limit(callsPerSecond), callsPerSecond)}
}

// take waits for the right to make one call. It returns at once where the context would end
// before that.
func (b *budget) take(ctx context.Context) error {
	b.recover()
	err := b.limiter.Wait(ctx)
	if err != nil && ctx.Err() == nil {
		return &guard.Fault{Kind: mounts.Unavailable, Text: "is not asked that often: the mount's calls_per_second are used up", RetryAfter: time.Second, Err: err}
	}
	return err
}

// throttled lowers the rate, unless it was just lowered, and tells the new one.
func (b *budget) throttled() (limit float64, lowered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lowered.IsZero() && time.Since(b.lowered) < atOnce {
		return float64(b.low), false
	}
	b.low = max(b.limiter.Limit()/2, b.full*least)
	b.lowered = time.Now()
	b.set(b.low)
	return float64(b.low), true
}

// recover gives back what the time since the last throttling is worth.
func (b *budget) recover() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lowered.IsZero() {
		return
	}
	limit := b.low + b.full*rate.Limit(time.Since(b.lowered).Seconds()/recovery.Seconds())
	if limit >= b.full {
		b.lowered, limit = time.Time{}, b.full
	}
	b.set(limit)
}

// set also takes back what was saved up, or a pause would be followed by a burst as large as
// the one that was throttled.
func (b *budget) set(limit rate.Limit) {
	b.limiter.SetLimit(limit)
	b.limiter.SetBurst(max(1, int(math.Ceil(float64(limit)))))
}
