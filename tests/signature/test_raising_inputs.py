"""Inputs whose classes raise when they are looked at: errors of the call, as for anything else that no input takes."""

from __future__ import annotations

import io
from contextlib import suppress

import numpy as np
import pytest
import torch

import tracepack


class Proxy:
    """One that stands for nothing yet."""

    @property
    def __class__(self):
        raise RuntimeError("unbound")


class Unnamed(type):
    def __getattribute__(cls, name):
        raise RuntimeError(name)


class OfUnnamed(metaclass=Unnamed):
    pass


class Silent:
    def __getattribute__(self, name):
        raise RuntimeError(name)


class Elsewhere:
    def __dlpack__(self, **_):
        raise RuntimeError("gone")

    def __dlpack_device__(self):
        raise RuntimeError("gone")


class Keyless(dict):
    def keys(self):
        raise RuntimeError("closed")

    def __iter__(self):
        raise RuntimeError("closed")


class Endless(list):
    def __len__(self):
        raise RuntimeError("unknown")

    def __iter__(self):
        raise RuntimeError("unknown")


class Guarded(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_, **__):
        raise RuntimeError("not on this machine")


class Lazy(np.ndarray):
    @property
    def __class__(self):
        raise RuntimeError("not loaded")


# The class is named in a function, since pytest looks at parameters.
MADE = [
    Proxy, lambda: OfUnnamed(), Silent, Elsewhere, Keyless, lambda: Endless([1.0]),
    lambda: torch.rand(3).as_subclass(Guarded), lambda: np.random.rand(3).view(Lazy),
]  # fmt: skip
FUNCTIONS = [
    (lambda x: x * 2, torch.rand(3)),
    (lambda n: n + 1, 3),
    (lambda text: text.upper(), "abc"),
    (lambda xs: xs[0] + xs[1], (torch.rand(3), torch.rand(3))),
    (lambda record: record["a"] * 2, {"a": torch.rand(3)}),
    (lambda texts: [text.upper() for text in texts], ["a", "b"]),
]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("convert", [False, True])
@pytest.mark.parametrize(("function", "example"), FUNCTIONS)
def test_an_input_that_raises_is_an_error_of_the_call(function, example, convert, make) -> None:
    file = io.BytesIO()
    traced = tracepack.trace(function, example)
    traced.save(file)
    mod = tracepack.load(file.getvalue(), convert=convert)
    for handed in (make(), [make(), make()], {"a": make()}):
        with suppress(tracepack.SignatureError):  # some pass for the tensors that they are
            mod(handed)
        with suppress(tracepack.SignatureError):
            traced.save(io.BytesIO(), examples=[{mod.inputs[0].name: handed}])
    with pytest.raises(tracepack.SignatureError):
        mod.run(make())
    mod(example)


@pytest.mark.parametrize("make", MADE)
def test_an_example_that_raises_is_an_error_of_the_trace(make) -> None:
    for handed in (make(), [make(), make()], {"a": make()}):
        with pytest.raises(tracepack.TracepackError):
            tracepack.trace(lambda x: 1, handed)


def test_the_error_names_what_was_raised_and_keeps_it() -> None:
    mod = tracepack.trace(lambda x: x * 2, torch.rand(3))
    with pytest.raises(
        tracepack.SignatureError, match="an input cannot be looked at; got an object that raises Run"
    ) as e:
        mod(Proxy())
    assert isinstance(e.value.__cause__, RuntimeError)
