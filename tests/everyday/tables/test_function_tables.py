"""Tables of functions, asked for one by an argument: ``STEPS[name](text)``."""

from __future__ import annotations

import itertools
import math
import types
import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check


def reversed_text(text):
    return text[::-1]


STEPS = {"upper": str.upper, "reverse": reversed_text, "strip": str.strip}
POOLS = {"mean": lambda x: x.mean(0), "max": lambda x: x.max(0).values}
NUMBERS = {"sqrt": math.sqrt, "exp": math.exp, "negative": lambda value: -value}
ACTIVATIONS = [torch.relu, torch.tanh, torch.abs]
torch.manual_seed(9)
HEADS = {name: tracepack.script(torch.nn.Linear(4, 3), device="cpu") for name in ("fine", "coarse")}
FORMATS = {"short": lambda value: f"{value:.1f}", "long": lambda value: f"{value:.4e}"}
CLEANING = [str.strip, str.lower, lambda text: text.replace("a", "b")]


def steps(text, names):
    for name in names:
        text = STEPS[name](text)
    return text


def checked(x, how):
    if how not in POOLS:
        raise ValueError(how)
    return POOLS[how](x) * 2


def cleaned(text):
    for step in CLEANING:
        text = step(text)
    return text


def applied(function, value):
    return function(value)


X, Y = torch.randn(3, 4), torch.randn(2, 4)
CASES = {
    "tensors": Case(lambda x, how: POOLS[how](x), [X, "mean"], [[Y, "max"], [Y, "mean"]]),
    "ops": Case(lambda x, head: HEADS[head](x).softmax(-1), [X, "fine"], [[Y, "coarse"], [X, "coarse"]]),
    "numbers": Case(lambda v, name: NUMBERS[name](v), [4.0, "sqrt"], [[1.0, "exp"], [-1.0, "negative"]]),
    "a list": Case(lambda x, n: ACTIVATIONS[n](x), [X, 0], [[Y, 1], [Y, 2], [Y, -1]]),
    "a default": Case(lambda t, n: STEPS.get(n, str.title)(t), ["a b ", "upper"], [[" a b", "strip"], ["a b", "?"]]),
    "in a loop": Case(steps, [" ab ", ["upper"]], [[" ab ", ["reverse", "strip", "upper"]], [" x", []]]),
    "after a check": Case(checked, [X, "mean"], [[Y, "max"]]),
    "for each item": Case(
        lambda kinds, values: [FORMATS[kind](value) for kind, value in zip(kinds, values, strict=True)],
        [["short", "long"], [1.0, 2.0]],
        [[["long"], [1.5]], [[], []], [["short", "long", "long"], [0.1, 1e6, -3.0]]],
    ),
    "all of them": Case(cleaned, [" Ab "], [[""], ["cAba "]]),
    "in a variable": Case(lambda v: (applied(math.sqrt, v), applied(str, v)), [4.0], [[9.0], [0.25]]),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_of_a_table(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


@pytest.mark.parametrize("table", ["dict", "list"])
def test_a_key_that_the_table_lacks_is_an_error_of_the_run(table) -> None:
    if table == "dict":
        mod, given = tracepack.trace(lambda x, how: POOLS[how](x), X, "mean"), "median"
    else:
        mod, given = tracepack.trace(lambda x, how: ACTIVATIONS[how](x), X, 0), 7
    with pytest.raises(tracepack.TracepackError, match=str(given)):
        mod(Y, given)


COUNT = {"calls": 0}


def counting(text):
    COUNT["calls"] += 1
    return text * COUNT["calls"]


CASTS = {"int": int, "text": str}
FORM = "A branch for each key goes all ways: first(x) if key == 'first' else second(x)."


def test_functions_of_several_types_are_refused_with_a_form_that_runs() -> None:
    with pytest.raises(tracepack.RecordError, match="a table of functions is asked by a traced key") as caught:
        tracepack.trace(lambda text, name: CASTS[name](text), "3", "int")
    assert FORM in str(caught.value)

    def form(text, name):
        return int(text) if name == "int" else str(text)

    mod = tracepack.trace(form, "3", "int")
    assert [mod("7", key) for key in ("int", "text", "other")] == [7, "7", "7"]


def test_a_function_that_counts_in_a_table_is_refused_and_its_branch_says_why() -> None:
    with pytest.raises(tracepack.RecordError, match="a table of functions is asked by a traced key") as caught:
        tracepack.trace(lambda text, name: {"count": counting, "same": str.strip}[name](text), "3", "count")
    assert FORM in str(caught.value)
    with pytest.raises(tracepack.RecordError, match="the function keeps state in a global, 'calls'"):
        tracepack.trace(lambda text, name: counting(text) if name == "count" else text.strip(), "3", "count")


def lower(text):
    return text.lower()


lower.kind = "lower"
ASKED = {"upper": str.upper, "reverse": reversed_text, "lower": lower}
QUESTIONS = {
    "identity": lambda name: ASKED[name] is reversed_text,
    "no identity": lambda name: ASKED[name] is not reversed_text,
    "equality": lambda name: ASKED[name] == reversed_text,
    "membership": lambda name: ASKED[name] in (reversed_text, lower),
    "a set": lambda name: ASKED[name] in {reversed_text, lower},
    "a key": lambda name: {reversed_text: 1, lower: 2, str.upper: 3}[ASKED[name]],
    "hash": lambda name: hash(ASKED[name]) == hash(reversed_text),
    "id": lambda name: id(ASKED[name]) == id(reversed_text),
    "class": lambda name: isinstance(ASKED[name], types.FunctionType),
    "type": lambda name: type(ASKED[name]) is types.FunctionType,
    "an attribute": lambda name: getattr(ASKED[name], "kind", "none"),
    "an attribute or none": lambda name: hasattr(ASKED[name], "kind"),
    "text": lambda name: str(ASKED[name])[:9],
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ASKED)
def test_what_else_is_asked_of_a_chosen_function_never_answers_for_the_stand_in(question, name) -> None:
    function, refused = QUESTIONS[question], ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the key is fixed
            mod = tracepack.trace(lambda text, name: (ASKED[name](text), function(name)), "Ab", name)
    except tracepack.RecordError as error:
        refused = str(error)
    if refused:
        assert "which function a table gives for a traced key is asked" in refused
        return
    for text, other in itertools.product(("", "xY"), ASKED):
        try:
            found = mod(text, other)
        except tracepack.GuardError:
            assert other != name
        else:
            assert found == (ASKED[other](text), function(other))
