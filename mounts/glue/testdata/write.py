"""Writes into Glue as PyIceberg does, of what Piedmont is to read:
write.py ENDPOINT WAREHOUSE DATABASE

For each line on stdin, "create NAME", "append NAME" or "drop NAME", it does that and prints
where the table's metadata is, or an empty line."""

import sys

import pyarrow as pa
from pyiceberg.catalog import load_catalog

endpoint, warehouse, database = sys.argv[1:]
catalog = load_catalog(
    "aws",
    **{
        "type": "glue",
        "glue.endpoint": endpoint,
        "glue.region": "eu-west-1",
        "glue.access-key-id": "AKIDEXAMPLE",
        "glue.secret-access-key": "secret",
        "warehouse": warehouse,
    },
)
catalog.create_namespace(database, {"owner": "someone", "comment": "by PyIceberg", "location": warehouse + "/" + database})
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
for line in sys.stdin:
    what, name = line.split()
    identifier = (database, name)
    table = None
    if what == "create":
        table = catalog.create_table(identifier, rows.schema)
    elif what == "append":
        table = catalog.load_table(identifier)
        table.append(rows)
    elif what == "drop":
        catalog.drop_table(identifier)
    print(table.metadata_location if table else "", flush=True)
