"""Runs the fuzzers: `python -m tests.fuzz operators | edges | changed | searched | effects | archives | …`.

`operators` makes hostile calls of every operator of the table (`--calls`, `--share K/N` for a part of them, which CI
rotates), `edges` makes others, of least integers, nothing, NaN and wild indices, `changed` changes the calls that
torch's own samples make (of a part of the samples), `searched` is led by what an operator answers to calls that reach
its kernel, and holds what they do to memory against the table, `effects` watches what calls do to memory, `archives`
mutates files, `tokenizers` changes tokenizers and writes others, `comprehensions` writes texts whose integers lie at
the ends of their types and builds them with the address sanitizer, `schedules` does so with schedules and options of a
file. `blowups` doubles files and watches the time, `saves` ends saves in every way, `caches` kills compilations.
A journal is gone on from; what is lost is printed, and the exit code is 1 where an operator that is not for trusted
files was lost, or a file, a tokenizer, a text, a schedule, a kind of file or a save was.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_INSIDE = "TRACEPACK_FUZZ_INSIDE"


def main() -> int:
    """Parses the command and runs it, under the poisoning allocator where there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("what", choices=tuple(_RUNS))
    parser.add_argument(
        "--calls", type=int, default=300, help="hostile calls of each operator, mutated files, texts, or a size"
    )
    parser.add_argument("--share", default="0/1", help="K/N: of N parts the one with this number")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call; others are other calls")
    parser.add_argument("--journal", type=Path, help="a file of JSON lines; a temporary one without it")
    chosen = parser.parse_args()
    if chosen.what in ("operators", "edges", "changed", "searched") and _INSIDE not in os.environ:
        from tests.fuzz.operators import with_poison

        os.environ[_INSIDE] = "1"
        return with_poison([sys.executable, "-m", "tests.fuzz", *sys.argv[1:]])
    if chosen.what in ("comprehensions", "schedules") and _INSIDE not in os.environ:
        from tests.fuzz.comprehensions.sanitizer import sanitized

        environment = {**os.environ, **sanitized(), _INSIDE: "1"}
        return subprocess.run(
            [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]], env=environment, check=False
        ).returncode
    warnings.simplefilter("ignore")
    share, parts = map(int, chosen.share.split("/"))
    return _RUNS[chosen.what](chosen, share % parts, parts)


def _names(share: int, parts: int) -> list[str]:
    from tracepack.ops.graph.operators.names import PYTHON, allowed

    skipped = ("py.generator", "py.draw")
    python = [f"py.{name}" for name in PYTHON if f"py.{name}" not in skipped]
    return sorted([*allowed(), *python])[share::parts]


def _operators(chosen: argparse.Namespace, share: int, parts: int) -> int:
    return _called(_names(share, parts), chosen)


def _called(names: list[str], chosen: argparse.Namespace) -> int:
    from tests.fuzz.operators import run

    with tempfile.TemporaryDirectory() as folder:
        known = run(names, chosen.calls, chosen.journal or Path(folder) / "calls.jsonl", chosen.first)
    return _lost([row for row in known.values() if row["name"] in names], f"{chosen.calls} hostile calls")


def _edges(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.operators import AT_EDGES
    from tracepack.ops.graph.operators.names import TRUSTED, grade

    chosen.first += AT_EDGES
    return _called([name for name in _names(share, parts) if grade(name) != TRUSTED], chosen)


def _changed(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.mutations import run

    with tempfile.TemporaryDirectory() as folder:
        journal = chosen.journal or Path(folder) / "calls.jsonl"
        return _lost(run(share, parts, chosen.calls, journal, chosen.first), f"{chosen.calls} changed calls")


def _searched(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.operators import journaled
    from tests.fuzz.search.campaign import search
    from tracepack.ops.graph.operators.names import TRUSTED, grade

    names = [name for name in _names(share, parts) if grade(name) != TRUSTED]
    with tempfile.TemporaryDirectory() as folder:
        journal = chosen.journal or Path(folder) / "calls.jsonl"
        known = journaled(
            names, chosen.calls, journal, lambda name: search(name, chosen.calls, chosen.first)[0], "searched"
        )
    return _lost([known[name] for name in names], f"{chosen.calls} searched calls")


def _lost(rows: Sequence[dict[str, Any]], calls: str) -> int:
    from tracepack.ops.graph.operators.names import TRUSTED, grade

    lost = [row for row in rows if row["losses"]]
    for row in lost:
        print(row["name"], grade(row["name"]), row["losses"])
    print(f"{len(rows)} operators, {calls} each: {len(lost)} lost")
    return int(any(grade(row["name"]) != TRUSTED for row in lost))


def _effects(chosen: argparse.Namespace, share: int, parts: int) -> int:
    import torch

    from tests.fuzz.effects import effect_of

    torch.set_num_threads(1)
    journal = chosen.journal or Path("effects.jsonl")
    known = (
        {json.loads(line)[0] for line in journal.read_text(encoding="utf-8").splitlines()}
        if journal.exists()
        else set()
    )
    with journal.open("a") as file:
        for name in _names(share, parts):
            if name not in known and not name.startswith("py."):
                file.write(json.dumps([name, effect_of(name, 50)]) + "\n")
                file.flush()
    return 0


def _archives(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.archives import run

    return run(chosen.calls, chosen.first + share * chosen.calls)


def _comprehensions(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.comprehensions.campaign import run

    return run(chosen.calls, chosen.first + share * chosen.calls)


def _schedules(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.comprehensions.schedules import run

    return run(chosen.calls, chosen.first + share * chosen.calls)


def _blowups(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.blowups import run

    return run(chosen.calls)


def _tokenizers(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.tokenizers.attempts import run

    return run(chosen.calls, chosen.first + share * chosen.calls)


def _saves(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.saving.saves import run

    return run(chosen.calls, chosen.first + share * chosen.calls)


def _caches(chosen: argparse.Namespace, share: int, parts: int) -> int:
    from tests.fuzz.saving.saves import attempt_cache, run

    return run(chosen.calls, chosen.first + share * chosen.calls, attempt_cache)


_RUNS: dict[str, Callable[[argparse.Namespace, int, int], int]] = {
    "operators": _operators,
    "edges": _edges,
    "changed": _changed,
    "searched": _searched,
    "effects": _effects,
    "archives": _archives,
    "comprehensions": _comprehensions,
    "schedules": _schedules,
    "blowups": _blowups,
    "tokenizers": _tokenizers,
    "saves": _saves,
    "caches": _caches,
}


if __name__ == "__main__":
    sys.exit(main())
