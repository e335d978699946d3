//go:build e2e

package e2e

import "testing"

func pyicebergTrips(namespace string) string {
	return `catalog.load_table("` + namespace + `.trips").scan(selected_fields=("id", "city", "fare")).to_arrow().select(["id", "city", "fare"]).sort_by("id")`
}

func polarsTrips(namespace string) string {
	return `pl.scan_iceberg(catalog.load_table("` + namespace + `.trips"), storage_options=storage).select("id", "city", "fare").sort("id")`
}

func daftTrips(namespace string) string {
	return `daft_catalog.get_table("` + namespace + `.trips").read().select("id", "city", "fare").sort("id")`
}

// pyicebergSetup is what the PyIceberg tests share in their Python.
const pyicebergSetup = `
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import DoubleType, IntegerType, ListType, LongType, NestedField, StringType, StructType

trips = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "city", StringType()),
    NestedField(3, "fare", DoubleType()),
    NestedField(4, "extra", StructType(NestedField(5, "tags", ListType(6, StringType())), NestedField(7, "zone", IntegerType()))),
    identifier_field_ids=[1],
)
by_city = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "city"))


def rows(table, *values):
    names = [f.name for f in table.schema().fields]
    return pa.Table.from_pylist([dict(zip(names, v)) for v in values], schema=table.schema().as_arrow())
`

func (s *scenario) runPyIceberg(t *testing.T) {
	e := s.python
	e.do(t, pyicebergSetup)
	t.Run("create", func(t *testing.T) {
		e.do(t, `catalog.create_namespace("lab.pyiceberg", {"owner": "ann"})`)
		e.rows(t, `catalog.list_namespaces("lab")`, "lab|pyiceberg")
		e.rows(t, `[[catalog.load_namespace_properties("lab.pyiceberg")["owner"]]]`, "ann")
		e.do(t, `t = catalog.create_table("lab.pyiceberg.trips", schema=trips, partition_spec=by_city)`)
		e.rows(t, `catalog.list_tables("lab.pyiceberg")`, "lab|pyiceberg|trips")
	})
	t.Run("append", func(t *testing.T) {
		e.do(t, `t.append(rows(t, (1, "Oslo", 1.5, {"tags": ["a", "b"], "zone": 7}), (2, "Rome", 2.5, None), (3, "Bonn", 3.5, None)))`)
		e.rows(t, `t.scan().to_arrow().sort_by("id")`, `1|Oslo|1.5|{"tags":["a","b"],"zone":7}`, "2|Rome|2.5|null", "3|Bonn|3.5|null")
	})
	t.Run("merge", func(t *testing.T) {
		e.rows(t, `
r = t.upsert(rows(t, (2, "Rome", 4.5, None), (4, "Oslo", 5.5, None)))
[[r.rows_updated, r.rows_inserted]]`, "1|1")
	})
	t.Run("delete", func(t *testing.T) {
		e.do(t, `t.delete("id = 3")`)
		e.rows(t, pyicebergTrips("lab.pyiceberg"), "1|Oslo|1.5", "2|Rome|4.5", "4|Oslo|5.5")
	})
	t.Run("time travel", func(t *testing.T) {
		e.rows(t, `t.scan(snapshot_id=t.snapshots()[0].snapshot_id).select("id", "fare").to_arrow().sort_by("id")`, "1|1.5", "2|2.5", "3|3.5")
	})
	t.Run("branches and tags", func(t *testing.T) {
		e.do(t, `
t.manage_snapshots().create_tag(t.snapshots()[0].snapshot_id, "first").create_branch(t.current_snapshot().snapshot_id, "audit").commit()
t.append(rows(t, (9, "Riga", 9.5, None)), branch="audit")`)
		e.rows(t, `catalog.load_table("lab.pyiceberg.trips").scan().use_ref("audit").select("id").to_arrow().sort_by("id")`, "1", "2", "4", "9")
		e.rows(t, `catalog.load_table("lab.pyiceberg.trips").scan().use_ref("first").select("id").to_arrow().sort_by("id")`, "1", "2", "3")
		e.do(t, `t.manage_snapshots().remove_branch("audit").commit()`)
		e.rows(t, `[[r] for r in sorted(catalog.load_table("lab.pyiceberg.trips").refs())]`, "first", "main")
	})
	t.Run("evolve", func(t *testing.T) {
		e.rows(t, `
with t.update_schema() as update:
    update.add_column("note", StringType())
    update.add_column("gone", StringType())
    update.update_column(("extra", "zone"), LongType())
with t.update_schema() as update:
    update.rename_column("note", "remark")
    update.delete_column("gone")
with t.update_spec() as update:
    update.add_field("id", BucketTransform(4), "bucket")
    update.remove_field("city")
t.append(rows(t, (5, "Kiel", 6.5, {"tags": [], "zone": 1 << 40}, "new")))
t.scan(row_filter="id in (4, 5)").to_arrow().sort_by("id")`, "4|Oslo|5.5|null|null", `5|Kiel|6.5|{"tags":[],"zone":1099511627776}|new`)
	})
	t.Run("transaction", func(t *testing.T) {
		e.rows(t, `
with t.transaction() as tx:
    tx.append(rows(t, (6, "Lyon", 7.5, None, None)))
    tx.set_properties(owner="ann")
t = catalog.load_table("lab.pyiceberg.trips")
[[t.properties["owner"], t.scan().to_arrow().num_rows]]`, "ann|5")
	})
	t.Run("rename, drop, register", func(t *testing.T) {
		e.do(t, `
catalog.rename_table("lab.pyiceberg.trips", "lab.pyiceberg.rides")
at = catalog.load_table("lab.pyiceberg.rides").metadata_location
catalog.drop_table("lab.pyiceberg.rides")`)
		e.refuses(t, `catalog.load_table("lab.pyiceberg.rides")`, "NoSuchTableError")
		e.do(t, `t = catalog.register_table("lab.pyiceberg.trips", at)`)
	})
	t.Run("maintenance", func(t *testing.T) {
		e.rows(t, `
before = len(t.snapshots())
t.maintenance.expire_snapshots().by_id(t.snapshots()[1].snapshot_id).commit()
[[before - len(catalog.load_table("lab.pyiceberg.trips").snapshots())]]`, "1")
		e.rows(t, `
more = catalog.create_table("lab.pyiceberg.more", schema=trips)
more.append(rows(more, (7, "Metz", 7.5, None)))
added = catalog.create_table("lab.pyiceberg.added", schema=trips)
added.add_files([f["file_path"] for f in more.inspect.files().to_pylist()])
added.scan(selected_fields=("id", "city")).to_arrow()`, "7|Metz")
		s.cannot(t, e, "PyIceberg: can't compact", `t.maintenance.rewrite_data_files()`, "AttributeError")
		e.do(t, `
catalog.drop_table("lab.pyiceberg.added")
catalog.purge_table("lab.pyiceberg.more")`)
	})
	t.Run("v3", func(t *testing.T) {
		e.rows(t, `
v3 = catalog.create_table("lab.pyiceberg.v3", schema=trips, properties={"format-version": "3"})
[[v3.format_version]]`, "3")
		s.cannot(t, e, "PyIceberg: can't write to v3 tables", `v3.append(rows(v3, (1, "Oslo", 1.5, None)))`, "Cannot write manifest for table version: 3")
		e.do(t, `catalog.drop_table("lab.pyiceberg.v3")`)
	})
	t.Run("views", func(t *testing.T) {
		e.rows(t, `
from pyiceberg.view.metadata import SQLViewRepresentation, ViewVersion
catalog.create_view("lab.pyiceberg.cities", Schema(NestedField(1, "city", StringType())), ViewVersion(**{
    "version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": ["lab", "pyiceberg"],
    "representations": [{"type": "sql", "sql": "SELECT city FROM trips", "dialect": "none"}]}))
catalog.list_views("lab.pyiceberg")`, "lab|pyiceberg|cities")
		e.do(t, `catalog.drop_view("lab.pyiceberg.cities")`)
		e.rows(t, `catalog.list_views("lab.pyiceberg")`)
	})
	s.wrote("pyiceberg", e.query(t, pyicebergTrips("lab.pyiceberg"))...)
	if got := len(s.trips["pyiceberg"]); got != 5 {
		t.Errorf("%d rows are left, want 5: %q", got, s.trips["pyiceberg"])
	}
}

func (s *scenario) runPolars(t *testing.T) {
	e := engine{s.python.session, "Polars"}
	t.Run("reads", func(t *testing.T) { s.readsAll(t, e, polarsTrips) })
	t.Run("write", func(t *testing.T) {
		e.do(t, `
catalog.create_namespace("lab.polars")
frame = pl.DataFrame({"id": [1, 2], "city": ["Oslo", "Rome"], "fare": [1.5, 2.5]})
t = catalog.create_table("lab.polars.trips", schema=frame.to_arrow().schema)
frame.write_iceberg(t, mode="append")
frame.write_iceberg(t, mode="overwrite")
frame.with_columns(id=pl.col("id") + 2).lazy().sink_iceberg(t, mode="append", storage_options=storage)`)
		e.rows(t, polarsTrips("lab.polars"), "1|Oslo|1.5", "2|Rome|2.5", "3|Oslo|1.5", "4|Rome|2.5")
	})
	t.Run("time travel", func(t *testing.T) {
		e.rows(t, `
t = catalog.load_table("lab.polars.trips")
pl.scan_iceberg(t, storage_options=storage, snapshot_id=t.snapshots()[0].snapshot_id).sort("id")`, "1|Oslo|1.5", "2|Rome|2.5")
	})
	t.Run("limits", func(t *testing.T) {
		s.cannot(t, e, "Polars: can't read without `storage_options`", `pl.scan_iceberg(catalog.load_table("lab.polars.trips"))`, "OSError")
	})
	s.wrote("polars", "1|Oslo|1.5", "2|Rome|2.5", "3|Oslo|1.5", "4|Rome|2.5")
}

func (s *scenario) runDaft(t *testing.T) {
	e := engine{s.python.session, "Daft"}
	t.Run("reads", func(t *testing.T) { s.readsAll(t, e, daftTrips) })
	t.Run("write", func(t *testing.T) {
		e.do(t, `
daft_catalog.create_namespace("lab.daft")
frame = daft.from_pydict({"id": [1, 2], "city": ["Oslo", "Rome"], "fare": [1.5, 2.5]})
t = daft_catalog.create_table("lab.daft.trips", frame.schema())
t.append(frame)
t.overwrite(frame.with_column("fare", daft.col("fare") + 1))
t.append(frame.with_column("id", daft.col("id") + 2))`)
		e.rows(t, daftTrips("lab.daft"), "1|Oslo|2.5", "2|Rome|3.5", "3|Oslo|1.5", "4|Rome|2.5")
		e.rows(t, `[[str(n)] for n in daft_catalog.list_tables("lab.daft")]`, "lab.daft.trips")
	})
	t.Run("time travel", func(t *testing.T) {
		e.rows(t, `
t = catalog.load_table("lab.daft.trips")
daft.read_iceberg(t, snapshot_id=t.snapshots()[0].snapshot_id).sort("id")`, "1|Oslo|1.5", "2|Rome|2.5")
	})
	t.Run("drop", func(t *testing.T) {
		e.do(t, `
daft_catalog.create_table("lab.daft.gone", frame.schema())
daft_catalog.drop_table("lab.daft.gone")`)
		e.rows(t, `[[daft_catalog.has_table("lab.daft.gone")]]`, "false")
	})
	s.wrote("daft", "1|Oslo|2.5", "2|Rome|3.5", "3|Oslo|1.5", "4|Rome|2.5")
}
