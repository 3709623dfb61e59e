"""What other threads see while a pipeline is optimized or loaded: their output, their warnings and their logs."""

from __future__ import annotations

import io
import logging
import sys
import warnings

import pytest
import torch

import tracepack
from tests.lowering.test_threads import elsewhere
from tracepack.ops.engines.exporting.onnx_export import Exporting
from tracepack.ops.lowering.patches.lock import lowering

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")


def heard() -> tuple[bool, bool, bool]:
    """Whether a thread prints to the process's own stream, and its warnings and logs are heard."""
    try:
        warnings.warn("of another thread", stacklevel=1)
    except UserWarning:  # the tests make errors of warnings
        warned = True
    else:
        warned = False
    return sys.stdout is STREAM[0], warned, logging.getLogger("a user's").isEnabledFor(logging.ERROR)


STREAM = [sys.stdout]


@pytest.fixture
def asked(monkeypatch):
    """What another thread saw whenever torch loaded, traced or froze TorchScript, or exported."""
    found = []
    STREAM[0] = sys.stdout

    def asking(plain):
        def function(*args, **kwargs):
            found.append(elsewhere(heard))
            return plain(*args, **kwargs)

        return function

    for owner, name in ((torch.jit, "load"), (torch.jit, "freeze"), (torch.export, "export")):
        monkeypatch.setattr(owner, name, asking(getattr(owner, name)))
    return found


def test_while_a_pipeline_is_optimized(asked):
    mod = tracepack.trace(lambda x: (x @ x.mT).softmax(-1), torch.rand(3, 4))
    mod.optimize([{"x": torch.rand(3, 4)}], engines=["frozen"])
    assert asked
    assert set(asked) == {(True, True, True)}


def test_while_a_pipeline_is_exported(asked, tmp_path, monkeypatch):
    pytest.importorskip("onnxscript")
    found, plain = [], Exporting.forward

    def forward(self, *inputs):
        if torch.compiler.is_exporting():
            found.append((lowering.held, elsewhere(torch.compiler.is_compiling)))
        return plain(self, *inputs)

    monkeypatch.setattr(Exporting, "forward", forward)
    mod = tracepack.trace(lambda x: (x * 2).softmax(-1), torch.rand(3, 4))
    mod.to_onnx(tmp_path / "made.onnx", [{"x": torch.rand(3, 4)}])
    assert asked
    assert set(asked) == {(True, True, True)}
    assert set(found) == {(True, False)}


class Shouts(torch.nn.Module):
    def forward(self, word: str, x: torch.Tensor) -> tuple[str, torch.Tensor]:
        return word.upper(), x + 1


@pytest.fixture
def opaque():
    op, file = tracepack.script(torch.jit.script(Shouts())), io.BytesIO()
    tracepack.trace(lambda word, x: op(word, x), "a", torch.rand(3)).save(file)
    return file.getvalue()


def test_while_a_file_with_torchscript_is_loaded(opaque, asked):
    assert tracepack.load(opaque, trust=True)("b", torch.zeros(1))[0] == "B"
    assert asked
    assert set(asked) == {(True, True, True)}
