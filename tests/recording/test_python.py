"""Python around tensors: what is recorded, what is guarded, and what is refused with which words."""

from __future__ import annotations

import builtins as own
import copy
import json
import math
import operator
import re
import sys
from cmath import phase
from math import sqrt as root
from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.recording.cases import OTHER, TALL, X, right
from tracepack.pipeline.patches import builtins


def spans(x):
    with torch.profiler.record_function("outer"), torch.autograd.profiler.record_function("inner", "of x"):
        return x.sum(1) * 2


# name -> a function of one tensor of two dimensions that holds for every number of rows
FREE = {
    "numpy of a size": lambda x: x * np.float32(x.shape[0]),
    "range over a size": lambda x: sum(x[i] * i for i in range(x.shape[0])),
    "loop over rows": lambda x: sum(row * 2 for row in x),
    "item": lambda x: x * x.sum().item(),
    "spans of the profiler": spans,
    "arithmetic on items": lambda x: (x.mean().item() * 2 + 1) / x.shape[0] - x[0, 0].item() ** 2,
    "item returned": lambda x: {"n": x.shape[0], "mean": x.mean().item(), "any": x.any().item()},
    "item of a bool": lambda x: x * (x > 0).all().item(),
    "item of a complex": lambda x: (x * 1j).sum().item() * x,
    "abs and round of an item": lambda x: (abs(x.sum().item()), round(x.sum().item(), 1), -x.sum().item()),
    "list repeated": lambda x: [x] * x.shape[0],
    "size arithmetic": lambda x: x.reshape(x.shape[0] // 1, -1) * (x.shape[0] % 4) + x.numel() ** 2 - len(x.shape),
    "divmod": lambda x: x * divmod(x.shape[0], 2)[1],
    "float of a tensor in a tensor": lambda x: torch.tensor([x.sum().item(), 1.0]),
    "sizes in a tensor": lambda x: torch.tensor([x.shape[0], x.shape[1]]),
    "a new tensor of others": lambda x: x.new_tensor([x.mean(), 2.0]) + x.new_zeros(2),
    "range over a fixed size": lambda x: [x[:, i] for i in range(2)],
    "tensor indices": lambda x: x[torch.arange(x.shape[0]).flip(0)],
    "comparison returned": lambda x: (x.shape[0] > 2, x * (x.shape[0] > 2)),
    "f-string of a fixed number": lambda x: {f"k{i}": x[:, i] for i in range(2)},
    "print": lambda x: print(x, x.shape, x.shape[0], x.sum().item()) or x + 1,
    "deepcopy": lambda x: copy.deepcopy(x).mul_(2) + copy.deepcopy([x])[0],
    "numpy number": lambda x: x * np.float32(2) + np.int64(1),
    "numpy number first": lambda x: np.float64(2) * x,
    "array as index": lambda x: x[:, torch.from_numpy(np.array([1, 0]))],
    "isinstance": lambda x: x + isinstance(x.shape[0], int) + isinstance(x, torch.Tensor),
    "distance function": lambda x: torch.nn.functional.triplet_margin_with_distance_loss(
        x, x + 1, x * 3, distance_function=lambda a, b: (a - b).abs().amax(-1), swap=True, reduction="none"
    ),
    "distance module": lambda x: torch.nn.functional.triplet_margin_with_distance_loss(
        x, x + 1, x * 3, distance_function=torch.nn.PairwiseDistance()
    ),
    "list of tensors where numbers could be": lambda x: torch.histogramdd(x, [torch.linspace(-9, 9, 4)] * 2).hist,
    "sizes as torch converts them": lambda x: (
        x * torch.sym_float(1.5) + torch.sym_float(x.shape[0]),
        torch.sym_int(x.shape[0] / 2),
        torch.sym_not(False),
    ),
    "equal": lambda x: torch.equal(x, x + 0.0),
    "int of size arithmetic": lambda x: x * int(x.shape[0] * 0.5),
    "float of a size": lambda x: x * float(x.shape[0]),
    "math of a size": lambda x: x * math.sqrt(x.shape[0]),
    "len": lambda x: x * len(x),
    "bool of a size": lambda x: x * bool(x.shape[0] - 3),
    "len of a list": lambda x: x + len([x, x]),
    "float, int and bool of a tensor": lambda x: (x * float(x.sum()), int(x.sum()), bool(x.any()), float(x[0, 0]) + 1),
    "int of an item": lambda x: x * int(x.sum().item()) + int(-0.5) + int("3"),
    "math of an item": lambda x: x * math.exp(x.mean().item()) + math.sqrt(x.abs().max().item()),
    "math by its own name": lambda x: (x * root(x.shape[0]), root(2), x / math.log(x.numel())),
    "math of plain numbers": lambda x: x * math.sqrt(2) + math.floor(2.5),
    "calls in nested functions": lambda x: [y * len(y) + max(float(y.sum()), 0.5) for y in (x, x[1:])],
    "least and largest": lambda x: (
        x[:, : min(x.shape[1], 1)],
        max(x.shape[0], 4),
        min([x.shape[0], 2, 7]),
        max(x.shape),
    ),
    "least and largest of items": lambda x: x.clamp(max=max(x.sum().item(), 1.0)) + min(1, 2),
    "names used in other ways": lambda x: {
        "t": type(x.shape[1]) is float or type(x.shape[1]) is int,
        "c": type("Made", (), {}).__name__,
        "d": {float: 1}[float],
        "m": [*map(int, "12")],
    },
    "methods of those names": lambda x: (x.float(), x.int(), x.bool(), x.min(), torch.max(x)),
    "text of a size": lambda x: {str(x.shape[0]): x},
    "f-string of a size": lambda x: {f"rows{x.shape[0]}": x},
    # The old form is what is tested.
    "percent of a size": lambda x: {"%s" % x.shape[0]: x},  # noqa: UP031
    "size as a key": lambda x: {x.shape[0]: x},
    "size as an index of a list": lambda x: x * [1, 2, 3, 4, 5, 6][x.shape[0]],
    "f-string of an item": lambda x: {f"{x.sum().item()}": x},
    "f-string of a tensor": lambda x: {f"{x.sum()}": x},
    "json of a size": lambda x: {json.dumps(x.shape[0]): x},
    "list of a tensor": lambda x: (torch.tensor(x.tolist()), x[:, 0].tolist(), x.sum().tolist()),
    "str of the shape": lambda x: {str(x.shape): x},
    "float that map calls": lambda x: x * sum(map(float, [x.sum(), x.min()])),
    "math that map calls": lambda x: x * sum(map(math.tanh, [x.sum().item()])),
    "math by another name": lambda x: [m.sqrt(x.shape[0]) * x for m in (math,)],
    "result type": lambda x: x.to(torch.promote_types(x.dtype, torch.float64)),
}


@pytest.mark.parametrize("name", FREE)
def test_recorded_for_all_sizes_and_data(name) -> None:
    process = FREE[name]
    right(process, X, others=[[OTHER], [TALL], [X[:1]]])
    loaded = tracepack.trace(process, X)
    assert difference(process(TALL), loaded(TALL)) == ""


# name -> a function that holds for the recorded number of rows only
GUARDED = {
    "len by another name": lambda x: x * own.len(x),
    "branch on a size": lambda x: x + 1 if x.shape[0] == 3 else x.sum(),
    "comparison of shapes": lambda x: x + 1 if x.shape == (3, 2) else x.sum(),
    "size in a list": lambda x: x + 1 if x.shape[0] in (3, 4) else x.sum(),
}


@pytest.mark.parametrize("name", GUARDED)
def test_guarded_where_a_size_leaves_the_graph(name, reloaded) -> None:
    right(GUARDED[name], X, others=[[OTHER], [TALL]])
    for mod in (tracepack.trace(GUARDED[name], X), reloaded(tracepack.trace(GUARDED[name], X))):
        with pytest.raises((tracepack.GuardError, tracepack.SignatureError)):
            mod(TALL)


def test_a_size_that_is_not_the_batch_is_guarded_too() -> None:
    mod = tracepack.trace(lambda x: list(x.unbind(1)), X)
    with pytest.raises(tracepack.SignatureError, match="dimension 1 has a wrong size; got 5"):
        mod(torch.ones(3, 5))


def shrunk(number):
    return 1 + next(map(phase, [number]))


def rooted(x):
    return x * shrunk(x.shape[1])


def test_what_fixes_a_size_is_named_and_shown(reloaded) -> None:
    mod = reloaded(tracepack.trace(rooted, X))
    assert mod.signature == "(x: f32[N,2]) -> f32[N,2]"
    with pytest.raises(tracepack.SignatureError) as caught:
        mod(torch.ones(3, 5))
    assert "It is fixed because it was taken as a plain complex number at test_python.py:" in str(caught.value)
    assert "in shrunk: return 1 + next(map(phase, [number]))." in str(caught.value)
    mod = reloaded(tracepack.trace(lambda x: [*x.unbind()], X))
    assert mod.signature == "(x: f32[3,N]) -> [f32[N], f32[N], f32[N]]"
    with pytest.raises(tracepack.SignatureError, match="goes through the rows of a tensor one by one at test_python"):
        mod(TALL)


# name -> a function, and what its signature says after `where`
CONDITIONS = {
    "a branch": (lambda x: x if x.shape[0] > 2 else x.sum(), "N > 2"),
    "the other side": (lambda x: x.sum() if x.shape[0] > 9 else -x, "not N > 9"),
    "arithmetic": (lambda x: (x,) * (x.shape[0] // 2), "N // 2 == 1"),
    "two": (lambda x: {f"{x.numel()}": x} if x.shape[0] + 1 < 7 else x, "N + 1 < 7"),
    "rows of what was computed": (lambda x: [*(x @ x.mT)], "size(matmul, 0) == 3"),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_signature_says_what_guards_ask(name, reloaded) -> None:
    process, text = CONDITIONS[name]
    assert text in reloaded(tracepack.trace(process, X)).signature.partition(" where ")[2]


class Scaler:
    """An object that is called, and a method of it."""

    factor = 2

    def __call__(self, x):
        return x * float(x.sum())

    def scaled(self, x, *, by=3):
        return x * int(x.sum()) * by + max(self.factor, x.shape[0])


@pytest.mark.parametrize("process", [Scaler(), Scaler().scaled], ids=["object", "method"])
def test_methods_and_objects_are_read_like_functions(process) -> None:
    right(process, X, others=[[OTHER], [TALL]])
    assert difference(process(TALL), tracepack.trace(process, X)(TALL)) == ""


def test_print_is_free_and_comes_back() -> None:
    before = print
    mod = tracepack.trace(lambda x: print(x.shape, f"{2}") or x, X)
    assert print is before
    assert mod(TALL).shape == (5, 2)


def test_a_branch_on_whether_there_is_anything_holds_for_all_that_is_not_empty() -> None:
    mod = tracepack.trace(lambda x: x.mean() if x.numel() else torch.zeros(1), X)
    for x in (OTHER, TALL, X[:1]):
        assert torch.equal(mod(x), x.mean())
    with pytest.raises(tracepack.GuardError, match="because a branch was taken on it"):
        mod(X[:0])


def test_a_python_whose_bytecode_was_not_tested_is_refused(monkeypatch, reloaded) -> None:
    mod = tracepack.trace(lambda x: x + 1, X)
    monkeypatch.setattr(builtins, "TESTED", ((3, 8), (3, 9)))
    text = rf"was not tested on this Python; got 3.{sys.version_info[1]}; expected 3.8 to 3.9. Trace with one of those"
    with pytest.raises(tracepack.RecordError, match=text):
        tracepack.trace(lambda x: x + 1, X)
    assert torch.equal(mod(X), X + 1)
    assert torch.equal(reloaded(mod)(X), X + 1)


def test_every_python_that_the_package_takes_was_tested() -> None:
    """The classifiers of pyproject.toml, the bytecode that is rewritten, and the Pythons that `make` looks for."""
    root = Path(__file__).parents[2]
    named = re.findall(r"Python :: (3\.\d+)", (root / "pyproject.toml").read_text(encoding="utf-8"))
    assert [tuple(map(int, version.split("."))) for version in (named[0], named[-1])] == list(builtins.TESTED)
    assert f"(3, {builtins.TESTED[1][1] + 1})" in (root / "tools" / "make_venv.sh").read_text(encoding="utf-8")


LESS = "__lt__"
OPERATORS = {
    "a truth in a map": (lambda x, n, s: x * (True in map((3).__eq__, x.shape)), "guarded"),
    "a key": (lambda x, n, s: x * {True: 5}.get((3).__lt__(n), 2), "free"),
    "a count": (lambda x, n, s: x * [(3).__lt__(n), (3).__gt__(n)].count(True), "guarded"),
    "a filter": (lambda x, n, s: x * len(list(filter((3).__eq__, x.shape))), "guarded"),
    "a sum": (lambda x, n, s: x * sum(map((2).__mul__, x.shape)), "free"),
    "a reversed operator": (lambda x, n, s: x * (2).__rsub__(n), "free"),
    "of a class": (lambda x, n, s: x * int.__sub__(7, n), "free"),
    "a text": (lambda x, n, s: x * "ab".__eq__(s), "free"),
    "beside a comparison": (lambda x, n, s: [(3).__lt__(n), n > 1].count(True) * x, "guarded"),
    "of the class alone": (lambda x, n, s: x * [int.__lt__(3, n)].count(True), "guarded"),
    "by getattr": (lambda x, n, s: x * [getattr(3, LESS)(n), 1].count(True), "guarded"),
    "bits": (lambda x, n, s: x * (2).__and__(n) + (True).__or__(n > 2) + (1).__lshift__(n), "free"),
    "plain": (lambda x, n, s: x * (3).__add__(4) + float.__add__(1.5, 2.5), "free"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_that_is_looked_up_as_a_method(name):
    process, length = OPERATORS[name]
    mod = tracepack.trace(process, torch.ones(2, 3), 2, "ab")
    for shape in ((2, 3), (3, 3), (5, 1)):
        for number in (2, 3, 7):
            for text in ("ab", "c"):
                x = torch.rand(shape)
                wanted = process(x, number, text)
                try:
                    got = mod(x, number, text)
                except tracepack.GuardError:
                    assert length == "guarded"
                else:
                    assert torch.equal(got, wanted), (shape, number, text)


OWN = (3).__lt__
TABLE = {"less": int.__lt__}


def counting(less):
    return lambda x, n: x * [less(n)].count(True)


KEPT = {
    "a global": lambda x, n: x * [OWN(n)].count(True),
    "a table": lambda x, n: x * [TABLE["less"](3, n)].count(True),
    "a default": lambda x, n, less=OWN: x * [less(n)].count(True),
    "a closure": counting(OWN),
    "by a text": lambda x, n: x * [operator.methodcaller("__lt__", n)(3)].count(True),
}


@pytest.mark.parametrize("name", KEPT)
def test_an_operator_that_was_looked_up_before_is_refused(name):
    with pytest.raises(tracepack.RecordError, match="an operator of a plain number or text, __lt__, is called"):
        tracepack.trace(KEPT[name], torch.ones(2, 3), 2)
