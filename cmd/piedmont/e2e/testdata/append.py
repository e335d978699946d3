"""One of several writers that append to one table, each row once, whatever fails."""

import os
import time

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

writer, appends = int(os.environ["WRITER"]), int(os.environ["APPENDS"])
s3 = {
    "s3.endpoint": os.environ["S3_ENDPOINT"],
    "s3.access-key-id": "admin",
    "s3.secret-access-key": "adminsecret",
    "s3.path-style-access": "true",
}


def tried(call):
    """A connection that broke, or a server that is not ready, is tried again: reads only."""
    for _ in range(400):
        try:
            return call()
        except Exception as e:  # noqa: BLE001
            last = e
            time.sleep(0.05)
    raise last


def connect():
    return load_catalog("piedmont", type="rest", uri=os.environ["PIEDMONT_URI"], token=os.environ["PIEDMONT_KEY"], **s3)


catalog = tried(connect)
unknown = 0
for n in range(appends):
    row = f"{writer}-{n}"
    rows = pa.table({"row": [row]})
    while True:
        table = tried(lambda: catalog.load_table("db.shared"))
        # after an answer that left the outcome open, look before appending again
        if unknown and any(s.summary is not None and s.summary.additional_properties.get("row") == row for s in table.metadata.snapshots):
            break
        try:
            table.append(rows, snapshot_properties={"row": row})
            break
        except CommitFailedException:
            continue
        except (CommitStateUnknownException, Exception):  # noqa: BLE001
            unknown += 1
            time.sleep(0.05)
print(f"writer {writer}: {appends} rows, {unknown} unknown")
