package metastore

import (
	"sync"
	"time"

	"piedmont/cache"
)

const (
	// maxPointerBytes bounds what is kept for FreshFor.
	maxPointerBytes = 16 << 20
	// maxAbsent is how long an absence is kept at most, where FreshFor allows to keep anything: who
	// creates a table expects to see it.
	maxAbsent = time.Second
	// maxChangedBytes bounds the names that are known to have changed, and perChanged is what one
	// takes besides its letters.
	maxChangedBytes = 1 << 20
	perChanged      = 128
)

// ObjectName is a name in a database.
type ObjectName struct{ Database, Name string }

// pointer is what is kept of an Object, or of its absence.
type pointer struct {
	absent   bool
	kind     Kind
	is       string
	location string
	asked    time.Time // when the question was sent that this answers
}

func sizeOfPointer(n ObjectName, p pointer) int64 {
	const fixed = 128
	return int64(fixed + len(n.Database) + len(n.Name) + len(p.is) + len(p.location))
}

// memory keeps pointers for FreshFor, or until it hears that they have changed. A question that
// was sent before that was heard may have been answered before the change, so its answer counts
// no more, and isn't kept when it comes late.
type memory struct {
	freshFor time.Duration
	now      func() time.Time
	pointers *cache.Cache[ObjectName, pointer]
	kept     chan struct{} // tells whoever listens that something was kept

	mu      sync.Mutex // guards what is below and additions; never held while anybody is asked
	newest  time.Time  // when what was kept was asked for, the latest of all
	cleared time.Time  // answers to questions sent up to then count no more
	changed map[ObjectName]time.Time
	bytes   int // of changed
}

func newMemory(freshFor time.Duration, now func() time.Time) *memory {
	return &memory{
		freshFor: freshFor, now: now, pointers: cache.NewWithClock(maxPointerBytes, sizeOfPointer, now),
		kept: make(chan struct{}, 1), changed: map[ObjectName]time.Time{},
	}
}

// get is what the source said, if that isn't too long ago.
func (m *memory) get(key ObjectName) (pointer, bool) {
	p, ok := m.pointers.Get(key)
	if !ok {
		return p, false
	}
	keep := m.freshFor
	if p.absent {
		keep = min(keep, maxAbsent)
	}
	return p, m.now().Sub(p.asked) < keep
}

// keep keeps an answer, unless one to a later question is there already or it counts no more.
func (m *memory) keep(key ObjectName, p pointer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over(key, p.asked) {
		return
	}
	if known, ok := m.pointers.Get(key); ok && known.asked.After(p.asked) {
		return
	}
	m.pointers.Add(key, p)
	if p.asked.After(m.newest) {
		m.newest = p.asked
	}
	select {
	case m.kept <- struct{}{}:
	default: // it was told already
	}
}

// over says whether an answer to a question sent then counts no more.
func (m *memory) over(key ObjectName, asked time.Time) bool {
	return !asked.After(m.cleared) || !asked.After(m.changed[key])
}

// outdated is over for those who don't hold the lock.
func (m *memory) outdated(key ObjectName, asked time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over(key, asked)
}

// active says whether anything may be served from memory.
func (m *memory) active() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Sub(m.newest) < m.freshFor
}

func (m *memory) forget(key ObjectName) { m.pointers.Remove(key) }

// drop hears at a time that names have changed before it.
func (m *memory) drop(at time.Time, names []ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range names {
		if _, ok := m.changed[key]; !ok {
			m.bytes += len(key.Database) + len(key.Name) + perChanged
		}
		m.changed[key] = at
		m.pointers.Remove(key)
	}
	if m.bytes > maxChangedBytes { // what is kept stays, but nothing that is still under way will be
		m.forgetChanges(at)
	}
}

// clear hears at a time that anything may have changed before it.
func (m *memory) clear(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetChanges(at)
	m.pointers.Clear()
}

func (m *memory) forgetChanges(at time.Time) {
	m.cleared, m.bytes = at, 0
	clear(m.changed)
}
