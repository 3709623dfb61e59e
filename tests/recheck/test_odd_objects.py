"""Objects whose own `__getattr__`, `__hash__` or `__class__` raises: a trace asks them for nothing."""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict
from types import FunctionType, ModuleType

import numpy as np
import pytest
import torch

import tracepack
from tracepack.ops.lowering.patches.held_functions import held_functions


class Strict:
    """Reads like a configuration: a name that it lacks is a KeyError."""

    __slots__ = ("scale", "unset")

    def __init__(self) -> None:
        self.scale = 2.0

    def __getattr__(self, name: str) -> object:
        raise KeyError(name)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


class Unhashed(Strict):
    """It refuses to be a key."""

    def __hash__(self) -> int:
        raise ValueError("no key")


class Unbound:
    """A proxy that stands for nothing yet."""

    scale = 2.0

    @property
    def __class__(self) -> type:
        raise RuntimeError("it is used outside of a request")


class StrictModel(torch.nn.Module):
    """A model that says so, too."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def __getattr__(self, name: str) -> object:
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise KeyError(name) from None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


STRICT = Strict()
UNHASHED = Unhashed()
UNBOUND = Unbound()
LAZY = ModuleType("lazy")
LAZY.scale = 2.0
LAZY.__getattr__ = STRICT.__getattr__


@pytest.mark.parametrize(
    "process",
    [
        STRICT,
        lambda x: STRICT(x),
        lambda x: x * STRICT.scale,
        lambda x: x * UNHASHED.scale,
        lambda x: UNHASHED(x),
        lambda x: x * LAZY.scale,
        lambda x, odd=STRICT: x * odd.scale,
    ],
    ids=["itself", "called", "read", "without a hash", "called without a hash", "a module", "a default"],
)
def test_what_an_object_lacks_is_not_asked_of_it(process) -> None:
    mod = tracepack.trace(process, torch.rand(2, 3))
    x = torch.rand(4, 3)
    assert torch.equal(mod(x), x * 2)


def test_a_model_that_raises_another_error_for_a_name_is_scripted() -> None:
    model = StrictModel()
    op = tracepack.script(model)
    assert op.name == "StrictModel"
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 3))
    x = torch.rand(4, 3)
    with torch.no_grad():
        assert torch.equal(mod(x), model(x))


def test_an_object_that_cannot_be_looked_at_is_refused() -> None:
    with pytest.raises(
        tracepack.RecordError, match=r"a Unbound that the function reaches, .*RuntimeError\('it is used"
    ):
        tracepack.trace(lambda x: x * UNBOUND.scale, torch.rand(2, 3))


class Unanswering(type):
    """A metaclass that answers nothing."""

    def __getattribute__(cls, name: str) -> object:
        raise RuntimeError(name)


class Unnamed(metaclass=Unanswering):
    """A class of it."""


def test_functions_are_found_beside_such_an_object() -> None:
    """Lowering looks through all that the callers hold, whosever it is."""

    def inner(_: object) -> tuple[FunctionType, ...]:
        return held_functions(sys._getframe())

    assert inner in inner(Unbound())
    assert inner in inner(Unnamed)


EVERY_SECOND = np.arange(24.0).reshape(6, 4)[::2]
OF_FORTRAN = np.asfortranarray(np.arange(12.0).reshape(3, 4))


def rows_of_a_table(x):
    return EVERY_SECOND, x


def a_table_of_fortran(x):
    return OF_FORTRAN, x


def test_an_array_that_is_returned_lies_as_in_python() -> None:
    assert tracepack.trace(a_table_of_fortran, torch.rand(2))(torch.rand(3))[0].strides == (8, 24)
    with pytest.raises(tracepack.RecordError, match=r"an array of strides \(32, 8\) instead of \(64, 8\); a .copy\(\)"):
        tracepack.trace(rows_of_a_table, torch.rand(2))
    assert tracepack.trace(lambda x: (EVERY_SECOND.copy(), x), torch.rand(2))(torch.rand(3))[0].strides == (32, 8)


def test_an_ordered_dict_is_put_back_that_held_a_key_of_the_recording():
    sizes = OrderedDict({7: 1, 9: 2})
    sizes.move_to_end(7)

    def process(key, x):
        sizes[key] = 1
        return x * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the key is fixed
        tracepack.trace(process, "a", torch.ones(1))
    assert list(sizes.items()) == [(9, 2), (7, 1)]
    process("b", torch.ones(1))
    assert list(sizes) == [9, 7, "b"]
