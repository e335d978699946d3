package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// restoreKey is the record that says that a restore hasn't ended. Whoever replaces it takes
// over the restore: every commit of one asks for its own.
const restoreKey = Key(kindRestore)

const (
	// restoreChanges and restoreBytes bound one commit of a restore.
	restoreChanges = 5_000
	restoreBytes   = 8 << 20
	// clearPage is how many records, of any size, fit into every Scan.
	clearPage = 200
)

// Errors of Restore, besides ErrRestoring's.
var (
	// ErrNotEmpty: the registry isn't empty, so nothing was changed.
	ErrNotEmpty = errors.New("the registry isn't empty")
	// ErrDisturbed: somebody else wrote to the registry meanwhile: another restore, or a
	// server. What was restored so far is no catalog.
	ErrDisturbed = errors.New("somebody else wrote to the registry during the restore")
)

// CheckRestored is ErrRestoring where a restore hasn't ended.
func CheckRestored(ctx context.Context, r Registry) error {
	_, ok, err := r.Get(ctx, restoreKey)
	if err != nil {
		return fmt.Errorf("ask whether a restore has ended: %w", err)
	}
	if ok {
		return ErrRestoring
	}
	return nil
}

// Restore fills an empty registry with the records of a backup, at their versions. It makes
// commit after commit; until the last, which comes after the backup was found to be whole,
// CheckRestored refuses the registry, and another Restore begins anew: it removes what is
// there. restored is told how many records are durable.
//
// Dropped tables stay restorable, and purges wait, for a week from now at least.
//
// No server may be running on the registry. One that starts is found out by the keys it makes.
//
// Errors: ErrNotEmpty, ErrDisturbed, those of a BackupReader and of the registry. Behind an
// ErrUnknown of the last commit the restore may have ended; CheckRestored tells, once it can be asked.
func Restore(ctx context.Context, r Registry, b *BackupReader, now time.Time, restored func(records uint64)) error {
	s := &restoring{registry: r, now: now, marker: put(restoreKey, nil), restored: restored}
	if err := s.begin(ctx); err != nil {
		return err
	}
	for {
		rec, err := b.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if !backedUp(rec.Key) {
			return fmt.Errorf("%w: it holds a record that no backup has", ErrBackupDamaged)
		}
		changes, err := s.changes(rec)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBackupDamaged, err)
		}
		for _, c := range changes {
			if err := s.add(ctx, c); err != nil {
				return err
			}
		}
	}
	err := s.flush(ctx, remove(restoreKey))
	if errors.Is(err, ErrUnknown) && CheckRestored(context.WithoutCancel(ctx), r) == nil {
		return nil // the mark is gone, so the last commit was made
	}
	if err != nil {
		return fmt.Errorf("end the restore: %w", err)
	}
	return nil
}

// changes are what a record of a backup is restored as. The queue of dropped tables is made
// anew from their records.
func (s *restoring) changes(r Record) ([]Change, error) {
	switch string(r.Key[:1]) {
	case kindDue:
		return nil, nil
	case kindDropped:
		return postponed(r, s.now)
	}
	return []Change{{Key: r.Key, Value: r.Value, Version: r.Version}}, nil
}

// restoring is a restore under way.
type restoring struct {
	registry Registry
	now      time.Time
	marker   Change
	waiting  []Change
	bytes    int
	records  uint64 // durable
	restored func(records uint64)
}

// begin marks the registry, if it is empty or is marked already, and makes it empty.
func (s *restoring) begin(ctx context.Context) error {
	old, ok, err := s.registry.Get(ctx, restoreKey)
	if err != nil {
		return fmt.Errorf("begin the restore: %w", err)
	}
	if !ok {
		err := s.registry.Commit(ctx, []Condition{{Kind: PrefixEmpty}}, []Change{s.marker})
		if errors.Is(err, ErrConflict) {
			return ErrNotEmpty
		}
		if err != nil {
			return fmt.Errorf("begin the restore: %w", err)
		}
		return nil
	}
	err = s.registry.Commit(ctx, []Condition{{Kind: AtVersion, Key: restoreKey, Version: old.Version}}, []Change{s.marker})
	if err == nil {
		err = s.clear(ctx)
	}
	if errors.Is(err, ErrConflict) {
		return ErrDisturbed
	}
	if err != nil {
		return fmt.Errorf("remove what an earlier restore left: %w", err)
	}
	return nil
}

// clear removes everything but the mark.
func (s *restoring) clear(ctx context.Context) error {
	var changes []Change
	for after := Key(""); ; {
		found, err := s.registry.Scan(ctx, "", after, clearPage)
		if err != nil {
			return err
		}
		for _, rec := range found {
			if after = rec.Key; after != restoreKey {
				changes = append(changes, remove(after))
			}
		}
		if len(changes) > restoreChanges-clearPage || len(found) < clearPage {
			if err := s.registry.Commit(ctx, s.mine(), changes); err != nil {
				return err
			}
			changes = nil
		}
		if len(found) < clearPage {
			return nil
		}
	}
}

// mine is the condition of each commit but the first: nobody has taken over.
func (s *restoring) mine() []Condition {
	return []Condition{{Kind: AtVersion, Key: restoreKey, Version: s.marker.Version}}
}

// add takes a record, and commits those before it where it doesn't fit in with them.
func (s *restoring) add(ctx context.Context, c Change) error {
	size := len(c.Key) + len(c.Value)
	if len(s.waiting) == restoreChanges || s.bytes+size > restoreBytes {
		if err := s.flush(ctx); err != nil {
			return fmt.Errorf("restore records: %w", err)
		}
	}
	s.waiting, s.bytes = append(s.waiting, c), s.bytes+size
	return nil
}

// flush commits what waits, and more. A server makes a signing key before all else, and no
// backup holds one: so none has started.
func (s *restoring) flush(ctx context.Context, more ...Change) error {
	conditions := append(s.mine(), Condition{Kind: PrefixEmpty, Key: kindSigningKey})
	err := s.registry.Commit(ctx, conditions, append(s.waiting, more...))
	if errors.Is(err, ErrConflict) {
		return ErrDisturbed
	}
	if err != nil {
		return err
	}
	s.records += uint64(len(s.waiting))
	s.waiting, s.bytes = s.waiting[:0], 0
	s.restored(s.records)
	return nil
}
