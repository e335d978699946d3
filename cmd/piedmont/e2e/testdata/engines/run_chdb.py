"""ClickHouse, in process. SETTINGS attaches the catalog, a statement after the other."""

import json
import os

from chdb import session
from driver import serve

clickhouse = session.Session()


def ask(sql):
    text = str(clickhouse.query(sql, "JSONCompactEachRow"))
    return [json.loads(line) for line in text.splitlines() if line]


for statement in os.environ["SETTINGS"].split(";"):
    if statement.strip():
        ask(statement)
serve(ask)
