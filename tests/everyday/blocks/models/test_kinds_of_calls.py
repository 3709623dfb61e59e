"""Models that are given tensors of several ranks or dtypes, as a flag or a number says: each kind is recorded."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

NET = torch.nn.Linear(4, 3).eval()
OP = tracepack.script(NET, device="cpu")
X, Y = torch.rand(2, 4), torch.rand(5, 4)


class Scaled(torch.nn.Module):
    def forward(self, x):
        return x * 2


SCALED = Scaled().eval()


def one_row(x, batch):
    if not batch:
        x = x[0]
    y = OP(x)
    return y.argmax(-1)


def model_of_torch(x, batch):
    if not batch:
        x = x[0]
    return NET(x).softmax(-1)


def unsqueezed(x, n):
    y = x[None] if n > 2 else x
    return {"y": OP(y), "n": n}


def there_and_back(x, single):
    x = x[0].unsqueeze(0) if single else x[0]
    y = OP(x)
    return y[0] if single else y


def of_dtypes(x, double):
    y = x.double() if double else x
    return SCALED(y)


def of_three(x, n):
    if n == 1:
        x = x[0]
    elif n == 2:
        x = x[None]
    return OP(x).argmax(-1)


CASES = {
    "one row": (one_row, [(X, True), (Y, False)]),
    "model of torch": (model_of_torch, [(X, True), (Y, False)]),
    "number": (unsqueezed, [(X, 3), (Y, 1)]),
    "there and back": (there_and_back, [(X, True), (Y, False)]),
    "dtypes": (of_dtypes, [(X, True), (Y, False)]),
    "three": (of_three, [(X, 0), (Y, 1), (X, 2)]),
}
TRACED = [(name, place) for name, (_, examples) in CASES.items() for place in range(len(examples))]


@pytest.mark.parametrize(("name", "place"), TRACED)
def test_a_model_takes_each_kind_that_the_function_gives_it(name, place) -> None:
    process, examples = CASES[name]
    check(Case(process, examples[place], [*examples[:place], *examples[place + 1 :]]))


def test_a_kind_that_the_model_itself_does_not_take_is_no_kind_of_it() -> None:
    norm = tracepack.script(torch.nn.BatchNorm1d(4).eval(), device="cpu")

    def process(x, batch):
        if not batch:
            x = x[0]
        return norm(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(process, X, True)
    torch.testing.assert_close(mod(Y, True), process(Y, True))
    for call in (process, mod):
        with pytest.raises((ValueError, RuntimeError, tracepack.TracepackError)):
            call(Y, False)
