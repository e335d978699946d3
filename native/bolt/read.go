package bolt

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"piedmont/native"
)

// maxScanBytes bounds what one Scan holds in memory.
const maxScanBytes = 256 << 20

// snapshot is a durable state of the file, shared by all reads that begin before the
// next commit is durable. bbolt's own read transactions may see a commit whose sync is
// still under way, which a crash or a failed sync takes back; these never do.
//
// bbolt says that a transaction isn't safe for several goroutines. One that only reads
// changes nothing but counters, and those atomically; the tests run it under the race detector.
type snapshot struct {
	tx      *bbolt.Tx
	records *bbolt.Bucket
	refs    atomic.Int64 // one for being current, one for each read
	err     error        // instead of all the others: why there is nothing to read
}

// snapshot opens the state that bbolt sees now. Only while nothing is being committed is it durable.
func (r *Registry) snapshot() (s *snapshot, err error) {
	defer recovered(&err)
	tx, err := r.db.Begin(false)
	if err != nil {
		return nil, err
	}
	s = &snapshot{tx: tx, records: tx.Bucket([]byte(recordsBucket))}
	if s.records == nil {
		_ = tx.Rollback() // it only ever fails where it is already over
		return nil, fmt.Errorf("%w: it has no records bucket", ErrDamaged)
	}
	s.refs.Store(1)
	return s, nil
}

// publish lets reads see s from now on, and frees the state before when its last read
// ends; never after a panic, since bbolt's locks may then be held for good.
func (r *Registry) publish(s *snapshot) {
	if before := r.current.Swap(s); before.err == nil && !r.wedged {
		before.release()
	}
}

// acquire takes the current snapshot; release it.
func (r *Registry) acquire() (*snapshot, error) {
	for {
		s := r.current.Load()
		if s.err != nil {
			return nil, s.err
		}
		// At 0 it was replaced and freed since Load.
		if n := s.refs.Load(); n > 0 && s.refs.CompareAndSwap(n, n+1) {
			return s, nil
		}
	}
}

func (s *snapshot) release() {
	if s.refs.Add(-1) == 0 {
		_ = s.tx.Rollback() // it only ever fails where it is already over
	}
}

// view calls f with the records of one durable state. What f gets from them is the
// file itself, to be copied before f returns.
func (r *Registry) view(ctx context.Context, f func(*bbolt.Bucket) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := r.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	defer recovered(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return f(s.records)
}

// Get implements native.Registry. A key that no record can have is absent. Besides the
// context's, errors are ErrClosed and ErrDamaged.
func (r *Registry) Get(ctx context.Context, key native.Key) (rec native.Record, ok bool, err error) {
	err = r.view(ctx, func(b *bbolt.Bucket) error {
		v := b.Get([]byte(key))
		if v == nil {
			return nil
		}
		ok = true
		rec, err = decode(key, v)
		return err
	})
	if err != nil {
		return native.Record{}, false, fmt.Errorf("get %q of registry %s: %w", string(key), r.path, err)
	}
	return rec, ok, nil
}

// Scan implements native.Registry. The records share their memory: whoever keeps one
// for long copies it. It fails where they take more than 256 MiB; then ask for fewer.
// Besides these and the context's, errors are ErrClosed and ErrDamaged.
func (r *Registry) Scan(ctx context.Context, prefix, after native.Key, limit int) (recs []native.Record, err error) {
	if limit < 1 || limit > native.MaxScan {
		limit = native.MaxScan
	}
	err = r.view(ctx, func(b *bbolt.Bucket) error {
		space := pairs.Get().(*[]pair) //nolint:forcetypeassert // the pool holds nothing else
		found, size, err := collect((*space)[:0], b.Cursor(), []byte(prefix), []byte(after), limit)
		if err == nil {
			recs = copyOut(found, size)
		}
		clear(found) // nothing may point into the file any longer
		*space = found
		pairs.Put(space)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("scan %q of registry %s: %w", string(prefix), r.path, err)
	}
	return recs, nil
}

// pair is a record as it lies in the file.
type pair struct{ key, value []byte }

// pairs are lists for Scans to fill: growing one anew costs more than the rest of a Scan.
// None is longer than native.MaxScan.
var pairs = sync.Pool{New: func() any { return new([]pair) }}

// collect finds the records of a Scan and how many bytes they have, and appends them to found.
func collect(found []pair, c *bbolt.Cursor, prefix, after []byte, limit int) (_ []pair, size int, err error) {
	start := prefix
	if bytes.Compare(after, prefix) > 0 {
		start = after
	}
	k, v := c.Seek(start)
	if k != nil && len(after) > 0 && bytes.Equal(k, after) {
		k, v = c.Next()
	}
	for ; k != nil && bytes.HasPrefix(k, prefix) && len(found) < limit; k, v = c.Next() {
		if err := checkRecord(k, v); err != nil {
			return found, 0, err
		}
		if size += len(k) + len(v); size > maxScanBytes {
			return found, 0, fmt.Errorf("more than %d MiB in %d records: ask for fewer", maxScanBytes>>20, len(found)+1)
		}
		found = append(found, pair{k, v})
	}
	return found, size, nil
}

// copyOut copies records out of the file, all keys into one string and all values into one slice.
func copyOut(found []pair, size int) []native.Record {
	recs := make([]native.Record, len(found))
	var keys strings.Builder
	n := 0
	for _, p := range found {
		n += len(p.key)
	}
	keys.Grow(n)
	values := make([]byte, 0, size-n)
	for i, p := range found {
		from := keys.Len()
		keys.Write(p.key)
		recs[i].Key = native.Key(keys.String()[from:])
		copy(recs[i].Version[:], p.value)
		at := len(values)
		values = append(values, p.value[versionBytes:]...)
		recs[i].Value = values[at:len(values):len(values)] // no room for one to grow into the next
	}
	return recs
}
