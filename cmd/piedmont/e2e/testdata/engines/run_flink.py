"""Flink in batch mode, each statement a job of its own. SETTINGS creates the catalog."""

import os

from driver import serve
from pyflink.table import EnvironmentSettings, TableEnvironment

flink = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
for name, value in {
    "classloader.check-leaked-classloader": "false",
    "parallelism.default": "1",
    "table.dml-sync": "true",
    "table.local-time-zone": "UTC",
}.items():
    flink.get_config().set(name, value)


def ask(sql):
    result = flink.execute_sql(sql)
    if sql.split()[0] not in ("SELECT", "SHOW"):
        return result.wait()
    with result.collect() as rows:
        return [list(row) for row in rows]


ask(os.environ["SETTINGS"])
serve(ask)
