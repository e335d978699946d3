//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"
)

func trinoTrips(namespace string) string {
	return `SELECT id, city, fare FROM piedmont."` + namespace + `".trips ORDER BY id`
}

func (s *scenario) runTrino(t *testing.T) {
	e := s.trino
	const trips = `piedmont."lab.trino".trips`
	t.Run("reads", func(t *testing.T) { s.readsAll(t, e, trinoTrips) })
	t.Run("nested namespaces", func(t *testing.T) {
		e.do(t, `CREATE SCHEMA piedmont."lab.trino"`, `CREATE SCHEMA piedmont."lab.trino.deep"`, `CREATE SCHEMA piedmont."lab.trino.deep.er"`)
		e.rows(t, `SHOW SCHEMAS FROM piedmont LIKE 'lab.trino%'`, "lab.trino", "lab.trino.deep", "lab.trino.deep.er")
	})
	t.Run("create", func(t *testing.T) {
		e.do(t, `CREATE TABLE `+trips+` (id BIGINT, city VARCHAR, fare DOUBLE, extra ROW(tags ARRAY(VARCHAR), zone INTEGER))
			WITH (partitioning = ARRAY['city', 'bucket(id, 4)'])`)
		e.rows(t, `SHOW TABLES FROM piedmont."lab.trino"`, "trips")
	})
	t.Run("append", func(t *testing.T) {
		e.rows(t, `INSERT INTO `+trips+` VALUES (1, 'Oslo', 1.5, ROW(ARRAY['a', 'b'], 7)), (2, 'Rome', 2.5, NULL), (3, 'Bonn', 3.5, NULL)`, "3")
		e.rows(t, `SELECT * FROM `+trips+` ORDER BY id`, `1|Oslo|1.5|[["a","b"],7]`, "2|Rome|2.5|null", "3|Bonn|3.5|null")
	})
	t.Run("update, delete, merge", func(t *testing.T) {
		e.rows(t, `UPDATE `+trips+` SET fare = 9.5 WHERE id = 2`, "1")
		e.rows(t, `DELETE FROM `+trips+` WHERE id = 3`, "1")
		e.rows(t, `MERGE INTO `+trips+` t USING (VALUES (1, 'Oslo', 4.5), (4, 'Kiel', 5.5)) s(id, city, fare) ON t.id = s.id
			WHEN MATCHED THEN UPDATE SET fare = s.fare WHEN NOT MATCHED THEN INSERT (id, city, fare) VALUES (s.id, s.city, s.fare)`, "2")
		e.rows(t, trinoTrips("lab.trino"), "1|Oslo|4.5", "2|Rome|9.5", "4|Kiel|5.5")
	})
	t.Run("time travel", func(t *testing.T) {
		first := s.snapshots(t, "lab\x1ftrino", "trips")[0]
		e.rows(t, `SELECT id, fare FROM `+trips+` FOR VERSION AS OF BIGINT '`+first+`' ORDER BY id`)
		second := s.snapshots(t, "lab\x1ftrino", "trips")[1]
		e.rows(t, `SELECT id, fare FROM `+trips+` FOR VERSION AS OF BIGINT '`+second+`' ORDER BY id`, "1|1.5", "2|2.5", "3|3.5")
		at := e.one(t, `SELECT committed_at FROM piedmont."lab.trino"."trips$snapshots" WHERE snapshot_id = `+second)
		e.rows(t, `SELECT id, fare FROM `+trips+` FOR TIMESTAMP AS OF TIMESTAMP '`+at+`' ORDER BY id`, "1|1.5", "2|2.5", "3|3.5")
	})
	t.Run("evolve", func(t *testing.T) {
		e.do(t, `ALTER TABLE `+trips+` ADD COLUMN note VARCHAR`, `ALTER TABLE `+trips+` RENAME COLUMN note TO remark`,
			`ALTER TABLE `+trips+` ALTER COLUMN extra.zone SET DATA TYPE BIGINT`, `ALTER TABLE `+trips+` SET PROPERTIES partitioning = ARRAY['city']`,
			`COMMENT ON TABLE `+trips+` IS 'what was paid'`,
			`INSERT INTO `+trips+` VALUES (5, 'Lyon', 6.5, ROW(ARRAY[], 1099511627776), 'new')`)
		e.rows(t, `SELECT * FROM `+trips+` WHERE id > 3 ORDER BY id`, "4|Kiel|5.5|null|null", "5|Lyon|6.5|[[],1099511627776]|new")
		e.do(t, `ALTER TABLE `+trips+` DROP COLUMN remark`)
	})
	t.Run("maintenance", func(t *testing.T) {
		e.do(t, `ANALYZE `+trips, `ALTER TABLE `+trips+` EXECUTE optimize`, `ALTER TABLE `+trips+` EXECUTE optimize_manifests`,
			`ALTER TABLE `+trips+` EXECUTE expire_snapshots(retention_threshold => '0s')`)
		if left := s.snapshots(t, "lab\x1ftrino", "trips"); len(left) != 1 {
			t.Errorf("%d snapshots are left", len(left))
		}
		e.do(t, `ALTER TABLE `+trips+` EXECUTE remove_orphan_files(retention_threshold => '0s')`)
		e.rows(t, trinoTrips("lab.trino"), "1|Oslo|4.5", "2|Rome|9.5", "4|Kiel|5.5", "5|Lyon|6.5")
	})
	t.Run("replace", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont."lab.trino".made AS SELECT 1 a`, `CREATE OR REPLACE TABLE piedmont."lab.trino".made AS SELECT a + 1 b FROM piedmont."lab.trino".made`)
		e.rows(t, `SELECT b FROM piedmont."lab.trino".made`, "2")
	})
	t.Run("rename, drop, register", func(t *testing.T) {
		e.do(t, `ALTER TABLE piedmont."lab.trino".made RENAME TO piedmont."lab.trino.deep".moved`)
		var loaded struct {
			At       string `json:"metadata-location"`
			Metadata struct{ Location string }
		}
		s.load(t, "lab\x1ftrino\x1fdeep", "moved", &loaded)
		e.do(t, `CALL piedmont.system.unregister_table('lab.trino.deep', 'moved')`)
		e.refuses(t, `SELECT b FROM piedmont."lab.trino.deep".moved`, "does not exist")
		e.do(t, `CALL piedmont.system.register_table('lab.trino', 'again', '`+loaded.Metadata.Location+`', '`+filepath.Base(loaded.At)+`')`)
		e.rows(t, `SELECT b FROM piedmont."lab.trino".again`, "2")
		e.do(t, `CREATE TABLE piedmont."lab.trino".added (b INTEGER)`,
			`ALTER TABLE piedmont."lab.trino".added EXECUTE add_files('`+loaded.Metadata.Location+`/data', 'PARQUET')`)
		e.do(t, `DROP TABLE piedmont."lab.trino".again`)
		e.refuses(t, `DROP SCHEMA piedmont."lab.trino.deep"`, "Namespace lab.trino.deep is not empty")
		e.do(t, `DROP SCHEMA piedmont."lab.trino.deep.er"`, `DROP SCHEMA piedmont."lab.trino.deep"`)
	})
	t.Run("views", func(t *testing.T) {
		e.do(t, `CREATE VIEW piedmont."lab.trino".towns AS SELECT city FROM `+trips, `CREATE OR REPLACE VIEW piedmont."lab.trino".towns AS SELECT id, city FROM `+trips,
			`ALTER VIEW piedmont."lab.trino".towns RENAME TO piedmont."lab.trino".cities`)
		e.rows(t, `SELECT * FROM piedmont."lab.trino".cities ORDER BY id`, "1|Oslo", "2|Rome", "4|Kiel", "5|Lyon")
		e.do(t, `CREATE VIEW piedmont."lab.trino".gone AS SELECT 1 a`, `DROP VIEW piedmont."lab.trino".gone`)
		e.refuses(t, `SELECT * FROM piedmont."lab.trino".gone`, "does not exist")
	})
	t.Run("limits", func(t *testing.T) {
		s.cannot(t, e, "Trino: can't make v3 tables", `CREATE TABLE piedmont."lab.trino".v3 (id BIGINT) WITH (format_version = 3)`, "must be between 1 and 2")
		s.cannot(t, e, "Trino: can't make materialized views", `CREATE MATERIALIZED VIEW piedmont."lab.trino".mv AS SELECT 1 a`, "not supported for Iceberg REST catalog")
		s.cannot(t, e, "Trino: can't rename a namespace", `ALTER SCHEMA piedmont."lab.trino" RENAME TO "lab.other"`, "not supported for Iceberg REST catalog")
		s.cannot(t, e, "Trino: can't make branches or tags", `CREATE BRANCH audit IN TABLE `+trips, "mismatched input 'BRANCH'")
	})
	s.wrote("trino", "1|Oslo|4.5", "2|Rome|9.5", "4|Kiel|5.5", "5|Lyon|6.5")
}
