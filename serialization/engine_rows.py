"""The engines of a pipeline in an archive: which region each runs, and the files that it made of it.

A row says what the artefact is made for, so that a reader can leave it where it does not fit: the engine, the package
with its version, the kind of processor. Weights are named by their numbers among those of the archive, which maps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..ops.graph.graph import Constant
from ..ops.graph.program import Artefact, EngineChoice
from .container.archive import Archive
from .decoder import expect, malformed, tolerance_in

if TYPE_CHECKING:
    from .container.archive_writer import Member


def encode_engines(
    choices: Sequence[EngineChoice], constants: list[Constant]
) -> tuple[list[dict[str, Any]], list[Member]]:
    """The rows of the manifest, and the members that they name.

    Args:
        choices: the engines of the program.
        constants: those of the archive, by their numbers; weights that an engine folded are added.
    """
    from .container.archive_writer import member  # which loading does not need

    numbers = {id(constant): number for number, constant in enumerate(constants)}
    rows, members = [], []
    for index, choice in enumerate(choices):
        artefact = choice.artefact
        for held in artefact.constants.values():
            if numbers.setdefault(id(held), len(constants)) == len(constants):
                constants.append(held)
        assets = {name: f"engines/{index}/{number}" for number, name in enumerate(sorted(artefact.files))}
        members += [member(assets[name], artefact.files[name]) for name in assets]
        rows.append(
            {
                "engine": artefact.engine,
                "body": choice.body,
                "nodes": None if choice.nodes is None else list(choice.nodes),
                "package": artefact.package,
                "processor": dict(sorted(choice.processor.items())),
                "tolerance": choice.tolerance,
                "description": dict(artefact.description),
                "assets": assets,
                "constants": {name: numbers[id(held)] for name, held in sorted(artefact.constants.items())},
            }
        )
    return rows, members


def decode_engines(archive: Archive, constants: Sequence[Constant]) -> tuple[EngineChoice, ...]:
    """The engines of an archive, the hash of each artefact checked.

    Raises:
        ArchiveError: a row is malformed, or an artefact was altered.
    """
    rows = archive.manifest.get("engines", [])
    return tuple(_choice(archive, row, f"$.engines[{index}]", constants) for index, row in enumerate(rows))


def engine_names(manifest: dict[str, Any]) -> list[str]:
    """The names of the engines of an archive, unchecked."""
    rows = manifest.get("engines", [])
    return sorted({str(row.get("engine")) for row in rows if isinstance(row, dict)})


def _choice(archive: Archive, row: Any, path: str, constants: Sequence[Constant]) -> EngineChoice:
    match row:
        case {
            "engine": str(engine), "body": int() | None as body, "nodes": list() | None as nodes,
            "package": str(package), "processor": dict(processor), "description": dict(description),
            "assets": dict(assets), "constants": dict(weights),
        }:  # fmt: skip
            pass
        case _:
            raise malformed(path, row, "an engine")
    files = {expect(k, str, path): archive.read(expect(v, str, path)) for k, v in assets.items()}
    held = {expect(k, str, path): _constant(number, constants, path) for k, number in weights.items()}
    texts = {expect(k, str, path): expect(v, str, path) for k, v in processor.items()}
    artefact = Artefact(engine, package, description, files, held)
    allowed = tolerance_in(row.get("tolerance"), f"{path}.tolerance") or 0.0
    return EngineChoice(body, _span(nodes, path), texts, artefact, allowed)


def _span(nodes: list[Any] | None, path: str) -> tuple[int, int] | None:
    match nodes:
        case None:
            return None
        case [int(start), int(stop)]:
            return start, stop
    raise malformed(f"{path}.nodes", nodes, "the first node and the one after the last")


def _constant(number: Any, constants: Sequence[Constant], path: str) -> Constant:
    if type(number) is not int or not 0 <= number < len(constants):
        raise malformed(f"{path}.constants", number, f"a number below {len(constants)}")
    return constants[number]
