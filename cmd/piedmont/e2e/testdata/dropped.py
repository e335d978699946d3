"""Drops tables that PyIceberg wrote, and looks at what is left of their files.

STEP=drop: writes two tables, drops one with and one without a purge.
STEP=restored: reads the table that was restored, and drops it with a purge.
STEP=purged: waits until no file of it is left, and none of the other's is missing.
"""

import os
import time

import boto3
import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

endpoint, bucket, step = os.environ["S3_ENDPOINT"], "lake", os.environ["STEP"]
catalog = load_catalog(
    "piedmont", type="rest", uri=os.environ["PIEDMONT_URI"], credential=os.environ["PIEDMONT_KEY"],
    **{
        "s3.endpoint": endpoint, "s3.access-key-id": "admin", "s3.secret-access-key": "adminsecret",
        "s3.region": "us-east-1", "s3.path-style-access": "true",
    },
)
s3 = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="admin", aws_secret_access_key="adminsecret")


def objects(location):
    prefix = location.removeprefix(f"s3://{bucket}/") + "/"
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return sorted(o["Key"] for page in pages for o in page.get("Contents", []))


def make(name):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "kind", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))
    table = catalog.create_table(name, schema=schema, partition_spec=spec)
    for batch in range(3):
        table.append(pa.table({"id": pa.array(range(batch * 10, batch * 10 + 10), pa.int64()), "kind": ["a/b", "*", "ü", "100%", "x y"] * 2}))
    table.delete("id < 5")
    return table


if step == "drop":
    catalog.create_namespace("ns")
    for name in ("ns.gone", "ns.stays"):
        make(name)
    catalog.purge_table("ns.gone")
    catalog.drop_table("ns.stays")
    assert catalog.list_tables("ns") == []
elif step == "restored":
    gone, stays = catalog.load_table("ns.gone"), catalog.load_table("ns.stays")
    assert gone.scan().to_arrow().num_rows == 25, gone.scan().to_arrow().num_rows
    assert len(objects(gone.location())) == len(objects(stays.location())) > 15, objects(gone.location())
    catalog.purge_table("ns.gone")
    print(gone.location())
elif step == "purged":
    deadline = time.monotonic() + 40
    while left := objects(os.environ["LOCATION"]):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)
    assert catalog.load_table("ns.stays").scan().to_arrow().num_rows == 25
