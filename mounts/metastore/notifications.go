package metastore

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"piedmont/mounts"
)

// Notifier is a Source that can tell what has changed. Its ids count changes of all kinds: the
// next one is greater by one. Its methods are called one at a time, beside all others, and what
// they cost must not take a connection from those. Errors are as Source has them.
type Notifier interface {
	// CurrentNotification is the id of the latest notification.
	CurrentNotification(ctx context.Context) (int64, error)
	// Notifications are those that follow an id, in their order, at most so many. A BadGateway
	// says that what follows can't be read.
	Notifications(ctx context.Context, after int64, most int) ([]Notification, error)
}

// Notification tells of one change that is done.
type Notification struct {
	ID int64
	// Names are those that may stand for something else now.
	Names []ObjectName
	// All says that it may be any name.
	All bool
}

const (
	// pollEvery is how long nobody asks after notifications were read, and maxPollEvery after they
	// couldn't be several times.
	pollEvery    = time.Second
	maxPollEvery = time.Minute
	// maxBlind is how long notifications may be missed until ids mean nothing any more: the outage may
	// have been that of a database which was put back.
	maxBlind = 4 * time.Second
	// maxNotifications is how many are asked for at once, and maxBatches how often before a
	// source that is further ahead is no longer followed step by step.
	maxNotifications = 100
	maxBatches       = 20
)

// follower asks a source what has changed, as long as anything is remembered, and makes memory
// forget that. All it knows is that what it hears of has changed: without notifications, or while
// they can't be read, things are remembered for FreshFor as ever.
type follower struct {
	source  Notifier
	memory  *memory
	timeout time.Duration // of one question
	outage  outage
	stop    context.CancelFunc
	done    chan struct{}

	// The position: what happened up to last is known. Only run uses it.
	known bool
	last  int64

	polls, failed, read, cleared atomic.Uint64
}

// follow begins to follow, until close. Questions don't pass the guard: that they are refused says
// nothing of how the source answers others.
func follow(source Notifier, c *Catalog) *follower {
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{
		source: source, memory: c.memory, timeout: c.guard.Timeout(), stop: stop, done: make(chan struct{}),
		outage: outage{log: c.log.With(slog.String("mount", c.mount))},
	}
	go f.run(ctx)
	return f
}

// close ends it, also while it asks.
func (f *follower) close() {
	f.stop()
	<-f.done
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	wait := time.Duration(0)
	for f.turn(ctx, wait) {
		err := f.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = min(max(2*wait, pollEvery), maxPollEvery)
			f.known = f.known && wait <= maxBlind
			f.failed.Add(1)
		default:
			wait = pollEvery
		}
		f.outage.heard(f.memory.now(), err)
		f.polls.Add(1)
	}
}

// turn waits, and then until something is remembered. It is false at the end.
func (f *follower) turn(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	for !f.memory.active() {
		f.known = false // while nobody looks ids may even begin anew
		select {
		case <-f.memory.kept:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// poll asks once what has changed since the last time.
func (f *follower) poll(ctx context.Context) error {
	current, err := bounded(ctx, f, f.source.CurrentNotification)
	if err != nil {
		return err
	}
	if !f.known || current < f.last {
		f.jump(current)
		return nil
	}
	for batches := 0; f.last < current; batches++ {
		if batches == maxBatches {
			f.jump(current)
			return nil
		}
		batch, err := bounded(ctx, f, func(ctx context.Context) ([]Notification, error) {
			return f.source.Notifications(ctx, f.last, maxNotifications)
		})
		switch {
		case mounts.Is(err, mounts.BadGateway): // it wouldn't be better the next time
			f.jump(current)
			return err
		case err != nil:
			return err
		}
		f.heed(batch, current)
	}
	return nil
}

// heed makes memory forget what a batch tells of. The change was done when the answer came,
// but perhaps not much earlier.
func (f *follower) heed(batch []Notification, current int64) {
	at := f.memory.now()
	f.read.Add(uint64(len(batch)))
	var names []ObjectName
	last, all := f.last, false
	for _, n := range batch {
		if n.ID != last+1 {
			f.jump(current)
			return
		}
		last, all = n.ID, all || n.All
		names = append(names, n.Names...)
	}
	switch {
	case last == f.last: // there should have been some
		f.jump(current)
		return
	case all:
		f.clear(at)
	default:
		f.memory.drop(at, names)
	}
	f.last = last
}

// jump goes on from an id, since nothing is known of what happened before.
func (f *follower) jump(to int64) {
	f.clear(f.memory.now())
	f.known, f.last = true, to
}

func (f *follower) clear(at time.Time) {
	f.cleared.Add(1)
	f.memory.clear(at)
}

// bounded asks within the time that the mount's questions have. A panic is an error.
func bounded[T any](ctx context.Context, f *follower, question func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return question(ctx)
}

// Events are counts of how a mount heard of changes.
type Events struct {
	// Polls are rounds of questions for what has changed, Failed those that had no answer.
	Polls, Failed uint64
	// Read are notifications, of changes of all kinds.
	Read uint64
	// Cleared is how often everything was forgotten: at the beginning, where notifications were
	// missing, for changes of a database.
	Cleared uint64
}

func (f *follower) stats() *Events {
	return &Events{Polls: f.polls.Load(), Failed: f.failed.Load(), Read: f.read.Load(), Cleared: f.cleared.Load()}
}
