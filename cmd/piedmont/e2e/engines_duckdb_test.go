//go:build e2e

package e2e

import (
	"testing"
)

func duckdbTrips(namespace string) string {
	return `SELECT id, city, fare FROM piedmont."` + namespace + `".trips ORDER BY id`
}

func (s *scenario) runDuckDB(t *testing.T) {
	e := s.duckdb
	t.Run("reads", func(t *testing.T) { s.readsAll(t, e, duckdbTrips) })
	t.Run("create", func(t *testing.T) {
		e.do(t, `CREATE SCHEMA piedmont."lab.duckdb"`,
			`CREATE TABLE piedmont."lab.duckdb".trips (id BIGINT, city VARCHAR, fare DOUBLE, extra STRUCT(tags VARCHAR[], zone INTEGER)) PARTITIONED BY (city)`)
		e.rows(t, `SELECT schema_name FROM information_schema.schemata WHERE catalog_name = 'piedmont' AND schema_name LIKE '%duckdb'`, "lab.duckdb")
		e.rows(t, `SELECT table_name FROM information_schema.tables WHERE table_catalog = 'piedmont' AND table_schema = 'lab.duckdb'`, "trips")
	})
	t.Run("append", func(t *testing.T) {
		e.do(t, `INSERT INTO piedmont."lab.duckdb".trips VALUES (1, 'Oslo', 1.5, {'tags': ['a', 'b'], 'zone': 7}), (2, 'Rome', 2.5, NULL), (3, 'Oslo', 3.5, NULL)`)
		e.rows(t, `SELECT * FROM piedmont."lab.duckdb".trips ORDER BY id`, `1|Oslo|1.5|{"tags":["a","b"],"zone":7}`, "2|Rome|2.5|null", "3|Oslo|3.5|null")
	})
	t.Run("update, delete, merge", func(t *testing.T) {
		e.rows(t, `UPDATE piedmont."lab.duckdb".trips SET fare = 9.5 WHERE id = 2`, "1")
		e.rows(t, `DELETE FROM piedmont."lab.duckdb".trips WHERE id = 3`, "1")
		e.rows(t, `MERGE INTO piedmont."lab.duckdb".trips t USING (VALUES (1, 'Oslo', 4.5), (4, 'Bonn', 5.5)) s(id, city, fare) ON t.id = s.id
			WHEN MATCHED THEN UPDATE SET fare = s.fare WHEN NOT MATCHED THEN INSERT (id, city, fare) VALUES (s.id, s.city, s.fare)`, "2")
		e.rows(t, duckdbTrips("lab.duckdb"), "1|Oslo|4.5", "2|Rome|9.5", "4|Bonn|5.5")
	})
	t.Run("evolve", func(t *testing.T) {
		e.do(t, `ALTER TABLE piedmont."lab.duckdb".trips ADD COLUMN note VARCHAR`,
			`ALTER TABLE piedmont."lab.duckdb".trips RENAME COLUMN note TO remark`,
			`INSERT INTO piedmont."lab.duckdb".trips (id, city, fare, remark) VALUES (5, 'Kiel', 6.5, 'new')`,
			`ALTER TABLE piedmont."lab.duckdb".trips DROP COLUMN extra`)
		e.rows(t, `SELECT * FROM piedmont."lab.duckdb".trips WHERE id > 3 ORDER BY id`, "4|Bonn|5.5|null", "5|Kiel|6.5|new")
	})
	t.Run("time travel", func(t *testing.T) {
		first := s.snapshots(t, "lab\x1fduckdb", "trips")[0]
		e.rows(t, `SELECT id, fare FROM piedmont."lab.duckdb".trips AT (VERSION => `+first+`) ORDER BY id`, "1|1.5", "2|2.5", "3|3.5")
		e.rows(t, `SELECT count(*) FROM piedmont."lab.duckdb".trips AT (TIMESTAMP => now()::TIMESTAMP)`, "4")
	})
	t.Run("rename, drop", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont."lab.duckdb".made AS SELECT 1 AS a`, `ALTER TABLE piedmont."lab.duckdb".made RENAME TO moved`)
		e.rows(t, `SELECT a FROM piedmont."lab.duckdb".moved`, "1")
		e.do(t, `DROP TABLE piedmont."lab.duckdb".moved`)
		e.refuses(t, `SELECT a FROM piedmont."lab.duckdb".moved`, "does not exist")
		e.refuses(t, `DROP SCHEMA piedmont."lab.duckdb"`, "Namespace lab.duckdb is not empty")
	})
	t.Run("v3", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont."lab.duckdb".v3 (id BIGINT DEFAULT 4, city VARCHAR) WITH ('format-version' = 3)`,
			`INSERT INTO piedmont."lab.duckdb".v3 VALUES (1, 'Oslo'), (2, 'Rome')`, `INSERT INTO piedmont."lab.duckdb".v3 (city) VALUES ('Bonn')`,
			`DELETE FROM piedmont."lab.duckdb".v3 WHERE id = 2`)
		e.rows(t, `SELECT id, city FROM piedmont."lab.duckdb".v3 ORDER BY id`, "1|Oslo", "4|Bonn")
		e.do(t, `CREATE TABLE piedmont."lab.duckdb".docs (doc VARIANT) WITH ('format-version' = 3)`, `INSERT INTO piedmont."lab.duckdb".docs VALUES ({'a': 1}::VARIANT)`)
		e.rows(t, `SELECT doc FROM piedmont."lab.duckdb".docs`, `{"a":1}`)
	})
	t.Run("limits", func(t *testing.T) {
		s.cannot(t, e, "DuckDB: can't make or read views", `CREATE VIEW piedmont."lab.duckdb".v AS SELECT 1`, "Create View")
		s.cannot(t, e, "DuckDB: can't read a branch or tag", `SELECT id FROM piedmont."lab.pyiceberg".trips AT (VERSION => 'first')`, "Could not convert string 'first' to INT64")
		s.cannot(t, e, "DuckDB: can't replace a table", `CREATE OR REPLACE TABLE piedmont."lab.duckdb".trips AS SELECT 2 AS b`, "CREATE OR REPLACE not supported")
		s.cannot(t, e, "DuckDB: can't drop a namespace with its tables", `DROP SCHEMA piedmont."lab.duckdb" CASCADE`, "CASCADE is not supported")
	})
	s.wrote("duckdb", "1|Oslo|4.5", "2|Rome|9.5", "4|Bonn|5.5", "5|Kiel|6.5")
}

// runConflict: of a transaction over two tables nothing happens if another writer advanced
// one of them.
func (s *scenario) runConflict(t *testing.T) {
	duckdb, rival := s.duckdb, s.python
	duckdb.do(t, `CREATE TABLE piedmont."lab.duckdb".debit (id BIGINT)`, `CREATE TABLE piedmont."lab.duckdb".credit (id BIGINT)`)
	both := []string{`BEGIN`, `INSERT INTO piedmont."lab.duckdb".debit VALUES (1)`, `INSERT INTO piedmont."lab.duckdb".credit VALUES (1)`}
	debit := s.pointer(t, "debit")
	duckdb.do(t, both...)
	rival.do(t, `catalog.load_table("lab.duckdb.credit").append(pa.table({"id": pa.array([2], pa.int64())}))`)
	credit := s.pointer(t, "credit")
	duckdb.refuses(t, `COMMIT`, "Conflict_409")
	if at := s.pointer(t, "debit"); at != debit {
		t.Errorf("the table that nobody else wrote has moved from %s to %s", debit, at)
	}
	if at := s.pointer(t, "credit"); at != credit {
		t.Errorf("the table that the rival wrote has moved from %s to %s", credit, at)
	}
	rival.rows(t, `catalog.load_table("lab.duckdb.debit").scan().to_arrow()`)
	rival.rows(t, `catalog.load_table("lab.duckdb.credit").scan().to_arrow()`, "2")

	duckdb.do(t, both...)
	duckdb.do(t, `COMMIT`)
	rival.rows(t, `catalog.load_table("lab.duckdb.debit").scan().to_arrow()`, "1")
	rival.rows(t, `catalog.load_table("lab.duckdb.credit").scan().to_arrow().sort_by("id")`, "1", "2")
}

// pointer is the metadata location of a table of DuckDB's.
func (s *scenario) pointer(t *testing.T, table string) string {
	t.Helper()
	var loaded struct {
		At string `json:"metadata-location"`
	}
	s.load(t, "lab\x1fduckdb", table, &loaded)
	return loaded.At
}
