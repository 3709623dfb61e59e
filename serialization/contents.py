"""Reads the graphs, bodies and kernels of a pipeline from members and a manifest that `encoder` wrote. No torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..ops.graph.errors import ArchiveError, TrustError
from ..ops.graph.graph import Body, Constant, Facts, Graph
from ..ops.graph.kernel import Kernel
from ..ops.graph.verify import verify
from .container.archive import Archive, unpack
from .container.schema import LARGEST_MANIFEST, MAIN_GRAPH
from .decoder import Decoder, SharedParts, decode_facts, decode_type, expect, malformed
from .limits import check_expansion, check_rows


@dataclass(eq=False, repr=False)
class Contents:
    """The content of an archive.

    Attributes:
        name: the function's name.
        graph: the recorded function.
        parameters: the calling convention as plain data; the pipeline layer reads it.
        facts: the assumptions about the sizes of its inputs.
    """

    name: str
    graph: Graph
    parameters: dict[str, Any]
    facts: Facts


Build = Callable[[dict[str, Any], dict[str, bytes]], Kernel]


def decode(archive: Archive, constants: Sequence[Constant], build: Build) -> Contents:
    """Reads a pipeline.

    Args:
        archive: the open archive.
        constants: its constants.
        build: makes a kernel from its row and assets.

    Raises:
        ArchiveError, GraphError: the archive is malformed; UnknownOperatorError: an operator is not allowed.
    """
    manifest = archive.manifest
    check_rows(manifest)
    kernels = [_kernel(archive, row, f"$.kernels[{i}]", build) for i, row in enumerate(manifest["kernels"])]
    rows = manifest["bodies"]
    # A body may call those after it, so they are read from the last to the first.
    found: list[Any] = [None] * len(rows)
    shared = SharedParts()
    for index in reversed(range(len(rows))):
        later = _Later(found, index)
        found[index] = _body(archive, rows[index], f"$.bodies[{index}]", constants, kernels, later, shared)
    graph = Decoder(constants, kernels, found, MAIN_GRAPH, shared=shared).graph(_plain(archive, MAIN_GRAPH))
    check_expansion(graph)
    verify(graph)
    facts = decode_facts(manifest["facts"], [value.type for value in graph.inputs], "$.facts")
    return Contents(manifest["name"], graph, manifest["parameters"], facts)


class _Later(Sequence[Any]):
    """The bodies that a body may call: those after it, by their numbers in the archive."""

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


def _body(
    archive: Archive,
    row: Any,
    path: str,
    constants: Sequence[Constant],
    kernels: Sequence[Kernel],
    bodies: Sequence[Any],
    shared: SharedParts,
) -> Body:
    match row:
        case {
            "name": str(name), "device": str(device), "graph": str(member_name), "inputs": list(inputs),
            "facts": facts, "contiguous": bool(contiguous),
        }:  # fmt: skip
            pass
        case _:
            raise malformed(path, row, "an op")
    graph = Decoder(constants, kernels, bodies, member_name, shared=shared).graph(_plain(archive, member_name))
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


def trusted_build(
    trust: bool, label: str, kernel_class: Callable[[str], type[Kernel]], packages: Sequence[str] = ()
) -> Build:
    """Builds kernels; those that run code only if the caller trusts the file, or has named their package.

    Args:
        trust: whether the caller trusts the file.
        label: the name of the file in messages.
        kernel_class: returns the class for the name of a kind.
        packages: the packages whose code may be imported and called.
    """

    def build(row: dict[str, Any], assets: dict[str, bytes]) -> Kernel:
        found = kernel_class(row["kind"])
        if found.from_package:
            return found.build_named(row["description"], packages)
        if found.runs_code and not trust:
            raise TrustError(
                f"op {row['name']!r} is kept as {row['kind']}, which can run code",
                where=label,
                fix="Pass trust=True (a command: --trust) if you trust where the file comes from.",
            )
        return (found.build_trusted if trust else found.build)(row["description"], assets)

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
