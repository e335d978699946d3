package bolt

import (
	"context"
	"fmt"

	"piedmont/native"
)

// Commit implements native.Registry. Commits that wait at the same time share one
// write to the disk. After a failure that leaves an outcome unknown, or that makes the
// disk suspect, every later Commit fails with native.ErrNotApplied until the file is opened
// anew; a full disk only fails the commits that don't fit.
func (r *Registry) Commit(ctx context.Context, conditions []native.Condition, changes []native.Change) error {
	size, err := check(conditions, changes)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return r.notApplied(err)
	}
	req := &request{conditions: conditions, changes: changes, bytes: size, done: make(chan error, 1)}
	if !r.queue.put(req) {
		return r.notApplied(ErrClosed)
	}
	select {
	case err := <-req.done:
		return err
	case <-ctx.Done():
	}
	if r.queue.withdraw(req) {
		return r.notApplied(ctx.Err())
	}
	return <-req.done
}

// notApplied is the error of a Commit that surely changed nothing, because of err.
func (r *Registry) notApplied(err error) error {
	return fmt.Errorf("commit to registry %s: %w: %w", r.path, native.ErrNotApplied, err)
}

// check holds a Commit to the bounds, and says how many bytes it has.
func check(conditions []native.Condition, changes []native.Change) (size int, err error) {
	if len(conditions) > native.MaxChanges || len(changes) > native.MaxChanges {
		return 0, fmt.Errorf("%d conditions and %d changes, of each %d are allowed", len(conditions), len(changes), native.MaxChanges)
	}
	for _, c := range conditions {
		if len(c.Key) > native.MaxKeyBytes {
			return 0, tooLong(c.Key)
		}
		if c.Kind > native.PrefixEmpty {
			return 0, fmt.Errorf("a condition on %q of the unknown kind %d", string(c.Key), c.Kind)
		}
	}
	seen := make(map[native.Key]struct{}, len(changes))
	for _, c := range changes {
		switch {
		case c.Key == "":
			return 0, fmt.Errorf("a change of the empty key")
		case len(c.Key) > native.MaxKeyBytes:
			return 0, tooLong(c.Key)
		case len(c.Value) > native.MaxValueBytes:
			return 0, fmt.Errorf("the value of %q has %d bytes, %d are allowed", string(c.Key), len(c.Value), native.MaxValueBytes)
		}
		seen[c.Key] = struct{}{}
		size += len(c.Key) + len(c.Value)
	}
	if len(seen) < len(changes) {
		return 0, fmt.Errorf("a key is changed twice")
	}
	return size, nil
}

func tooLong(key native.Key) error {
	return fmt.Errorf("the key that begins with %q has %d bytes, %d are allowed", string(key[:40]), len(key), native.MaxKeyBytes)
}
