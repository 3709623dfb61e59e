"""Mutated archives: manifest, graphs, tokenizers and comprehensions changed in their structure, with right hashes.

Each is loaded and run in a child: what may come of it is an answer, or a short error of ours; never another error, a
signal, or a hang. A file that was lost is kept in `tests/fuzz/files`, and a test loads it for ever.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import random
import re
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import torch

import tracepack
from tests.fuzz.children import survive
from tests.fuzz.originals import originals
from tracepack.cli import exit_codes as exits
from tracepack.cli import main

KEPT = Path(__file__).parent / "files"
LONGEST = 5000  # characters of an error: where, what, got and expected have a thousand each
_EDGES = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**32 + 1, 2**62, 2**63 - 1, -(2**63), 1.5, float("nan"), "", "x", "N",
    "cpu", "float32", "qint8", "\u202e", "\0", "\x1b]0;x\x07",
    "float\u00b2", "a" * 5000, b"", b"\xff" * 9, [], {}, [[]], {"v": 0}, {"v": 99},
    {"c": 0},
    {"e": 0}, {"i": "9" * 90}, {"k": ["dtype", "int8"]}, {"k": ["layout", "sparse_coo"]}, {"t": []}, {"d": []},
    {"x": [0.0, 1.0]}, {"s": [0, 1, -1]}, ["operator", "torch.empty"], ["operator", "py.pow"], ["body", 0],
    ["kernel", 0],
    {"g": {"inputs": [], "nodes": [], "output": 1}}, ["guard", 1, "r"], ["float32", ["N", 2]], "int", "any", "N // 0",
)  # fmt: skip


def mutated(data: bytes, source: random.Random) -> bytes:
    """The archive with one to three changes in its manifest or graphs, hashes made right."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        contents = {name: old.read(name) for name in old.namelist()}
    for _ in range(source.choice((1, 1, 2, 3))):
        name = source.choice([n for n in contents if n.endswith(".msgpack") or n.startswith("kernels/")])
        contents[name] = _FORMS[_form(name, contents[name])](contents[name], source)
    manifest = msgpack.unpackb(contents.pop("manifest.msgpack"), strict_map_key=False)
    if isinstance(manifest, dict) and isinstance(manifest.get("members"), dict):
        for name, content in contents.items():
            manifest["members"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name, content in contents.items():
            new.writestr(name, content)
        new.writestr("manifest.msgpack", msgpack.packb(manifest))
    return out.getvalue()


def _form(name: str, content: bytes) -> str:
    """What a member is written in: msgpack, JSON or text."""
    if name.endswith(".msgpack"):
        return "msgpack"
    return "json" if content.startswith(b"{") else "text"


def _mutated_msgpack(content: bytes, source: random.Random) -> bytes:
    tree = msgpack.unpackb(content, strict_map_key=False)
    _mutate(tree, source)
    return bytes(msgpack.packb(tree))


def _mutated_json(content: bytes, source: random.Random) -> bytes:
    try:
        tree = json.loads(content)
    except ValueError:  # a change before this one
        return _mutated_text(content, source)
    _mutate(tree, source)
    return json.dumps(tree, default=repr).encode("utf-8", "surrogatepass")


def _mutated_text(content: bytes, source: random.Random) -> bytes:
    """A text with a token left out, twice, moved or replaced, or a number replaced by one at the edges of a width."""
    tokens = re.findall(rb"\w+|\s+|.", content, re.DOTALL)
    at, other = source.randrange(len(tokens)), source.randrange(len(tokens))
    numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
    match source.randrange(5):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, tokens[other])
        case 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 3 if numbers:
            tokens[source.choice(numbers)] = source.choice(_NUMBERS)
        case _:
            tokens[at] = source.choice(_WORDS)
    return b"".join(tokens)


_FORMS = {"msgpack": _mutated_msgpack, "json": _mutated_json, "text": _mutated_text}
_EDGES_OF_INTEGERS = (0, 1, 2, 3, 46341, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 10**40)
_NUMBERS = tuple(str(number).encode() for number in _EDGES_OF_INTEGERS)
_WORDS = tuple(b"+ - * / % ( ) i k N float int8 where +=! ? ; in \xff \x1b[31m".split())


def _mutate(tree: Any, source: random.Random) -> None:
    places = list(_places(tree))
    if places:
        owner, key = source.choice(places)
        _change(owner, key, source, places)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from _places(value)


def _change(owner: Any, key: Any, source: random.Random, places: list[tuple[Any, Any]]) -> None:
    way = source.randrange(5)
    if way == 0:
        del owner[key]
    elif way == 1:
        other, place = source.choice(places)
        owner[key] = _copied(other[place])
    elif way == 2 and isinstance(owner, list):
        owner.insert(key, _copied(owner[key]))
    elif way == 3 and type(owner[key]) is int:
        owner[key] = source.choice((owner[key] + 1, owner[key] - 1, owner[key] * 2**31, -owner[key]))
        owner[key] = max(-(2**63), min(2**63 - 1, owner[key]))
    else:
        owner[key] = _copied(source.choice(_EDGES))


def _copied(value: Any) -> Any:
    return copy.deepcopy(value)


def attempt(data: bytes, feed: dict[str, Any]) -> str:
    """Loads and runs a file, and has it described and drawn; returns what is wrong with how it failed, or nothing."""
    return _loaded(data, feed) or _told(data)


def _told(data: bytes) -> str:
    """What the commands without torch say of a file."""
    told = io.StringIO()
    with tempfile.NamedTemporaryFile(suffix=".tpk") as file:
        file.write(data)
        file.flush()
        for command in (["inspect", "--json"], ["inspect"], ["show", "--bodies", "--lines"], ["show", "--svg", "-"]):
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
                code = main([command[0], file.name, *command[1:]])
            if code == exits.INTERNAL:
                return f"{command}: {told.getvalue()[-150:]}"
    return "" if told.getvalue().replace("\n", "").isprintable() else "a command shows a text as it is"


_OF_TORCH = "(Triggered internally at "
"""What torch's warnings of its own end with, which say nothing of the file, and have tabs."""


def _loaded(data: bytes, feed: dict[str, Any]) -> str:
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            mod = tracepack.load(data, verify="golden", budget={"seconds": 5, "bytes": 1 << 28})
            mod.run(feed)
            mod.signature, repr(mod), mod.state()
        except tracepack.TracepackError as error:
            said = [str(error)]
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:150]
    own = [each for each in caught if each.category is not DeprecationWarning]
    said += [text for text in (str(each.message) for each in own) if _OF_TORCH not in text]
    if any(not text.replace("\n", "").isprintable() for text in said):
        return "a text that is not shown as it is"
    return "a long text" if any(len(text) > LONGEST for text in said) else ""


def run(count: int, first: int = 0) -> int:
    """Mutates and tries so many archives; keeps those that were lost, and returns 1 if there were any."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    files = originals()

    def made(index: int) -> tuple[str, bytes]:
        source = random.Random(first + index)
        name = source.choice(list(files))
        return name, mutated(files[name][0], source)

    def call(index: int) -> str:
        name, data = made(index)
        return attempt(data, files[name][1])

    lost = list(survive(count, call, most=20))
    for loss in lost:
        KEPT.mkdir(exist_ok=True)
        name, data = made(loss.index)
        (KEPT / f"{name}-{first + loss.index}.tpk").write_bytes(data)
        print(f"mutation {first + loss.index} of {name!r}: {loss.outcome}")
    print(f"{count} mutated archives: {len(lost)} lost")
    return int(bool(lost))
