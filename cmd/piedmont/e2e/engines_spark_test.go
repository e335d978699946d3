//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"
)

func sparkTrips(namespace string) string {
	return `SELECT id, city, fare FROM piedmont.` + namespace + `.trips ORDER BY id`
}

func (s *scenario) runSpark(t *testing.T) {
	e := s.spark
	const trips = `piedmont.lab.spark.trips`
	t.Run("reads", func(t *testing.T) { s.readsAll(t, e, sparkTrips) })
	t.Run("create", func(t *testing.T) {
		e.do(t, `CREATE NAMESPACE piedmont.lab.spark`)
		e.rows(t, `SHOW NAMESPACES IN piedmont.lab LIKE '*spark'`, "lab.spark")
		e.do(t, `CREATE TABLE `+trips+` (id BIGINT NOT NULL, city STRING, fare DOUBLE, at TIMESTAMP, extra STRUCT<tags: ARRAY<STRING>, zone: INT>)
			USING iceberg PARTITIONED BY (city, days(at))
			TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')`)
		e.rows(t, `SHOW TABLES IN piedmont.lab.spark`, "lab.spark|trips|false")
	})
	t.Run("append", func(t *testing.T) {
		e.do(t, `INSERT INTO `+trips+` VALUES (1, 'Oslo', 1.5, TIMESTAMP '2026-01-01 00:00:00', named_struct('tags', array('a', 'b'), 'zone', 7)),
			(2, 'Rome', 2.5, TIMESTAMP '2026-01-02 00:00:00', NULL), (3, 'Bonn', 3.5, TIMESTAMP '2026-01-02 00:00:00', NULL)`)
		e.rows(t, `SELECT id, at, extra FROM `+trips+` ORDER BY id`, `1|2026-01-01 00:00:00|{"tags":["a","b"],"zone":7}`, "2|2026-01-02 00:00:00|null", "3|2026-01-02 00:00:00|null")
	})
	t.Run("update, delete, merge", func(t *testing.T) {
		e.do(t, `UPDATE `+trips+` SET fare = 9.5 WHERE id = 2`, `DELETE FROM `+trips+` WHERE id = 3`,
			`MERGE INTO `+trips+` t USING (SELECT * FROM VALUES (1L, 'Oslo', 4.5D), (4L, 'Kiel', 5.5D) AS s(id, city, fare)) s ON t.id = s.id
				WHEN MATCHED THEN UPDATE SET t.fare = s.fare WHEN NOT MATCHED THEN INSERT (id, city, fare) VALUES (s.id, s.city, s.fare)`)
		e.rows(t, sparkTrips("lab.spark"), "1|Oslo|4.5", "2|Rome|9.5", "4|Kiel|5.5")
		e.rows(t, `SELECT operation FROM `+trips+`.snapshots ORDER BY committed_at`, "append", "overwrite", "delete", "overwrite")
	})
	t.Run("time travel", func(t *testing.T) {
		first := s.snapshots(t, "lab\x1fspark", "trips")[0]
		e.rows(t, `SELECT id, fare FROM `+trips+` VERSION AS OF `+first+` ORDER BY id`, "1|1.5", "2|2.5", "3|3.5")
		e.rows(t, `SELECT count(*) FROM `+trips+` TIMESTAMP AS OF current_timestamp()`, "3")
	})
	t.Run("evolve", func(t *testing.T) {
		e.do(t, `ALTER TABLE `+trips+` ADD COLUMN note STRING`, `ALTER TABLE `+trips+` RENAME COLUMN note TO remark`,
			`ALTER TABLE `+trips+` ALTER COLUMN extra.zone TYPE BIGINT`, `ALTER TABLE `+trips+` ADD PARTITION FIELD bucket(4, id)`,
			`ALTER TABLE `+trips+` DROP PARTITION FIELD city`, `ALTER TABLE `+trips+` WRITE ORDERED BY id`, `ALTER TABLE `+trips+` SET IDENTIFIER FIELDS id`,
			`INSERT INTO `+trips+` VALUES (5, 'Lyon', 6.5, TIMESTAMP '2026-01-03 00:00:00', named_struct('tags', array(), 'zone', 1099511627776), 'new')`)
		e.rows(t, `SELECT id, extra, remark FROM `+trips+` WHERE id > 3 ORDER BY id`, "4|null|null", `5|{"tags":[],"zone":1099511627776}|new`)
		e.do(t, `ALTER TABLE `+trips+` DROP COLUMN remark`)
	})
	t.Run("branches and tags", func(t *testing.T) {
		e.do(t, `ALTER TABLE `+trips+` CREATE TAG first RETAIN 7 DAYS`, `ALTER TABLE `+trips+` CREATE BRANCH audit`,
			`INSERT INTO `+trips+`.branch_audit (id, city, fare) VALUES (6, 'Riga', 7.5)`)
		e.rows(t, `SELECT id FROM `+trips+` VERSION AS OF 'audit' ORDER BY id`, "1", "2", "4", "5", "6")
		e.rows(t, `SELECT count(*) FROM `+trips, "4")
		if got := len(e.query(t, `CALL piedmont.system.fast_forward('lab.spark.trips', 'main', 'audit')`)); got != 1 {
			t.Errorf("fast_forward answered %d rows", got)
		}
		e.rows(t, `SELECT count(*) FROM `+trips, "5")
		e.do(t, `ALTER TABLE `+trips+` DROP BRANCH audit`)
		e.rows(t, `SELECT id FROM `+trips+` VERSION AS OF 'first' ORDER BY id`, "1", "2", "4", "5")
		e.rows(t, `SELECT name, type FROM `+trips+`.refs ORDER BY name`, "first|TAG", "main|BRANCH")
	})
	t.Run("procedures", s.runSparkProcedures)
	t.Run("replace", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont.lab.spark.made USING iceberg AS SELECT 1 AS a`,
			`CREATE OR REPLACE TABLE piedmont.lab.spark.made USING iceberg AS SELECT a + 1 AS a, 'x' AS b FROM piedmont.lab.spark.made`)
		e.rows(t, `SELECT * FROM piedmont.lab.spark.made`, "2|x")
		e.do(t, `REPLACE TABLE piedmont.lab.spark.made (c INT) USING iceberg`)
		e.rows(t, `SELECT c FROM piedmont.lab.spark.made`)
	})
	t.Run("rename, drop", func(t *testing.T) {
		e.do(t, `ALTER TABLE piedmont.lab.spark.made RENAME TO lab.spark.moved`)
		e.rows(t, `SELECT count(*) FROM piedmont.lab.spark.moved`, "0")
		e.refuses(t, `SELECT * FROM piedmont.lab.spark.made`, "TABLE_OR_VIEW_NOT_FOUND")
		e.do(t, `DROP TABLE piedmont.lab.spark.moved PURGE`)
		e.refuses(t, `SELECT * FROM piedmont.lab.spark.moved`, "TABLE_OR_VIEW_NOT_FOUND")
		e.refuses(t, `DROP NAMESPACE piedmont.lab.spark`, "Namespace lab.spark is not empty")
	})
	t.Run("v3", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont.lab.spark.v3 (id BIGINT, city STRING) USING iceberg
			TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')`,
			`INSERT INTO piedmont.lab.spark.v3 VALUES (1, 'Oslo'), (2, 'Rome'), (3, 'Bonn')`,
			`UPDATE piedmont.lab.spark.v3 SET city = 'Kiel' WHERE id = 3`, `DELETE FROM piedmont.lab.spark.v3 WHERE id = 2`)
		// a row keeps its id when it is updated, and tells which commit did it
		e.rows(t, `SELECT _row_id, _last_updated_sequence_number, id, city FROM piedmont.lab.spark.v3 ORDER BY id`, "0|1|1|Oslo", "2|2|3|Kiel")
		e.rows(t, `SELECT file_format, sum(record_count) FROM piedmont.lab.spark.v3.delete_files GROUP BY file_format`, "PUFFIN|2")
		e.do(t, `CREATE TABLE piedmont.lab.spark.docs (doc VARIANT) USING iceberg TBLPROPERTIES ('format-version' = '3')`,
			`INSERT INTO piedmont.lab.spark.docs SELECT parse_json('{"a":1}')`)
		e.rows(t, `SELECT variant_get(doc, '$.a', 'int') FROM piedmont.lab.spark.docs`, "1")
		e.do(t, `CREATE TABLE piedmont.lab.spark.grown (id BIGINT) USING iceberg`, `INSERT INTO piedmont.lab.spark.grown VALUES (1)`,
			`ALTER TABLE piedmont.lab.spark.grown SET TBLPROPERTIES ('format-version' = '3')`, `INSERT INTO piedmont.lab.spark.grown VALUES (2)`)
		e.rows(t, `SELECT id, _row_id IS NOT NULL FROM piedmont.lab.spark.grown ORDER BY id`, "1|true", "2|true")
	})
	t.Run("sort orders", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont.lab.spark.sorted (id BIGINT) USING iceberg`, `ALTER TABLE piedmont.lab.spark.sorted WRITE ORDERED BY id`)
		for _, id := range []string{"3", "1", "5", "2", "4"} {
			e.do(t, `INSERT INTO piedmont.lab.spark.sorted VALUES (`+id+`)`)
		}
	})
	t.Run("views", func(t *testing.T) {
		e.do(t, `CREATE VIEW piedmont.lab.spark.towns AS SELECT city FROM `+trips, `CREATE OR REPLACE VIEW piedmont.lab.spark.towns AS SELECT id, city FROM `+trips,
			`ALTER VIEW piedmont.lab.spark.towns RENAME TO lab.spark.cities`)
		e.rows(t, `SELECT * FROM piedmont.lab.spark.cities WHERE id < 3 ORDER BY id`, "1|Oslo", "2|Rome")
		e.rows(t, `SHOW VIEWS IN piedmont.lab.spark LIKE 'c*s'`, "lab.spark|cities|false")
		e.do(t, `CREATE VIEW piedmont.lab.spark.gone AS SELECT 1 AS a`, `DROP VIEW piedmont.lab.spark.gone`)
		e.refuses(t, `SELECT * FROM piedmont.lab.spark.gone`, "TABLE_OR_VIEW_NOT_FOUND")
	})
	t.Run("limits", func(t *testing.T) {
		s.cannot(t, e, "Spark: can't give columns a default", `CREATE TABLE piedmont.lab.spark.defaults (id BIGINT DEFAULT 5) USING iceberg TBLPROPERTIES ('format-version' = '3')`, "does not support column default value")
		s.cannot(t, e, "Spark: can't drop a namespace with its tables", `DROP NAMESPACE piedmont.lab.spark CASCADE`, "Namespace lab.spark is not empty")
	})
	s.wrote("spark", "1|Oslo|4.5", "2|Rome|9.5", "4|Kiel|5.5", "5|Lyon|6.5", "6|Riga|7.5")
}

func (s *scenario) runSparkProcedures(t *testing.T) {
	e := s.spark
	const trips = `piedmont.lab.spark.trips`
	e.rows(t, `SELECT count(*) > 0 FROM `+trips+`.delete_files`, "true")
	e.rows(t, `SELECT count(*) > 0 FROM (SELECT * FROM `+trips+`.data_files) WHERE spec_id = 0`, "true")
	e.do(t, `CALL piedmont.system.rewrite_data_files(table => 'lab.spark.trips', options => map('rewrite-all', 'true', 'remove-dangling-deletes', 'true'))`)
	e.rows(t, `SELECT count(*) FROM (SELECT * FROM `+trips+`.data_files) WHERE spec_id = 0`, "0")
	e.do(t, `CALL piedmont.system.rewrite_position_delete_files('lab.spark.trips')`, `CALL piedmont.system.rewrite_manifests('lab.spark.trips')`)
	e.do(t, `ALTER TABLE `+trips+` DROP TAG first`,
		`CALL piedmont.system.expire_snapshots(table => 'lab.spark.trips', older_than => current_timestamp(), retain_last => 1)`)
	if left := s.snapshots(t, "lab\x1fspark", "trips"); len(left) != 1 {
		t.Errorf("%d snapshots are left", len(left))
	}
	e.rows(t, `CALL piedmont.system.remove_orphan_files(table => 'lab.spark.trips', prefix_listing => true)`)
	s.cannot(t, e, "Spark: can't run `remove_orphan_files` without `prefix_listing => true`", `CALL piedmont.system.remove_orphan_files(table => 'lab.spark.trips')`, `No FileSystem for scheme "s3"`)
	e.do(t, `CALL piedmont.system.compute_table_stats('lab.spark.trips')`, `CALL piedmont.system.compute_partition_stats('lab.spark.trips')`)

	e.do(t, `CREATE TABLE piedmont.lab.spark.steps (id BIGINT) USING iceberg`, `INSERT INTO piedmont.lab.spark.steps VALUES (1)`, `INSERT INTO piedmont.lab.spark.steps VALUES (2)`)
	steps := s.snapshots(t, "lab\x1fspark", "steps")
	e.do(t, `CALL piedmont.system.rollback_to_snapshot('lab.spark.steps', `+steps[0]+`)`)
	e.rows(t, `SELECT id FROM piedmont.lab.spark.steps`, "1")
	e.do(t, `CALL piedmont.system.cherrypick_snapshot('lab.spark.steps', `+steps[1]+`)`)
	e.rows(t, `SELECT id FROM piedmont.lab.spark.steps ORDER BY id`, "1", "2")
	e.do(t, `CALL piedmont.system.create_changelog_view(table => 'lab.spark.steps', changelog_view => 'changes')`)
	e.rows(t, `SELECT id, _change_type FROM changes ORDER BY id`, "1|INSERT", "2|INSERT")
	e.do(t, `DROP VIEW changes`)

	var loaded struct {
		At string `json:"metadata-location"`
	}
	s.load(t, "lab\x1fspark", "steps", &loaded)
	e.do(t, `DROP TABLE piedmont.lab.spark.steps`, `CALL piedmont.system.register_table('lab.spark.again', '`+loaded.At+`')`)
	e.rows(t, `SELECT id FROM piedmont.lab.spark.again ORDER BY id`, "1", "2")

	plain := "file://" + filepath.Join(t.TempDir(), "plain")
	e.do(t, `INSERT OVERWRITE DIRECTORY '`+plain+`' USING parquet SELECT 7L AS id`, `CREATE TABLE piedmont.lab.spark.added (id BIGINT) USING iceberg`)
	s.cannot(t, e, "Spark: can't run `add_files`", "CALL piedmont.system.add_files(table => 'lab.spark.added', source_table => '`parquet`.`"+plain+"`')", "Failed to get file system for path: s3://")
	s.cannot(t, e, "Spark: can't run `snapshot` or `migrate`", `CALL piedmont.system.snapshot('lab.spark.again', 'lab.spark.copy')`, "isn't in the session catalog")
	e.refuses(t, `CALL piedmont.system.migrate('lab.spark.again')`, "non-Iceberg Spark Session Catalog")
}
