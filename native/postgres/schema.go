package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Migrations are applied in the order of their names, which begin with the version they
// lead to: 0001, 0002 and so on without a gap.
//
//go:embed migrations/*.sql
var migrations embed.FS

// The schema's version is a row, which is also the lock of whoever upgrades. Version 0 is
// a database that has this table alone.
const (
	createSchemaSQL = `CREATE TABLE IF NOT EXISTS piedmont_schema (one smallint PRIMARY KEY CHECK (one = 1), version integer NOT NULL)`
	insertSchemaSQL = `INSERT INTO piedmont_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING`
	schemaSQL       = `SELECT version FROM piedmont_schema WHERE one = 1`
	lockSchemaSQL   = schemaSQL + ` FOR UPDATE`
	// recordsSQL says whether there are records, without which there is nothing to lose.
	recordsSQL   = `SELECT to_regclass('piedmont_records') IS NOT NULL`
	setSchemaSQL = `UPDATE piedmont_schema SET version = $1 WHERE one = 1`
)

// checkSQL fails where a table or a column is missing, and counts what must be there.
const checkSQL = `SELECT count(*),
	(SELECT count(*) FROM (SELECT key, version, value FROM piedmont_records LIMIT 0) AS r),
	(SELECT count(*) FROM (SELECT minute, id, fenced FROM piedmont_receipts LIMIT 0) AS f)
	FROM piedmont_guard WHERE class BETWEEN 0 AND 31 AND shard BETWEEN 0 AND 15`

// migrate brings the schema to the version of this release. Where it is there already,
// it only reads, so that a role that may not create tables can serve.
func (r *Registry) migrate(ctx context.Context) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	version, err := r.schemaVersion(ctx)
	if err == nil && version < 0 {
		err = r.bootstrap(ctx)
		version = 0
	}
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	for version < len(files) {
		if version, err = r.upgrade(ctx, files); err != nil {
			return fmt.Errorf("upgrade the schema: %w", err)
		}
	}
	if version > len(files) {
		return newer(version, len(files))
	}
	return r.checkSchema(ctx)
}

func newer(version, known int) error {
	return fmt.Errorf("%w: it has version %d, this release knows up to %d", ErrNewerSchema, version, known)
}

func migrationFiles() ([]string, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	slices.Sort(files)
	return files, err
}

// look says what migrate would do, and does none of it.
func (r *Registry) look(ctx context.Context) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	version, err := r.schemaVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	return r.judge(ctx, version, len(files))
}

// judge is look's answer where this release has the given version.
func (r *Registry) judge(ctx context.Context, version, known int) error {
	switch {
	case version > known:
		return newer(version, known)
	case version == known:
		return r.checkSchema(ctx)
	case version > 0:
		return fmt.Errorf("%w: it has version %d, this release has %d", ErrOlderSchema, version, known)
	}
	var records bool
	if err := r.pool.QueryRow(ctx, recordsSQL).Scan(&records); err != nil {
		return fmt.Errorf("look for tables: %w", database(err))
	}
	if records {
		return fmt.Errorf("%w: the version of the schema is lost", ErrDamaged)
	}
	return ErrNoSchema
}

// schemaVersion is negative where there is none yet.
func (r *Registry) schemaVersion(ctx context.Context) (version int, err error) {
	err = r.pool.QueryRow(ctx, schemaSQL).Scan(&version)
	switch {
	case err == nil && version < 0:
		return 0, fmt.Errorf("%w: the schema's version is %d", ErrDamaged, version)
	case errors.Is(err, pgx.ErrNoRows), code(err) == codeUndefinedTable:
		return -1, nil
	}
	return version, database(err)
}

const createTries = 20

// bootstrap makes the lock row. IF NOT EXISTS doesn't keep two who create a table at the
// same moment from colliding: the later one is told of a duplicate, and tries again.
func (r *Registry) bootstrap(ctx context.Context) error {
	for try := 1; ; try++ {
		_, err := r.pool.Exec(ctx, createSchemaSQL)
		if err == nil {
			_, err = r.pool.Exec(ctx, insertSchemaSQL)
		}
		if err == nil {
			return nil
		}
		if !collided(err) && !duplicate(err) || try == createTries {
			return database(err)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// upgrade applies the next migration, unless another process has done so, and returns
// the version there is then.
func (r *Registry) upgrade(ctx context.Context, files []string) (version int, err error) {
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, lockSchemaSQL).Scan(&version); err != nil {
			return err
		}
		if version >= len(files) {
			return nil
		}
		sql, err := migrations.ReadFile(files[version])
		if err != nil {
			return err
		}
		// Several statements at once: only the simple protocol takes them.
		if _, err := tx.Conn().PgConn().Exec(ctx, string(sql)).ReadAll(); err != nil {
			err = fmt.Errorf("apply %s: %w", files[version], database(err))
			if duplicate(err) {
				err = fmt.Errorf("%w: the version of the schema is lost: %w", ErrDamaged, err)
			}
			return err
		}
		version++
		_, err = tx.Exec(ctx, setSchemaSQL, version)
		return err
	})
	var described *databaseError
	if err != nil && !errors.As(err, &described) {
		err = database(err)
	}
	return version, err
}

// checkSchema looks whether everything is there that the version promises.
func (r *Registry) checkSchema(ctx context.Context) error {
	var guards, records, receipts int
	err := r.pool.QueryRow(ctx, checkSQL).Scan(&guards, &records, &receipts)
	switch c := code(err); {
	case c == codeUndefinedTable, c == codeUndefinedColumn:
		return fmt.Errorf("%w: %w", ErrDamaged, database(err))
	case err != nil:
		return fmt.Errorf("check the schema: %w", database(err))
	case guards != classes*shards:
		return fmt.Errorf("%w: piedmont_guard has %d of its %d rows", ErrDamaged, guards, classes*shards)
	}
	return nil
}

// pause waits a little before the next try, longer the more there were and never the
// same, unless the context ends.
func pause(ctx context.Context, try int) error {
	timer := time.NewTimer(backoff(try))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
