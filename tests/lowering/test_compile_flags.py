"""What other threads run while a model is exported: torch's flags for it are variables of the process."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tracepack
from tests.lowering.questions.exporting import is_exporting
from tests.lowering.test_threads import elsewhere
from tracepack.ops.lowering.patches.lock import lowering

X = torch.rand(2, 3)
FOUND: list = []


@pytest.fixture(autouse=True)
def _nothing_found() -> None:
    FOUND.clear()


class Exported(nn.Module):
    """While it is exported, another thread calls a function."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        if is_exporting():
            FOUND.append(elsewhere(self.function))
        return x * 2


@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")
def test_a_torchscript_module_runs_in_another_thread_while_a_model_is_exported() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    model = Exported(lambda: scripted(X))
    op = tracepack.script(model, example=X)
    assert torch.equal(op(X), X * 2)
    assert len(FOUND) > 0
    for got in FOUND:
        torch.testing.assert_close(got, scripted(X))
    assert torch.compiler.is_exporting() is torch.compiler.is_compiling() is False


def test_a_compiled_function_runs_in_another_thread_while_a_model_is_exported() -> None:
    compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
    compiled(X)
    op = tracepack.script(Exported(lambda: compiled(X)), example=X)
    assert torch.equal(op(X), X * 2)
    assert len(FOUND) > 0
    for got in FOUND:
        torch.testing.assert_close(got, X.sin() + 1)


def test_nothing_is_compiled_in_another_thread_while_a_model_is_lowered() -> None:
    from torch._dynamo.convert_frame import compile_lock

    def compiles() -> bool:
        free = compile_lock.acquire(blocking=False)
        if free:
            compile_lock.release()
        return free

    with lowering():
        assert not elsewhere(compiles)
        with lowering():
            assert not elsewhere(compiles)
        assert not elsewhere(compiles)
    assert elsewhere(compiles)


LOOPS = {
    "while_loop": (lambda x: tracepack.while_loop(lambda x: x.max() < 100, lambda x: x * 2, x), [192.0]),
    "cond": (lambda x: tracepack.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, x), [6.0]),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("export", [True, False], ids=["torch.export", "script"])
def test_a_loop_on_data_runs_plainly_in_another_thread_while_a_model_is_exported(name, export, monkeypatch) -> None:
    function, wanted = LOOPS[name]
    mod, x = tracepack.trace(function, torch.ones(1)), torch.tensor([3.0])

    def refuse(*args) -> None:
        raise AssertionError("torch's compiler was asked")

    monkeypatch.setattr(torch, name, refuse)
    model = Exported(lambda: (mod(x).tolist(), function(x).tolist()))
    if export:
        torch.export.export(model, (X,), strict=False)
    else:
        tracepack.script(model, example=X)
    assert len(FOUND) > 0
    assert all(found == (wanted, wanted) for found in FOUND)


class AsksAsTransformersDoes(nn.Module):
    """Keeps what torch says in a variable, and goes on with operators of bool."""

    def forward(self, x):
        tracing = torch.compiler.is_compiling()
        tracing |= isinstance(x, int)
        FOUND.append((tracing, torch.compiler.is_exporting()))
        return x + 1 if tracing is True else x.cumsum(0) - x.cumsum(0) + x + 1


def test_a_model_that_is_exported_gets_bools_from_torch() -> None:
    model = AsksAsTransformersDoes()
    torch.export.export(model, (X,), strict=False)
    assert FOUND.pop() == (True, True)
    op = tracepack.script(model, example=X)
    assert set(FOUND) == {(False, False)}
    FOUND.append(elsewhere(lambda: (torch.compiler.is_compiling(), torch.compiler.is_exporting())))
    assert all(type(value) is bool for found in FOUND for value in found)
    torch.testing.assert_close(op(X), X + 1)


def test_the_functions_of_torch_have_their_own_code_again() -> None:
    codes = torch.compiler.is_compiling.__code__, torch.compiler.is_exporting.__code__
    model = Exported(lambda: (torch.compiler.is_compiling(), torch.compiler.is_exporting()))
    tracepack.script(model, example=X)
    assert FOUND
    assert set(FOUND) == {(False, False)}
    assert (torch.compiler.is_compiling.__code__, torch.compiler.is_exporting.__code__) == codes
    assert torch.compiler.is_compiling.__code__.co_names[-1] == "_is_compiling_flag"
    assert "bool" not in torch.compiler.is_compiling.__code__.co_names
