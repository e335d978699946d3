package guard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// failingGuard has a breaker that is open for exactly 5 seconds.
func failingGuard() *guard.Guard {
	return guard.New(guard.Options{Name: mount, Random: func() float64 { return 0 }})
}

// fail lets calls about so many objects fail, one after the other.
func fail(t *testing.T, g *guard.Guard, calls, objects int, kind mounts.Kind) {
	t.Helper()
	for i := range calls {
		require.ErrorContains(t, do(t, g, fmt.Sprint("db.bad", i%objects), failing(kind)), "said so")
	}
}

func TestBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []mounts.Kind{mounts.Timeout, mounts.BadGateway} {
			g := failingGuard()
			fail(t, g, 4, 4, kind)
			require.Equal(t, "closed", g.Stats().Breaker)
			fail(t, g, 1, 1, kind)
			require.Equal(t, "open", g.Stats().Breaker)
			time.Sleep(2 * time.Second)
			e := own(t, do(t, g, "db.t", works), mounts.Unavailable, "left alone")
			require.Equal(t, 3*time.Second, e.RetryAfter)
			require.Equal(t, guard.Stats{Calls: 5, Failed: 5, Refused: 1, Breaker: "open", Opened: 1}, g.Stats())
			time.Sleep(3*time.Second + 1)
			require.NoError(t, do(t, g, "db.t", works))
			require.Equal(t, "closed", g.Stats().Breaker)
		}
	})
}

// Untyped errors count, and so does each try of a call.
func TestWhatElseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := failingGuard()
		for i := range 5 {
			require.Error(t, do(t, g, fmt.Sprint("db.t", i), func(context.Context) (int, error) { return 0, errors.New("untyped") }))
		}
		require.Equal(t, "open", g.Stats().Breaker)

		g = failingGuard()
		for i := range 3 {
			require.Error(t, do(t, g, fmt.Sprint("db.t", i), failing(mounts.Unavailable)))
		}
		require.Equal(t, "open", g.Stats().Breaker)
		require.EqualValues(t, 7, g.Stats().Calls, "three tries, three, and the one that opened it")
	})
}

// What a healthy source answers doesn't open the breaker, and ends a row of failures.
func TestAnswersAreNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []mounts.Kind{mounts.NoSuchTable, mounts.NoSuchNamespace, mounts.NoSuchView, mounts.NotFound, mounts.BadRequest, mounts.Forbidden} {
			g := failingGuard()
			fail(t, g, 50, 50, kind)
			for range 10 {
				fail(t, g, 4, 4, mounts.BadGateway)
				fail(t, g, 1, 1, kind)
			}
			require.Equal(t, "closed", g.Stats().Breaker, "%v", kind)
		}
		g := failingGuard()
		fail(t, g, 50, 50, mounts.Internal)
		require.Equal(t, "closed", g.Stats().Breaker)
		for i := range 5 {
			fail(t, g, 1, 1, mounts.Internal)
			require.Error(t, do(t, g, fmt.Sprint("db.t", i), failing(mounts.BadGateway)))
		}
		require.Equal(t, "open", g.Stats().Breaker, "our own faults say nothing of the source, nothing good either")
	})
}

// A broken table or two that somebody asks for again and again take nothing from the others.
func TestOneBrokenTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := failingGuard()
		fail(t, g, 100, 2, mounts.BadGateway)
		require.NoError(t, do(t, g, "db.t", works))
		require.Zero(t, g.Stats().Opened)
	})
}

// A success ends the row of objects too.
func TestObjectsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := failingGuard()
		for i := range 50 {
			require.Error(t, do(t, g, fmt.Sprint("db.bad", i), failing(mounts.BadGateway)))
			require.NoError(t, do(t, g, "db.t", works))
		}
		fail(t, g, 20, 2, mounts.BadGateway)
		require.Zero(t, g.Stats().Opened)
	})
}

// While the breaker is half open one call at a time finds out, and the others don't wait.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := failingGuard()
		fail(t, g, 5, 5, mounts.BadGateway)
		time.Sleep(5*time.Second + 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			require.NoError(t, do(t, g, "db.t", func(ctx context.Context) (int, error) { time.Sleep(time.Second); return works(ctx) }))
		})
		synctest.Wait()
		for range 20 {
			e := own(t, do(t, g, "db.u", works), mounts.Unavailable, "left alone")
			require.Equal(t, time.Second, e.RetryAfter)
		}
		wg.Wait()
		require.NoError(t, do(t, g, "db.u", works))
		require.EqualValues(t, 7, g.Stats().Calls)
	})
}

// A probe whose caller goes away is none: the next caller finds out.
func TestProbeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := failingGuard()
		fail(t, g, 5, 5, mounts.BadGateway)
		time.Sleep(5*time.Second + 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := guard.Do(ctx, g, "loadTable", "db.t", hangs)
		require.Error(t, err)
		require.Equal(t, "half-open", g.Stats().Breaker)
		require.NoError(t, do(t, g, "db.t", works))
		require.Equal(t, "closed", g.Stats().Breaker)
	})
}

// Somebody asks for a broken table all the time. After an outage it is the first to be asked
// for, but can't keep the breaker open.
func TestBrokenTableAsProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := failingGuard()
		fail(t, g, 5, 5, mounts.Timeout)
		require.Equal(t, "open", g.Stats().Breaker)
		began := time.Now()
		go func() {
			for time.Since(began) < time.Minute {
				_ = do(t, g, "db.broken", failing(mounts.BadGateway))
				time.Sleep(10 * time.Millisecond)
			}
		}()
		time.Sleep(time.Millisecond) // always a little behind the other
		for {
			_ = do(t, g, "db.t", works)
			if g.Stats().Breaker == "closed" {
				break
			}
			time.Sleep(2 * time.Second)
			require.Less(t, time.Since(began), 20*time.Second)
		}
		require.ErrorContains(t, do(t, g, "db.broken", failing(mounts.BadGateway)), "said so", "it isn't barred any more")
		time.Sleep(2 * time.Minute)
		require.EqualValues(t, 1, g.Stats().Opened)
	})
}

// Where nothing but the broken table is asked for, and the source is well again, it is tried
// once in a while.
func TestOnlyTheBrokenTableIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := failingGuard()
		fail(t, g, 5, 5, mounts.Timeout)
		calls := g.Stats().Calls
		for range 600 {
			_ = do(t, g, "db.broken", failing(mounts.BadGateway))
			time.Sleep(100 * time.Millisecond)
		}
		probes := g.Stats().Calls - calls
		require.GreaterOrEqual(t, probes, uint64(5))
		require.LessOrEqual(t, probes, uint64(7), "once in ten seconds")
		require.NoError(t, func() error { time.Sleep(11 * time.Second); return do(t, g, "db.broken", works) }())
		require.Equal(t, "closed", g.Stats().Breaker)
	})
}

// The cooldown is up to a quarter longer, so that replicas don't ask all at once.
func TestCooldownIsJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount, Random: func() float64 { return 0.8 }})
		fail(t, g, 5, 5, mounts.BadGateway)
		e := own(t, do(t, g, "db.t", works), mounts.Unavailable, "left alone")
		require.Equal(t, 6*time.Second, e.RetryAfter)
		time.Sleep(6 * time.Second)
		require.NoError(t, do(t, g, "db.t", works))
	})
}
