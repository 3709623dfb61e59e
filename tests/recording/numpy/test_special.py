"""Functions of scipy.special on arrays and tensors of a recording: the same bits, dtypes and errors as scipy gives."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
import torch

import tracepack

special = pytest.importorskip("scipy.special", reason="scipy is not installed")
from scipy.special import expit, softmax  # noqa: E402  # after the test for it


def helper(a):
    return special.log_softmax(a, axis=0)


FUNCTIONS = {
    "by its name": lambda x: softmax(x.numpy(), axis=-1) * expit(x.numpy()),
    "of its module": lambda x: special.softmax(x.numpy()),
    "in a helper": lambda x: helper(x.numpy()),
    "options": lambda x: special.logsumexp(x.numpy(), axis=0, keepdims=True),
    "weights": lambda x: special.logsumexp(x.numpy(), b=np.array(0.5)),
    "two arguments": lambda x: special.xlogy(np.abs(x.numpy()), 2.0),
    "a number": lambda x: float(special.erf(x.mean().item())),
    "of the same name as one of numpy": lambda x: (special.log1p(np.abs(x.numpy())), np.log1p(np.abs(x.numpy()))),
    "special values": lambda x: special.gammaln(x.numpy().astype(np.float64) - 2.5),
    "constants": lambda x: x * special.comb(5, 2),
    "back to torch": lambda x: torch.from_numpy(special.logit(special.expit(x.numpy()))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    process, file = FUNCTIONS[name], io.BytesIO()
    tracepack.trace(process, torch.rand(4)).save(file)
    mod = tracepack.load(file.getvalue())
    for x in (torch.tensor([0.5, -3.0]), torch.randn(7), torch.tensor([0.0, 30.0, -30.0])):
        wanted, found = process(x), mod(x)
        for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (wanted, found)), strict=True):
            assert type(a) is type(b)
            assert getattr(a, "dtype", None) == getattr(b, "dtype", None)
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_the_graph_names_the_function_of_scipy():
    mod = tracepack.trace(lambda x: special.log1p(x.numpy()), torch.rand(4))
    assert "scipy.special.log1p" in str(mod.graph)


def test_a_function_that_is_not_in_the_table_is_refused():
    with pytest.raises(tracepack.RecordError, match=r"scipy.special.struve cannot be recorded"):
        tracepack.trace(lambda x: special.struve(0, x.numpy()), torch.rand(4))


def test_without_scipy_the_file_says_what_it_needs(monkeypatch):
    file = io.BytesIO()
    tracepack.trace(lambda x: special.expit(x.numpy()), torch.rand(4)).save(file)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(tracepack.TracepackError, match="'scipy.special.expit' needs scipy.*pip install scipy"):
        tracepack.load(file.getvalue())(torch.rand(3))
