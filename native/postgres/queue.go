package postgres

import (
	"slices"
	"sync"
	"time"
)

const (
	// Bounds of the swaps that share a transaction: a client that vanishes while it sends them
	// leaves their records locked for a while. A single one may be larger than maxGroupBytes.
	maxGroup      = 64
	maxGroupBytes = 256 << 10
	// maxSenders is how many groups are on their way before a swap waits for one to end. The
	// fewer there are, the more share the server's work; with only one, what comes meanwhile would
	// wait for two.
	maxSenders = 2
	// groupPatience is how long a sender counts among them: one that takes longer waits for a
	// connection, is on a long way, or stalls.
	groupPatience = 2 * time.Millisecond
)

// group holds the swaps that wait while others are on their way, so that they share a
// transaction, and its sync. See DESIGN.md. While swaps wait there is a sender that will look for them,
// or as many senders as there may be connections, each of which looks when it is done.
type group struct {
	most int // senders, as many as the pool may have connections

	mu      sync.Mutex
	waiting []*lone
	number  uint64 // of swaps that came
	senders int    // that count as quick
	all     int    // senders
}

// add hands in a swap, and says whether another sender must begin.
func (g *group) add(s *lone) (begin bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.number++
	s.number = g.number
	g.waiting = append(g.waiting, s)
	if begin = g.senders < maxSenders && g.all < g.most; begin {
		g.senders++
		g.all++
	}
	return begin
}

// withdraw takes a swap back; false where it has been taken.
func (g *group) withdraw(s *lone) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, s)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// came is the number of the swap that came last.
func (g *group) came() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.number
}

// take takes the next swaps, of those up to a number.
func (g *group) take(upTo uint64) []*lone {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(g.waiting), maxGroup) && g.waiting[n].number <= upTo && (n == 0 || bytes+g.waiting[n].bytes <= maxGroupBytes) {
		bytes += g.waiting[n].bytes
		n++
	}
	taken := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return taken
}

// leave says that a sender is slow, and whether another must begin in its place.
func (g *group) leave() (begin bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if begin = len(g.waiting) > 0 && g.all < g.most; begin {
		g.all++
	} else {
		g.senders--
	}
	return begin
}

// goOn says whether a sender that is done with a group, slow or not, sends another.
func (g *group) goOn(slow bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slow {
		g.senders++ // it counts again, if it goes on
	}
	if len(g.waiting) > 0 && g.senders <= maxSenders {
		return true
	}
	g.senders--
	g.all--
	return false
}
