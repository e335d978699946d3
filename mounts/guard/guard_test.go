package guard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

const mount = "mount 'legacy'"

// failing is a call that answers an error of that kind.
func failing(kind mounts.Kind) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return 0, &mounts.Error{Kind: kind, Detail: "said so"} }
}

func works(context.Context) (int, error) { return 7, nil }

// hangs until its context ends.
func hangs(ctx context.Context) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func do(t *testing.T, g *guard.Guard, name string, call func(context.Context) (int, error)) error {
	t.Helper()
	_, err := guard.Do(t.Context(), g, "loadTable", name, call)
	return err
}

// own checks an error that the guard made.
func own(t *testing.T, err error, kind mounts.Kind, words string) *mounts.Error {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Contains(t, e.Message(), words)
	require.Contains(t, e.Message(), mount)
	require.Equal(t, "loadTable", e.Op)
	return e
}

func TestAnswersPass(t *testing.T) {
	g := guard.New(guard.Options{Name: mount})
	v, err := guard.Do(t.Context(), g, "loadTable", "db.t", works)
	require.NoError(t, err)
	require.Equal(t, 7, v)
	untyped := errors.New("untyped")
	_, err = guard.Do(t.Context(), g, "loadTable", "db.t", func(context.Context) (int, error) { return 0, untyped })
	require.Equal(t, untyped, err)
	require.Equal(t, guard.Stats{Calls: 2, Failed: 1, Breaker: "closed"}, g.Stats())
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount, Concurrency: 2})
		began := time.Now()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				_ = own(t, do(t, g, "db.t", hangs), mounts.Timeout, "did not answer in time")
				require.Equal(t, 30*time.Second, time.Since(began), "a timeout isn't retried")
			})
		}
		synctest.Wait()
		for range 2 { // callers in a hurry, who get no turn
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := guard.Do(ctx, g, "loadTable", "db.t", works)
				_ = own(t, err, mounts.Unavailable, "in vain")
				require.Equal(t, 10*time.Second, time.Since(began), "waiting counts too")
			})
		}
		wg.Wait()
		require.Equal(t, guard.Stats{Calls: 2, Failed: 2, Refused: 2, Breaker: "closed"}, g.Stats())
	})
}

// Waiting and the call together have one deadline.
func TestDeadlineIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount, Concurrency: 1})
		began := time.Now()
		go func() {
			_ = do(t, g, "db.t", func(context.Context) (int, error) { time.Sleep(29 * time.Second); return 0, nil })
		}()
		synctest.Wait()
		_ = own(t, do(t, g, "db.t", hangs), mounts.Timeout, "did not answer in time")
		require.Equal(t, 30*time.Second, time.Since(began))
	})
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ queue, waits int }{{0, 16}, {3, 3}, {-1, 0}} {
			g := guard.New(guard.Options{Name: mount, Concurrency: 2, Queue: c.queue})
			var wg sync.WaitGroup
			for range 2 + c.waits {
				wg.Go(func() { _ = do(t, g, "db.t", hangs) })
			}
			synctest.Wait()
			require.Equal(t, 2, g.Stats().UnderWay)
			require.Equal(t, c.waits, g.Stats().Waiting)
			began := time.Now()
			e := own(t, do(t, g, "db.t", works), mounts.Unavailable, "too many requests")
			require.Equal(t, time.Second, e.RetryAfter)
			require.Zero(t, time.Since(began), "refused at once")
			wg.Wait()
			require.Zero(t, g.Stats().UnderWay+g.Stats().Waiting)
		}
	})
}

// The bound costs no throughput: 64 callers over a source that takes 5 ms.
func TestThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const loads, callers, bound, latency = 10_000, 64, 16, 5 * time.Millisecond
		g := guard.New(guard.Options{Name: mount, Concurrency: bound})
		var left, under, most atomic.Int64
		left.Store(loads)
		began := time.Now()
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					err := do(t, g, "db.t", func(context.Context) (int, error) {
						for n := under.Add(1); ; {
							if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
								break
							}
						}
						time.Sleep(latency)
						under.Add(-1)
						return 0, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, bound, most.Load())
		require.LessOrEqual(t, float64(time.Since(began)), float64(loads/bound*latency)/0.9)
	})
}

func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount, Concurrency: 1, Failures: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		errs := make(chan error, 10)
		for i := range 10 {
			wg.Go(func() {
				_, err := guard.Do(ctx, g, "loadTable", fmt.Sprint("db.t", i), hangs)
				errs <- err
			})
			if i < 9 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		close(errs)
		for err := range errs {
			if mounts.Is(err, mounts.Unavailable) && strings.Contains(err.Error(), "too many") {
				continue // the queue holds eight
			}
			_ = own(t, err, mounts.Unavailable, "given up")
			require.ErrorIs(t, err, context.Canceled)
		}
		s := g.Stats()
		require.Zero(t, s.UnderWay+s.Waiting)
		require.Zero(t, s.Failed)
		require.Equal(t, "closed", s.Breaker)
	})
}

func TestPanic(t *testing.T) {
	g := guard.New(guard.Options{Name: mount, Concurrency: 1, Failures: 1})
	for i := range 5 {
		err := do(t, g, fmt.Sprint("db.t", i), func(context.Context) (int, error) { panic("hunter2") })
		e := own(t, err, mounts.Internal, "a fault in this server")
		require.NotContains(t, e.Message(), "hunter2")
		require.ErrorContains(t, e.Err, "hunter2")
		require.ErrorContains(t, e.Err, "guard_test.go", "with the stack")
	}
	require.NoError(t, do(t, g, "db.t", works))
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name    string
			answers []error // one after the other, then success
			calls   uint64
			ok      bool
		}{
			{"once", []error{&mounts.Error{Kind: mounts.Unavailable}}, 2, true},
			{"twice", []error{&mounts.Error{Kind: mounts.Unavailable}, &mounts.Error{Kind: mounts.Unavailable}}, 3, true},
			{"wrapped", []error{fmt.Errorf("wrapped: %w", &mounts.Error{Kind: mounts.Unavailable})}, 2, true},
			{"no more than twice", []error{&mounts.Error{Kind: mounts.Unavailable}, &mounts.Error{Kind: mounts.Unavailable}, &mounts.Error{Kind: mounts.Unavailable}}, 3, false},
			{"timeout", []error{&mounts.Error{Kind: mounts.Timeout}}, 1, false},
			{"a timeout after all", []error{&mounts.Error{Kind: mounts.Unavailable}, &mounts.Error{Kind: mounts.Timeout}}, 2, false},
			{"bad gateway", []error{&mounts.Error{Kind: mounts.BadGateway}}, 1, false},
			{"absence", []error{&mounts.Error{Kind: mounts.NoSuchTable}}, 1, false},
			{"untyped", []error{errors.New("untyped")}, 1, false},
			{"told when", []error{&mounts.Error{Kind: mounts.Unavailable, RetryAfter: time.Millisecond}}, 1, false},
		} {
			g := guard.New(guard.Options{Name: mount})
			began, i := time.Now(), 0
			err := do(t, g, "db.t", func(context.Context) (int, error) {
				i++
				if i <= len(c.answers) {
					return 0, c.answers[i-1]
				}
				return 7, nil
			})
			require.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
			if !c.ok {
				require.Equal(t, c.answers[len(c.answers)-1], err, c.name)
			}
			require.Equal(t, c.calls, g.Stats().Calls, c.name)
			require.Equal(t, c.calls-1, g.Stats().Retried, c.name)
			require.LessOrEqual(t, time.Since(began), 75*time.Millisecond, c.name)
		}
	})
}

func TestRetryKeepsToTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount, Timeout: time.Second, Random: func() float64 { return 0.9 }})
		began := time.Now()
		err := do(t, g, "db.t", func(context.Context) (int, error) {
			time.Sleep(980 * time.Millisecond)
			return 0, &mounts.Error{Kind: mounts.Unavailable, Detail: "said so"}
		})
		require.ErrorContains(t, err, "said so")
		require.Equal(t, 980*time.Millisecond, time.Since(began), "22.5 ms of jitter don't fit")
		require.Zero(t, g.Stats().Retried)

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		time.AfterFunc(5*time.Millisecond, cancel)
		_, err = guard.Do(ctx, g, "loadTable", "db.t", failing(mounts.Unavailable))
		require.ErrorContains(t, err, "said so")
	})
}

func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount, Failures: 1})
		busy := func(d time.Duration) func(context.Context) (int, error) {
			return func(context.Context) (int, error) {
				return 0, &mounts.Error{Kind: mounts.Unavailable, Detail: "said so", RetryAfter: d}
			}
		}
		for i := range 4 { // neither do they open the breaker
			require.ErrorContains(t, do(t, g, fmt.Sprint("db.t", i), busy(7*time.Second)), "said so")
			time.Sleep(3 * time.Second)
			e := own(t, do(t, g, "db.other", works), mounts.Unavailable, "no more requests")
			require.Equal(t, 4*time.Second, e.RetryAfter)
			time.Sleep(4 * time.Second)
			require.NoError(t, do(t, g, "db.other", works))
		}
		require.Equal(t, guard.Stats{Calls: 8, Refused: 4, Breaker: "closed"}, g.Stats())

		require.Error(t, do(t, g, "db.t", busy(time.Hour)))
		e := own(t, do(t, g, "db.other", works), mounts.Unavailable, "no more requests")
		require.Equal(t, 30*time.Second, e.RetryAfter, "however long was asked for")
		time.Sleep(30 * time.Second)
		require.NoError(t, do(t, g, "db.other", works))
	})
}

// A short wish doesn't shorten a long one.
func TestLongestHoldCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount})
		var wg sync.WaitGroup
		for _, c := range []struct{ lasts, wish time.Duration }{{time.Second, 20 * time.Second}, {2 * time.Second, time.Second}} {
			wg.Go(func() {
				_ = do(t, g, "db.t", func(context.Context) (int, error) {
					time.Sleep(c.lasts)
					return 0, &mounts.Error{Kind: mounts.Unavailable, RetryAfter: c.wish}
				})
			})
		}
		wg.Wait()
		e := own(t, do(t, g, "db.t", works), mounts.Unavailable, "no more requests")
		require.Equal(t, 19*time.Second, e.RetryAfter)
	})
}

// Who waited for a turn while the source asked to be left alone is sent away too.
func TestHoldReachesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(guard.Options{Name: mount, Concurrency: 1})
		go func() {
			_ = do(t, g, "db.t", func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return 0, &mounts.Error{Kind: mounts.Unavailable, RetryAfter: 20 * time.Second}
			})
		}()
		synctest.Wait()
		e := own(t, do(t, g, "db.u", works), mounts.Unavailable, "no more requests")
		require.Equal(t, 20*time.Second, e.RetryAfter)
		require.EqualValues(t, 1, g.Stats().Calls, "it wasn't asked")
	})
}

// Whatever becomes of calls and callers, no slot and no place in the queue is lost.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 30 {
			bound := 1 + random.IntN(4)
			g := guard.New(guard.Options{Name: mount, Timeout: time.Second, Concurrency: bound, Queue: random.IntN(12) - 1, Cooldown: 100 * time.Millisecond})
			var under atomic.Int64
			var wg sync.WaitGroup
			for i := range 200 {
				outcome, lasts := random.IntN(8), time.Duration(random.IntN(30))*time.Millisecond
				leaves, starts := time.Duration(random.IntN(2000))*time.Millisecond, time.Duration(random.IntN(1000))*time.Millisecond
				wg.Go(func() {
					time.Sleep(starts)
					ctx, cancel := context.WithTimeout(t.Context(), leaves)
					defer cancel()
					_, _ = guard.Do(ctx, g, "loadTable", fmt.Sprint("db.t", i%5), func(ctx context.Context) (int, error) {
						if n := under.Add(1); int(n) > bound {
							t.Errorf("%d calls under way, the bound is %d", n, bound)
						}
						defer under.Add(-1)
						time.Sleep(lasts)
						switch outcome {
						case 0:
							panic("a fault")
						case 1:
							return hangs(ctx)
						case 2:
							return 0, &mounts.Error{Kind: mounts.Unavailable}
						case 3:
							return 0, &mounts.Error{Kind: mounts.Unavailable, RetryAfter: lasts}
						case 4:
							return 0, errors.New("untyped")
						}
						return 0, nil
					})
				})
			}
			wg.Wait()
			s := g.Stats()
			require.Zero(t, s.UnderWay)
			require.Zero(t, s.Waiting)
			time.Sleep(time.Minute)
			for range 3 { // the probe's object may be barred for a moment
				require.NoError(t, do(t, g, "db.t", works))
			}
			require.Equal(t, "closed", g.Stats().Breaker)
		}
	})
}

func BenchmarkDo(b *testing.B) {
	g := guard.New(guard.Options{Name: mount})
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := guard.Do(b.Context(), g, "loadTable", "db.t", works); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("deadline alone", func(b *testing.B) { // what context.WithTimeout costs of it
		b.ReportAllocs()
		for b.Loop() {
			_, cancel := context.WithTimeout(b.Context(), time.Minute)
			cancel()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, _ = guard.Do(b.Context(), g, "loadTable", "db.t", works)
			}
		})
	})
}

// BenchmarkThroughput is TestThroughput by the clock on the wall, beside as many workers as the
// bound allows, which ask the source directly.
func BenchmarkThroughput(b *testing.B) {
	const callers, bound = 64, 16
	source := func(context.Context) (int, error) {
		time.Sleep(5 * time.Millisecond)
		return 0, nil
	}
	g := guard.New(guard.Options{Name: mount, Concurrency: bound})
	for _, c := range []struct {
		name    string
		workers int
		ask     func(context.Context) error
	}{
		{"bare", bound, func(ctx context.Context) error { _, err := source(ctx); return err }},
		{"guarded", callers, func(ctx context.Context) error {
			_, err := guard.Do(ctx, g, "loadTable", "db.t", source)
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range c.workers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := c.ask(b.Context()); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
