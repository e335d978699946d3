"""Moves tables as the README says, by its own lines: SNIPPET, with other names in it. Prints
for each how many rows the old and the new name show, before and after a commit to the new."""

import json
import os

import pyarrow as pa
from pyiceberg.catalog import load_catalog

env = os.environ
catalog = load_catalog(
    "piedmont", type="rest", uri=env["PIEDMONT_URI"], credential=env["PIEDMONT_KEY"],
    **{"s3.access-key-id": "admin", "s3.secret-access-key": "adminsecret"},
)
counts = {}


def rows(name):
    return catalog.load_table(name).scan().to_arrow().sort_by("id")


for move in env["MOVES"].split():
    old, new = move.split("=")
    lines = env["SNIPPET"]
    for documented, used in (("legacy.sales.orders", old), ("sales.orders", new), ("sales", new.split(".")[0])):
        assert f'"{documented}"' in lines, documented
        lines = lines.replace(f'"{documented}"', f'"{used}"')
    before = rows(old)
    exec(lines, {"catalog": catalog})
    assert rows(old).equals(before), old
    assert rows(new).equals(before), new
    assert catalog.load_table(new).metadata_location == catalog.load_table(old).metadata_location
    n = before.num_rows
    counts[old] = [rows(old).num_rows, rows(new).num_rows]
    catalog.load_table(new).append(pa.table({"id": pa.array([n], pa.int64()), "name": ["after the move"]}))
    counts[old] += [rows(old).num_rows, rows(new).num_rows]
print(json.dumps(counts))
