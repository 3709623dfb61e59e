"""Which loads of a global are calls of it, in the bytecode of every Python that is tested."""

from __future__ import annotations

import dis

import pytest
import torch

import tracepack
from tests.everyday.case import loaded
from tests.recording.cases import OTHER, TALL, X, right
from tracepack.pipeline.patches.builtins import LentCode, as_written
from tracepack.pipeline.patches.bytecode import called

# an expression -> whether each `f` in it is called, from left to right
LOADS = {
    "f()": [True],
    "f(a)": [True],
    "f(a, *b, c=1, **d)": [True],
    "f(*b)": [True],
    "f(a, key=f)": [True, False],
    "f(a if b else c)": [True],
    "f(a or b)": [True],
    "f(a and b or c and d)": [True],
    "f(1 < a < b)": [True],
    "f((a := b))": [True],
    "f(f(a), [f(b) for _ in c], {a: f(b)})": [True, True, True, True],
    "f(a[1:b], not c, -d, a.b.c(d), f'{a!r:>{b}}')": [True],
    "f(lambda: a)": [True],
    "f(a)(b)": [True],
    "a(f)": [False],
    "a(b, key=f)": [False],
    "f": [False],
    "f.a": [False],
    "f.a(b)": [False],
    "a is f": [False],
    "(f + a)(b)": [False],
    "(f or a)(b)": [False],
    "[f][0](a)": [False],
    "(f, a)": [False],
    "{f: a}[b]": [False],
    "f[a](b)": [False],
    "f if f(a) else b(f)": [True, False, False],
    "a(f if b else c)": [False],
    "(f == a)(b)": [False],
    "(f < a < b)(c)": [False],
    "(not f)(a)": [False],
    "(a := f)(b)": [False],
}


@pytest.mark.parametrize("expression", LOADS)
def test_a_load_of_a_global_is_told_from_a_call_of_it(expression) -> None:
    module = compile(f"def function():\n    global a, b, c, d\n    return {expression}", "<table>", "exec")
    (function,) = (constant for constant in module.co_consts if hasattr(constant, "co_code"))
    found = []
    for code in (function, *(constant for constant in function.co_consts if hasattr(constant, "co_code"))):
        instructions = list(dis.get_instructions(code))
        loads = [i for i, this in enumerate(instructions) if (this.opname, this.argval) == ("LOAD_GLOBAL", "f")]
        found += [called(instructions, index) for index in loads]
    assert sorted(found) == sorted(LOADS[expression])


FORMS = {
    "arguments with branches": lambda x: x * float(x.sum() if x.ndim else 1) + float(x.shape[0] or 7),
    "arguments unpacked": lambda x: (float(*[x.sum()]), max(*[float(x[0, 0]), 0.5]), int(*x.shape[:1])),
    "calls in calls": lambda x: max(float(int(float(x.sum())) + len(x)), float(len(x))),
    "a name chosen": lambda x: x * (float if x.ndim else int)(2.5) + (len or max)([1, 2]),
    "a name in the table of what is called": lambda x: {float: torch.neg, int: torch.exp}.get(x.size(0).__class__, id)(
        x
    ),
    "names as values": lambda x: {"f": float.__name__, "m": [*map(float, "12")], "k": max([1, 2], key=float), "x": x},
}


@pytest.mark.parametrize("name", FORMS)
def test_calls_in_every_form_are_recorded(name) -> None:
    right(FORMS[name], X, others=[[OTHER], [TALL], [X[:1]]])


def test_a_condition_that_raises_is_a_check_also_beside_a_comprehension() -> None:
    def process(xs, n):
        if n < 1:
            raise ValueError("no")
        return [x * n for x in xs]

    mod = loaded(process, [1, 2], 2)  # which fails where a warning says that the condition is fixed
    assert mod([1, 2, 3], 4) == [4, 8, 12]
    with pytest.raises(tracepack.GuardError, match="because the function raises an error otherwise"):
        mod([1, 2], 0)


def test_a_condition_that_raises_inside_of_a_handler_is_no_check(no_blocks) -> None:
    def process(x, n):
        try:
            if n < 1:
                raise ValueError("no")
        except ValueError:
            return x
        return x * n

    with pytest.warns(UserWarning, match="a condition on a number is fixed to False, because a branch was taken on it"):
        mod = loaded(process, torch.ones(2), 2)
    assert mod(torch.ones(2), 4).tolist() == [4, 4]
    with pytest.raises(tracepack.GuardError, match="because a branch was taken on it"):
        mod(torch.ones(2), 0)


def test_a_choice_returns_a_constant_on_one_side() -> None:
    def process(found):
        if found:
            return sum(found) / len(found)
        return 0.0

    mod = loaded(process, [1, 2])
    assert [mod([]), mod([4])] == [0.0, 4.0]


def named_as_a_text(x):
    """Its last line is recorded anew; a text in between is that of the variable's name."""
    x = x * 2
    if x > 1000:
        found = [x + each for each in (1, 2)]
        return found[0]
    labels = {}
    labels["x"] = 1
    return x + labels["x"] + len(f"{x % 7:03d}")


def test_a_text_that_is_the_name_of_an_argument_leaves_the_variable_alone() -> None:
    with LentCode([named_as_a_text], deeply=True):
        assert named_as_a_text.__code__ is not _PLAIN
        assert [named_as_a_text(x) for x in (3, 5, 900)] == [10, 14, 1801]


_PLAIN = named_as_a_text.__code__


def test_a_replay_is_held_against_the_code_as_it_was_written() -> None:
    with LentCode([named_as_a_text], deeply=True):
        with as_written():
            assert named_as_a_text.__code__ is _PLAIN
        assert named_as_a_text.__code__ is not _PLAIN
    assert named_as_a_text.__code__ is _PLAIN


def far_jumps(x):
    total, seen = x * 0, []
    for scale in (1.0, 2.0, 3.0):
        try:
            try:
                if x.shape[0] > 4 and scale > 2.0:
                    seen.append(f"{scale} of {x.shape[0]} is {scale * x.shape[0] if scale > 2.5 else 0}")
            except ValueError as error:
                print(f"-- {scale} failed: {str(error)[: (2000 if x.shape[0] > 3 else 260)]}")
            except Exception as error:
                seen.append(("crash", scale, repr(error)[:500]))
                if x.shape[0] > 2:
                    seen.append(repr(error))
                continue
        finally:
            total = total + x * scale
    return total, seen


def test_a_handler_that_begins_with_a_far_jump() -> None:
    right(far_jumps, X)
