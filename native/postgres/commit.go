package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"piedmont/native"
)

const (
	// maxTries bounds how often a commit that was undone because of others is begun anew.
	maxTries = 20
	// maxLost bounds how many of these tries may lose their connection.
	maxLost = 3
)

// Commit implements native.Registry. It takes one round trip, where a condition fails
// another. A commit that the database undid because of another one, or of which it was
// found out that it won't be applied, is tried again, for as long as ctx lasts. It is
// native.ErrUnknown only where the database can't be asked about it for half a minute
// after the connection was lost. All changes together are at most 256 MiB.
func (r *Registry) Commit(ctx context.Context, conditions []native.Condition, changes []native.Change) error {
	err := check(conditions, changes)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return notApplied(err)
	}
	if r.closed.Load() {
		return notApplied(ErrClosed)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed.Load() {
		return notApplied(ErrClosed)
	}
	return r.commit(ctx, conditions, changes)
}

func (r *Registry) commit(ctx context.Context, conditions []native.Condition, changes []native.Change) error {
	p := newPlan(conditions, changes, false)
	once := r.attempt
	if p.isSwap() && !p.hopeless {
		once = r.swap
	}
	for try, lost := 1, 0; ; try++ {
		result, err := once(ctx, p, conditions)
		once = r.attempt
		switch result {
		case applied:
			return nil
		case failed:
			return err
		case lacking:
			p = newPlan(conditions, changes, true)
			continue
		case passed:
			continue // by itself it waits for the lock
		case stale:
			if err := r.refresh(ctx); err != nil {
				return notApplied(err)
			}
		case fenced:
			lost++
		case undone:
		}
		if try >= maxTries || lost >= maxLost {
			return notApplied(err)
		}
		if ended := pause(ctx, try); ended != nil {
			return notApplied(ended)
		}
	}
}

// refresh sets the clock, and looks whether all is there that commits need.
func (r *Registry) refresh(ctx context.Context) error {
	if err := r.setClock(ctx); err != nil {
		return err
	}
	return r.checkSchema(ctx)
}

// notApplied is the error of a Commit that surely changed nothing, because of err.
func notApplied(err error) error {
	return fmt.Errorf("commit to the registry in PostgreSQL: %w: %w", native.ErrNotApplied, err)
}

// unknown is the error of a Commit of which nothing could be found out, because of err.
func unknown(err error) error {
	return fmt.Errorf("commit to the registry in PostgreSQL: %w: %w", native.ErrUnknown, err)
}

// backoff is a random time, longer on average the more tries there were.
func backoff(try int) time.Duration {
	most := time.Millisecond << min(try, 7)
	return time.Duration(rand.Int64N(int64(most))) //nolint:gosec // spreads out tries, guards nothing
}

// maxCommitBytes bounds what one commit holds in memory.
const maxCommitBytes = 256 << 20

// check holds a Commit to the bounds.
func check(conditions []native.Condition, changes []native.Change) error {
	if len(conditions) > native.MaxChanges || len(changes) > native.MaxChanges {
		return fmt.Errorf("%d conditions and %d changes, of each %d are allowed", len(conditions), len(changes), native.MaxChanges)
	}
	for _, c := range conditions {
		if len(c.Key) > native.MaxKeyBytes {
			return tooLong(c.Key)
		}
		if c.Kind > native.PrefixEmpty {
			return fmt.Errorf("a condition on %q of the unknown kind %d", string(c.Key), c.Kind)
		}
	}
	seen, size := make(map[native.Key]struct{}, len(changes)), 0
	for _, c := range changes {
		switch {
		case c.Key == "":
			return errors.New("a change of the empty key")
		case len(c.Key) > native.MaxKeyBytes:
			return tooLong(c.Key)
		case len(c.Value) > native.MaxValueBytes:
			return fmt.Errorf("the value of %q has %d bytes, %d are allowed", string(c.Key), len(c.Value), native.MaxValueBytes)
		}
		seen[c.Key] = struct{}{}
		size += len(c.Key) + len(c.Value)
	}
	if len(seen) < len(changes) {
		return errors.New("a key is changed twice")
	}
	if size > maxCommitBytes {
		return fmt.Errorf("the changes have %d bytes, %d are allowed", size, maxCommitBytes)
	}
	return nil
}

func tooLong(key native.Key) error {
	return fmt.Errorf("the key that begins with %q has %d bytes, %d are allowed", string(key[:40]), len(key), native.MaxKeyBytes)
}
