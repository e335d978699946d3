package postgres

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"piedmont/native"
)

// find ends a failed transaction and, in the same round trip, reads one state of what
// conditions are about. It returns those that don't hold in it; there may be none.
func find(ctx context.Context, conn *pgxpool.Conn, conditions []native.Condition) ([]native.Failure, error) {
	points, low, high := [][]byte{}, [][]byte{}, [][]byte{}
	for _, c := range conditions {
		if c.Kind == native.PrefixEmpty {
			low, high = append(low, []byte(c.Key)), append(high, end(c.Key))
		} else {
			points = append(points, []byte(c.Key))
		}
	}
	found, first, err := look(ctx, conn, points, low, high)
	if code(err) == codeFailedTransaction {
		// Where statements aren't kept, the driver may ask the server about this one first,
		// who refuses to look at it in a transaction that failed.
		if _, err := conn.Exec(ctx, rollbackSQL); err != nil {
			return nil, err
		}
		found, first, err = look(ctx, conn, points, low, high)
	}
	if err != nil {
		return nil, err
	}
	return failures(conditions, found, first), nil
}

// look reads records by key, and the first of each range.
func look(ctx context.Context, conn *pgxpool.Conn, points, low, high [][]byte) (map[native.Key]*native.Record, []*native.Record, error) {
	batch := &pgx.Batch{}
	if conn.Conn().PgConn().TxStatus() != 'I' {
		batch.Queue(rollbackSQL)
	}
	batch.Queue(findSQL, points, low, high)
	results := conn.SendBatch(ctx, batch)
	defer func() { _ = results.Close() }() // the error of each was taken
	if batch.Len() > 1 {
		if _, err := results.Exec(); err != nil {
			return nil, nil, err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return nil, nil, err
	}
	return collectFound(rows, len(low))
}

// collectFound sorts rows into the records by key, and the first of each prefix.
func collectFound(rows pgx.Rows, prefixes int) (map[native.Key]*native.Record, []*native.Record, error) {
	found, first := map[native.Key]*native.Record{}, make([]*native.Record, prefixes)
	defer rows.Close()
	for rows.Next() {
		var n int
		var key, version, value []byte
		if err := rows.Scan(&n, &key, &version, &value); err != nil {
			return nil, nil, err
		}
		rec, err := record(key, version, value)
		if err != nil {
			return nil, nil, err
		}
		if n == 0 {
			found[rec.Key] = &rec
		} else {
			first[n-1] = &rec
		}
	}
	return found, first, rows.Err()
}

// failures are the conditions that don't hold. No two share memory.
func failures(conditions []native.Condition, found map[native.Key]*native.Record, first []*native.Record) []native.Failure {
	var list []native.Failure
	prefixes := 0
	for _, c := range conditions {
		rec := found[c.Key]
		if c.Kind == native.PrefixEmpty {
			rec = first[prefixes]
			prefixes++
		}
		if holds(c, rec) {
			continue
		}
		f := native.Failure{Condition: c}
		if rec != nil {
			f.Found = &native.Record{Key: rec.Key, Value: bytes.Clone(rec.Value), Version: rec.Version}
		}
		list = append(list, f)
	}
	return list
}

// holds tells whether a condition holds where rec, or nothing, was found.
func holds(c native.Condition, rec *native.Record) bool {
	switch c.Kind {
	case native.AtVersion:
		return rec != nil && rec.Version == c.Version
	case native.Exists:
		return rec != nil
	case native.Absent, native.PrefixEmpty:
	}
	return rec == nil
}
