"""``tracepack inspect``: what an archive holds, without torch and without reading its weights."""

from __future__ import annotations

import os
from typing import Any

from ...ops.graph.graph import Body, BodyCall
from ...ops.graph.guards import plain
from ...ops.graph.traverse import bodies, constants, walk
from ..manifest import Described, body_size, describe, kernels_of, tensor_bytes, weights_bytes
from ..report import Block, Facts, Report, Table, bytes_text


def inspect(path: str) -> Report:
    """Describes an archive.

    Raises:
        ArchiveError: it cannot be read.
    """
    found = describe(path)
    data = _data(found, path)
    return Report(data, _blocks(data))


def _data(found: Described, path: str) -> dict[str, Any]:
    manifest = found.manifest
    return {
        "file": path,
        "bytes": os.path.getsize(path),
        "format": ".".join(map(str, manifest["version"])),
        "producer": manifest["producer"],
        "name": found.contents.name,
        "signature": found.signature,
        "inputs": [{"name": name, "type": kind} for name, kind in found.inputs],
        "output": found.output,
        "guards": list(map(str, found.contents.facts.guards)),
        "nodes": len(found.contents.graph.nodes),
        "ops": _ops(found),
        "constants": {
            "count": len(manifest["constants"]),
            "state": sum(bool(row.get("mutable")) for row in manifest["constants"]),
            "bytes": sum({row["tensor"]: tensor_bytes(row) for row in manifest["constants"]}.values()),
            "bytes_in_file": weights_bytes(found.archive),
        },
        "examples": len(manifest["examples"]),
        "needs_trust": any(row["runs_code"] for row in manifest["kernels"]),
        "members": [
            {"name": name, "bytes": row.get("size"), "sha256": row.get("sha256")}
            for name, row in manifest["members"].items()
        ],
    }


def _ops(found: Described) -> list[dict[str, Any]]:
    graph = found.contents.graph
    rows = [_body_row(found, body) for body in bodies(graph)]
    rows += [
        {"name": kernel.name, "kind": str(kernel.row["kind"]), "runs_code": bool(kernel.row["runs_code"])}
        for kernel in kernels_of(graph)
    ]
    return rows


def _body_row(found: Described, body: Body) -> dict[str, Any]:
    held = list(constants(body.graph))
    calls = sum(isinstance(n.target, BodyCall) and n.target.body is body for n in walk(found.contents.graph))
    return {
        "name": body.name,
        "kind": "graph",
        "device": body.device,
        "calls": calls,
        "operators": body_size(body),
        "constants": len(held),
        "bytes": found.bytes_of(iter(held)),
        "guards": list(map(str, body.facts.guards)),
        "kernels": sorted(kernel.name for kernel in kernels_of(body.graph)),
        "runs_code": False,
    }


def _blocks(data: dict[str, Any]) -> list[Block]:
    held = data["constants"]
    facts = [
        ("file", f"{data['file']} ({bytes_text(data['bytes'])})"),
        ("format", f"{data['format']}, written by {', '.join(f'{k} {v}' for k, v in data['producer'].items())}"),
        ("pipeline", f"{data['name']}, {_plural(data['nodes'], 'node')}"),
        ("weights", f"{_plural(held['count'], 'constant')}, {bytes_text(held['bytes'])}"),
        ("examples", str(data["examples"]) if data["examples"] else "none"),
    ]
    if held["state"]:
        facts.append(("state", f"{_plural(held['state'], 'tensor')} that runs change"))
    if data["needs_trust"]:
        facts.append(("trust", "holds an op that can run code: load it with --trust only if you trust its source"))
    return [
        Facts(facts),
        Table("inputs", ["name", "type"], [[row["name"], row["type"]] for row in data["inputs"]]),
        Facts([("output", data["output"]), *(("where", plain(guard)) for guard in data["guards"])]),
        Table("ops", ["name", "kind", "device", "calls>", "operators>", "weights>"], list(map(_op_cells, data["ops"]))),
        Table(
            "members",
            ["name", "size>", "sha256"],
            [[row["name"], bytes_text(row["bytes"]), row["sha256"]] for row in data["members"]],
        ),
    ]


def _op_cells(row: dict[str, Any]) -> list[str]:
    kind = row["kind"] + (f" + {', '.join(row['kernels'])}" if row.get("kernels") else "")
    size = bytes_text(row["bytes"]) if "bytes" in row else ""
    return [row["name"], kind, row.get("device", ""), str(row.get("calls", "")), str(row.get("operators", "")), size]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
