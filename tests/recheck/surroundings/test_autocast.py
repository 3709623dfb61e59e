"""Functions that ask for a dtype which autocast decides: refused under autocast, and others run there as in Python."""

from __future__ import annotations

import pytest
import torch

import tracepack

X = torch.rand(2, 3, generator=torch.Generator().manual_seed(0))
LINEAR = torch.nn.Linear(3, 3).eval()
OP = tracepack.script(LINEAR)

ASKING = {
    "a condition": lambda x: 1 if (x @ x.t()).dtype == torch.float32 else 2,
    "of an op": lambda x: str(OP(x).dtype),
    "of a model": lambda x: str(LINEAR(x).dtype),
    "the bytes of an element": lambda x: (x @ x.t()).element_size(),
    "the range of numbers": lambda x: torch.finfo((x @ x.t()).dtype).eps,
    "a new tensor": lambda x: torch.zeros(2, dtype=(x @ x.t()).dtype),
    "a conversion": lambda x: x.to((x @ x.t()).dtype),
    "a class": lambda x: isinstance(x @ x.t(), torch.FloatTensor),
    "promotion": lambda x: torch.promote_types((x @ x.t()).dtype, torch.bfloat16) == torch.bfloat16,
}


@pytest.mark.parametrize("name", ASKING)
def test_what_asks_for_a_dtype_is_refused_under_autocast(name: str) -> None:
    process = ASKING[name]
    mod = tracepack.trace(process, X)
    got, wanted = mod(X), process(X)
    assert torch.equal(got, wanted) if isinstance(wanted, torch.Tensor) else got == wanted
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(tracepack.GuardError, match="depend on autocast"):
        mod(X)


PLAIN = {
    "no question": lambda x: (x @ x.t()).softmax(-1),
    "the dtype of an input": lambda x: OP(x.float() if x.dtype != torch.float32 else x),
    "a dtype that is the same": lambda x: OP(x).mean(0).to(x.dtype),
}


@pytest.mark.parametrize("name", PLAIN)
def test_others_run_there_as_in_python(name: str) -> None:
    mod = tracepack.trace(PLAIN[name], X)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        wanted = PLAIN[name](X)
        got = mod(X)
    assert got.dtype == wanted.dtype
    assert torch.equal(got, wanted)
