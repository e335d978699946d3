"""Walks the whole tree through Piedmont: prints the namespaces, each table with the number
of its rows, and what it was told of everything that was refused."""

import json
import os

import pyarrow as pa
from pyiceberg.catalog import load_catalog

env = os.environ
s3 = {"s3.access-key-id": "admin", "s3.secret-access-key": "adminsecret"} if env.get("S3_ENDPOINT") else {}
catalog = load_catalog("piedmont", type="rest", uri=env["PIEDMONT_URI"], credential=env["PIEDMONT_KEY"], **s3)
namespaces, tables, refusals = [], {}, {}


def refused(what, call):
    try:
        call()
    except Exception as e:  # noqa: BLE001
        refusals[what] = f"{type(e).__name__}: {e}"
    else:
        raise AssertionError(f"{what} was not refused")


def rows(t):
    got = t.scan().to_arrow()
    ids = got["id"].to_pylist()
    assert sorted(ids) == list(range(len(ids))), f"{t.name()}: not the rows that were written"
    return len(ids)


def walk(parent):
    for namespace in catalog.list_namespaces(parent):
        name = ".".join(namespace)
        namespaces.append(name)
        catalog.load_namespace_properties(namespace)
        for identifier in catalog.list_tables(namespace) if namespace not in mounts else []:
            try:
                tables[".".join(identifier)] = rows(catalog.load_table(identifier))
            except Exception as e:  # noqa: BLE001
                refusals["load " + ".".join(identifier)] = f"{type(e).__name__}: {e}"
        walk(namespace)


mounts = [tuple(m.split(".")) for m in env["MOUNTS"].split()]
if ("own",) not in catalog.list_namespaces():
    catalog.create_namespace("own")
    some = pa.table({"id": pa.array(range(20), pa.int64())})
    catalog.create_table("own.native", some.schema).append(some)
walk(())
for identifier in env.get("OTHERS", "").split():
    refused("load " + identifier, lambda: catalog.load_table(identifier))
    assert not catalog.table_exists(identifier), identifier
for identifier in env["WRITES"].split():
    mount, namespace, _ = identifier.split(".")
    t = catalog.load_table(identifier)
    schema = t.schema()
    more = t.scan().to_arrow().slice(0, 3)
    refused(f"append to {identifier}", lambda: t.append(more))
    refused(f"set a property of {identifier}", lambda: t.transaction().set_properties(a="b").commit_transaction())
    refused(f"create beside {identifier}", lambda: catalog.create_table((mount, namespace, "more"), schema))
    refused(f"register beside {identifier}", lambda: catalog.register_table((mount, namespace, "more"), t.metadata_location))
    refused(f"drop {identifier}", lambda: catalog.drop_table(identifier))
    refused(f"purge {identifier}", lambda: catalog.purge_table(identifier))
    refused(f"rename {identifier}", lambda: catalog.rename_table(identifier, "own.stolen"))
    refused(f"create a namespace beside {identifier}", lambda: catalog.create_namespace((mount, "more")))
    refused(f"drop the namespace of {identifier}", lambda: catalog.drop_namespace((mount, namespace)))
    refused(f"set properties of the namespace of {identifier}", lambda: catalog.update_namespace_properties((mount, namespace), updates={"a": "b"}))
print(json.dumps({"namespaces": sorted(namespaces), "tables": tables, "refusals": refusals}))
