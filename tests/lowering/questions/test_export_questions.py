"""Models that ask about the export that runs them are answered as in a plain run, or refused with the line."""

from __future__ import annotations

import builtins
import cProfile
import functools
import gc
import math
import numbers
import sys

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensor
from torch.compiler import is_compiling
from torch.overrides import has_torch_function, has_torch_function_unary
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

import tracepack
from tests.lowering.questions.exporting import is_exporting

INPUTS = (
    torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    torch.tensor([[200.0, math.nan], [math.inf, -math.inf], [0.0, 101.0], [1.0, 2.0]]),
    torch.full((7, 2), 300.0),
)
kind_of = type


def odd(x, asked):
    """Two ways that differ only above 100."""
    return torch.where(x > 100, x * 2, x) if asked else x * 1.0


@functools.singledispatch
def is_no_int(n) -> bool:
    return True


@is_no_int.register(int)
def _(n) -> bool:
    return False


def matched(n) -> bool:
    match n:
        case int():
            return False
    return True


def by_inner_function(x):
    def plain(n) -> bool:
        return type(n) is int

    return not all(map(plain, x.shape))


QUESTIONS = {
    "is_compiling": lambda x: torch.compiler.is_compiling(),
    "is_exporting": lambda x: torch.compiler.is_exporting(),
    "is_compiling by its name": lambda x: is_compiling(),
    "is_compiling as a value": lambda x: functools.partial(is_compiling)(),
    "is_compiling of dynamo": lambda x: torch._dynamo.external_utils.is_compiling(),
    "the flag itself": lambda x: bool(torch.compiler._is_compiling_flag),
    "jit.is_tracing": lambda x: torch.jit.is_tracing(),
    "onnx.is_in_onnx_export": lambda x: torch.onnx.is_in_onnx_export(),
    "is_fx_tracing": lambda x: torch.fx._symbolic_trace.is_fx_tracing(),
    "type": lambda x: type(x) is not torch.Tensor,
    "type of a result": lambda x: type(x + 1) is not torch.Tensor,
    "type in a tuple": lambda x: type(x) not in (torch.Tensor, nn.Parameter),
    "name of the type": lambda x: type(x).__name__ != "Tensor",
    "type as a key": lambda x: {torch.Tensor: False}.get(type(x), True),
    "type by another name": lambda x: kind_of(x) is not torch.Tensor,
    "type in map": lambda x: [*map(type, x.shape)] != [int, int],
    "type of a type": lambda x: type(type(x)) is type or not isinstance(type(x), type),
    "__class__": lambda x: x.__class__ is not torch.Tensor,
    "FakeTensor": lambda x: isinstance(x, FakeTensor),
    "FakeTensor or more": lambda x: isinstance(x, (list, int | FakeTensor)),
    "fake_mode": lambda x: hasattr(x, "fake_mode") or getattr(x, "fake_mode", None) is not None,
    "detect_fake_mode": lambda x: torch._guards.detect_fake_mode(x) is not None,
    "TracingContext": lambda x: torch._guards.TracingContext.try_get() is not None,
    "has_torch_function": lambda x: has_torch_function((x,)),
    "has_torch_function_unary": lambda x: has_torch_function_unary(x),
    "has_torch_function by its module": lambda x: torch.overrides.has_torch_function((x,)),
    "mode of functions": lambda x: torch.overrides._get_current_function_mode() is not None,
    "modes of functions": lambda x: torch._C._len_torch_function_stack() > 0,
    "is_in_torch_dispatch_mode": lambda x: is_in_torch_dispatch_mode(),
    "mode of operators": lambda x: _python_dispatch._get_current_dispatch_mode() is not None,
    "modes of operators": lambda x: torch._C._len_torch_dispatch_stack() > 0,
    "get_proxy_mode": lambda x: torch.fx.experimental.proxy_tensor.get_proxy_mode() is not None,
    "type of a size": lambda x: type(x.shape[0]) is not int,
    "type of a size as a key": lambda x: {int: False}.get(type(x.size(0)), True),
    "__class__ of a size": lambda x: x.shape[0].__class__ is not int,
    "SymInt": lambda x: isinstance(x.shape[0], torch.SymInt),
    "int": lambda x: not isinstance(x.shape[0], int),
    "Integral": lambda x: not isinstance(x.shape[0], numbers.Integral),
    "case int()": lambda x: matched(x.shape[0]),
    "singledispatch": lambda x: is_no_int(x.shape[0]),
    "node of a size": lambda x: hasattr(x.shape[0], "node"),
    "in a generator": lambda x: any(type(n) is not int for n in x.shape),
    "in an inner function": by_inner_function,
    "condition is True": lambda x: (x.shape[0] > 1) is not True or (x.shape[0] == 1) is not False,
    "type of a condition": lambda x: type(x.shape[0] > 1) is not bool,
    "type of a quotient": lambda x: type(x.shape[0] / 2) is not float,
}


def require_agreement(model, inputs=INPUTS) -> None:
    op = tracepack.script(model, example=inputs[0])
    for x in inputs:
        with torch.no_grad():
            torch.testing.assert_close(op(x), model(x), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_answered_as_in_a_plain_run(name) -> None:
    asks = QUESTIONS[name]
    assert not asks(INPUTS[0])
    require_agreement(lambda x: odd(x, asks(x)))


class Holds(nn.Module):
    """A model that asks for the type of what it holds."""

    def __init__(self, asks) -> None:
        super().__init__()
        self.asks, self.weight, self.plain = asks, nn.Parameter(torch.ones(1)), torch.ones(1)
        self.register_buffer("count", torch.ones(1))

    def forward(self, x):
        return odd(x, self.asks(self)) * self.weight * self.count


HELD = {
    "type of a parameter": lambda m: type(m.weight) is not nn.Parameter,
    "__class__ of a parameter": lambda m: m.weight.__class__ is not nn.Parameter,
    "Parameter": lambda m: not isinstance(m.weight, nn.Parameter),
    "type of a buffer": lambda m: type(m.count) is not torch.Tensor or isinstance(m.count, nn.Parameter),
    "type of a tensor": lambda m: type(m.plain) is not torch.Tensor,
    "type of the model": lambda m: type(m) is not Holds or m.__class__ is not Holds or type(type(m)) is not type,
}


@pytest.mark.parametrize("name", HELD)
def test_what_a_model_holds_has_the_types_of_a_plain_run(name) -> None:
    require_agreement(Holds(HELD[name]))


class Own(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_a_mode_of_the_models_own_is_heard_of() -> None:
    def model(x):
        with Own():
            asked = torch.overrides.has_torch_function((x,)) and torch._C._len_torch_function_stack() == 1
        return odd(x, asked)

    require_agreement(model)


def checked(x):
    if not torch.compiler.is_compiling() and x.isnan().any():
        raise ValueError("no number")
    return x * 2


def test_a_check_that_is_left_out_in_exports_is_refused_with_its_line_and_the_question() -> None:
    words = (
        r"^op 'checked', test_export_questions.py:\d+ in checked: if not torch.compiler.is_compiling\(\) and "
        r"x.isnan\(\).any\(\): Python needs a value here that only the data of a run decides: the model asks "
        r"torch.compiler.is_compiling\(\), and goes the way of a plain run, as the file must; got the question in "
        r"test_export_questions.py:\d+ in checked: .*\. Check the data before or after the op, in the traced function"
    )
    with pytest.raises(tracepack.LoweringError, match=words):
        tracepack.script(checked, example=INPUTS[0])


def test_functions_have_their_own_code_and_python_its_own_names_again() -> None:
    def model(x):
        codes.add(model.__code__)
        return odd(x, type(x) is not torch.Tensor)

    codes, before = set(), model.__code__
    require_agreement(model)
    assert model.__code__ is before
    assert len(codes) > 1
    assert "__getattribute__" not in {*vars(torch.SymInt), *vars(FakeTensor)}
    assert builtins.type is type
    assert "type" not in globals()
    assert torch.overrides.has_torch_function is has_torch_function


def test_a_profiler_goes_on() -> None:
    calls: list[str] = []

    def note(frame, event, arg) -> None:
        calls.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        require_agreement(lambda x: odd(x, type(x) is not torch.Tensor))
        assert sys.getprofile() is note
    finally:
        sys.setprofile(None)
    assert calls.count("odd") > 2
    with cProfile.Profile() as profile:
        require_agreement(lambda x: odd(x, type(x) is not torch.Tensor))
    assert any(row.code.co_name == "odd" for row in profile.getstats() if not isinstance(row.code, str))


def test_in_a_process_that_has_frozen_its_objects() -> None:
    gc.freeze()
    try:
        require_agreement(lambda x: odd(x, type(x) is not torch.Tensor))
    finally:
        gc.unfreeze()


def test_the_user_s_own_export_is_told() -> None:
    found = []

    def forward(self, x):
        found.append((torch.compiler.is_exporting(), is_exporting(), type(x) is torch.Tensor))
        return x * 2

    model = type("Told", (nn.Module,), {"forward": forward})()
    torch.export.export(model, (INPUTS[0],), strict=False)
    assert found == [(True, True, False)]
