package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/cache"
)

// source answers each question with its number, after a second.
type source struct {
	mu    sync.Mutex
	asked int
	ended int // loads whose context ended
}

func (s *source) load(ctx context.Context) (int, error) {
	s.mu.Lock()
	s.asked++
	n := s.asked
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
		return n, nil
	case <-ctx.Done():
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
		return 0, ctx.Err()
	}
}

type flight = cache.Flight[string, int]

// later calls do after a while and reports its answer.
func later(wg *sync.WaitGroup, d time.Duration, do func() (int, error), report func(int, error)) {
	wg.Go(func() {
		time.Sleep(d)
		report(do())
	})
}

func TestDoShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var s source
		var wg sync.WaitGroup
		for i := range 10 {
			later(&wg, time.Duration(i)*50*time.Millisecond, func() (int, error) { return f.Do(t.Context(), "k", s.load) },
				func(v int, err error) {
					if v != 1 || err != nil {
						t.Errorf("%d, %v", v, err)
					}
				})
		}
		time.Sleep(time.Millisecond)
		other, err := f.Do(t.Context(), "other", s.load)
		require.NoError(t, err)
		require.Equal(t, 2, other)
		wg.Wait()
		require.Equal(t, 2, s.asked, "one a key")
		_, err = f.Do(t.Context(), "k", s.load)
		require.NoError(t, err)
		require.Equal(t, 3, s.asked, "nothing is kept")
	})
}

func TestErrorsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var wg sync.WaitGroup
		sick := errors.New("sick")
		for range 3 {
			wg.Go(func() {
				_, err := f.Do(t.Context(), "k", func(context.Context) (int, error) {
					time.Sleep(time.Second)
					return 0, sick
				})
				if !errors.Is(err, sick) {
					t.Errorf("%v", err)
				}
			})
		}
		wg.Wait()
	})
}

func TestOneLeavesOthersStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var s source
		first, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := f.Do(first, "k", s.load)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		start := time.Now()
		v, err := f.Do(t.Context(), "k", s.load)
		require.NoError(t, err)
		require.Equal(t, 1, v)
		require.Equal(t, time.Second, time.Since(start))
		wg.Wait()
		require.Zero(t, s.ended)
	})
}

func TestAllLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var s source
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := f.Do(ctx, "k", s.load)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		v, err := f.Do(t.Context(), "k", s.load)
		require.NoError(t, err)
		require.Equal(t, 2, v, "nobody joins a load that was given up")
		require.Equal(t, 1, s.ended)
	})
}

func TestLoadContext(t *testing.T) {
	type key struct{}
	var f flight
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "first"), time.Hour)
	defer cancel()
	_, err := f.Do(ctx, "k", func(ctx context.Context) (int, error) {
		require.Equal(t, "first", ctx.Value(key{}))
		_, has := ctx.Deadline()
		require.False(t, has)
		return 0, ctx.Err()
	})
	require.NoError(t, err)
	cancel()
	_, err = f.Do(ctx, "k", func(context.Context) (int, error) { panic("asked for nobody") })
	require.ErrorIs(t, err, context.Canceled)
}

func TestPanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := f.Do(t.Context(), "k", func(context.Context) (int, error) {
					time.Sleep(time.Second)
					panic("oh")
				})
				var p *cache.PanicError
				if !errors.As(err, &p) || p.Value != "oh" || len(p.Stack) == 0 || err.Error() != "load panicked: oh" {
					t.Errorf("%v", err)
				}
			})
		}
		wg.Wait()
		_, err := f.Do(t.Context(), "k", func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
		require.ErrorContains(t, err, "without an answer")
		v, err := f.Do(t.Context(), "k", func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, v)
	})
}

// Whoever asks fresh gets the answer to a question sent after it arrived; still many share
// one.
func TestDoFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var mu sync.Mutex
		sent := map[int]time.Time{}
		asked := 0
		load := func(context.Context) (int, error) {
			mu.Lock()
			asked++
			n := asked
			sent[n] = time.Now()
			mu.Unlock()
			time.Sleep(time.Second)
			return n, nil
		}
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				arrived := time.Now()
				n, err := f.DoFresh(t.Context(), "k", load)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || sent[n].Before(arrived) {
					t.Errorf("arrived %v, question sent %v, %v", arrived, sent[n], err)
				}
				if took := time.Since(arrived); took > 2*time.Second {
					t.Errorf("waited %v", took)
				}
			})
		}
		wg.Wait()
		require.LessOrEqual(t, asked, 4)
	})
}

// A question that hangs holds nobody up.
func TestFreshBesideAHangingLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var s source
		hang := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = f.DoFresh(t.Context(), "k", func(context.Context) (int, error) { <-hang; return 0, nil })
		})
		synctest.Wait()
		start := time.Now()
		_, err := f.DoFresh(t.Context(), "k", s.load)
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(start))
		close(hang)
		wg.Wait()
	})
}

func TestFreshLeavesBeforeItsLoadStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flight
		var s source
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = f.DoFresh(t.Context(), "k", s.load) })
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := f.DoFresh(ctx, "k", func(context.Context) (int, error) { panic("asked for nobody") })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		wg.Wait()
		v, err := f.Do(t.Context(), "k", s.load)
		require.NoError(t, err)
		require.Equal(t, 3, v)
	})
}
