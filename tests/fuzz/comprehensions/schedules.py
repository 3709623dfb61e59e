"""Schedules and options by chance, as a file may hold them: each is refused by an error of ours, or right.

Many are nearly right, so that they reach the generated code, which is built with the address sanitizer. Sizes are small
and odd, so that every loop has an end that no vector and no tile fits.
"""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import torch

from tests.fuzz.children import survive
from tracepack.ops.comprehension import Options, define
from tracepack.ops.comprehension.expr.errors import ComprehensionError

_TEXTS = (
    "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
    "def f(float(M,K) A, float(K,N) B) -> (C, D) { C(m,n) = A(m,n % 3) + 1.0 where n in 0:5  D(m) max=! C(m,n) }",
    "def f(float(M,K) A, float(K,N) B) -> (C) { C(n) +=! B(k,n) * A(k % 2,k) where n in 0:5 }",
)
_NESTS = (("mnk",), ("mn", "mn"), ("nk",))
"""The axes of every statement of a text."""
_AXES = ("m", "n", "k", "i", "", "x" * 300, "m n", "m;", 'system("true")', None, 3, True, "\u00ed")
_NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    64,
    255,
    256,
    257,
    1024,
    1025,
    -1,
    2**31,
    2**63 - 1,
    -(2**63),
    1.0,
    None,
    True,
    "2",
)
_FEW = (1, 1, 2, 2, 3, 4, 8)


def _axis(random: Random, axes: str) -> Any:
    return random.choice(axes) if random.random() < 0.97 else random.choice(_AXES)


def _number(random: Random) -> Any:
    return random.choice(_FEW) if random.random() < 0.93 else random.choice(_NUMBERS)


def _flag(random: Random) -> Any:
    return random.choice((True, False)) if random.random() < 0.97 else random.choice(_NUMBERS)


def _order(random: Random, axes: str) -> list[str]:
    return random.sample(axes, random.choice((0, len(axes), random.randrange(len(axes) + 1))))


def _nest(random: Random, axes: str) -> dict[str, Any]:
    given = {
        "vector": random.choice((None, _axis(random, axes))), "vectors": _number(random),
        "unroll": [[_axis(random, axes), _number(random)] for _ in range(random.randrange(3))],
        "order": _order(random, axes),
        "parallel": _flag(random), "pack": _flag(random), "threads": random.choice((0, 1, 2, _number(random))),
        "lanes": random.choice((0, 4, 8, _number(random))), "winograd": _flag(random),
    }  # fmt: skip
    kept = {key: value for key, value in given.items() if random.random() < 0.5}
    return {**kept, "colour": 1} if random.random() < 0.02 else kept


def _plain(random: Random, nests_of: tuple[str, ...]) -> Any:
    """Options as plain data, for a text of some statements."""
    axes = nests_of[0]
    if random.random() < 0.6:
        nests = [_nest(random, each) for each in nests_of]
        nests = nests if random.random() < 0.95 else [*nests, *nests][: random.randrange(4)]
        return {"preset": "default", "check": False, "schedule": {"fuse": _flag(random), "nests": nests}}
    return {
        "preset": random.choice(("default", "naive", "mlp", "conv", "pointwise", "single_thread") * 6 + ("other", 3)),
        "vectorise": random.choice((None, _axis(random, axes))),
        "tile": {_axis(random, axes): _number(random) for _ in range(random.randrange(3))},
        "unroll": {_axis(random, axes): _number(random) for _ in range(random.randrange(2))},
        "order": _order(random, axes),
        "fuse": random.choice((None, _flag(random))), "pack": random.choice((None, _flag(random))),
        "parallel": random.choice((None, _flag(random))), "threads": random.choice((0, 1, 2, _number(random))),
        "check": False,
    }  # fmt: skip


def attempt(index: int, tally: dict[str, int]) -> str:
    """One schedule; returns what is wrong, or nothing."""
    random = Random(index)
    number = random.randrange(len(_TEXTS))
    plain, layer = _plain(random, _NESTS[number]), define(_TEXTS[number])
    source = torch.Generator().manual_seed(index)
    a, b = torch.rand(5, 3, generator=source), torch.rand(3, 5, generator=source)
    try:
        found = layer(a, b, options=Options.from_plain(plain))
    except ComprehensionError:
        tally["refused"] = tally.get("refused", 0) + 1
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}: {plain}"[:190]
    wanted = layer(a, b, options="torch")
    both = zip(*(x if isinstance(x, list | tuple) else [x] for x in (found, wanted)), strict=True)
    tally["ran"] = tally.get("ran", 0) + 1
    return "" if all(torch.allclose(x, y, rtol=1e-4) for x, y in both) else f"another answer: {plain}"[:190]


def run(count: int, first: int = 0) -> int:
    """Tries so many in children, and returns 1 if one was lost."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    lost = list(survive(count, lambda index: attempt(first + index, {}), slow=60, still=120, most=20))
    for loss in lost:
        print(f"schedule {first + loss.index}: {loss.outcome}")
    print(f"{count} schedules: {len(lost)} lost")
    return int(bool(lost))
