"""Lists many tables through Piedmont and by PyIceberg's own Hive catalog: prints the seconds
that each took."""

import json
import os
import time

from pyiceberg.catalog import load_catalog

env = os.environ
took = []
for catalog, namespace in (
    (load_catalog("piedmont", type="rest", uri=env["PIEDMONT_URI"], credential=env["PIEDMONT_KEY"]), ("legacy", "many")),
    (load_catalog("hive", type="hive", uri=env["HIVE_URI"]), ("many",)),
):
    began = time.monotonic()
    tables = catalog.list_tables(namespace)
    took.append(time.monotonic() - began)
    assert len(tables) == int(env["TABLES"]), len(tables)
print(json.dumps(took))
