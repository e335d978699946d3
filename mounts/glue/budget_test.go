package glue

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
)

// spend takes as often as it can for a while, by so many callers, and tells when.
func spend(b *budget, callers int, while time.Duration) []time.Duration {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), while)
	defer cancel()
	var mu sync.Mutex
	var taken []time.Duration
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for b.take(ctx) == nil {
				mu.Lock()
				taken = append(taken, time.Since(began))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return taken
}

// most is the largest number of events within any span of that length.
func most(times []time.Duration, span time.Duration) int {
	slices.Sort(times)
	found, from := 0, 0
	for i, at := range times {
		for at-times[from] >= span {
			from++
		}
		found = max(found, i-from+1)
	}
	return found
}

// However many ask, no second sees more than the burst and one second's worth.
func TestBudgetIsKept(t *testing.T) {
	for _, callers := range []int{1, 16, 200} {
		synctest.Test(t, func(t *testing.T) {
			taken := spend(newBudget(20), callers, time.Minute)
			require.InDelta(t, 20+20*60, len(taken), 20)
			require.LessOrEqual(t, most(taken, time.Second), 41)
			require.LessOrEqual(t, most(taken, 10*time.Second), 221)
		})
	}
}

// Throttling halves the rate once a second at most, down to a sixteenth; it grows back in half a
// minute, and nothing is saved up meanwhile.
func TestBudgetAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(16)
		for range 10 {
			b.throttled()
		}
		require.Equal(t, rate.Limit(8), b.limiter.Limit(), "ten refusals at once are one")
		require.LessOrEqual(t, len(spend(b, 16, time.Second)), 8+8+1)
		for range 10 {
			time.Sleep(time.Second)
			b.throttled()
		}
		require.InDelta(t, 1, float64(b.limiter.Limit()), 0.6)
		time.Sleep(10 * time.Second)
		b.recover()
		require.InDelta(t, 16.0/3+1, float64(b.limiter.Limit()), 0.6)
		time.Sleep(25 * time.Second)
		b.recover()
		require.Equal(t, rate.Limit(16), b.limiter.Limit())
		require.Equal(t, 16, b.limiter.Burst())
		time.Sleep(time.Hour)
		b.recover()
		require.Equal(t, rate.Limit(16), b.limiter.Limit())
	})
}

// A caller whose time is too short for the queue is told so at once.
func TestBudgetRefusesInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1)
		require.NoError(t, b.take(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := b.take(ctx)
		var f *guard.Fault
		require.ErrorAs(t, err, &f)
		require.Equal(t, mounts.Unavailable, f.Kind)
		require.Equal(t, time.Second, f.RetryAfter, "so that the guard doesn't try again at once")
		require.Zero(t, time.Since(began))
		cancel()
		require.ErrorIs(t, b.take(ctx), context.Canceled)
	})
}

// Every call is paid for, and Glue's refusals are heard.
func TestCallsAreCounted(t *testing.T) {
	f := withTable(t)
	s := f.source(t, func(o *Options) { o.CallsPerSecond = 20 })
	began := time.Now()
	for range 10 {
		for name, err := range map[string]error{"Object": second(s.Object(t.Context(), "db", "t")), "Database": second(s.Database(t.Context(), "db")), "Health": s.Health(t.Context())} {
			require.NoError(t, err, name)
		}
	}
	require.GreaterOrEqual(t, time.Since(began), 480*time.Millisecond, "20 calls at once, and 10 by 20 a second")

	var log bytes.Buffer
	s = f.source(t, func(o *Options) { o.CallsPerSecond, o.Logger = 20, slog.New(slog.NewTextHandler(&log, nil)) })
	f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
		refuse(w, http.StatusBadRequest, "ThrottlingException", "Rate exceeded")
		return true
	})
	require.Error(t, s.Health(t.Context()))
	require.Error(t, s.Health(t.Context()))
	require.InDelta(t, 10, float64(s.budget.limiter.Limit()), 0.5)
	require.Equal(t, 1, strings.Count(log.String(), "Glue throttles the mount"))
	require.Contains(t, log.String(), "calls_per_second=10")
}

func second[T any](_ T, err error) error { return err }

// quota is an account's: a bucket that others drink from too.
type quota struct {
	limiter   *rate.Limiter
	refused   atomic.Int64
	callCount atomic.Int64
}

func (q *quota) spoil(_ string, _ request, w http.ResponseWriter) bool {
	q.callCount.Add(1)
	if q.limiter.Allow() {
		return false
	}
	q.refused.Add(1)
	refuse(w, http.StatusBadRequest, "ThrottlingException", "Rate exceeded")
	return true
}

// Under a quota far below what clients want: the calls stay within the budget, few of them are
// refused, and nobody is told that a table doesn't exist.
func TestThrottling(t *testing.T) {
	f := newFake(t)
	dir, set := storage(t)
	d := f.database("db", nil)
	for i := range 50 {
		d.iceberg(fmt.Sprintf("t%02d", i), write(t, dir))
	}
	const budget, allowed = 100, 20
	q := &quota{limiter: rate.NewLimiter(allowed, allowed)}
	f.setSpoil(q.spoil)
	s := f.source(t, func(o *Options) { o.CallsPerSecond = budget })
	c, err := metastore.New(metastore.Options{
		Name: "aws", Kind: "glue", Source: s, Storage: set, Documents: vend.NewDocuments(64 << 20), Now: time.Now,
		Guard: guard.Options{Timeout: 5 * time.Second},
	})
	require.NoError(t, err)
	const while = 4 * time.Second
	began := time.Now()
	var wg sync.WaitGroup
	var loaded, refused atomic.Int64
	for i := range 32 {
		wg.Go(func() {
			for n := i; time.Since(began) < while; n++ {
				id := mounts.Namespace{"db"}.Table(fmt.Sprintf("t%02d", n%50))
				_, err := c.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
				switch mounts.KindOf(err) {
				case mounts.Unavailable, mounts.Timeout:
					refused.Add(1)
					time.Sleep(20 * time.Millisecond)
				default:
					if err != nil {
						t.Errorf("%v", err)
					}
					loaded.Add(1)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	times := make([]time.Duration, len(f.times))
	for i, at := range f.times {
		times[i] = at.Sub(began)
	}
	calls, throttles := q.callCount.Load(), q.refused.Load()
	t.Logf("%v: %d calls, %d of them throttled, %d loads, %d refused to callers; the busiest second had %d calls",
		took.Round(time.Millisecond), calls, throttles, loaded.Load(), refused.Load(), most(times, time.Second))
	require.LessOrEqual(t, most(times, time.Second), 2*budget+1)
	require.Less(t, throttles, calls/2)
	require.GreaterOrEqual(t, loaded.Load(), int64(allowed), "work goes on")
	require.LessOrEqual(t, float64(calls), allowed*took.Seconds()*3, "the calls adapt to the quota")
	require.NotZero(t, throttles)
}
