//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// flinkTrips is a query in the catalog that has lab as its base.
const flinkTrips = "SELECT id, city, fare FROM piedmont.flink.trips ORDER BY id"

// flinkReadsAll is readsAll in one job, since each takes seconds to start.
func (s *scenario) flinkReadsAll(t *testing.T, e engine) {
	var queries, want []string
	for _, name := range slices.Sorted(slices.Values(s.order)) {
		queries = append(queries, "SELECT '"+name+"' AS writer, id, city, fare FROM piedmont."+name+".trips")
		for _, row := range s.trips[name] {
			want = append(want, name+"|"+row)
		}
	}
	e.rows(t, strings.Join(queries, " UNION ALL ")+" ORDER BY writer, id", want...)
}

// runFlink works in the namespaces right below lab.
func (s *scenario) runFlink(t *testing.T) {
	e := s.flink
	t.Run("reads", func(t *testing.T) { s.flinkReadsAll(t, e) })
	t.Run("create", func(t *testing.T) {
		e.do(t, `CREATE DATABASE piedmont.flink`)
		s.python.rows(t, `[["lab.flink" in map(".".join, catalog.list_namespaces("lab"))]]`, "true")
		e.do(t, `CREATE TABLE piedmont.flink.trips (id BIGINT, city STRING, fare DOUBLE, extra ROW<tags ARRAY<STRING>, zone INT>) PARTITIONED BY (city)`)
		e.rows(t, `SHOW TABLES IN piedmont.flink`, "trips")
	})
	t.Run("append", func(t *testing.T) {
		e.do(t, `INSERT INTO piedmont.flink.trips VALUES (1, 'Oslo', 1.5, ROW(ARRAY['a', 'b'], 7)), (2, 'Rome', 2.5, CAST(NULL AS ROW<tags ARRAY<STRING>, zone INT>))`)
		e.rows(t, `SELECT * FROM piedmont.flink.trips ORDER BY id`, `1|Oslo|1.5|[["a","b"],7]`, "2|Rome|2.5|null")
	})
	t.Run("overwrite", func(t *testing.T) {
		e.do(t, `INSERT OVERWRITE piedmont.flink.trips PARTITION (city = 'Rome') SELECT CAST(3 AS BIGINT), CAST(9.5 AS DOUBLE), CAST(NULL AS ROW<tags ARRAY<STRING>, zone INT>)`)
		e.rows(t, flinkTrips, "1|Oslo|1.5", "3|Rome|9.5")
	})
	t.Run("upsert", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont.flink.upserts (id BIGINT, fare DOUBLE, PRIMARY KEY (id) NOT ENFORCED) WITH ('format-version' = '2', 'write.upsert.enabled' = 'true')`,
			`INSERT INTO piedmont.flink.upserts VALUES (1, 1.5), (2, 2.5)`, `INSERT INTO piedmont.flink.upserts VALUES (1, 4.5)`)
		e.rows(t, `SELECT * FROM piedmont.flink.upserts ORDER BY id`, "1|4.5", "2|2.5")
	})
	t.Run("time travel, branches", func(t *testing.T) {
		first := s.snapshots(t, "lab\x1fflink", "trips")[0]
		e.rows(t, `SELECT id, fare FROM piedmont.flink.trips /*+ OPTIONS('snapshot-id' = '`+first+`') */ ORDER BY id`, "1|1.5", "2|2.5")
		e.do(t, `INSERT INTO piedmont.flink.trips /*+ OPTIONS('branch' = 'audit') */ SELECT CAST(4 AS BIGINT), 'Riga', CAST(7.5 AS DOUBLE), CAST(NULL AS ROW<tags ARRAY<STRING>, zone INT>)`)
		e.rows(t, `SELECT id FROM piedmont.flink.trips /*+ OPTIONS('branch' = 'audit') */ ORDER BY id`, "1", "3", "4")
		e.rows(t, flinkTrips, "1|Oslo|1.5", "3|Rome|9.5")
	})
	t.Run("evolve", func(t *testing.T) {
		e.do(t, `ALTER TABLE piedmont.flink.trips ADD note STRING`, `ALTER TABLE piedmont.flink.trips RENAME note TO remark`, `ALTER TABLE piedmont.flink.trips DROP extra`)
		e.rows(t, `SELECT * FROM piedmont.flink.trips ORDER BY id`, "1|Oslo|1.5|null", "3|Rome|9.5|null")
	})
	t.Run("rename, drop", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont.flink.made AS SELECT 1 AS a`, `ALTER TABLE piedmont.flink.made RENAME TO piedmont.flink.moved`)
		e.rows(t, `SELECT a FROM piedmont.flink.moved`, "1")
		e.do(t, `DROP TABLE piedmont.flink.moved`)
		e.refuses(t, `SELECT a FROM piedmont.flink.moved`, "not found")
	})
	t.Run("v3", func(t *testing.T) {
		e.do(t, `CREATE TABLE piedmont.flink.v3 (id BIGINT, city STRING) WITH ('format-version' = '3')`, `INSERT INTO piedmont.flink.v3 VALUES (1, 'Oslo')`)
		e.rows(t, `SELECT * FROM piedmont.flink.v3`, "1|Oslo")
	})
	t.Run("limits", func(t *testing.T) {
		s.cannot(t, e, "Flink: can't update or delete rows", `UPDATE piedmont.flink.trips SET fare = 9.5 WHERE id = 2`, "SupportsRowLevelUpdate")
		e.refuses(t, `DELETE FROM piedmont.flink.trips WHERE id = 2`, "SupportsRowLevelDelete")
		s.cannot(t, e, "Flink: can't make or read views", `CREATE VIEW piedmont.flink.v AS SELECT 1 AS a`, "Could not execute CreateTable")
		s.cannot(t, e, "Flink: can't run `FOR SYSTEM_TIME AS OF`", `SELECT id FROM piedmont.flink.trips FOR SYSTEM_TIME AS OF TIMESTAMP '2040-01-01 00:00:00'`, "getTable(ObjectPath, long) is not implemented")
		s.cannot(t, e, "Flink: can't truncate", `TRUNCATE TABLE piedmont.flink.trips`, "SupportsTruncate")
		e.do(t, strings.NewReplacer("CATALOG piedmont", "CATALOG flat", ", 'base-namespace' = 'lab'", "").Replace(s.settings(t, "Flink")))
		s.cannot(t, e, "Flink: can't reach nested namespaces", "SELECT id FROM flat.`lab.flink`.trips", "not found")
	})
	s.wrote("flink", "1|Oslo|1.5", "3|Rome|9.5")
}
