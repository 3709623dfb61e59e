"""``tracepack inspect``: describes an archive, without torch and without reading its weights."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...ops.graph.graph import Body, BodyCall
from ...ops.graph.guards import plain
from ...ops.graph.traverse import every_node, named_bodies, own_constants
from ...pipeline.signature.fields import FIXED, SignatureField, input_fields, output_fields
from ...pipeline.signature.rows.row_sharing import refused_by_signature
from ...serialization.engine_rows import decode_engines
from ..manifest import Described, body_size, describe, kernels_of, tensor_bytes, weights_bytes
from ..report import Block, Fields, Report, Table, bytes_text


def inspect(path: str) -> Report:
    """Describes an archive.

    Raises:
        ArchiveError: it cannot be read.
    """
    found = describe(path)
    data = _data(found, path)
    return Report(data, _blocks(data))


def _data(found: Described, path: str) -> dict[str, Any]:
    manifest, fields, kinds = found.manifest, input_fields(found.parameters), dict(found.inputs)
    return {
        "file": path,
        "bytes": os.path.getsize(path),
        "format": ".".join(map(str, manifest["version"])),
        "producer": manifest["producer"],
        "warnings": _warnings(manifest["producer"]),
        "name": found.contents.name,
        "signature": found.signature,
        "inputs": [{"name": f.name, "type": kinds.get(f.name, FIXED), **_default(f)} for f in fields],
        "output": found.output,
        "guards": list(map(str, found.contents.facts.guards)),
        "without": found.without,
        "nodes": len(found.contents.graph.nodes),
        "ops": _ops(found),
        "engines": _engines(found),
        "constants": {
            "count": len(manifest["constants"]),
            "state": sum(bool(row.get("mutable")) for row in manifest["constants"]),
            "bytes": sum({row["tensor"]: tensor_bytes(row) for row in manifest["constants"]}.values()),
            "bytes_in_file": weights_bytes(found.archive),
        },
        "examples": len(manifest["examples"]),
        "not_by_rows": _not_by_rows(found, fields),
        "metadata": found.metadata,
        "needs_packages": _packages(manifest),
        "needs_trust": any(row["runs_code"] for row in manifest["kernels"]),
        "members": [
            {"name": name, "bytes": row.get("size"), "sha256": row.get("sha256")}
            for name, row in manifest["members"].items()
        ],
    }


def _not_by_rows(found: Described, inputs: list[SignatureField]) -> str:
    """Why `tracepack serve` cannot run rows of several requests together; empty where runs have to show it."""
    contents, stateful = found.contents, any(row.get("mutable") for row in found.manifest["constants"])
    fields = [*inputs, *output_fields(contents.graph)]
    return refused_by_signature(stateful, fields, contents.facts.guards, found.signature, contents.graph)


def _packages(manifest: dict[str, Any]) -> list[str]:
    """The packages whose operators the file calls, with their versions."""
    given = [row["description"] for row in manifest["kernels"] if row["kind"] == "operator"]
    return sorted({f"{str(d.get('module')).partition('.')[0]} {d.get('version')}".strip() for d in given})


def _default(field: SignatureField) -> dict[str, Any]:
    return {} if field.required else {"default": field.default}


def _warnings(producer: dict[Any, Any]) -> list[str]:
    """Warnings about the file on this machine, such as operators of a newer torch."""
    try:
        here = version("torch")
    except PackageNotFoundError:
        return []
    wrote = producer.get("torch")
    if not isinstance(wrote, str) or _numbers(wrote) <= _numbers(here):
        return []
    return [f"written with torch {wrote}, newer than {here} here: it may name operators that this torch lacks"]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]{1,6}", text.split("+", maxsplit=1)[0])[:3])


def _ops(found: Described) -> list[dict[str, Any]]:
    graph = found.contents.graph
    calls = Counter(id(n.target.body) for n in every_node(graph) if isinstance(n.target, BodyCall))
    rows = [_body_row(found, name, body, calls[id(body)]) for name, body in named_bodies(graph).items()]
    rows += [
        {"name": kernel.name, "kind": str(kernel.row["kind"]), "runs_code": bool(kernel.row["runs_code"])}
        for kernel in kernels_of(graph)
    ]
    return rows


def _engines(found: Described) -> list[dict[str, Any]]:
    """What runs parts of the pipeline where the file is trusted, and where each fits."""
    graph, rows = found.contents.graph, []
    ops = [f"op {name!r}" for name in named_bodies(graph)]
    for choice in decode_engines(found.archive, found.constants):
        start, stop = choice.nodes or (0, 0)
        part = "pipeline" if (start, stop) == (0, len(graph.nodes)) else f"nodes {start}-{stop - 1}"
        if choice.body is not None:
            part = ops[choice.body] if 0 <= choice.body < len(ops) else f"op {choice.body}"
        made = choice.artefact
        rows.append({
            "part": part, "engine": made.engine, "package": made.package, "processor": dict(choice.processor),
            "bytes": sum(map(len, made.files.values())),
        })  # fmt: skip
    return rows


def _body_row(found: Described, name: str, body: Body, calls: int) -> dict[str, Any]:
    held, kernels = own_constants(body.graph), list(kernels_of(body.graph))
    return {
        "name": name,
        "kind": "graph",
        "device": body.device,
        "calls": calls,
        "operators": body_size(body),
        "constants": len(held),
        "bytes": found.bytes_of(iter(held)),
        "guards": list(map(str, body.facts.guards)),
        "kernels": sorted(kernel.name for kernel in kernels),
        "runs_code": any(kernel.row["runs_code"] for kernel in kernels),
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
    reason = data["not_by_rows"]
    tried = "serve may run rows of several requests together; it tries so when it loads the file"
    facts.append(("batching", f"none: {reason}" if reason else tried))
    if held["state"]:
        facts.append(("state", f"{_plural(held['state'], 'tensor')} that runs change"))
    if data["needs_trust"]:
        facts.append(("trust", "holds an op that can run code: load it with --trust only if you trust its source"))
    if data["engines"]:
        facts.append(
            ("engines", "run only with --trust or --signed-by; else the flat function does, which answers alike")
        )
    if data["needs_packages"]:
        named = (
            f"calls operators of {', '.join(data['needs_packages'])}, which must be installed; where load asks for it, "
            "pass --packages NAME only if you trust these with what the file calls them with"
        )
        facts.append(("packages", named))
    facts += [("warning", text) for text in data["warnings"]]
    notes = [[name, value if isinstance(value, str) else json.dumps(value)] for name, value in data["metadata"].items()]
    return [
        Fields(facts),
        Table("metadata", ["name", "value"], notes),  # apart: a file may call its own notes "trust" or "warning"
        Table("inputs", ["name", "type", "default"], [_input_cells(row) for row in data["inputs"]]),
        Fields([("output", data["output"]), *(("where", plain(guard)) for guard in data["guards"])]),
        Table(
            "without",
            ["inputs", "signature"],
            [[", ".join(row["inputs"]), row["signature"]] for row in data["without"]],
        ),
        Table("ops", ["name", "kind", "device", "calls>", "operators>", "weights>"], list(map(_op_cells, data["ops"]))),
        Table(
            "engines",
            ["part", "engine", "package", "processor", "artefact>"],
            list(map(_engine_cells, data["engines"])),
        ),
        Table(
            "members",
            ["name", "size>", "sha256"],
            [[row["name"], bytes_text(row["bytes"]), row["sha256"]] for row in data["members"]],
        ),
    ]


def _input_cells(row: dict[str, Any]) -> list[str]:
    return [row["name"], row["type"], repr(row["default"]) if "default" in row else ""]


def _op_cells(row: dict[str, Any]) -> list[str]:
    kind = row["kind"] + (f" + {', '.join(row['kernels'])}" if row.get("kernels") else "")
    size = bytes_text(row["bytes"]) if "bytes" in row else ""
    return [row["name"], kind, row.get("device", ""), str(row.get("calls", "")), str(row.get("operators", "")), size]


def _engine_cells(row: dict[str, Any]) -> list[str]:
    processor = ", ".join(row["processor"].values())
    return [row["part"], row["engine"], row["package"], processor, bytes_text(row["bytes"])]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
