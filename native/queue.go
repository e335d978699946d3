package native

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// queues gives each table with commits waiting one worker, so that within a process
// commits to one table queue up instead of racing for its swap.
type queues struct {
	mu      sync.Mutex
	waiting map[Key]*queue
	workers sync.WaitGroup
}

type queue struct{ pending []*pending }

// pending is one commit that waits for its turn.
type pending struct {
	ctx    context.Context // of the request; once its turn has come it no longer counts
	caller mounts.Caller
	commit *metadata.Commit
	losses int       // swaps lost to other processes
	until  time.Time // when it gives up waiting for a turn
	done   chan outcome
}

type outcome struct {
	table *mounts.Table
	err   error
}

// submit queues a commit under a table's key and waits for its outcome. run is called with
// the commits that wait, one call at a time for each key, and must answer each or return
// those to be run again, which then come first.
func (q *queues) submit(key Key, p *pending, run func([]*pending) (again []*pending)) (*mounts.Table, error) {
	q.mu.Lock()
	line := q.waiting[key]
	if line == nil {
		line = &queue{}
		q.waiting[key] = line
		q.workers.Add(1)
		go q.work(key, line, run)
	}
	line.pending = append(line.pending, p)
	q.mu.Unlock()
	o := <-p.done
	return o.table, o.err
}

func (q *queues) work(key Key, line *queue, run func([]*pending) []*pending) {
	defer q.workers.Done()
	var again []*pending
	for {
		q.mu.Lock()
		batch := append(again, line.pending...)
		line.pending = nil
		if len(batch) == 0 {
			delete(q.waiting, key)
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		again = guard(batch, run)
	}
}

// guard is run, but a panic ends only the commits of the batch: nothing is known of them.
// On the worker's own goroutine it would end the process, and no handler could catch it.
func guard(batch []*pending, run func([]*pending) []*pending) (again []*pending) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		again = nil
		unknown := outcome{err: &mounts.Error{
			Kind: mounts.CommitStateUnknown, Op: "updateTable",
			Detail: "It is unknown whether the commit was applied: look before trying again", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
		}}
		for _, waiting := range batch {
			select {
			case waiting.done <- unknown:
			default: // it was answered before
			}
		}
	}()
	return run(batch)
}

// wait returns once no worker runs. New commits must not come in.
func (q *queues) wait() { q.workers.Wait() }
