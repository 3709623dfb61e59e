"""Gradients of loops that Slang differentiates wrongly as they are written, held against torch's autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy
import torch

from tracepack.ops import slang
from tracepack.ops.slang.language.loop_texts import LIMIT, ROUNDS, bounded, with_for
from tracepack.ops.slang.language.sources import Source

HEAD = "[Differentiable] float {name}(float x) {{ float s = x; int i = 0; {body} return s; }}"
FOURTH_POWER = {
    "left_by_break": "while (i < 9) { s *= x; i++; if (i == 3) break; }",
    "with_continue": "while (i < 6) { i++; if (i % 2 == 0) continue; s *= x; }",
    "and_a_float": "while (i < 3 && (s < 100 /* ) */)) { s *= x; i++; }",
    "do_without_a_limit": "do { s *= x; i++; } while (i < 3);",
}


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load("\n".join(HEAD.format(name=name, body=body) for name, body in FOURTH_POWER.items()))


@pytest.mark.parametrize("name", FOURTH_POWER)
def test_loops_that_are_no_for(module: slang.SlangModule, name: str) -> None:
    x = torch.tensor([1.5, 2.0, 3.0], requires_grad=True)
    y = module[name](x)
    y.sum().backward()
    torch.testing.assert_close(y, x**4)
    torch.testing.assert_close(x.grad, 4 * x.detach() ** 3)


@pytest.mark.campaign
def test_the_same_with_slangpys_tensors(module: slang.SlangModule) -> None:
    device = slang.create_device("cpu")
    for name in FOURTH_POWER:
        x = spy.Tensor.from_numpy(device, np.array([1.5, 2, 3], dtype=np.float32)).with_grads(zero=True)
        y = module[name](x, _result="tensor").with_grads()
        y.grad.copy_from_numpy(np.ones(3, dtype=np.float32))
        module[name].bwds(x, _result=y)
        np.testing.assert_allclose(x.grad.to_numpy(), 4 * np.array([1.5, 2, 3]) ** 3, rtol=1e-5)


def test_a_crash_of_the_compiler_is_an_error_with_slangpys_tensors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """SlangPy compiles in this process; `while` as it is crashes there."""
    monkeypatch.setattr(Source, "to_differentiate", lambda self: self)
    text = HEAD.format(name="f", body="while (i < 3 && s < 100) { s *= x; i++; }")
    device = slang.create_device("cpu")
    x: Any = spy.Tensor.from_numpy(device, np.ones(2, dtype=np.float32)).with_grads(zero=True)
    for _ in range(2):
        with pytest.raises(slang.SlangCompileError, match="the Slang compiler crashed on this source"):
            slang.load(text, device).f.bwds(x, _result=x)


def test_while_as_for() -> None:
    text = 'while (f(a) && ")" != b) { } // while (c)\ndo { while (x /* ) */\n) y; } while (z) ;\nmeanwhile(1); while ('
    wanted = (
        'for (;f(a) && ")" != b;) { } // while (c)\ndo { for (;x /* ) */\n;) y; } while (z) ;\nmeanwhile(1); while ('
    )
    assert with_for(text) == wanted


def test_limits_stand_before_the_loop_that_they_limit() -> None:
    limit = LIMIT.format(ROUNDS)
    assert bounded("do { for (;;) x; } while (y);") == f"{limit} do {{ {limit} for (;;) x; }} while (y);"
    assert (
        bounded("[MaxIters(3)] do x; while (y); while (z) w;") == f"[MaxIters(3)] do x; while (y); {limit} while (z) w;"
    )
