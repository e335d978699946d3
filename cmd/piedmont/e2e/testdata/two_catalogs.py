"""One URI, one key: reads a table of the old catalog, writes one of the new, joins them."""

import json
import os

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

s3 = {
    "s3.endpoint": os.environ["S3_ENDPOINT"],
    "s3.access-key-id": "admin",
    "s3.secret-access-key": "adminsecret",
    "s3.region": "us-east-1",
    "s3.path-style-access": "true",
}
rows = 10_000
table = pa.table({"id": pa.array(range(rows), pa.int64()), "name": [f"row {i}" for i in range(rows)]})

if os.environ["STEP"] == "seed":
    # The old catalog is written directly, not through Piedmont.
    old = load_catalog(
        "old", type="rest", uri=os.environ["REST_URI"], warehouse="warehouse", credential="admin:adminsecret",
        **s3, **{"view-endpoints-supported": "true"},
    )
    old.create_namespace("sales")
    old.create_table("sales.orders", schema=table.schema).append(table)
    print("seeded")
    raise SystemExit

catalog = load_catalog("piedmont", type="rest", uri=os.environ["PIEDMONT_URI"], credential=os.environ["PIEDMONT_KEY"], **s3)

assert ("legacy",) in catalog.list_namespaces(), catalog.list_namespaces()
assert catalog.list_namespaces("legacy") == [("legacy", "sales")], catalog.list_namespaces("legacy")
assert catalog.list_tables(("legacy", "sales")) == [("legacy", "sales", "orders")]
orders = catalog.load_table(("legacy", "sales", "orders")).scan().to_arrow()
assert orders.num_rows == rows, orders.num_rows

catalog.create_namespace("new")
names = pa.table({"id": pa.array(range(0, rows, 2), pa.int64()), "even": pa.array([True] * (rows // 2))})
even = catalog.create_table("new.even", schema=names.schema)
even.append(names)
joined = orders.join(catalog.load_table("new.even").scan().to_arrow(), "id", join_type="inner")
assert joined.num_rows == rows // 2, joined.num_rows
with even.update_schema() as update:
    from pyiceberg.types import StringType

    update.add_column("note", StringType())

refusals = {}


def refused(what, call):
    try:
        call()
    except Exception as e:  # noqa: BLE001
        refusals[what] = f"{type(e).__name__}: {e}"
    else:
        raise AssertionError(f"{what} was not refused")


old = catalog.load_table(("legacy", "sales", "orders"))
refused("append", lambda: old.append(table.slice(0, 10)))
refused("create table", lambda: catalog.create_table(("legacy", "sales", "more"), schema=table.schema))
refused("drop table", lambda: catalog.drop_table(("legacy", "sales", "orders")))
refused("rename table", lambda: catalog.rename_table(("legacy", "sales", "orders"), ("new", "orders")))
refused("create namespace", lambda: catalog.create_namespace(("legacy", "more")))
refused("drop namespace", lambda: catalog.drop_namespace(("legacy", "sales")))
refused("properties", lambda: catalog.update_namespace_properties(("legacy", "sales"), updates={"a": "b"}))
try:
    catalog.load_table(("legacy", "sales", "nothing"))
    raise AssertionError("a table that isn't there was loaded")
except NoSuchTableError:
    pass
print(json.dumps(refusals))
