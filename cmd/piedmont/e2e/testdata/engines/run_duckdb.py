"""DuckDB. SETTINGS attaches the catalog. Extensions come from their Python packages, into
the folder where INSTALL would have put them."""

import importlib.resources
import os
import pathlib
import tempfile

import duckdb
from driver import serve

home = tempfile.TemporaryDirectory()
connection = duckdb.connect(config={"extension_directory": home.name})


def ask(sql):
    result = connection.execute(sql)
    return result.fetchall() if result.description else []


[[platform]] = ask("PRAGMA platform")
into = pathlib.Path(home.name, f"v{duckdb.__version__}", platform)
into.mkdir(parents=True)
for name in ("avro", "httpfs", "iceberg"):
    package = importlib.resources.files(f"duckdb_extension_{name}")
    (into / f"{name}.duckdb_extension").symlink_to(package / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension")
ask(os.environ["SETTINGS"])
serve(ask)
