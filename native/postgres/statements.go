package postgres

// A statement that must find something divides by the number of rows it found: by zero
// where there are none, which undoes the whole transaction within the same round trip.
// So "division by zero" in the server's log, from a statement that begins with the
// comment below, is nothing to act on.
const (
	note = "/* piedmont: a division by zero means that a condition doesn't hold */ "

	beginReadCommitted = "BEGIN ISOLATION LEVEL READ COMMITTED"
	commitSQL          = "COMMIT"
	rollbackSQL        = "ROLLBACK"

	// The minute must be near that of the server: see receipt.go.
	receiptSQL = note + `WITH r AS (INSERT INTO piedmont_receipts (minute, id, fenced)
		SELECT $1::timestamptz, $2::bytea, false WHERE $1::timestamptz >= clock_timestamp() - interval '5 minutes' RETURNING 1)
		SELECT 1 / count(*) FROM r`

	shareGuardSQL = note + `SELECT 1 / count(*) FROM (SELECT 1 FROM piedmont_guard
		WHERE class = $1::smallint AND shard = $2::smallint FOR KEY SHARE) AS g`
	holdGuardSQL = note + `SELECT 1 / (count(*) / 16) FROM (SELECT 1 FROM piedmont_guard
		WHERE class = $1::smallint ORDER BY shard FOR UPDATE) AS g`

	// Without ORDER BY the planner, which expects many rows in any range, reads the table
	// from its start until it finds one.
	emptySQL = note + `SELECT 1 / (1 - count(*)) FROM (SELECT 1 FROM unnest($1::bytea[], $2::bytea[]) AS p (low, high)
		CROSS JOIN LATERAL (SELECT 1 FROM piedmont_records WHERE key >= p.low AND key < p.high ORDER BY key LIMIT 1) AS r LIMIT 1) AS f`

	existsSQL = note + `SELECT 1 / count(*) FROM (SELECT 1 FROM piedmont_records WHERE key = $1::bytea FOR KEY SHARE) AS r`
	atSQL     = note + `SELECT 1 / count(*) FROM (SELECT 1 FROM piedmont_records
		WHERE key = $1::bytea AND version = $2::bytea FOR SHARE) AS r`

	insertSQL = `INSERT INTO piedmont_records (key, version, value) VALUES ($1::bytea, $2::bytea, $3::bytea)`
	putSQL    = insertSQL + ` ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value`
	updateSQL = note + `WITH u AS (UPDATE piedmont_records SET version = $2::bytea, value = $3::bytea
		WHERE key = $1::bytea RETURNING 1) SELECT 1 / count(*) FROM u`
	swapSQL = note + `WITH u AS (UPDATE piedmont_records SET version = $2::bytea, value = $3::bytea
		WHERE key = $1::bytea AND version = $4::bytea RETURNING 1) SELECT 1 / count(*) FROM u`
	// A commit that does no more than this is one statement, which is a transaction.
	loneSwapSQL = note + `WITH u AS (UPDATE piedmont_records SET version = $2::bytea, value = $3::bytea
			WHERE key = $1::bytea AND version = $4::bytea RETURNING 1),
		r AS (INSERT INTO piedmont_receipts (minute, id, fenced)
			SELECT $5::timestamptz, $6::bytea, false FROM u WHERE $5::timestamptz >= clock_timestamp() - interval '5 minutes' RETURNING 1)
		SELECT 1 / count(*) FROM r`

	// The same among others, which it doesn't undo: where it can't be done at once it changes
	// nothing. A locked row is passed over, so that a group waits for none.
	groupSwapSQL = `WITH u AS (UPDATE piedmont_records SET version = $2::bytea, value = $3::bytea
			WHERE key = (SELECT key FROM piedmont_records WHERE key = $1::bytea AND version = $4::bytea
				AND $5::timestamptz >= clock_timestamp() - interval '5 minutes' FOR NO KEY UPDATE SKIP LOCKED) RETURNING 1)
		INSERT INTO piedmont_receipts (minute, id, fenced) SELECT $5::timestamptz, $6::bytea, false FROM u`

	deleteSQL    = `DELETE FROM piedmont_records WHERE key = $1::bytea`
	deleteOneSQL = note + `WITH d AS (DELETE FROM piedmont_records WHERE key = $1::bytea RETURNING 1) SELECT 1 / count(*) FROM d`
	deleteAtSQL  = note + `WITH d AS (DELETE FROM piedmont_records
		WHERE key = $1::bytea AND version = $2::bytea RETURNING 1) SELECT 1 / count(*) FROM d`

	getSQL  = `SELECT version, value FROM piedmont_records WHERE key = $1::bytea`
	scanSQL = `SELECT key, version, value FROM piedmont_records
		WHERE key >= $1::bytea AND key > $2::bytea AND key < $3::bytea ORDER BY key LIMIT $4::bigint`

	// One statement, so that all of it shows one state. The prefixes are numbered.
	findSQL = `SELECT 0 AS prefix, key, version, value FROM piedmont_records WHERE key = ANY ($1::bytea[])
		UNION ALL
		SELECT p.n, r.key, r.version, r.value FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS p (low, high, n)
		CROSS JOIN LATERAL (SELECT key, version, value FROM piedmont_records
			WHERE key >= p.low AND key < p.high ORDER BY key LIMIT 1) AS r`

	// Whoever inserts the row first decides; the other waits for it and learns which it was.
	fenceSQL = `INSERT INTO piedmont_receipts AS r (minute, id, fenced)
		SELECT $1::timestamptz, $2::bytea, true WHERE $1::timestamptz >= clock_timestamp() - interval '5 minutes'
		ON CONFLICT (minute, id) DO UPDATE SET fenced = r.fenced RETURNING r.fenced`

	clockSQL = `SELECT clock_timestamp()`
	sweepSQL = `DELETE FROM piedmont_receipts WHERE (minute, id) IN (SELECT minute, id FROM piedmont_receipts
		WHERE minute >= $1::timestamptz AND minute < now() - interval '15 minutes' ORDER BY minute, id LIMIT $2::bigint)`
)
