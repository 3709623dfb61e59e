"""Random processing functions as Python source, with the inputs that they are run on, and the strategy that draws them."""

from __future__ import annotations

import linecache
import random
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import strategies as st

from tests.campaigns.check import Call
from tests.campaigns.functions.modules import STATEFUL
from tests.campaigns.functions.surroundings import Pair, Swapped, plain

HEAD = "def process(x, y, k):"
FORMS = {
    "function": "{source}",
    "default": "{source}",
    "closure": "def make(state):\n{inner}\n    return process\nprocess = make(state)\n",
    "callable": "class Process(type(state)):\n{inner}\nprocess = Process()\n",
}
"""How a function holds its state: by a global, a default, a closure, or as attributes of its own."""


@dataclass(frozen=True)
class Program:
    """A processing function as source, with examples for it.

    Attributes:
        source: defines ``process(x, y, k)``.
        dtypes: of x and of y.
        aliased: whether x and y are given as one tensor.
        layout: how the memory of x is laid out: ``"plain"``, ``"transposed"``, ``"sliced"``, ``"expanded"``.
        scalar: k, a number, a flag, a string or a list of strings.
        columns: how many x and y have.
        form: one of FORMS.
        default: torch's default dtype when it is traced.
    """

    source: str
    dtypes: tuple[torch.dtype, torch.dtype]
    aliased: bool
    layout: str
    scalar: Any
    columns: int
    form: str = "function"
    default: torch.dtype = torch.float32

    @property
    def stateful(self) -> bool:
        """Whether one call may leave something to the next."""
        return any(name in self.source for name in ("state", "process.", "CONST", *STATEFUL))

    def text(self) -> str:
        """The source in its form."""
        source = self.source
        if self.form == "default":
            source = source.replace(HEAD, "def process(x, y, k, state=state):")
        if self.form == "callable":
            source = source.replace(HEAD, "def __call__(self, x, y, k):\n    state = self")
        return FORMS[self.form].format(source=source, inner=textwrap.indent(source, "    "))

    def namespace(self, names: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
        """What the source defines, with the names that it calls."""
        text = self.text()
        name = f"<string {hash(text)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        namespace = names(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, name, "exec"), namespace)
        return namespace

    def function(self, names: Callable[[str], dict[str, Any]] = plain) -> Callable[..., Any]:
        """The function itself, with a state of its own."""
        return self.namespace(names)["process"]  # type: ignore[no-any-return]  # exec leaves it untyped

    def others(self) -> list[Call]:
        """Other calls: other data, other strides, one tensor given twice, other sizes, another default dtype."""
        x, y, k = self.inputs(3, 1)
        found = [[x, y, k], self.inputs(3, 2), [x.t().contiguous().t(), y, k], [x[:1].expand(3, -1), y, k]]
        found += [
            [torch.stack([x, x], -1)[..., 0], y.t().contiguous().t(), k],
            [x * 0, y, k],
            [-y if y.is_signed() else y, y, k],
        ]
        if x.dtype == y.dtype and not self.aliased:
            found += [[x, x, k], [x, x.view(-1).view(x.shape) if x.is_contiguous() else x[:], k]]
        found += [self.inputs(rows, 3) for rows in (1, 2, 4, 5, 7, 0)]
        found += [self.inputs(4, 3, columns) for columns in (2, 5)] + [[x, y, other] for other in _others(k)]
        other = torch.float32 if self.default is torch.float64 else torch.float64
        return [Call(leaves, self.default) for leaves in found] + [
            Call([x, y, k], other),
            Call([x, y, k], self.default),
        ]

    def inputs(self, rows: int, seed: int = 0, columns: int | None = None) -> list[Any]:
        """Inputs with a number of rows."""
        source = torch.Generator().manual_seed(seed)
        wide = self.columns if columns is None else columns
        x = _tensor(rows, wide, self.dtypes[0], source, self.layout)
        y = x if self.aliased else _tensor(rows, wide, self.dtypes[1], source, "plain")
        return [x, y, self.scalar]


def _tensor(rows: int, columns: int, dtype: torch.dtype, source: torch.Generator, layout: str) -> torch.Tensor:
    full = torch.randn(rows * 2, columns * 2, generator=source, dtype=torch.float32) * 3
    whole = full > 0 if dtype is torch.bool else full.to(dtype)
    match layout:
        case "transposed":
            return whole[:rows, :columns].t().contiguous().t()
        case "sliced":
            return whole[::2, ::2]
        case "expanded":
            return whole[:1, :columns].expand(rows, -1) if rows else whole[:0, :columns]
    return whole[:rows, :columns].contiguous()


def _others(scalar: Any) -> list[Any]:
    """Other values of the same kind."""
    if isinstance(scalar, bool):
        return [not scalar]
    if isinstance(scalar, dict):
        return [dict(reversed(scalar.items())), {key: value + 1 for key, value in scalar.items()}, {**scalar, 7: 1}]
    if isinstance(scalar, Pair):
        return [Swapped(*scalar), Pair(scalar.first + 1, -scalar.second)]
    if isinstance(scalar, tuple):
        return [(2, [False, 2.5]), (2, [True]), [1, [True, 2.5]]]
    if isinstance(scalar, str):
        return ["mean" if scalar == "sum" else "sum"]
    return [[*scalar[::-1], "c"]] if isinstance(scalar, list) else [scalar + 1, 0 * scalar, -scalar]


DTYPES = [torch.float32] * 6 + [
    torch.float64,
    torch.int64,
    torch.int32,
    torch.bool,
    torch.uint8,
    torch.complex64,
    torch.bfloat16,
]


@st.composite
def programs(draw: Any, length: int = 10) -> Program:
    """A strategy of whole functions."""
    from tests.campaigns.functions.writer import Writer  # which needs Program

    choose = random.Random(draw(st.integers(0, 2**64 - 1)))  # Hypothesis would repeat parts of its own choices
    aliased = choose.random() < 0.08
    dtypes = (choose.choice(DTYPES), choose.choice(DTYPES))
    layout = choose.choice(["plain", "plain", "plain", "plain", "transposed", "sliced", "expanded"])
    scalar = choose.choice([2, 0.5, 3, 1.5, 2, 0.5, "sum", "mean", ["a", "b"], True, False, 0, -1.5,
                            {"a": 2, "b": 0.5}, {2: 3, 1: 4}, Pair(2, 0.5), (1, [True, 2.5])])  # fmt: skip
    form = choose.choice(["function", "function", *FORMS])
    default = torch.float64 if choose.random() < 0.05 else torch.float32
    empty = Program("", dtypes, aliased, layout, scalar, choose.choice([4, 4, 3, 1]), form, default)
    return replace(empty, source=Writer(choose, empty).write(choose.randint(2, length)))


@st.composite
def differentiable(draw: Any, length: int = 9) -> Program:
    """A strategy of functions of floating-point tensors, tried with gradients as they are written."""
    from tests.campaigns.functions.writer import GradientWriter

    choose = random.Random(draw(st.integers(0, 2**64 - 1)))
    kinds = [torch.float32] * 6 + [torch.float64]
    dtypes = (choose.choice(kinds), choose.choice([*kinds, torch.int64, torch.bfloat16]))
    layout, scalar = choose.choice(["plain", "plain", "transposed", "sliced"]), choose.choice([2, 0.5, 3, 1.5, True])
    empty = Program("", dtypes, False, layout, scalar, choose.choice([4, 4, 3, 1]))
    return replace(empty, source=GradientWriter(choose, empty).write(choose.randint(2, length)))
