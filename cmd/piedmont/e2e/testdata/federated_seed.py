"""Fills three catalogs as their own clients do, past Piedmont: a Hive Metastore, a Glue and a
REST catalog. Prints which tables were made, with the number of their rows."""

import json
import os
from urllib.parse import urlparse

import pyarrow as pa
from pyiceberg.catalog import load_catalog

env = os.environ
files = env["FILES"]  # a local folder as a URI
s3 = {
    "s3.endpoint": env.get("S3_ENDPOINT", ""),
    "s3.access-key-id": "admin",
    "s3.secret-access-key": "adminsecret",
    "s3.region": "us-east-1",
    "s3.path-style-access": "true",
}
made = {}


def rows(n):
    return pa.table({"id": pa.array(range(n), pa.int64()), "name": [f"row {i}" for i in range(n)]})


def table(catalog, mount, identifier, n, **how):
    """A table in two commits."""
    t = catalog.create_table(identifier, rows(n).schema, **how)
    t.append(rows(n).slice(0, n // 2))
    t.append(rows(n).slice(n // 2))
    made[f"{mount}.{identifier}"] = n
    return t


def hive():
    version = int(env["HIVE_VERSION"])
    if version == 4:  # which has no get_table; PyIceberg calls it
        from hive_metastore import ThriftHiveMetastore
        from hive_metastore.ttypes import GetTableRequest

        ThriftHiveMetastore.Client.get_table = lambda self, dbname, tbl_name: self.get_table_req(
            GetTableRequest(dbName=dbname, tblName=tbl_name)
        ).table
    return load_catalog(
        "hive", type="hive", uri=env["HIVE_URI"], warehouse=files + "/hive", **s3, **{"hive.hive2-compatible": str(version == 2).lower()}
    )


h = hive()
h.create_namespace("sales", {"comment": "of the old days", "location": files + "/hive/sales"})
table(h, "legacy", "sales.events", 300)
if env.get("S3_ENDPOINT"):
    # A metastore without Hadoop's S3 makes a table's folder on a disk; its files can be elsewhere.
    lake = "s3://lake/legacy/sales/orders"
    table(h, "legacy", "sales.orders", 1000, properties={"write.data.path": lake + "/data", "write.metadata.path": lake + "/metadata"})
lost = table(h, "legacy", "sales.lost", 10)
os.remove(urlparse(lost.metadata_location).path)
del made["legacy.sales.lost"]

if env.get("GLUE_ENDPOINT"):
    g = load_catalog(
        "aws",
        type="glue",
        warehouse=files + "/glue",
        **s3,
        **{
            "glue.endpoint": env["GLUE_ENDPOINT"],
            "glue.region": "eu-west-1",
            "glue.access-key-id": "AKIDFEDERATED",
            "glue.secret-access-key": "glue-secret-of-the-tests",
        },
    )
    g.create_namespace("web", {"location": files + "/glue/web"})
    table(g, "cloud", "web.clicks", 500, location="s3://lake/glue/web/clicks")
    table(g, "cloud", "web.visits", 50)
    g.glue.create_table(DatabaseName="web", TableInput={"Name": "plain", "TableType": "EXTERNAL_TABLE", "Parameters": {}})

if env.get("REST_URI"):
    r = load_catalog("old", type="rest", uri=env["REST_URI"], warehouse="warehouse", credential="admin:adminsecret", **s3)
    r.create_namespace("shop")
    table(r, "old", "shop.returns", 200)
print(json.dumps(made))
