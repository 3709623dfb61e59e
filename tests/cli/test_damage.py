"""Files that were tampered with: every command ends with a code of the table and one line, never with a traceback."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.archive.files import rewritten
from tracepack.cli import exit_codes as exits
from tracepack.cli import main
from tracepack.serialization.container.archive import Archive
from tracepack.serialization.container.archive import unpack as unpacked
from tracepack.serialization.container.archive_writer import Member, member, write
from tracepack.serialization.container.archive_writer import pack as packed

SOURCE = Path(__file__).parents[1] / "archives" / "1.0.tpk"
JUNK: list[Any] = [None, True, -1, 2**62, 1.5, "", "x", b"x", [], [1], {}, {"v": 0}, {"t": [None]}, [["float32", [1]]]]
COMMANDS = (["inspect"], ["inspect", "--json"], ["show", "--bodies"], ["show", "--svg", "-"], ["verify"])
GOOD = {exits.OK, exits.FAILED, exits.ARCHIVE, exits.DEVICE, exits.RUN, exits.MISSING}


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a tree with every key in it."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    for key, item in items:
        yield tree, key
        yield from places(item)


def mutated(tree: Any, rng: random.Random) -> Any:
    """A copy with one place replaced by junk, or removed."""
    tree = copy.deepcopy(tree)
    holder, key = rng.choice(list(places(tree)))
    if rng.random() < 0.25:
        del holder[key]
    else:
        holder[key] = rng.choice(JUNK)
    return tree


def variants(count: int, seed: int) -> Iterator[tuple[dict[str, Any], list[Member]]]:
    """Manifests and members with one mutation each, in the manifest or in a graph, their hashes right."""
    archive, rng = Archive(SOURCE), random.Random(seed)
    fields = {key: value for key, value in archive.manifest.items() if key != "members"}
    content = {name: archive.read(name) for name in archive.names()}
    for _ in range(count):
        changed, manifest = dict(content), fields
        if rng.random() < 0.5:
            manifest = mutated(fields, rng)
        else:
            name = rng.choice([name for name in content if name.endswith(".msgpack")])
            changed[name] = packed(mutated(unpacked(content[name], name), rng))
        yield manifest, [member(name, data) for name, data in changed.items()]


@pytest.mark.parametrize("seed", range(8))
def test_tampered_files(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.tpk"
    for manifest, members in variants(12, seed):
        write(str(path), manifest, members)
        for command in COMMANDS:
            code = main([command[0], str(path), *command[1:]])
            err = capsys.readouterr().err
            assert code in GOOD, (command, err)
            assert err.count("\n") <= 1


@pytest.mark.parametrize("seed", range(4))
def test_cut_and_overwritten_files(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, data, rng = tmp_path / "bad.tpk", SOURCE.read_bytes(), random.Random(seed)
    for _ in range(12):
        if rng.random() < 0.5:
            path.write_bytes(data[: rng.randrange(len(data))])
        else:
            at = rng.randrange(len(data) - 8)
            path.write_bytes(data[:at] + rng.randbytes(8) + data[at + 8 :])
        for command in COMMANDS:
            code = main([command[0], str(path), *command[1:]])
            err = capsys.readouterr().err
            assert code in GOOD, (command, err)
            assert err.count("\n") <= 1


WRITTEN: dict[str, Any] = {
    "bytes": lambda m: m["producer"].update(torch=b"2.0"),
    "a key of bytes": lambda m: m["producer"].update({b"torch": "2.0"}),
    "a list": lambda m: m["producer"].update(torch=[{}]),
    "a shape without end": lambda m: m["constants"][0].update(shape=[2**62] * 64),
    "more dimensions than any": lambda m: m["constants"][0].update(shape=[1] * 65),
    "a dtype of thousands of digits": lambda m: m["constants"][0].update(dtype="float" + "9" * 5000),
    "a digit of another script": lambda m: m["constants"][0].update(dtype="float\u0663"),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("command", [["inspect"], ["inspect", "--json"], ["show"]])
def test_what_only_inspect_reads_is_checked(
    name: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.tpk"
    path.write_bytes(rewritten(SOURCE, WRITTEN[name]))
    assert main([command[0], str(path), *command[1:]]) == exits.ARCHIVE
    assert "malformed" in capsys.readouterr().err
