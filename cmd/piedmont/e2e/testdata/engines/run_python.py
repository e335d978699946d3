"""PyIceberg, Polars and Daft share a process, and PyIceberg's catalog. SETTINGS makes it.
A text is run as Python; the rows are the value of its last line, if that is an expression."""

import ast
import os

import daft
import polars as pl
import pyarrow as pa
from driver import serve

scope = {"daft": daft, "pl": pl, "pa": pa}


def rows_of(value):
    if isinstance(value, daft.DataFrame):
        value = value.to_arrow()
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.DataFrame):
        return value.rows()
    if isinstance(value, pa.Table):
        return [row.values() for row in value.to_pylist()]
    return value if isinstance(value, list) else []


def ask(text):
    body = ast.parse(text).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "test", "exec"), scope)  # noqa: S102  the test's own text
    return rows_of(eval(compile(last, "test", "eval"), scope)) if last else []  # noqa: S307


ask(os.environ["SETTINGS"])
serve(ask)
