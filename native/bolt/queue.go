package bolt

import (
	"slices"
	"sync"

	"piedmont/native"
)

// Bounds of one group: enough for the sync to be shared by whoever waits, few enough
// for the transaction to stay small. A single commit may be larger than maxGroupBytes.
const (
	maxGroup      = 256
	maxGroupBytes = 16 << 20
)

// request is one Commit on its way to the writer. Its caller waits for the answer, so
// the slices stay as they are until then.
type request struct {
	conditions []native.Condition
	changes    []native.Change
	bytes      int
	refused    error // the answer where nothing of it is to be written, set by the writer
	done       chan error
}

// queue holds the commits that have not begun.
type queue struct {
	mu      sync.Mutex
	filled  sync.Cond
	waiting []*request
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.filled.L = &q.mu
	return q
}

// put hands in a request; false where the queue is closed.
func (q *queue) put(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, r)
	q.filled.Signal()
	return true
}

// withdraw takes a request back; false where it has begun.
func (q *queue) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, r)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take waits for requests and begins the next group of them; nil means that the queue
// is closed and empty.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		if q.closed {
			return nil
		}
		q.filled.Wait()
	}
	n, bytes := 0, 0
	for n < min(len(q.waiting), maxGroup) && (n == 0 || bytes+q.waiting[n].bytes <= maxGroupBytes) {
		bytes += q.waiting[n].bytes
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// close refuses further requests. Those already in are still taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Signal()
}
