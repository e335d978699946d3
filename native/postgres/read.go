package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"piedmont/native"
)

const (
	// maxScanBytes bounds what one Scan holds in memory.
	maxScanBytes = 256 << 20
	// readTries bounds how often a read is begun anew after its connection broke.
	readTries = 4
)

// Get implements native.Registry: one read by the primary key. A key that no record can
// have is absent. Besides the context's and the database's, errors are ErrClosed and ErrDamaged.
func (r *Registry) Get(ctx context.Context, key native.Key) (rec native.Record, ok bool, err error) {
	err = r.read(ctx, func(ctx context.Context) error {
		var version, value []byte
		err := r.pool.QueryRow(ctx, getSQL, []byte(key)).Scan(&version, &value)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		rec, err = record([]byte(key), version, value)
		ok = err == nil
		return err
	})
	if err != nil {
		return native.Record{}, false, fmt.Errorf("get %.100q of the registry in PostgreSQL: %w", string(key), err)
	}
	return rec, ok, nil
}

// Scan implements native.Registry. It fails where the records take more than 256 MiB;
// then ask for fewer. Besides the context's and the database's, errors are ErrClosed and ErrDamaged.
func (r *Registry) Scan(ctx context.Context, prefix, after native.Key, limit int) (recs []native.Record, err error) {
	if limit < 1 || limit > native.MaxScan {
		limit = native.MaxScan
	}
	err = r.read(ctx, func(ctx context.Context) error {
		recs, err = r.scan(ctx, prefix, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("scan %.100q of the registry in PostgreSQL: %w", string(prefix), err)
	}
	return recs, nil
}

func (r *Registry) scan(ctx context.Context, prefix, after native.Key, limit int) ([]native.Record, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // so that the rest of too many bytes isn't read
	rows, err := r.pool.Query(ctx, scanSQL, []byte(prefix), []byte(after), end(prefix), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	recs, size := []native.Record{}, 0
	var key, version pgtype.DriverBytes // the driver's own memory until Next
	for rows.Next() {
		var value []byte
		if err := rows.Scan(&key, &version, &value); err != nil {
			return nil, err
		}
		if size += len(key) + len(value); size > maxScanBytes {
			cancel()
			return nil, fmt.Errorf("%w: more than %d MiB in %d records: ask for fewer", errTooMuch, maxScanBytes>>20, len(recs)+1)
		}
		rec, err := record(key, version, value)
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	return recs, rows.Err()
}

var errTooMuch = errors.New("too much to read at once")

// read runs f, and again where its connection broke or the database undid it because
// of others.
func (r *Registry) read(ctx context.Context, f func(context.Context) error) error {
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.closed.Load() {
			return ErrClosed
		}
		err := r.bounded(ctx, f)
		switch {
		case err == nil, errors.Is(err, ErrDamaged), errors.Is(err, errTooMuch):
			return err
		case ctx.Err() != nil, !collided(err) && (try >= readTries || !lost(err)), try >= maxTries:
			return database(err)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

func (r *Registry) bounded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return f(ctx)
}

// record makes a record of a row. It keeps value, and copies of the others.
func record(key, version, value []byte) (native.Record, error) {
	rec := native.Record{Key: native.Key(key), Value: value}
	if copy(rec.Version[:], version) != len(version) || len(version) != len(rec.Version) {
		return native.Record{}, fmt.Errorf("%w: the version of %.100q has %d bytes", ErrDamaged, string(key), len(version))
	}
	return rec, nil
}
