"""A function or a model that an argument chooses before it is called; models and weights by a text or a number."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

torch.manual_seed(4)
FINE, COARSE = torch.nn.Linear(3, 2).eval(), torch.nn.Linear(3, 2).eval()
OPS = [tracepack.script(model, device="cpu") for model in (FINE, COARSE)]
CHAIN = torch.nn.Sequential(FINE, torch.nn.ReLU()).eval()
HEADS = torch.nn.ModuleDict({"fine": FINE, "coarse": COARSE}).eval()
LAYERS = torch.nn.ModuleList([FINE, COARSE]).eval()
WEIGHTS = torch.nn.ParameterDict({"en": torch.nn.Parameter(torch.rand(3)), "de": torch.nn.Parameter(torch.rand(3))})
OFFSETS = torch.nn.ParameterList([torch.rand(3), torch.rand(3)])
X, Y = torch.rand(2, 3), torch.rand(1, 3)


def doubled(x):
    return x * 2


def raised(x):
    return x + 1


def model_by_size(x, n):
    model = FINE if n > 2 else COARSE
    return model(x)


def model_by_data(x):
    model = CHAIN if x.sum() > 0 else COARSE
    return model(x)


def op_by_number(x, n):
    op = OPS[0] if n > 2 else OPS[1]
    return op(x), op(x + 1)


def function_of_three(x, n):
    if n > 5:
        step, factor = doubled, 3
    elif n > 2:
        step, factor = raised, 4
    else:
        step, factor = doubled, 5
    return step(x) * factor


def nested(x, n, k):
    step = (doubled if k > 1 else raised) if n > 2 else (raised if k > 0 else torch.neg)
    return step(x)


def made_here(x, n):
    step = (lambda value: value * 2) if n > 2 else (lambda value: value - n)
    return step(x), step(x + 1)


class Reader:
    """Has two ways."""

    def low(self, x):
        return FINE(x) * 2

    def high(self, x):
        return FINE(x) + 2

    def __call__(self, x, n):
        way = self.low if n < 3 else self.high
        return way(x)


def heads_of_words(x, words):
    found = []
    for word in words.split(","):
        if word in HEADS:
            score = HEADS[word](x).sum().item()
            found.append(score)
    return found


def weights_of_words(x, words):
    return [(WEIGHTS[word] * x).sum().item() for word in words.split(",") if word in WEIGHTS]


BY_NUMBER = [[Y, 1], [Y, 2], [X, 9]]
CASES = {
    "a model by a size": Case(model_by_size, [X, 3], BY_NUMBER),
    "a model by data": Case(model_by_data, [X], [[-Y], [Y]]),
    "an op by a number": Case(op_by_number, [X, 3], BY_NUMBER),
    "one function of three": Case(function_of_three, [X, 3], BY_NUMBER),
    "nested choices": Case(nested, [X, 3, 2], [[Y, 1, 2], [Y, 1, -2], [X, 4, 1]]),
    "functions that are made here": Case(made_here, [X, 3], BY_NUMBER),
    "methods": Case(Reader(), [X, 3], BY_NUMBER),
    "builtins": Case(lambda a, n: (max if n > 2 else min)(a, n), [5, 3], [[7, 1], [1, 3], [0, 2]]),
    "of a ModuleDict": Case(lambda x, name: HEADS[name](x), [X, "fine"], [[Y, "coarse"]]),
    "of a ModuleDict in a loop": Case(heads_of_words, [X, "fine,coarse"], [[Y, "coarse,none,fine"], [Y, ""]]),
    "of a ParameterDict": Case(lambda x, name: x * WEIGHTS[name], [X, "en"], [[Y, "de"]]),
    "of a ParameterDict in a loop": Case(weights_of_words, [X, "en,de"], [[Y, "de,none"], [Y, ""]]),
    "of lists": Case(lambda x, i: (LAYERS[i](x), OFFSETS[i] + x), [X, 0], [[Y, 1], [Y, -1]]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_called_may_be_chosen(name) -> None:
    check(CASES[name])


def a_function_or_none(x, n):
    step = doubled if n > 2 else None
    return x if step is None else step(x)


def test_a_function_or_none_is_a_block() -> None:
    check(Case(a_function_or_none, [X, 3], BY_NUMBER))


def test_a_function_or_none_keeps_its_guard_with_a_form_that_works(no_blocks) -> None:
    with pytest.warns(UserWarning, match=r"a choice gives a function. Call it on both sides: f\(x\) if condition else"):
        mod = tracepack.trace(a_function_or_none, X, 3)
    with pytest.raises(tracepack.GuardError, match="a branch was taken on it; got False; expected True"):
        mod(X, 1)
    check(Case(lambda x, n: doubled(x) if n > 2 else x, [X, 3], BY_NUMBER))
