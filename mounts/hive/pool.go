package hive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

const (
	// idleTimeout is how long an unused connection is kept. Each holds a thread of the
	// metastore's.
	idleTimeout = time.Minute
	// putBehind is how long a metastore that failed is asked after the others.
	putBehind = 10 * time.Second
)

// pool holds the connections to the metastores of one mount. Whoever takes a session has it
// alone until it is given back or dropped, and holds one of the slots.
//
// An idle session is watched by a goroutine that waits in a read, where nothing should come:
// so a connection that the metastore has closed, or that something came over, is gone at
// once, and one that nobody needs for a while too. To take it the read is ended first.
type pool struct {
	endpoints []*endpoint
	slots     chan struct{}
	keep      time.Duration
	now       func() time.Time

	mu     sync.Mutex
	idle   []*session // what was given back last is taken first
	closed bool
}

func newPool(endpoints []*endpoint, connections int, now func() time.Time) *pool {
	return &pool{endpoints: endpoints, slots: make(chan struct{}, connections), keep: idleTimeout, now: now}
}

// take is a session that works as far as one can tell, an idle or a new one.
func (p *pool) take(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask the metastore: %w", err) // it would cost a good connection
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a connection: %w", ctx.Err())
	}
	for {
		c := p.pop()
		if c == nil {
			break
		}
		if c.wake() {
			return c, nil
		}
		c.close()
	}
	c, err := p.connect(ctx)
	if err != nil {
		<-p.slots
	}
	return c, err
}

// give takes a session back that is ready for the next call.
func (p *pool) give(c *session) {
	p.mu.Lock()
	c.at.failed = time.Time{}
	kept := !p.closed && c.conn != nil
	if kept {
		c.woken = make(chan bool, 1)
		_ = c.conn.SetReadDeadline(time.Now().Add(p.keep)) // a connection that can't is found closed
		p.idle = append(p.idle, c)
		go p.watch(c)
	}
	p.mu.Unlock()
	if !kept {
		c.close()
	}
	<-p.slots
}

// drop takes a session back that is of no use any more. failed says that the metastore
// isn't either: then others are asked first for a while, and idle connections to it are
// closed.
func (p *pool) drop(c *session, failed bool) {
	c.close()
	if failed {
		p.failed(c.at)
	}
	<-p.slots
}

func (p *pool) failed(at *endpoint) {
	p.mu.Lock()
	at.failed = p.now()
	var gone []*session
	p.idle = slices.DeleteFunc(p.idle, func(c *session) bool {
		if c.at == at {
			gone = append(gone, c)
		}
		return c.at == at
	})
	p.mu.Unlock()
	for _, c := range gone {
		c.close()
	}
}

// watch waits until an idle session is taken, was unused for too long, or is over.
func (p *pool) watch(c *session) {
	var b [1]byte
	n, err := c.conn.Read(b[:])
	p.mu.Lock()
	i := slices.Index(p.idle, c)
	if i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		c.close()
	}
	c.woken <- n == 0 && timedOut(err)
}

// wake ends the watch of a session that was idle, and says whether it is as it was left.
func (c *session) wake() bool {
	past := time.Unix(1, 0)
	if err := c.conn.SetReadDeadline(past); err != nil {
		return false
	}
	return <-c.woken && c.conn.SetReadDeadline(time.Time{}) == nil
}

func (p *pool) pop() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	c := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return c
}

// connect tries one metastore after the other.
func (p *pool) connect(ctx context.Context) (*session, error) {
	candidates, err := p.candidates()
	if err != nil {
		return nil, err
	}
	var failures []error
	for i, at := range candidates {
		c, err := at.connect(ctx, len(candidates)-i)
		if err == nil {
			c.at = at
			return c, nil
		}
		if ctx.Err() != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				p.failed(at)
			}
			return nil, err
		}
		p.failed(at)
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// connect leaves time for those that are to be tried after it.
func (at *endpoint) connect(ctx context.Context, left int) (*session, error) {
	timeout := connectTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/time.Duration(left))
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := at.dial(within)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return nil, &guard.Fault{Kind: mounts.Timeout, Text: "did not answer in time", Err: err}
	}
	return c, err
}

var errClosed = errors.New("the mount is closed")

// candidates are the metastores in the order in which they are to be tried: as they are
// configured, but behind the others if one failed a short while ago. When that is over one
// call tries it again, the others only once that call went well: a metastore that hangs
// holds up one caller.
func (p *pool) candidates() ([]*endpoint, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	now := p.now()
	var first, behind []*endpoint
	for _, at := range p.endpoints {
		switch {
		case at.failed.IsZero():
			first = append(first, at)
		case now.Sub(at.failed) >= putBehind:
			first = append(first, at)
			at.failed = now
		default:
			behind = append(behind, at)
		}
	}
	slices.SortStableFunc(behind, func(a, b *endpoint) int { return a.failed.Compare(b.failed) })
	return append(first, behind...), nil
}

// close closes what is idle, and from then on what is given back.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}
