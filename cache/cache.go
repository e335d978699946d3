package cache

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shards is how many parts with locks of their own a cache has, a power of two.
	shards = 16
	// largest is the part of its bound that one entry may take, as a divisor. Without it
	// one huge document would drive out all others.
	largest = 4
	// overhead is what an entry costs besides what is counted for key and value.
	overhead = 256
)

// Cache keeps values until their sizes add up to more than a bound; then those used
// least recently go. All methods may be called at once. The order is that of use between
// additions: of entries used since the last one was added any may go first.
type Cache[K comparable, V any] struct {
	maxBytes int64
	size     func(K, V) int64
	now      func() time.Time
	seed     maphash.Seed
	flight   Flight[K, V]

	adding sync.Mutex // one Add at a time, so that the bound holds at all times
	bytes  atomic.Int64
	epoch  atomic.Uint64 // the clock of last use: an addition takes an odd tick, what follows reads the even one
	shards [shards]shard[K, V]
}

// New makes a cache that holds at most maxBytes, by the count of size, which must be
// quick and always answer the same for an entry. To each entry 256 bytes are added for
// what surrounds it.
func New[K comparable, V any](maxBytes int64, size func(K, V) int64) *Cache[K, V] {
	return NewWithClock(maxBytes, size, time.Now)
}

// NewWithClock is New with another clock for AddFor.
func NewWithClock[K comparable, V any](maxBytes int64, size func(K, V) int64, now func() time.Time) *Cache[K, V] {
	c := &Cache[K, V]{maxBytes: maxBytes, size: size, now: now, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].init()
	}
	return c
}

func (c *Cache[K, V]) shard(key K) *shard[K, V] {
	return &c.shards[maphash.Comparable(c.seed, key)&(shards-1)]
}

// Get is the value of a key, if it is there and its time isn't over.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	s := c.shard(key)
	v, ok, expired := s.get(key, c.epoch.Load(), c.now)
	if expired != 0 { // not always: all readers share the counter's cache line
		c.bytes.Add(-expired)
	}
	return v, ok
}

// Add keeps a value in place of the one that the key had; until then Get finds that one, unless
// it is the next to go. It answers false, and the key has no value then, where the entry alone
// would take more than a quarter of the bound.
func (c *Cache[K, V]) Add(key K, value V) bool { return c.add(key, value, time.Time{}) }

// AddFor is Add for a limited time. Get checks it; the memory may be held for longer.
func (c *Cache[K, V]) AddFor(key K, value V, ttl time.Duration) bool {
	return c.add(key, value, c.now().Add(ttl))
}

func (c *Cache[K, V]) add(key K, value V, expires time.Time) bool {
	size := c.size(key, value) + overhead
	c.adding.Lock()
	defer c.adding.Unlock()
	s := c.shard(key)
	if size > c.maxBytes/largest {
		c.bytes.Add(-s.remove(key))
		return false
	}
	for c.bytes.Load()+size > c.maxBytes {
		c.bytes.Add(-c.oldest().evict())
	}
	c.bytes.Add(size)
	c.bytes.Add(-s.add(key, &entry[V]{value: value, size: size, expires: expires, used: c.epoch.Add(2) - 1}))
	return true
}

// oldest is the shard whose least recently used entry is the oldest of all.
func (c *Cache[K, V]) oldest() *shard[K, V] {
	var oldest *shard[K, V]
	var least uint64
	for i := range c.shards {
		used, ok := c.shards[i].oldest()
		if ok && (oldest == nil || used < least) {
			oldest, least = &c.shards[i], used
		}
	}
	if oldest == nil { // emptied meanwhile: nothing is left to evict there either
		return &c.shards[0]
	}
	return oldest
}

// Do is the value of a key, loaded by load where it isn't in the cache. Callers share a
// load, as Flight.Do has it; what it returns is kept, an error is not.
func (c *Cache[K, V]) Do(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	if v, ok := c.Get(key); ok {
		return v, nil
	}
	return c.flight.Do(ctx, key, func(ctx context.Context) (V, error) {
		v, err := load(ctx)
		if err == nil {
			c.Add(key, v)
		}
		return v, err
	})
}

// Remove forgets a key. A load under way isn't stopped and will be kept.
func (c *Cache[K, V]) Remove(key K) { c.bytes.Add(-c.shard(key).remove(key)) }

// Clear forgets all keys.
func (c *Cache[K, V]) Clear() {
	for i := range c.shards {
		c.bytes.Add(-c.shards[i].clear())
	}
}

// Bytes is how much the entries take together, never more than the bound.
func (c *Cache[K, V]) Bytes() int64 { return c.bytes.Load() }

// Len is how many entries there are, those whose time is over included.
func (c *Cache[K, V]) Len() int {
	n := 0
	for i := range c.shards {
		n += c.shards[i].len()
	}
	return n
}

// Stats are counts since the cache was made.
type Stats struct {
	Hits, Misses uint64 // of Get and Do
	Evictions    uint64 // entries that made room for others
}

// Stats adds up the counts of all shards.
func (c *Cache[K, V]) Stats() Stats {
	var all Stats
	for i := range c.shards {
		s := c.shards[i].counts()
		all.Hits += s.Hits
		all.Misses += s.Misses
		all.Evictions += s.Evictions
	}
	return all
}
