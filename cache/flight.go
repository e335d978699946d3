package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// maxRunning is how many loads of one key DoFresh lets run side by side. With one alone a
// question that hangs would hold up every later caller; each more costs the source a call.
const maxRunning = 2

// Flight lets callers who ask for the same key at the same time share one load. It keeps
// no results. The zero Flight is ready; it must not be copied once used.
type Flight[K comparable, V any] struct {
	mu    sync.Mutex
	lines map[K]*line[V]
}

// line is the loads of one key.
type line[V any] struct {
	running []*call[V]
	waiting *call[V] // starts when a running one ends
}

type call[V any] struct {
	callers int // who still waits
	ctx     context.Context
	cancel  context.CancelFunc
	load    func(context.Context) (V, error)
	done    chan struct{}
	value   V
	err     error
}

// Do returns what load returns, or what a load of the key that runs already will. The
// context of the load carries the values of the first caller's and ends only when all
// callers have left; one whose own context ends leaves with its error. A load that
// panics is a *PanicError for all.
func (f *Flight[K, V]) Do(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	return f.do(ctx, key, load, false)
}

// DoFresh is Do for a caller who needs an answer to a question sent after it arrived: it
// shares a load only with others who wait for the load to start.
func (f *Flight[K, V]) DoFresh(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	return f.do(ctx, key, load, true)
}

func (f *Flight[K, V]) do(ctx context.Context, key K, load func(context.Context) (V, error), fresh bool) (V, error) {
	if err := ctx.Err(); err != nil {
		var none V
		return none, err
	}
	c := f.join(ctx, key, load, fresh)
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		f.leave(key, c)
		var none V
		return none, ctx.Err()
	}
}

func (f *Flight[K, V]) join(ctx context.Context, key K, load func(context.Context) (V, error), fresh bool) *call[V] {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lines[key]
	if l == nil {
		l = &line[V]{}
		if f.lines == nil {
			f.lines = map[K]*line[V]{}
		}
		f.lines[key] = l
	}
	if !fresh && len(l.running) > 0 {
		l.running[0].callers++
		return l.running[0]
	}
	if l.waiting != nil {
		l.waiting.callers++
		return l.waiting
	}
	c := &call[V]{callers: 1, load: load, done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // run calls it, or leave
	l.waiting = c
	f.advance(key, l)
	return c
}

// advance starts the waiting load if there is room, and forgets a key without loads.
func (f *Flight[K, V]) advance(key K, l *line[V]) {
	if c := l.waiting; c != nil && len(l.running) < maxRunning {
		l.waiting = nil
		l.running = append(l.running, c)
		go f.run(key, c)
	}
	if len(l.running) == 0 {
		delete(f.lines, key)
	}
}

// leave takes one caller off a load. The last one ends it: nobody can join it any more.
func (f *Flight[K, V]) leave(key K, c *call[V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.callers--; c.callers > 0 {
		return
	}
	c.cancel()
	f.take(key, c)
}

// take removes a load from its line, if it is still there.
func (f *Flight[K, V]) take(key K, c *call[V]) {
	l := f.lines[key]
	if l == nil {
		return
	}
	if l.waiting == c {
		l.waiting = nil
	}
	if i := slices.Index(l.running, c); i >= 0 {
		l.running = slices.Delete(l.running, i, i+1)
	}
	f.advance(key, l)
}

func (f *Flight[K, V]) run(key K, c *call[V]) {
	defer func() {
		f.mu.Lock()
		f.take(key, c)
		f.mu.Unlock()
		c.cancel()
		close(c.done)
	}()
	c.err = errors.New("load ended without an answer") // stays if load calls runtime.Goexit
	defer func() {
		if p := recover(); p != nil {
			c.err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	c.value, c.err = c.load(c.ctx)
}

// PanicError is the error of a load that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error is the value that the load panicked with; the stack is for logs.
func (e *PanicError) Error() string { return fmt.Sprintf("load panicked: %v", e.Value) }
