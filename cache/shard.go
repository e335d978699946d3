package cache

import (
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// shard is a part of a cache. The lists hold any number of entries: the cache bounds
// bytes.
type shard[K comparable, V any] struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[K, *entry[V]]
	stats Stats
	bytes int64
	_     [64]byte // keeps the locks of two shards out of one cache line
}

type entry[V any] struct {
	value   V
	size    int64
	expires time.Time // zero for never
	used    uint64    // the cache's epoch at the last use
}

func (e *entry[V]) over(now func() time.Time) bool {
	return !e.expires.IsZero() && !now().Before(e.expires)
}

func (s *shard[K, V]) init() {
	lru, err := simplelru.NewLRU[K, *entry[V]](math.MaxInt, nil)
	if err != nil {
		panic("cache: an LRU refused its size: " + err.Error()) // only for a size below 1
	}
	s.lru = lru
}

// get also gives the bytes of an entry it dropped because its time is over.
func (s *shard[K, V]) get(key K, epoch uint64, now func() time.Time) (v V, ok bool, expired int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.lru.Peek(key)
	switch {
	case !ok:
		s.stats.Misses++
		return v, false, 0
	case e.over(now):
		s.stats.Misses++
		return v, false, s.drop(key, e)
	}
	s.stats.Hits++
	if e.used != epoch { // else it stands among the newest already: spare the list's memory
		e.used = epoch
		s.lru.Get(key)
	}
	return e.value, true, 0
}

// add puts an entry in place of the one that the key had, and gives the bytes which that took.
func (s *shard[K, V]) add(key K, e *entry[V]) (replaced int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.lru.Peek(key); ok {
		replaced = old.size
	}
	s.lru.Add(key, e)
	s.bytes += e.size - replaced
	return replaced
}

// remove gives the bytes that are free now.
func (s *shard[K, V]) remove(key K) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.lru.Peek(key)
	if !ok {
		return 0
	}
	return s.drop(key, e)
}

// evict drops the entry used least recently and gives the bytes that are free now.
func (s *shard[K, V]) evict() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, e, ok := s.lru.GetOldest()
	if !ok {
		return 0
	}
	s.stats.Evictions++
	return s.drop(key, e)
}

func (s *shard[K, V]) drop(key K, e *entry[V]) int64 {
	s.lru.Remove(key)
	s.bytes -= e.size
	return e.size
}

func (s *shard[K, V]) clear() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	freed := s.bytes
	s.lru.Purge()
	s.bytes = 0
	return freed
}

// oldest is when the least recently used entry was used; ok is false if there is none.
func (s *shard[K, V]) oldest() (used uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, e, ok := s.lru.GetOldest()
	if !ok {
		return 0, false
	}
	return e.used, true
}

func (s *shard[K, V]) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lru.Len()
}

func (s *shard[K, V]) counts() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}
