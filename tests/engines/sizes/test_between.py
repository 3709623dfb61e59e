"""Engines at random sizes between those of a search, where they answer alone, against torch's eager functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch
from torch.nn import functional

import tracepack
from tracepack.ops.engines.rescue import Engaged

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning", "ignore:the engine .* does not answer"),
    pytest.mark.campaign,
]
TRIES = 12  # of each box
TEXT, IMAGE = (6, 10, 16), (2, 3, 20, 24)

Function = Callable[..., torch.Tensor]
FUNCTIONS: dict[str, tuple[Function, tuple[tuple[int, ...], ...]]] = {
    "causal mask": (
        lambda x: (x @ x.mT).masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), -1e9).softmax(-1) @ x,
        (TEXT,),
    ),
    "attention": (lambda x: functional.scaled_dot_product_attention(*[x[:, None]] * 3, is_causal=True)[:, 0], (TEXT,)),
    "positions": (lambda x: torch.where(torch.arange(x.shape[1])[:, None] % 3 == 0, x, -x), (TEXT,)),
    "a part of the length": (lambda x: x[:, : x.shape[1] // 2] + x[:, -(x.shape[1] // 2) :], (TEXT,)),
    "the smaller of two": (lambda x: x[:, : min(15, x.shape[1])] * 2, (TEXT,)),
    "an even length": (lambda x: functional.pad(x, (0, 0, 0, x.shape[1] % 2)), (TEXT,)),
    "windows": (lambda x: x.unfold(1, 4, 2).mean(-1), (TEXT,)),
    "every third": (lambda x: torch.stack([x[:, i::3].mean(1) for i in range(3)]), (TEXT,)),
    "a size as a number": (lambda x: x * x.shape[1] / x.shape[0], (TEXT,)),
    "cumsum": (lambda x: x.cumsum(1), (TEXT,)),
    "pool": (lambda x: functional.max_pool2d(x, 3, 2), (IMAGE,)),
    "mean pool": (lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (IMAGE,)),
    "resize": (lambda x: functional.interpolate(x, size=(17, 9), mode="bilinear"), (IMAGE,)),
    "resize by a size": (
        lambda x: functional.interpolate(x, size=(x.shape[2] // 2, x.shape[3] * 2), mode="bilinear"), (IMAGE,),
    ),
    "broadcast": (lambda x, y: x + y, (TEXT, (10, 16))),
    "matmul": (lambda x, y: x @ y, ((6, 10), (10, 7))),
    "concatenate": (lambda x, y: torch.cat([x, y], 1), (TEXT, (6, 4, 16))),
    "cross attention": (
        lambda x, y: functional.scaled_dot_product_attention(x[:, None], y[:, None], y[:, None])[:, 0],
        (TEXT, (6, 5, 16)),
    ),
    "a prefix": (lambda x, y: x[:, : y.shape[1]] * y, (TEXT, (6, 4, 16))),
}  # fmt: skip
ONE_RUNTIME: dict[str, tuple[Function, Sequence[tuple[int, ...]]]] = {
    "pool that rounds up": (lambda x: functional.max_pool2d(x, 3, 2, ceil_mode=True), (IMAGE,)),
    "mean pool that rounds up": (
        lambda x: functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), (IMAGE,),
    ),
}  # fmt: skip


class Model(torch.nn.Module):
    """A function as a module, whose result is contiguous."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.__dict__["function"] = function

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        return self.__dict__["function"](*values).contiguous()


def pipeline(function: Function, inputs: list[torch.Tensor], engine: str) -> tracepack.Pipeline:
    op = tracepack.script(Model(function), name="op", engine=engine)
    if len(inputs) == 1:
        return tracepack.trace(lambda x: op(x), *inputs)
    return tracepack.trace(lambda x, y: op(x, y), *inputs)


@pytest.mark.parametrize(
    ("name", "engine"),
    [*product(FUNCTIONS, ("onnxruntime", "openvino")), *product(ONE_RUNTIME, ("onnxruntime",))],
)
def test_an_engine_is_right_between(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    pytest.importorskip(engine, reason=f"the extra for {engine} is not installed")
    function, shapes = (FUNCTIONS | ONE_RUNTIME)[name]
    random.seed(0)
    torch.manual_seed(0)
    mod = pipeline(function, [torch.randn(shape) for shape in shapes], engine)
    (engaged,) = mod._engaged
    boxes = [(found.shapes, box) for found in engaged._boxes for box in found.boxes]
    assert boxes
    beside: list[Any] = []
    compared = Engaged._compared
    monkeypatch.setattr(Engaged, "_compared", lambda self, values: beside.append(values) or compared(self, values))
    for shapes_of_box, box in boxes:
        for _ in range(TRIES):
            sizes = {letter: random.randint(*ends) for letter, ends in box.items()}
            given = [torch.randn([sizes.get(str(size), size) for size in shape]) for shape in shapes_of_box]
            wanted = function(*given).contiguous()
            torch.testing.assert_close(mod(*given), wanted, rtol=1e-3, atol=1e-3)
    assert not beside
