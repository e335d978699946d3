"""Appends through Hive and reads through Piedmont after each commit: prints the numbers of
rows."""

import json
import os

import pyarrow as pa
from pyiceberg.catalog import load_catalog

env = os.environ
hive = load_catalog("hive", type="hive", uri=env["HIVE_URI"])
piedmont = load_catalog("piedmont", type="rest", uri=env["PIEDMONT_URI"], credential=env["PIEDMONT_KEY"])
table = hive.load_table("sales.events")
counts = []
seen = piedmont.load_table("legacy.sales.events")
for i in range(int(env["APPENDS"])):
    ids = range(300 + 7 * i, 307 + 7 * i)
    table.append(pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {n}" for n in ids]}))
    counts.append(seen.refresh().scan().to_arrow().num_rows)
print(json.dumps(counts))
