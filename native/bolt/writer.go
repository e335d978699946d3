package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"piedmont/native"
)

// failure is why a group wasn't committed.
type failure struct {
	outcome error // native.ErrNotApplied or native.ErrUnknown
	final   bool  // nothing can be written any more
	err     error
}

// write is the one goroutine that writes: it commits group after group until the queue
// is closed and empty.
func (r *Registry) write() {
	defer close(r.finished)
	debug.SetPanicOnFault(true) // for this goroutine, which ends here
	for {
		group := r.queue.take()
		if group == nil {
			return
		}
		r.answer(group, r.commitGroup(group))
		// Whoever was answered may have its next commit ready at once. Taking the next group
		// before they ran would split them into two halves that wait for each other.
		runtime.Gosched()
	}
}

// answer tells everyone of a group how it ended. It comes after the group is durable
// also for those who were refused: what refused them may be of the same group.
func (r *Registry) answer(group []*request, f *failure) {
	for _, q := range group {
		switch {
		case f == nil:
			q.done <- q.refused
		case q.refused != nil:
			// Nothing of it was to be written, whatever became of the group. But the
			// state that refused it may not last, so that isn't the answer.
			q.done <- r.notApplied(f.err)
		default:
			q.done <- fmt.Errorf("commit to registry %s: %w: %w", r.path, f.outcome, f.err)
		}
	}
}

// commitGroup writes one group and lets reads see it; nil means that it is durable.
func (r *Registry) commitGroup(group []*request) *failure {
	if r.broken != nil {
		return &failure{outcome: native.ErrNotApplied, err: r.broken}
	}
	changed, f := r.transact(group)
	if f != nil {
		if f.final {
			r.stop(fmt.Errorf("nothing is written until a restart, because of an earlier error: %w", f.err))
		}
		return f
	}
	if !changed {
		return nil
	}
	s, err := r.snapshot()
	if err != nil {
		// It is durable, but reads can't see it, and must not see the state before.
		r.stop(fmt.Errorf("nothing is read or written until a restart, because of an earlier error: %w", err))
		r.wedged = true
		s = &snapshot{err: r.broken}
	}
	r.publish(s)
	return nil
}

// transact runs one transaction for a group. changed says whether there is a new state.
func (r *Registry) transact(group []*request) (changed bool, f *failure) {
	outcome := native.ErrNotApplied
	defer func() {
		if p := recover(); p != nil {
			r.wedged = true
			f = &failure{outcome: outcome, final: true, err: fmt.Errorf("%w: %v", ErrDamaged, p)}
		}
	}()
	tx, err := r.db.Begin(true)
	if err != nil {
		return false, &failure{outcome: outcome, final: true, err: err}
	}
	records := tx.Bucket([]byte(recordsBucket))
	for _, q := range group {
		if q.refused = r.evaluate(records, q.conditions); q.refused != nil {
			continue
		}
		if err := apply(records, q.changes); err != nil {
			_ = tx.Rollback() // it only ever fails where it is already over
			return false, &failure{outcome: outcome, err: err}
		}
		changed = changed || len(q.changes) > 0
	}
	if !changed {
		_ = tx.Rollback()
		return false, nil
	}
	outcome = native.ErrUnknown // whatever bbolt may panic on now
	id := tx.ID()
	if err := r.commit(tx); err != nil {
		return false, r.judge(id, err)
	}
	return true, nil
}

// judge says what an error of bbolt's commit of transaction id means. bbolt makes
// room, writes pages that no state refers to, syncs, writes the meta page that makes
// them the state, syncs. Surely nothing was applied where no sync failed and the meta
// page isn't there. A failed sync may be the second one, and even the first leaves a
// disk that lost a write.
func (r *Registry) judge(id int, err error) *failure {
	f := &failure{outcome: native.ErrUnknown, final: true, err: err}
	var path *fs.PathError
	var errno syscall.Errno
	wrote := errors.As(err, &path) && path.Op == "write"
	if !wrote && (path != nil || errors.As(err, &errno)) {
		return f // of a sync: bbolt makes text of the others
	}
	s, viewErr := r.snapshot()
	if viewErr != nil {
		r.wedged = true
		return f
	}
	defer s.release()
	if s.tx.ID() == id {
		return f
	}
	f.outcome = native.ErrNotApplied
	// Only room was missing: what is deleted or freed makes room.
	f.final = !errors.Is(err, berrors.ErrMaxSizeReached) && (!wrote || !noRoom(err))
	return f
}

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// evaluate says why conditions refuse a commit; nil means that all hold.
func (r *Registry) evaluate(records *bbolt.Bucket, conditions []native.Condition) error {
	var failures []native.Failure
	for _, c := range conditions {
		found, err := find(records, c)
		if err != nil {
			return r.notApplied(err)
		}
		if !holds(c, found) {
			failures = append(failures, native.Failure{Condition: c, Found: found})
		}
	}
	if failures == nil {
		return nil
	}
	return fmt.Errorf("commit to registry %s: %w", r.path, &native.ConflictError{Failures: failures})
}

// find is the record that a condition is about, or nil.
func find(records *bbolt.Bucket, c native.Condition) (*native.Record, error) {
	k, v := records.Cursor().Seek([]byte(c.Key))
	if k == nil {
		return nil, nil
	}
	if c.Kind == native.PrefixEmpty {
		if !bytes.HasPrefix(k, []byte(c.Key)) {
			return nil, nil
		}
	} else if string(k) != string(c.Key) {
		return nil, nil
	}
	if err := checkRecord(k, v); err != nil {
		return nil, err
	}
	rec, err := decode(native.Key(k), v)
	return &rec, err
}

func holds(c native.Condition, found *native.Record) bool {
	switch c.Kind {
	case native.AtVersion:
		return found != nil && found.Version == c.Version
	case native.Exists:
		return found != nil
	default: // Absent, PrefixEmpty
		return found == nil
	}
}

// apply makes the changes. check has refused what bbolt would.
func apply(records *bbolt.Bucket, changes []native.Change) error {
	for _, c := range changes {
		if c.Delete {
			if err := records.Delete([]byte(c.Key)); err != nil {
				return fmt.Errorf("delete %q: %w", string(c.Key), err)
			}
			continue
		}
		if err := records.Put([]byte(c.Key), encode(c)); err != nil {
			return fmt.Errorf("put %q: %w", string(c.Key), err)
		}
	}
	return nil
}
