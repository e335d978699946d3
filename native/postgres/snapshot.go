package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"piedmont/native"
)

var _ native.Snapshotter = (*Registry)(nil)

const (
	// snapshotRecords and snapshotBytes bound what Snapshot holds in memory, but for one record more.
	snapshotRecords = 1_000
	snapshotBytes   = 4 << 20

	// The lengths are those of the rows: no value is read that isn't sent.
	pageSQL = `SELECT key, version, value FROM (
			SELECT key, version, value, sum(octet_length(key) + octet_length(value)) OVER (ORDER BY key) - octet_length(key) - octet_length(value) AS before
			FROM (SELECT key, version, value FROM piedmont_records WHERE key > $1::bytea ORDER BY key LIMIT $2::bigint) AS r
		) AS p WHERE before < $3::bigint ORDER BY key`
)

// Snapshot implements native.Snapshotter: it reads page by page in one transaction, which sees
// one state. It never begins anew: where the connection breaks or the database undoes the
// transaction it fails. Until it ends a connection is taken, the database keeps what is
// replaced meanwhile, and Close waits. Each page may take as long as one exchange. Besides
// the context's and the database's, errors are ErrClosed and ErrDamaged.
func (r *Registry) Snapshot(ctx context.Context, each func(native.Record) error) error {
	if r.closed.Load() {
		return fmt.Errorf("snapshot of the registry in PostgreSQL: %w", ErrClosed)
	}
	tx, err := r.beginSnapshot(ctx)
	if err != nil {
		return fmt.Errorf("snapshot of the registry in PostgreSQL: %w", err)
	}
	defer r.endSnapshot(ctx, tx)
	for after := []byte{}; ; {
		page, err := r.page(ctx, tx, after)
		if err != nil {
			return fmt.Errorf("snapshot of the registry in PostgreSQL: %w", err)
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

func (r *Registry) beginSnapshot(ctx context.Context) (pgx.Tx, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	tx, err := r.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	return tx, database(err)
}

// endSnapshot gives back the connection, or breaks it off where the server doesn't answer.
func (r *Registry) endSnapshot(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	_ = tx.Rollback(ctx) // there is nothing to lose in it
}

func (r *Registry) page(ctx context.Context, tx pgx.Tx, after []byte) (page []native.Record, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	rows, err := tx.Query(ctx, pageSQL, after, snapshotRecords, snapshotBytes)
	if err != nil {
		return nil, database(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, version, value []byte
		if err := rows.Scan(&key, &version, &value); err != nil {
			return nil, database(err)
		}
		rec, err := record(key, version, value)
		if err != nil {
			return nil, err
		}
		page = append(page, rec)
	}
	return page, database(rows.Err())
}
