package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/cache"
)

const overhead = 256 // what each entry costs besides its size

func bySize(_ string, v int64) int64 { return v }

func TestGetAddRemove(t *testing.T) {
	c := cache.New(100_000, bySize)
	_, ok := c.Get("a")
	require.False(t, ok)
	require.True(t, c.Add("a", 10))
	require.True(t, c.Add("b", 20))
	v, ok := c.Get("a")
	require.True(t, ok)
	require.EqualValues(t, 10, v)
	require.EqualValues(t, 30+2*overhead, c.Bytes())

	require.True(t, c.Add("a", 15))
	v, _ = c.Get("a")
	require.EqualValues(t, 15, v)
	require.EqualValues(t, 35+2*overhead, c.Bytes(), "the one before counts no more")
	require.Equal(t, 2, c.Len())

	c.Remove("a")
	c.Remove("a")
	_, ok = c.Get("a")
	require.False(t, ok)
	require.EqualValues(t, 20+overhead, c.Bytes())
	require.Equal(t, cache.Stats{Hits: 2, Misses: 2}, c.Stats())

	c.Clear()
	require.Zero(t, c.Bytes())
	require.Zero(t, c.Len())
}

func TestBoundAndOrder(t *testing.T) {
	for range 20 { // keys fall into other shards each time
		boundAndOrder(t)
	}
}

func boundAndOrder(t *testing.T) {
	const each = 1000 - overhead
	c := cache.New(10_000, bySize)
	for i := range 10 {
		c.Add(fmt.Sprint(i), each)
	}
	require.EqualValues(t, 10_000, c.Bytes())
	for _, kept := range []string{"0", "3"} {
		c.Get(kept)
	}
	for i := 10; i < 18; i++ {
		c.Add(fmt.Sprint(i), each)
	}
	require.EqualValues(t, 10_000, c.Bytes())
	require.EqualValues(t, 8, c.Stats().Evictions)
	for i := range 18 {
		_, ok := c.Get(fmt.Sprint(i))
		require.Equal(t, i == 0 || i == 3 || i >= 10, ok, "%d: the least recently used go first", i)
	}
}

// Whoever asks while a value is replaced finds the old one or the new one.
func TestReplacing(t *testing.T) {
	c := cache.New(10_000, bySize)
	c.Add("k", 100)
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(4)
	for range 4 {
		wg.Go(func() {
			defer left.Add(-1)
			for range 20_000 {
				c.Add("k", 100)
			}
		})
	}
	for left.Load() > 0 {
		_, ok := c.Get("k")
		require.True(t, ok)
	}
	wg.Wait()
	require.EqualValues(t, 100+overhead, c.Bytes())
	require.Equal(t, 1, c.Len())
}

func TestTooLargeIsNotKept(t *testing.T) {
	c := cache.New(10_000, bySize)
	require.True(t, c.Add("a", 2500-overhead))
	require.True(t, c.Add("b", 10))
	require.False(t, c.Add("a", 2501-overhead))
	_, ok := c.Get("a")
	require.False(t, ok, "the old value must not stay where a new one was put")
	_, ok = c.Get("b")
	require.True(t, ok)
	require.EqualValues(t, 10+overhead, c.Bytes())
}

func TestExpiry(t *testing.T) {
	now := time.Unix(1000, 0)
	c := cache.NewWithClock(100_000, bySize, func() time.Time { return now })
	c.AddFor("short", 1, time.Second)
	c.AddFor("long", 1, time.Minute)
	c.Add("ever", 1)
	now = now.Add(time.Second - 1)
	_, ok := c.Get("short")
	require.True(t, ok)
	now = now.Add(1)
	_, ok = c.Get("short")
	require.False(t, ok)
	require.Equal(t, 2, c.Len())
	require.EqualValues(t, 2*(1+overhead), c.Bytes())
	now = now.Add(time.Hour)
	_, ok = c.Get("long")
	require.False(t, ok)
	_, ok = c.Get("ever")
	require.True(t, ok)
	c.AddFor("ever", 1, time.Second)
	now = now.Add(time.Second)
	_, ok = c.Get("ever")
	require.False(t, ok, "the later Add says how long")
	require.Zero(t, c.Bytes())
}

func TestDoKeepsValuesAndNotErrors(t *testing.T) {
	c := cache.New(100_000, bySize)
	calls := 0
	load := func(v int64, err error) func(context.Context) (int64, error) {
		return func(context.Context) (int64, error) { calls++; return v, err }
	}
	sick := errors.New("sick")
	_, err := c.Do(t.Context(), "a", load(0, sick))
	require.ErrorIs(t, err, sick)
	require.Zero(t, c.Len())
	for range 3 {
		v, err := c.Do(t.Context(), "a", load(5, nil))
		require.NoError(t, err)
		require.EqualValues(t, 5, v)
	}
	require.Equal(t, 2, calls)
	v, err := c.Do(t.Context(), "large", load(99_999, nil))
	require.NoError(t, err)
	require.EqualValues(t, 99_999, v, "what isn't kept is returned all the same")
}

// The bound, the count of bytes and the values hold whatever goes on at once.
func TestConcurrentUse(t *testing.T) {
	const bound = 200_000
	var now atomic.Int64
	c := cache.NewWithClock(bound, func(k, v int64) int64 { return v - k + 1000 }, func() time.Time { return time.Unix(0, now.Load()) })
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range 4000 {
				key := r.Int64N(300)
				switch r.IntN(8) {
				case 0:
					c.Add(key, key+r.Int64N(9000))
				case 1:
					c.AddFor(key, key+r.Int64N(9000), time.Duration(r.IntN(5)))
				case 2:
					c.Remove(key)
				case 3:
					v, err := c.Do(context.Background(), key, func(context.Context) (int64, error) { return key, nil })
					if err != nil || v < key {
						t.Errorf("key %d: %d, %v", key, v, err)
					}
				case 4:
					now.Add(1)
					if r.IntN(100) == 0 {
						c.Clear()
					}
				default:
					if v, ok := c.Get(key); ok && (v < key || v > key+9000) {
						t.Errorf("key %d has another's value %d", key, v)
					}
				}
				if b := c.Bytes(); b > bound || b < 0 {
					t.Errorf("%d bytes", b)
				}
			}
		})
	}
	wg.Wait()
	for key := range int64(300) {
		c.Remove(key)
	}
	require.Zero(t, c.Len())
	require.Zero(t, c.Bytes(), "what was counted in was counted out")
}

func TestGetDoesNotAllocate(t *testing.T) {
	c := cache.New(100_000, func(documentKey, *int) int64 { return 1 })
	key, v := documentKey{"lake", "s3://b/t"}, 1
	c.Add(key, &v)
	require.Zero(t, testing.AllocsPerRun(1000, func() { c.Get(key) }))
}
