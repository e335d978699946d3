// Package historytest tests that the tables of a catalog are linearizable. Clients ask it
// over HTTP for changes that contend for a few names, note what they are answered, and
// porcupine looks for one order of everything asked that explains each answer. Where there
// is none a promise was broken: an acknowledged write is lost, an unknown one is there by
// half, a transaction was seen half, a refusal had no reason, or something "not applied"
// was applied.
package historytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// ErrNotSent is for a Send that surely asked nothing.
var ErrNotSent = errors.New("not sent")

// Send sends one request to a replica. body is nil where there is none, key empty where
// no Idempotency-Key is to be sent. An error means that no whole answer came; one that is
// ErrNotSent, that nothing was asked either.
type Send func(ctx context.Context, replica int, method, path, key string, body []byte) (status int, answer []byte, err error)

// Options say what a history is made of.
type Options struct {
	// Seed decides what clients ask for. The same seed asks the same as far as the same is
	// answered.
	Seed uint64
	// Namespace exists, is empty, and is used by nobody else.
	Namespace string
	// Replicas is how many Send can reach, from 0.
	Replicas int
	// Clients ask at the same time, each one thing at a time.
	Clients int
	// Pause is how long a client rests between two operations, at most. Longer histories
	// take porcupine longer to check.
	Pause time.Duration
	// Impatience is how many of 100 changes are given up by their client while under way.
	Impatience int
	// Send reaches the catalog.
	Send Send
}

const (
	// resolveFor is how long a client sends a change with an Idempotency-Key again.
	resolveFor = 30 * time.Second
	// readFor is how long the reads at the end of a history may take.
	readFor = 30 * time.Second
)

// History is what was asked and answered.
type History struct {
	o     Options
	begin time.Time
	pause atomic.Int64 // nanoseconds

	mu         sync.Mutex
	next       int // the id of the next operation
	operations []porcupine.Operation
	notes      []porcupine.Annotation
	creators   map[string]string // of tables, by uuid
	uuids      map[string]string // the other way round
	broken     []string          // what no order can explain
}

// New begins a history.
func New(o Options) *History {
	h := &History{o: o, begin: time.Now(), next: 1, creators: map[string]string{}, uuids: map[string]string{}}
	h.Rest(o.Pause)
	return h
}

// Rest sets how long a client rests between two operations, at most. What arrives late is
// seen best where little happened meanwhile: where much did it contradicts something newer,
// and is refused for that.
func (h *History) Rest(pause time.Duration) { h.pause.Store(int64(pause)) }

// Run lets clients ask until ctx ends, and waits for the answers to what is under way. It
// begins with a few tables.
func (h *History) Run(ctx context.Context) {
	first := h.client(h.o.Clients)
	for n := range names - 1 {
		first.change(operation{kind: change, parts: []part{{does: creates, name: n}}})
	}
	var clients sync.WaitGroup
	for i := range h.o.Clients {
		clients.Go(func() {
			c := h.client(i)
			for ctx.Err() == nil {
				c.act()
				time.Sleep(time.Duration(c.random.Int64N(h.pause.Load() + 1)))
			}
		})
	}
	clients.Wait()
}

func (h *History) client(i int) *client {
	return &client{h: h, id: i, random: rand.New(rand.NewPCG(h.o.Seed, uint64(i)))}
}

// ReadAll reads everything through every replica: what is unknown has to be decided, and
// what is decided has to be the same for all. The catalog has to be whole again.
func (h *History) ReadAll() {
	c := h.client(h.o.Clients)
	for replica := range h.o.Replicas {
		for n := range names {
			c.read(replica, operation{kind: load, name: n})
		}
		c.read(replica, operation{kind: list})
	}
}

// Note says in the picture of the history what happened to the catalog, since begin.
func (h *History) Note(begin time.Time, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, porcupine.Annotation{Tag: "faults", Start: begin.Sub(h.begin).Nanoseconds(), End: h.now(), Description: what})
}

// Broken notes that a promise was broken whatever the order.
func (h *History) Broken(format string, arguments ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = append(h.broken, fmt.Sprintf(format, arguments...))
}

func (h *History) now() int64 { return time.Since(h.begin).Nanoseconds() }

func (h *History) newID() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	return h.next - 1
}

// record notes what an operation came to. One of unknown outcome is under way for ever.
func (h *History) record(client int, call int64, o operation, out outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answered := h.now()
	if out.result == unknown {
		answered = math.MaxInt64
	}
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: o, Output: out, Call: call, Return: answered})
}

// identify holds each table to one uuid for ever, whatever it is called.
func (h *History) identify(s sighting) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	uuid, known := h.uuids[s.creator]
	creator, used := h.creators[s.uuid]
	if known && uuid != s.uuid || used && creator != s.creator {
		return fmt.Errorf("the table of #%s has the uuid %s, which was %s of #%s", s.creator, s.uuid, uuid, creator)
	}
	h.uuids[s.creator], h.creators[s.uuid] = s.uuid, s.creator
	return nil
}

// Len is how many operations were recorded so far.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.operations)
}
