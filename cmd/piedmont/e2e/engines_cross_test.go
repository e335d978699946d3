//go:build e2e

package e2e

import (
	"slices"
	"testing"
)

// everything: each engine reads what all have written.
func (s *scenario) everything(t *testing.T) {
	t.Run("duckdb", func(t *testing.T) { s.readsAll(t, s.duckdb, duckdbTrips) })
	t.Run("pyiceberg", func(t *testing.T) { s.readsAll(t, s.python, pyicebergTrips) })
	t.Run("polars", func(t *testing.T) { s.readsAll(t, s.python, polarsTrips) })
	t.Run("daft", func(t *testing.T) { s.readsAll(t, s.python, daftTrips) })
	t.Run("clickhouse", func(t *testing.T) { s.readsAll(t, s.clickhouse, clickhouseTrips) })
	t.Run("trino", func(t *testing.T) { s.readsAll(t, s.trino, trinoTrips) })
	t.Run("spark", func(t *testing.T) { s.readsAll(t, s.spark, sparkTrips) })
}

// equalityDeletes are what Flink's upserts leave.
func (s *scenario) equalityDeletes(t *testing.T) {
	left := []string{"1|4.5", "2|2.5"}
	s.trino.rows(t, `SELECT id, fare FROM piedmont."lab.flink".upserts ORDER BY id`, left...)
	s.spark.rows(t, `SELECT id, fare FROM piedmont.lab.flink.upserts ORDER BY id`, left...)
	s.duckdb.rows(t, `SELECT id, fare FROM piedmont."lab.flink".upserts ORDER BY id`, left...)
	s.clickhouse.rows(t, "SELECT id, fare FROM piedmont.`lab.flink.upserts` ORDER BY id", left...)
	s.cannot(t, s.python, "PyIceberg: can't read equality deletes", `catalog.load_table("lab.flink.upserts").scan().to_arrow()`, "equality deletes")
	s.cannot(t, s.python, "Polars: can't read equality deletes", `pl.scan_iceberg(catalog.load_table("lab.flink.upserts"), storage_options=storage)`, "equality deletes")
	s.cannot(t, s.python, "Daft: can't read equality deletes", `daft_catalog.get_table("lab.flink.upserts").read()`, "equality deletes")
}

// sortOrders: Spark declares one, and has written a file for each row, unsorted.
func (s *scenario) sortOrders(t *testing.T) {
	const sorted = "SELECT id FROM piedmont.`lab.spark.sorted` ORDER BY id"
	s.clickhouse.rows(t, sorted, "1", "2", "3", "4", "5")
	s.listed(t, "ClickHouse: can't sort a table that has a sort order")
	if wrong := s.clickhouse.query(t, sorted+" SETTINGS optimize_read_in_order = 1, max_threads = 1"); slices.IsSorted(wrong) {
		t.Errorf("ClickHouse sorts now: %q", wrong)
	}
}

// deletionVectors are how rows of v3 tables are deleted. A table without any is for all.
func (s *scenario) deletionVectors(t *testing.T) {
	const whole = "1|Oslo"
	s.trino.rows(t, `SELECT id, city FROM piedmont."lab.flink".v3`, whole)
	s.clickhouse.rows(t, "SELECT id, city FROM piedmont.`lab.flink.v3`", whole)
	s.python.rows(t, `daft_catalog.get_table("lab.flink.v3").read()`, whole)
	left := []string{"1|Oslo", "4|Bonn"}
	s.spark.rows(t, `SELECT id, city FROM piedmont.lab.duckdb.v3 ORDER BY id`, left...)
	s.flink.rows(t, "SELECT id, city FROM piedmont.duckdb.v3 ORDER BY id", left...)
	s.duckdb.rows(t, `SELECT id, city FROM piedmont."lab.spark".v3 ORDER BY id`, "1|Oslo", "3|Kiel")
	s.cannot(t, s.trino, "Trino: can't read deletion vectors", `SELECT id, city FROM piedmont."lab.duckdb".v3`, "Unexpected PUFFIN file format")
	s.duckdb.rows(t, `SELECT id, city FROM piedmont."lab.duckdb".v3 ORDER BY id`, left...)
	s.python.rows(t, `catalog.load_table("lab.duckdb.v3").scan().to_arrow().sort_by("id")`, left...)
	s.python.rows(t, `pl.scan_iceberg(catalog.load_table("lab.duckdb.v3"), storage_options=storage).sort("id")`, left...)
	s.cannot(t, s.python, "Daft: can't read deletion vectors", `daft_catalog.get_table("lab.duckdb.v3").read().sort("id")`, "puffin is not a valid parquet file")
	s.cannot(t, s.clickhouse, "ClickHouse: can't read deletion vectors", "SELECT id FROM piedmont.`lab.duckdb.v3`", "Position deletes are supported only for parquet format")
}

// dialects: a view is in the SQL of who made it.
func (s *scenario) dialects(t *testing.T) {
	s.cannot(t, s.trino, "Trino: can't read the views of Spark", `SELECT * FROM piedmont."lab.spark".cities`, "Cannot read unsupported dialect 'spark'")
	s.cannot(t, s.spark, "Spark: can't read the views of Trino", `SELECT * FROM piedmont.lab.trino.cities`, "Invalid view name: piedmont.lab.trino.cities")
}
