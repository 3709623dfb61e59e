"""Runs such statements by torch's operators and as C++ with the address sanitizer, and compares with whole numbers."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from random import Random

import torch

from tests.fuzz.children import Loss, survive
from tests.fuzz.comprehensions.reference import Outside, Reference, dtype_of
from tests.fuzz.comprehensions.writer import Writer, Written, tensors
from tracepack.ops.comprehension import Options, define
from tracepack.ops.comprehension.expr.errors import ComprehensionError, IndexRangeError

STATEMENTS = 8
_OUTSIDE = "an index is outside"
_REFUSED = "refused"
Outcome = list[int] | str


def attempt(index: int, tally: Counter[str]) -> str:
    """One definition of a few statements, by every emitter; returns what is wrong, or nothing."""
    random = Random(index)
    inputs = tensors(random)
    writer = Writer(random, tuple(inputs), len(inputs["small"]))
    gather = random.choice(("check", "check", "clamp"))
    statements = [writer.statement() for _ in range(STATEMENTS)]
    expected = [reference(s, inputs, clamp=gather == "clamp") for s in statements]
    right: list[int] = []
    for at, statement in enumerate(statements):
        (found,) = outcomes([statement], inputs, gather, Options("torch"))
        if found == _REFUSED:
            tally[_REFUSED] += 1
        elif found != expected[at]:
            return f"torch, {gather}: {statement.text('O')}: {found} for {expected[at]}"
        else:
            tally["outside" if found == _OUTSIDE else "right"] += 1
            right += [] if found == _OUTSIDE else [at]
    for options, chosen in _compiled(random, statements, right):
        found = outcomes([statements[at] for at in chosen], inputs, gather, options)
        for at, one in zip(chosen, found, strict=True):
            if one != expected[at]:
                return f"C++ {options}, {gather}: {statements[at].text('O')}: {one} for {expected[at]}"
    wild = [s for s, e in zip(statements, expected, strict=True) if e == _OUTSIDE]
    return _wild(wild, inputs, gather)


def _compiled(random: Random, statements: Sequence[Written], right: Sequence[int]) -> list[tuple[Options, list[int]]]:
    """Schedules, each with the numbers of the statements that it can be for."""
    reduced = [at for at in right if statements[at].operator != "="]
    others = (Options("naive", check=False), list(right)), (Options(vectorise="k", check=False), reduced)
    more = (*others, (Options(vectorise="i", check=False), list(right)))
    return [way for way in ((Options(check=False), list(right)), random.choice(more)) if way[1]]


def _wild(statements: Sequence[Written], inputs: dict[str, torch.Tensor], gather: str) -> str:
    """Whether compiled code stops at an index outside, as torch's operators did."""
    for statement in statements[:1]:
        (found,) = outcomes([statement], inputs, gather, Options("naive", check=False))
        if found not in (_OUTSIDE, _REFUSED):
            return f"C++ naive, {gather}: {statement.text('O')}: {found} for {_OUTSIDE}"
    return ""


def outcomes(
    statements: Sequence[Written], inputs: dict[str, torch.Tensor], gather: str, options: Options
) -> list[Outcome]:
    """The values of each statement, all in one definition, or for each why there are none."""
    params = ", ".join(f"{str(t.dtype).removeprefix('torch.')}({len(t)}) {name}" for name, t in inputs.items())
    targets = [f"O{at}" for at in range(len(statements))]
    body = "\n  ".join(s.text(target) for s, target in zip(statements, targets, strict=True))
    text = f"def f({params}) -> ({', '.join(targets)}) {{\n  {body}\n}}"
    try:
        found = define(text, gather=gather)(*inputs.values(), options=options)
    except IndexRangeError:
        return [_OUTSIDE] * len(statements)
    except ComprehensionError as error:
        return [_REFUSED if len(statements) == 1 else str(error)] * len(statements)
    results = found if isinstance(found, list | tuple) else [found]
    return [result.tolist() for result in results]


def reference(statement: Written, inputs: dict[str, torch.Tensor], *, clamp: bool) -> Outcome:
    """The values of a statement by whole numbers."""
    numbers, dtype = Reference(inputs, clamp), dtype_of(statement.value, inputs)
    rounds = range(1) if statement.operator == "=" else range(statement.low, statement.high)
    try:
        rows = [[numbers.value(statement.value, {"i": i, "k": k}) for k in rounds] for i in range(statement.rows)]
    except Outside:
        return _OUTSIDE
    return [row[0] if statement.operator == "=" else numbers.reduced(statement.operator, row, dtype) for row in rows]


def run(count: int, first: int = 0) -> int:
    """Tries so many definitions in children, and returns 1 if one was lost."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tally: Counter[str] = Counter()
    lost: list[Loss] = list(survive(count, lambda index: attempt(first + index, tally), most=20))
    for loss in lost:
        print(f"comprehensions {first + loss.index}: {loss.outcome}")
    print(f"{count} definitions of {STATEMENTS} statements: {len(lost)} lost")
    return int(bool(lost))
