"""Mutated archives: the manifest and the graphs changed where their structure is, with hashes that are right again.

Each is loaded and run in a child: what may come of it is an answer, or an error of ours; never another error, a signal,
or a hang. A file that was lost is kept in `tests/fuzz/files`, and a test loads it for ever.
"""

from __future__ import annotations

import hashlib
import io
import random
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import torch

import tracepack
from tests.fuzz.children import survive

KEPT = Path(__file__).parent / "files"
_EDGES = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**32 + 1, 2**62, 2**63 - 1, -(2**63), 1.5, float("nan"), "", "x", "N",
    "cpu", "float32", "qint8", "\u202e", "\0", "a" * 5000, b"", b"\xff" * 9, [], {}, [[]], {"v": 0}, {"v": 99},
    {"c": 0},
    {"e": 0}, {"i": "9" * 90}, {"k": ["dtype", "int8"]}, {"k": ["layout", "sparse_coo"]}, {"t": []}, {"d": []},
    {"x": [0.0, 1.0]}, {"s": [0, 1, -1]}, ["operator", "torch.empty"], ["operator", "py.pow"], ["body", 0],
    ["kernel", 0],
    {"g": {"inputs": [], "nodes": [], "output": 1}}, ["guard", 1, "r"], ["float32", ["N", 2]], "int", "any", "N // 0",
)  # fmt: skip


def originals() -> list[tuple[bytes, dict[str, Any]]]:
    """Archives to mutate, with inputs."""
    warnings.simplefilter("ignore")

    def scalars(x: Any, n: int) -> Any:
        y = torch.zeros(n, x.shape[1], dtype=torch.float32)
        return {"a": (x.relu() + y[: x.shape[0]]).max(-1), "b": [x.shape[0] * n, (x * 2).sum()]}

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)
            self.register_buffer("runs", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.runs += 1
            return torch.tanh(self.norm(self.linear(x))) * self.runs

    op = tracepack.script(Model().eval(), device="cpu")
    x = torch.rand(3, 4)
    made = []
    for mod, feed in (
        (tracepack.trace(scalars, x, 5), {"x": x, "n": 5}),
        (tracepack.trace(lambda x: op(x), x), {"x": x}),
    ):
        file = io.BytesIO()
        mod.save(file, examples=[feed])
        made.append((file.getvalue(), feed))
    return made


def mutated(data: bytes, source: random.Random) -> bytes:
    """The archive with one to three changes in its manifest or graphs, hashes made right."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        contents = {name: old.read(name) for name in old.namelist()}
    for _ in range(source.choice((1, 1, 2, 3))):
        name = source.choice([n for n in contents if n.endswith(".msgpack")])
        tree = msgpack.unpackb(contents[name], strict_map_key=False)
        places = list(_places(tree))
        if places:
            owner, key = source.choice(places)
            _change(owner, key, source, places)
        contents[name] = msgpack.packb(tree)
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
    return msgpack.unpackb(msgpack.packb(value), strict_map_key=False)


def attempt(data: bytes, feed: dict[str, Any]) -> str:
    """Loads and runs a file; returns what is wrong with how it failed, or nothing."""
    try:
        mod = tracepack.load(data, verify="golden", budget={"seconds": 5, "bytes": 1 << 28})
        mod.run(feed)
        mod.signature, repr(mod), mod.state()
    except tracepack.TracepackError as error:
        return "" if str(error).replace("\n", "").isprintable() else "a text that is not shown as it is"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:150]
    return ""


def run(count: int, first: int = 0) -> int:
    """Mutates and tries so many archives; keeps those that were lost, and returns 1 if there were any."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    files = originals()

    def made(index: int) -> tuple[bytes, dict[str, Any]]:
        source = random.Random(first + index)
        data, feed = source.choice(files)
        return mutated(data, source), feed

    lost = list(survive(count, lambda index: attempt(*made(index)), most=20))
    for loss in lost:
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"mutation-{first + loss.index}.tpk").write_bytes(made(loss.index)[0])
        print(f"mutation {first + loss.index}: {loss.outcome}")
    print(f"{count} mutated archives: {len(lost)} lost")
    return int(bool(lost))
