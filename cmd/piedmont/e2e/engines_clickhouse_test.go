//go:build e2e

package e2e

import "testing"

func clickhouseTrips(namespace string) string {
	return "SELECT id, city, fare FROM piedmont.`" + namespace + ".trips` ORDER BY id"
}

// runClickHouse writes to tables that somebody else has made for it.
func (s *scenario) runClickHouse(t *testing.T) {
	e := s.clickhouse
	const trips = "piedmont.`lab.clickhouse.trips`"
	s.python.do(t, `
catalog.create_namespace("lab.clickhouse")
plain = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
catalog.create_table("lab.clickhouse.trips", schema=plain)`)
	t.Run("nested namespaces", func(t *testing.T) {
		e.rows(t, `SELECT name FROM system.tables WHERE database = 'piedmont' AND name LIKE '%.trips' ORDER BY name SETTINGS show_data_lake_catalogs_in_system_tables = 1`,
			"lab.clickhouse.trips", "lab.daft.trips", "lab.duckdb.trips", "lab.polars.trips", "lab.pyiceberg.trips")
		e.rows(t, `SHOW TABLES FROM piedmont LIKE 'lab.c%'`, "lab.clickhouse.trips")
	})
	t.Run("reads", func(t *testing.T) { s.readsAll(t, e, clickhouseTrips) })
	t.Run("append", func(t *testing.T) {
		e.do(t, `INSERT INTO `+trips+` VALUES (1, 'Oslo', 1.5), (2, 'Rome', 2.5), (3, 'Bonn', 3.5)`)
		e.rows(t, clickhouseTrips("lab.clickhouse"), "1|Oslo|1.5", "2|Rome|2.5", "3|Bonn|3.5")
	})
	t.Run("update, delete", func(t *testing.T) {
		e.do(t, `ALTER TABLE `+trips+` UPDATE fare = 4.5 WHERE id = 2`, `ALTER TABLE `+trips+` DELETE WHERE id = 3`)
		e.rows(t, clickhouseTrips("lab.clickhouse"), "1|Oslo|1.5", "2|Rome|4.5")
	})
	t.Run("evolve", func(t *testing.T) {
		e.do(t, `ALTER TABLE `+trips+` ADD COLUMN note Nullable(String)`, `ALTER TABLE `+trips+` RENAME COLUMN note TO remark`)
		e.rows(t, `SELECT * FROM `+trips+` WHERE id = 1`, "1|Oslo|1.5|null")
		e.do(t, `ALTER TABLE `+trips+` DROP COLUMN remark`)
	})
	t.Run("time travel", func(t *testing.T) {
		first := s.snapshots(t, "lab\x1fclickhouse", "trips")[0]
		e.rows(t, `SELECT id, fare FROM `+trips+` ORDER BY id SETTINGS iceberg_snapshot_id = `+first, "1|1.5", "2|2.5", "3|3.5")
	})
	t.Run("limits", func(t *testing.T) {
		s.cannot(t, e, "ClickHouse: can't create tables",
			"CREATE TABLE piedmont.`lab.made` (id Int64) ENGINE = IcebergS3('"+s.storage+"/lake/engines/lab/made/', 'admin', 'adminsecret')", "it has no scheme")
		s.cannot(t, e, "ClickHouse: can't drop tables of nested namespaces", "DROP TABLE "+trips, "Table does not exist: lab.clickhouse.trips")
		s.cannot(t, e, "ClickHouse: can't rename", "RENAME TABLE "+trips+" TO piedmont.`lab.clickhouse.rides`", "renameTable() is not supported")
		s.cannot(t, e, "ClickHouse: can't truncate", "TRUNCATE TABLE "+trips, "Truncate is not supported")
		s.cannot(t, e, "ClickHouse: can't append where the last writer gave no `total-files-size`", "INSERT INTO piedmont.`lab.duckdb.debit` VALUES (3)", "total-files-size")
		s.cannot(t, e, "ClickHouse: can't read the type `variant`", "SELECT * FROM piedmont.`lab.duckdb.docs`", "Unknown Iceberg type: variant")
	})
	s.wrote("clickhouse", "1|Oslo|1.5", "2|Rome|4.5")
}
