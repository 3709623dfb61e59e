"""Operators of `torch.library` whose module torch names wrongly, or which no other process can import."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from types import FunctionType

import pytest
import torch

import tracepack
from tracepack.ops.kernels.providers import module_of

TRITON = """
import torch

@torch.library.triton_op("tri_t::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3
"""


def test_an_operator_around_a_triton_kernel_is_that_of_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tri_package_t.py").write_text(TRITON, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    package = importlib.import_module("tri_package_t")
    assert module_of("tri_t::thrice") == "tri_package_t"
    file = io.BytesIO()
    tracepack.trace(lambda x: package.thrice(x) + 1, torch.rand(3)).save(file)
    for size in (1, 5):
        x = torch.rand(size)
        assert torch.equal(tracepack.load(file.getvalue(), packages=["tri_package_t"])(x), x * 3 + 1)
    with pytest.raises(tracepack.TrustError, match="tri_package_t"):
        tracepack.load(file.getvalue())


@pytest.mark.parametrize("made_by", [torch.library.custom_op, torch.library.triton_op])
def test_an_operator_of_the_script_is_refused_with_what_to_do(made_by) -> None:
    def added(x: torch.Tensor) -> torch.Tensor:
        return x + 5

    name = f"script_t::{made_by.__name__}"
    of_script = FunctionType(added.__code__, {**globals(), "__name__": "__main__"}, "added")
    of_script.__annotations__, of_script.__module__ = {"x": torch.Tensor, "return": torch.Tensor}, "__main__"
    operator = made_by(name, of_script, mutates_args=(), schema="(Tensor x) -> Tensor")
    operator.register_fake(torch.empty_like)
    words = "it is defined in the script that runs, which no other process imports. Put it into a module, and import"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda x: operator(x), torch.rand(2))
