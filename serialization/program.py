"""Writes and reads a Program: its parameters, its graphs, its weights and its golden examples."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..ops.graph.graph import Constant
from ..ops.graph.kernel import Kernel
from ..ops.graph.program import EngineChoice, Program
from .container.archive import Archive
from .container.schema import EXAMPLES, WEIGHTS
from .container.version import __version__
from .contents import Contents, decode
from .limits import check_copies, mutable
from .parameters import decode_parameters
from .user_metadata import decode_metadata
from .weights import TensorTable, mapped_weights, origin_of, tensors_of

if TYPE_CHECKING:
    from .container.archive_writer import Member
    from .encoder import Tables
    from .golden import Example, Golden


def save_program(target: Any, program: Program, examples: Sequence[Example] = (), golden: Golden | None = None) -> None:
    """Writes a program, and golden examples with it.

    Args:
        target: the file, or a binary file object.
        program: the program to write.
        examples: inputs with their outputs.
        golden: the terms by which a replay compares outputs.

    Raises:
        ArchiveError: the file cannot be written, or no load would take it.
    """
    from .container.archive_writer import write  # what loading does not need is imported here
    from .readable import check_readable

    manifest, members, tables = packed(program, examples, golden)
    check_readable(manifest, members, tables.kernels, tables.constants)
    write(target, manifest, members)


def packed(
    program: Program, examples: Sequence[Example] = (), golden: Golden | None = None
) -> tuple[dict[str, Any], list[Member], Tables]:
    """A program as an archive holds it: the manifest, the members, and what its graphs refer to by number.

    Raises:
        ArchiveError: it holds what no archive can.
    """
    from .encoder import encode, encode_parameters
    from .engine_rows import encode_engines
    from .golden import encode_examples, encode_golden

    contents = Contents(program.name, program.graph, encode_parameters(program.parameters), program.facts)
    producer = {"tracepack": __version__, "torch": torch.__version__, "python": platform.python_version()}
    manifest, members, tables = encode(contents, producer)
    manifest["engines"], artefacts = encode_engines(program.engines, tables.constants)
    members += artefacts
    weights = TensorTable()
    for constant in tables.constants:
        weights.add(constant.name, constant.tensor, constant)
    rows, tensors = encode_examples(examples)
    manifest |= {"constants": weights.rows, "examples": rows, "example_tensors": tensors.rows}
    manifest["golden"] = encode_golden(golden)
    manifest["metadata"] = dict(program.metadata)
    members.append(weights.member(WEIGHTS))
    if rows:
        members.append(tensors.member(EXAMPLES))
    return manifest, members, tables


def load_program(
    archive: Archive,
    build: Callable[..., Kernel],
    prepare: Callable[[Sequence[Constant], Sequence[Any]], None],
    *,
    engaged: Callable[[Sequence[EngineChoice]], None] | None = None,
) -> Program:
    """Reads the program of an archive; its weights are mapped, not read.

    Args:
        archive: the open file, its listing checked.
        build: makes a kernel from its kind, description and assets; see `contents.decode`.
        prepare: called before graphs are read, with the constants and an object for each that only tied weights share.
        engaged: called before graphs are read, with the engines; without it these are not read.

    Raises:
        ArchiveError: it is malformed.
    """
    weights = mapped_weights(archive)
    rows = archive.manifest["constants"]
    tensors = tensors_of(rows, weights, "constants")
    constants = [
        Constant(tensor, str(row.get("name")), bool(row.get("mutable")), bool(row.get("parameter")), origin_of(row))
        for row, tensor in zip(rows, tensors, strict=True)
    ]
    check_copies(mutable(constants), archive.weights_size(), "the state")
    prepare(constants, [row.get("origin") for row in rows])
    chosen: tuple[EngineChoice, ...] = ()
    if engaged is not None and archive.manifest.get("engines"):
        from .engine_rows import decode_engines

        chosen = decode_engines(archive, constants)
        engaged(chosen)
    contents = decode(archive, constants, build)
    parameters = decode_parameters(archive.manifest, len(contents.graph.inputs))
    metadata = decode_metadata(archive.manifest.get("metadata"))
    return Program(contents.name, contents.graph, parameters, contents.facts, weights, metadata, chosen)
