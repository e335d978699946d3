package mounts

import (
	"sync"
	"sync/atomic"
)

// Holder holds the tree in force. Readers Acquire and Release it; Swap puts another in
// its place without stopping them. A mount that stands in several trees is closed when
// the last request of the last of them has ended.
type Holder struct {
	current  atomic.Pointer[Tree]
	mu       sync.Mutex    // guards uses
	uses     map[Mount]int // in how many unfinished trees a mount stands
	onClosed func(*Point, error)
}

// NewHolder holds t. onClosed, which may be nil, hears of each mount that was closed.
func NewHolder(t *Tree, onClosed func(*Point, error)) *Holder {
	h := &Holder{uses: map[Mount]int{}, onClosed: onClosed}
	h.adopt(t)
	h.current.Store(t)
	return h
}

// Acquire returns the tree in force. The caller must Release it once, after the last use
// of anything the tree gave out. It is nil after Close.
func (h *Holder) Acquire() *Tree {
	for {
		t := h.current.Load()
		if t == nil || t.acquire() {
			return t
		}
	}
}

// Swap puts t in force. Mounts of the old tree that t doesn't hold are closed once the
// requests that use them have ended. After Close those of t are closed at once.
func (h *Holder) Swap(t *Tree) {
	h.adopt(t)
	for {
		old := h.current.Load()
		if old == nil {
			t.Release()
			return
		}
		if h.current.CompareAndSwap(old, t) {
			old.Release()
			return
		}
	}
}

// Close takes the tree out of force; its mounts close when their last request has ended.
func (h *Holder) Close() {
	if old := h.current.Swap(nil); old != nil {
		old.Release()
	}
}

// adopt counts the mounts of t, and tells t to give them back.
func (h *Holder) adopt(t *Tree) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range t.points {
		h.uses[p.Mount]++
	}
	t.retire = func() { h.giveBack(t) }
}

func (h *Holder) giveBack(t *Tree) {
	for _, p := range t.points {
		h.mu.Lock()
		h.uses[p.Mount]--
		last := h.uses[p.Mount] == 0
		if last {
			delete(h.uses, p.Mount)
		}
		h.mu.Unlock()
		if !last {
			continue
		}
		err := p.Mount.Close()
		if h.onClosed != nil {
			h.onClosed(p, err)
		}
	}
}

// acquire takes a reference unless the tree is finished.
func (t *Tree) acquire() bool {
	for {
		n := t.refs.Load()
		if n == 0 {
			return false
		}
		if t.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives back one reference.
func (t *Tree) Release() {
	if t.refs.Add(-1) == 0 && t.retire != nil {
		t.retire()
	}
}
