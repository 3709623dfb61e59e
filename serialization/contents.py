"""What an archive of a pipeline contains: graphs, bodies and kernels on one side, members and a manifest on the other.

Needs no torch: constants are numbered here, and their tensors are the business of `weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..ops.graph.errors import ArchiveError, TrustError
from ..ops.graph.graph import Body, BodyCall, Constant, Facts, Graph, Node
from ..ops.graph.kernel import Kernel, build_kernel
from ..ops.graph.traverse import walk
from ..ops.graph.verify import verify
from .archive import Archive, unpack
from .archive_writer import Member, member, pack
from .decoder import Decoder, decode_facts, decode_type, expect, malformed
from .encoder import Encoder, Tables, encode_facts, encode_type
from .schema import DEEPEST_CALLS, FORMAT, LARGEST_MANIFEST, MAIN_GRAPH, MOST_EXPANDED, MOST_ROWS, VERSION


@dataclass
class Contents:
    """A pipeline as an archive knows it.

    Attributes:
        name: the function's name.
        graph: what it does.
        parameters: the calling convention as plain data; the pipeline layer reads it.
        facts: what is known about the sizes of its inputs.
    """

    name: str
    graph: Graph
    parameters: dict[str, Any]
    facts: Facts


def encode(contents: Contents, producer: dict[str, str]) -> tuple[dict[str, Any], list[Member], Tables]:
    """The manifest without its constants and examples, the members but the tensors, and the tables of things met."""
    tables = Tables()
    members = [member(MAIN_GRAPH, pack(Encoder(tables).graph(contents.graph)))]
    bodies: list[dict[str, Any]] = []
    for index, body in enumerate(tables.bodies):  # grows while bodies call other bodies
        name = f"graphs/op{index}.msgpack"
        members.append(member(name, pack(Encoder(tables).graph(body.graph))))
        bodies.append(_body_row(body, name))
    kernels = [_kernel_row(index, kernel, members) for index, kernel in enumerate(tables.kernels)]
    manifest = {
        "format": FORMAT,
        "version": list(VERSION),
        "producer": producer,
        "name": contents.name,
        "parameters": contents.parameters,
        "facts": encode_facts(contents.facts),
        "bodies": bodies,
        "kernels": kernels,
    }
    return manifest, members, tables


def _body_row(body: Body, member_name: str) -> dict[str, Any]:
    return {
        "name": body.name,
        "device": body.device,
        "graph": member_name,
        "inputs": list(body.inputs),
        "types": [encode_type(value.type) for value in body.graph.inputs],
        "facts": encode_facts(body.facts),
        "contiguous": body.contiguous,
    }


def _kernel_row(index: int, kernel: Kernel, members: list[Member]) -> dict[str, Any]:
    assets: dict[str, str] = {}
    for name, data in sorted(kernel.assets().items()):
        assets[name] = f"kernels/{index}/{len(assets)}"
        members.append(member(assets[name], data))
    return {
        "kind": kernel.kind,
        "name": kernel.name,
        "description": kernel.description(),
        "assets": assets,
        "runs_code": kernel.runs_code,
    }


Build = Callable[[dict[str, Any], dict[str, bytes]], Kernel]


def decode(archive: Archive, constants: Sequence[Constant], build: Build) -> Contents:
    """Reads a pipeline.

    Args:
        archive: the open archive.
        constants: its constants.
        build: makes a kernel of its row and assets.

    Raises:
        ArchiveError, GraphError: malformed; UnknownOperatorError: an operator is not allowed.
    """
    manifest = archive.manifest
    for field in ("kernels", "bodies", "constants", "examples", "example_tensors"):
        if len(manifest[field]) > MOST_ROWS:
            raise malformed(f"$.{field}", len(manifest[field]), f"{MOST_ROWS} rows at most")
    _check_members(manifest)
    kernels = [_kernel(archive, row, f"$.kernels[{i}]", build) for i, row in enumerate(manifest["kernels"])]
    rows = manifest["bodies"]
    # A body may call those after it, so they are read from the last to the first.
    found: list[Any] = [None] * len(rows)
    counted = [0]
    for index in reversed(range(len(rows))):
        later = _Later(found, index)
        found[index] = _body(archive, rows[index], f"$.bodies[{index}]", constants, kernels, later, counted)
    graph = Decoder(constants, kernels, found, MAIN_GRAPH, counted=counted).graph(_plain(archive, MAIN_GRAPH))
    check_expansion(graph)
    verify(graph)
    facts = decode_facts(manifest["facts"], [value.type for value in graph.inputs], "$.facts")
    return Contents(manifest["name"], graph, manifest["parameters"], facts)


class _Later(Sequence[Any]):
    """The bodies after one, under their own numbers; earlier ones cannot be called."""

    def __init__(self, found: list[Any], index: int) -> None:
        self.found, self.caller = found, index

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, number: Any) -> Any:
        if number <= self.caller:
            raise ArchiveError("an op calls itself", where=f"$.bodies[{self.caller}]")
        return self.found[number]


def _plain(archive: Archive, name: str) -> Any:
    """The plain data of a graph's member."""
    if len(archive.view(name)) > LARGEST_MANIFEST:
        raise archive.error("a graph is too large", member=name, expected=f"{LARGEST_MANIFEST} bytes at most")
    return unpack(archive.read(name), name)


def _check_members(manifest: dict[str, Any]) -> None:
    """Refuses rows that share a member, so that none is read twice."""
    taken = {MAIN_GRAPH}
    for row in manifest["bodies"]:
        _take(row.get("graph") if isinstance(row, dict) else None, taken, "an op")
    for row in manifest["kernels"]:
        assets = row.get("assets") if isinstance(row, dict) else None
        for name in assets.values() if isinstance(assets, dict) else ():
            _take(name, taken, "a kernel")


def _take(name: Any, taken: set[str], what: str) -> None:
    if isinstance(name, str):
        if name in taken:
            raise ArchiveError("a member is used twice", where=what, got=repr(name)[:80])
        taken.add(name)


def check_expansion(graph: Graph) -> None:
    """Refuses graphs that grow past all bounds when every op is written out where it is called.

    Raises:
        ArchiveError: they do, or ops call ops too deeply.
    """
    sizes: dict[int, tuple[int, int]] = {}
    for body in reversed(list(_callees_last(graph))):
        sizes[id(body.graph)] = _expansion(body.graph, sizes)
    nodes, depth = _expansion(graph, sizes)
    if nodes > MOST_EXPANDED or depth > DEEPEST_CALLS:
        raise ArchiveError(
            "the graph is too large when its ops are written out", got=f"{nodes} nodes, {depth} ops deep",
            expected=f"{MOST_EXPANDED} nodes and {DEEPEST_CALLS} ops deep at most",
        )  # fmt: skip


def _callees_last(graph: Graph) -> list[Body]:
    """Every body before those that it calls."""
    order: list[Body] = []
    seen: set[int] = set()
    stack: list[tuple[Body | None, Iterator[Node]]] = [(None, walk(graph))]
    while stack:
        owner, nodes = stack[-1]
        for node in nodes:
            if isinstance(node.target, BodyCall) and id(node.target.body) not in seen:
                seen.add(id(node.target.body))
                stack.append((node.target.body, walk(node.target.body.graph)))
                break
        else:
            stack.pop()
            if owner is not None:
                order.append(owner)
    return order[::-1]


def _expansion(graph: Graph, sizes: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The nodes of a graph written out, and how deep its ops call ops."""
    nodes, depth = 0, 0
    for node in walk(graph):
        more, below = sizes[id(node.target.body.graph)] if isinstance(node.target, BodyCall) else (0, -1)
        nodes, depth = min(nodes + 1 + more, 1 << 62), max(depth, below + 1)
    return nodes, depth


def _body(
    archive: Archive,
    row: Any,
    path: str,
    constants: Sequence[Constant],
    kernels: Sequence[Kernel],
    bodies: Sequence[Any],
    counted: list[int],
) -> Body:
    match row:
        case {
            "name": str(name), "device": str(device), "graph": str(member_name), "inputs": list(inputs),
            "facts": facts, "contiguous": bool(contiguous),
        }:  # fmt: skip
            pass
        case _:
            raise malformed(path, row, "an op")
    graph = Decoder(constants, kernels, bodies, member_name, counted=counted).graph(_plain(archive, member_name))
    if len(inputs) != len(graph.inputs):
        raise malformed(f"{path}.inputs", len(inputs), f"{len(graph.inputs)} names")
    kinds = [value.type for value in graph.inputs]
    names = tuple(expect(n, str, f"{path}.inputs") for n in inputs)
    return Body(name, device, graph, decode_facts(facts, kinds, f"{path}.facts"), names, contiguous)


def _kernel(archive: Archive, row: Any, path: str, build: Build) -> Kernel:
    match row:
        case {"kind": str(), "name": str(), "description": dict(), "assets": dict(assets), "runs_code": bool()}:
            return build(row, {expect(k, str, path): archive.read(expect(v, str, path)) for k, v in assets.items()})
    raise malformed(path, row, "a kernel")


def trusted_build(trust: bool, label: str) -> Build:
    """Builds kernels; those that run code only if the caller trusts the file."""

    def build(row: dict[str, Any], assets: dict[str, bytes]) -> Kernel:
        from ..ops.graph.kernel import runs_code

        if runs_code(row["kind"]) and not trust:
            raise TrustError(
                f"op {row['name']!r} is kept as {row['kind']}, which can run code",
                where=label,
                fix="Pass trust=True if you trust where the file comes from.",
            )
        return build_kernel(row["kind"], row["description"], assets, trust=trust)

    return build


def constants_of(manifest: dict[str, Any]) -> list[Constant]:
    """The constants without their tensors, as the command line shows them."""
    return [
        Constant(None, str(row.get("name")), bool(row.get("mutable")))
        for row in manifest["constants"]
        if isinstance(row, dict)
    ]


def input_types(manifest: dict[str, Any]) -> list[Any]:
    """The types of the flat inputs."""
    kinds = expect(manifest["parameters"].get("types"), list, "$.parameters.types")
    return [decode_type(kind, f"$.parameters.types[{i}]") for i, kind in enumerate(kinds)]
