"""Data with NaN and infinity, and functions that make them, give on engines what torch gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch

import tracepack
from tests.engines.fakes import in_turn

nan, inf = float("nan"), float("inf")


def network(x: torch.Tensor) -> torch.Tensor:
    """A layer, a bound and a choice: what is missing is missing in the answer."""
    return torch.relu(x @ torch.full((3, 4), 0.5)).clamp(max=2.0)


def largest(x: torch.Tensor) -> torch.Tensor:
    """The largest number of each row."""
    return x.amax(-1) * 2


def best(x: torch.Tensor) -> torch.Tensor:
    """The index of the largest number of each row."""
    return x.argmax(-1)


def attention(x: torch.Tensor) -> torch.Tensor:
    """Scores without those of negative numbers; a row of negative numbers attends to nothing."""
    return x.masked_fill(x < 0, -inf).softmax(-1).relu().amax(-1)


CASES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], list[float]]] = {
    "a NaN": (network, [1.0, nan, 2.0]),
    "a NaN beside larger numbers": (largest, [nan, 7.0, 2.0]),
    "the index of a NaN": (best, [7.0, nan, 2.0]),
    "an infinity": (lambda x: x.softmax(-1).amax(-1), [inf, 1.0, 2.0]),
    "a row of infinities": (lambda x: x.log_softmax(-1).amax(-1), [-inf, -inf, -inf]),
    "zero by zero": (lambda x: torch.relu((x - x.mean(-1, True)) / x.std(-1, keepdim=True)).sum(-1), [2.0, 2.0, 2.0]),
    "zero by itself": (lambda x: torch.relu(x / x.sum(-1, keepdim=True)).sum(-1), [0.0, 0.0, 0.0]),
    "a difference of quotients": (lambda x: torch.relu(1 / x - 1 / x).sum(-1), [0.0, 1.0, 2.0]),
    "the logarithm of a negative number": (lambda x: torch.log(x).clamp(min=0).sum(-1), [-1.0, 1.0, 2.0]),
    "the root of a negative number": (lambda x: torch.sqrt(x).relu().sum(-1), [-1.0, 1.0, 2.0]),
    "a broken power of a negative number": (lambda x: (x**0.3).relu().sum(-1), [-1.0, 1.0, 2.0]),
    "an arc of too much": (lambda x: torch.asin(x).relu().sum(-1), [2.0, 0.5, 0.2]),
    "nothing to attend to": (attention, [-1.0, -2.0, -3.0]),
    "a quotient of exponentials": (lambda x: (x.exp() / x.exp().sum(-1, True)).amax(-1), [100.0, 1.0, 2.0]),
    "an infinity by zero": (lambda x: (x.exp() * (x < 0)).relu().sum(-1), [100.0, 1.0, 2.0]),
    "a quotient that is added": (lambda x: torch.addcdiv(x, x, x).relu().sum(-1), [0.0, 1.0, 2.0]),
    "the largest of infinities": (lambda x: x.masked_fill(x < 0, -inf).amax(-1), [-1.0, -2.0, -3.0]),
    "the logarithm of an exponential": (lambda x: torch.log(1 + torch.exp(x)).sum(-1), [100.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_no_number_is_answered_as_torch_does(case: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(engine, reason=f"the extra of {engine} is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    function, row = CASES[case]
    usual = torch.tensor([[0.3, 0.9, 0.6], [0.2, 0.5, 0.8]])
    mod = tracepack.trace(function, usual)
    report = mod.optimize([{"x": usual}], engines=[engine])
    assert report.engines == {"pipeline": engine}, report
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # on usual numbers the engine answers
        torch.testing.assert_close(mod(usual), function(usual), rtol=1e-5, atol=1e-6)
    unusual = torch.tensor([row, [0.2, 0.5, 0.8]])
    with pytest.warns(UserWarning, match=r"does not answer on pipeline .* left to the flat function: an"):
        found = mod(unusual)
    torch.testing.assert_close(found, function(unusual), rtol=1e-5, atol=1e-6, equal_nan=True)


HALVES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a square": lambda x: (x * x / 1000).relu().flatten(),
    "a norm": lambda x: (x * torch.rsqrt((x * x).amax(-1, keepdim=True) + 1e-5)).flatten(),
    "a product": lambda x: (x @ x.t()).clamp(max=3.0).relu(),
    "an exponential": lambda x: (x / 25).exp().clamp(max=4.0).flatten(),
}


@pytest.mark.parametrize("case", HALVES)
def test_float16_overflows_where_torch_does(case: str) -> None:
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    function = HALVES[case]
    usual = torch.tensor([[0.5, 2.0, 3.0], [1.0, 7.0, 0.25]], dtype=torch.float16)
    op = tracepack.script(function, name="op", engine="onnxruntime")
    mod = tracepack.trace(lambda x: op(x), usual)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(mod(usual), function(usual), rtol=1e-2, atol=1e-3)
    large = usual * torch.tensor([300.0], dtype=torch.float16)  # squares beyond 65,504
    with pytest.warns(UserWarning, match="left to the flat function"):
        found = mod(large)
    assert torch.equal(found.nan_to_num(7.0), function(large).nan_to_num(7.0))


def test_float16_of_a_reciprocal_overflows_where_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch takes `0.5 / x` for a product with the reciprocal, which is infinite below 1.5e-5."""
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)

    def process(x: torch.Tensor) -> torch.Tensor:
        return (0.5 / x).flatten()

    usual = torch.tensor([[1.0, 1.25, 3.0], [1.5, 7.0, 1.4]], dtype=torch.float16)
    mod = tracepack.trace(process, usual)
    assert mod.optimize([{"x": usual}], engines=["onnxruntime"]).engines == {"pipeline": "onnxruntime"}
    with pytest.warns(UserWarning, match="left to the flat function"):
        found = mod(usual * 1e-5)
    assert torch.equal(found, process(usual * 1e-5))
    assert found.isinf().any()
    assert found.isfinite().any()


class Rectified(torch.nn.Module):
    """A layer and a convolution, each before a rectifier, which torch's own compilers put into one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.filter = torch.nn.Linear(8, 8), torch.nn.Conv2d(1, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        filtered = self.filter(torch.relu(self.layer(x / x.amax((-1, -2), keepdim=True))))
        return torch.relu(filtered).amax((-1, -2))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("engine", ["frozen", pytest.param("inductor", marks=pytest.mark.campaign)])
def test_torch_compiled_gives_nan_where_torch_does(engine: str) -> None:
    model = Rectified().eval()
    usual = torch.rand(2, 1, 8, 8)
    op = tracepack.script(model, engine=engine)
    mod = tracepack.trace(lambda x: op(x), usual)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(mod(usual), model(usual), rtol=1e-4, atol=1e-5)
    for number in (0.0, nan, inf):
        unusual = usual.clone()
        unusual[1] = number
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is said once
            found = mod(unusual)
        assert found[1].isnan().all()
        torch.testing.assert_close(found, model(unusual), rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.filterwarnings("ignore:the engine 'onnxruntime' does not answer on")  # of the example with a NaN, rightly
@pytest.mark.parametrize(("rows", "chosen"), [([0.3, nan], {"pipeline": "onnxruntime"}), ([nan, inf], {})])
def test_a_search_times_the_examples_that_an_engine_answers(
    rows: list[float], chosen: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    mod = tracepack.trace(network, torch.rand(2, 3))
    report = mod.optimize([{"x": torch.full((2, 3), row)} for row in rows], engines=["onnxruntime"], threads=1)
    assert report.engines == chosen
    assert chosen or "it leaves the examples to the flat function" in str(report)


BELOW = 5.0


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.masked_fill(x > BELOW, -inf).diagonal() * 2,
        lambda x: x.masked_fill(x > BELOW, -inf).trace() * 2,
        lambda x: torch.nn.functional.max_pool2d(x.masked_fill(x > BELOW, -inf)[None, None], 2) * 2,
        lambda x: torch.nn.functional.max_pool2d(x.masked_fill(x > BELOW, -inf)[None, None], 2, padding=1) * 2,
        lambda x: (x + torch.where(x > BELOW, torch.tensor(-inf), torch.tensor(0.0))).amax(-1),
        lambda x: torch.atanh((x / 7).clamp(max=1.0)).clamp(min=0).amin(-1),
    ],
)
def test_infinities_that_a_function_chooses_among_are_those_of_torch(function, engine: str) -> None:
    """Other runtimes take a diagonal by way of a product with zeros, and begin a maximum at the largest number."""
    pytest.importorskip(engine, reason=f"the extra of {engine} is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    op = tracepack.script(function, name="op", engine=engine, contiguous=True)
    mod = tracepack.trace(lambda x: op(x), torch.rand(4, 4))
    rows = torch.arange(16.0).reshape(4, 4) / 4
    for x in (rows, rows.flip(0), rows * 3, rows * 20 + 6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.testing.assert_close(mod(x), function(x), rtol=1e-5, atol=1e-6)
