package bolt

import (
	"context"
	"fmt"
	"runtime/debug"

	"piedmont/native"
)

var _ native.Snapshotter = (*Registry)(nil)

const (
	// snapshotRecords and snapshotBytes bound what Snapshot holds in memory, but for one record more.
	snapshotRecords = 1_000
	snapshotBytes   = 1 << 20
)

// Snapshot implements native.Snapshotter. It reads the state that is durable when it begins,
// and holds it: until it ends no page that a commit frees is used again, so the file grows by
// what is committed meanwhile, and Close waits. Besides the context's, errors are ErrClosed
// and ErrDamaged.
func (r *Registry) Snapshot(ctx context.Context, each func(native.Record) error) error {
	s, err := r.acquire()
	if err != nil {
		return fmt.Errorf("snapshot of registry %s: %w", r.path, err)
	}
	defer s.release()
	for after := []byte(nil); ; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("snapshot of registry %s: %w", r.path, err)
		}
		page, err := s.page(after)
		if err != nil {
			return fmt.Errorf("snapshot of registry %s: %w", r.path, err)
		}
		for _, rec := range page {
			if err := each(rec); err != nil {
				return err
			}
		}
		if len(page) == 0 {
			return nil
		}
		after = []byte(page[len(page)-1].Key)
	}
}

// page copies the next records out of the file. What each does isn't in here: its panics
// are no damage.
func (s *snapshot) page(after []byte) (page []native.Record, err error) {
	defer recovered(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	c := s.records.Cursor()
	k, v := c.Seek(after)
	if k != nil && string(k) == string(after) {
		k, v = c.Next()
	}
	for size := 0; k != nil && len(page) < snapshotRecords && size < snapshotBytes; k, v = c.Next() {
		rec, err := decode(native.Key(k), v)
		if err != nil {
			return nil, err
		}
		page = append(page, rec)
		size += len(k) + len(v)
	}
	return page, nil
}
