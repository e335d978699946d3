"""Lets a test speak to an engine: each line in is a JSON text for the engine, each line out
is {"rows": [...]} or {"error": "..."}."""

import json
import os
import sys
import traceback

# What else is printed, by an engine's own process too, goes to stderr.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def plain(value):
    """What JSON can hold; a day or a decimal becomes text."""
    if hasattr(value, "asDict"):  # a Row of Spark
        value = value.asDict()
    elif type(value).__name__ == "Row":  # of Flink
        value = list(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def serve(ask):
    """Answers until the test closes its end. ask(text) returns rows, each a sequence of
    values."""
    for line in sys.stdin:
        try:
            answer = {"rows": [[plain(v) for v in row] for row in ask(json.loads(line)) or []]}
        except Exception as e:  # noqa: BLE001  the test decides what may fail
            traceback.print_exc()
            answer = {"error": "\n".join(f"{type(e).__name__}: {e}".splitlines()[:4])}  # the rest is a Java stack
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
