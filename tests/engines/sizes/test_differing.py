"""An engine that answers otherwise at sizes that no search has tried, or on data that torch refuses."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tracepack
from tests.engines.fakes import Mirror

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


def padded(x: torch.Tensor) -> torch.Tensor:
    """A branch on a size that no input beside a small example takes otherwise."""
    return torch.nn.functional.pad(x, (0, 0, 0, max(0, 100 - x.shape[0]))) + 1


@pytest.mark.parametrize("engine", ["frozen", pytest.param("onnxruntime", marks=pytest.mark.campaign)])
def test_a_branch_on_a_size_that_the_engine_fixed_gives_the_flat_answer(engine: str, mirror: type[Mirror]) -> None:
    if engine == "onnxruntime":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    mod = tracepack.trace(padded, torch.rand(8, 3))
    assert mod.optimize([{"x": torch.rand(8, 3)}], engines=[engine]).engines == {"pipeline": engine}
    file = io.BytesIO()
    mod.save(file)
    loaded = tracepack.load(file.getvalue(), trust=True)
    large, small = torch.rand(300, 3), torch.rand(50, 3)
    with pytest.warns(UserWarning, match=rf"'{engine}' answers otherwise than the flat function on pipeline .*300, 3"):
        assert torch.equal(loaded(large), large + 1)
    for x in (large, small, small):
        assert torch.equal(loaded(x), padded(x))


@pytest.fixture
def tripled(mirror: type[Mirror], monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """A pipeline on an engine that begins to answer otherwise at 1009 rows, which no search tries."""
    mod = tracepack.trace(lambda x: x * 3, torch.rand(4))
    mod.optimize([{"x": torch.rand(4)}], engines=["mirror"])
    assert mod.engines == {"pipeline": "mirror"}
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t * 2 if t.shape[0] == 1009 else t))
    mirror.calls.clear()
    return mod


def test_sizes_at_which_an_engine_differs_stay_with_the_flat_function(tripled, mirror: type[Mirror]) -> None:
    with pytest.warns(UserWarning, match="which runs these sizes from now on"):
        assert torch.equal(tripled(torch.ones(1009)), torch.full((1009,), 3.0))
    for _ in range(2):
        assert torch.equal(tripled(torch.ones(1009)), torch.full((1009,), 3.0))
        assert torch.equal(tripled(torch.ones(5)), torch.full((5,), 3.0))
    assert len(mirror.calls) == 3  # one for 1009 rows, two for 5


def test_an_engine_never_sees_sizes_that_the_nodes_refuse(mirror: type[Mirror]) -> None:
    """Of sizes that do not fit, OpenVINO answers by memory beyond its own."""
    x, y = torch.rand(3, 4), torch.rand(4)
    mod = tracepack.trace(lambda x, y: (x @ y).contiguous(), x, y)
    assert mod.optimize([{"x": x, "y": y}], engines=["mirror"]).engines == {"pipeline": "mirror"}
    mirror.calls.clear()
    with pytest.raises(tracepack.TracepackError):
        mod(torch.rand(3, 1), y)
    assert not mirror.calls
    assert torch.equal(mod(x, y), x @ y)


def test_zeros_and_nan_say_nothing_of_sizes(tripled, mirror: type[Mirror]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(tripled(torch.zeros(1009)), torch.zeros(1009))
        assert tripled(torch.full((1009,), torch.nan)).isnan().all()
    with pytest.warns(UserWarning, match="answers otherwise"):
        assert torch.equal(tripled(torch.ones(1009)), torch.full((1009,), 3.0))


def on_inner_sizes(x: torch.Tensor) -> torch.Tensor:
    """A branch on the size of what a convolution gives."""
    y = torch.nn.functional.conv1d(x, torch.ones(1, 1, 3))
    return y * 2 if y.shape[-1] > 4 else y.sum()  # sides of two ranks


def test_guards_that_need_tensors_hold_beside_an_engine(mirror: type[Mirror]) -> None:
    mod = tracepack.trace(on_inner_sizes, torch.rand(2, 1, 9))
    mod.optimize([{"x": torch.rand(2, 1, 9)}], engines=["mirror"])
    assert mod.engines == {"pipeline": "mirror"}
    file = io.BytesIO()
    mod.save(file)
    for pipeline in (mod, tracepack.load(file.getvalue(), trust=True)):
        for rows in (2, 2, 40):
            x = torch.rand(rows, 1, 9)
            torch.testing.assert_close(pipeline(x), on_inner_sizes(x))
        mirror.calls.clear()
        pipeline(x)
        assert mirror.calls == ["pipeline"]
        for _ in range(2):  # nothing is remembered of what was refused
            with pytest.raises(tracepack.GuardError):
                pipeline(torch.rand(2, 1, 6))


def test_a_tolerance_that_was_asked_for_holds_at_new_sizes(mirror: type[Mirror], monkeypatch) -> None:
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t * 1.2))
    mod = tracepack.trace(lambda x: x * 3, torch.rand(4))
    mod.optimize([{"x": torch.rand(4)}], engines=["mirror"], tolerance=0.5)
    file = io.BytesIO()
    mod.save(file)
    loaded = tracepack.load(file.getvalue(), trust=True)
    loaded(torch.ones(9))
    assert torch.allclose(loaded(torch.ones(9)), torch.full((9,), 3.6))


class Selects(torch.nn.Module):
    """Indices that the model computes, in three ways that torch checks and ONNX counts from the end."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        found = self.table(ids - 1)
        found = found + found.gather(0, (ids - 2).unsqueeze(-1).expand(-1, 4).clamp(max=0))
        return found + self.table.weight.index_select(0, ids - 3)


def test_an_index_that_a_region_computes_is_checked() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = Selects().eval()
    op = tracepack.script(model, engine="onnxruntime")
    mod = tracepack.trace(lambda ids: op(ids), torch.tensor([3, 5, 9, 10]))
    for _ in range(2):  # the second time the sizes are known
        good = torch.tensor([4, 3, 10, 7])
        assert torch.allclose(mod(good), model(good), atol=1e-6)
    for bad in (0, 1, 2, 11):  # outside of the embedding, of gather, of index_select, and again of the embedding
        ids = torch.tensor([4, bad, 10, 7])
        with pytest.raises((IndexError, RuntimeError)):
            model(ids)
        with pytest.raises(tracepack.NodeError, match=r"out of (range|bounds)"):
            mod(ids)


TABLE = torch.arange(20.0).reshape(5, 4)
BY_TENSORS: dict[str, Callable[..., Any]] = {
    "[i]": lambda i: TABLE[i],
    "[..., j]": lambda i: TABLE[None, ..., i % 4][0, i.abs() % 5],
    "[i, j]": lambda i: TABLE[i, i.abs() % 4],
    "take": lambda i: TABLE[:, 0].take(i),
    "index_put": lambda i: TABLE.index_put((i,), torch.tensor(1.0)),
}


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(
    "name", ["[i]", *(pytest.param(name, marks=pytest.mark.campaign) for name in BY_TENSORS if name != "[i]")]
)
def test_indices_in_brackets_count_from_either_end_and_are_checked(name: str, engine: str) -> None:
    pytest.importorskip(engine)
    pytest.importorskip("onnxscript")
    function = BY_TENSORS[name]
    op = tracepack.script(function, engine=engine)
    example = torch.tensor([1, 2, 3])
    if engine == "openvino":  # which reads and writes wherever they point, before any check
        with pytest.raises(tracepack.LoweringError, match="it (reads|writes) at indices of the data"):
            tracepack.trace(lambda i: op(i), example)
        return
    mod = tracepack.trace(lambda i: op(i), example)
    for _ in range(2):
        for indices in ([-5, 0, 4], [-1, -2, -3]):
            assert torch.equal(mod(torch.tensor(indices)), function(torch.tensor(indices)))
    for indices in ([5, 0, 0], [-6, 0, 0], [2**31, 0, 0]) if "..." not in name else ():
        with pytest.raises(IndexError):
            function(torch.tensor(indices))
        with pytest.raises(tracepack.NodeError, match="out of (range|bounds)"):
            mod(torch.tensor(indices))


def test_rows_that_attend_to_nothing_are_as_torch_computes_them() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")

    def attend(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(
            x, x, x, mask[:, None, None, :].expand(-1, 4, 8, -1) > 0
        )

    op = tracepack.script(attend, engine="onnxruntime")
    x, mask = torch.rand(2, 4, 8, 8), torch.ones(2, 8, dtype=torch.int64)
    mod = tracepack.trace(lambda x, mask: op(x, mask), x, mask)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the engine .* (fails|does not answer) on")
        for masked in (0, 3, 8, 8):
            mask[1, 8 - masked :] = 0
            torch.testing.assert_close(mod(x, mask), attend(x, mask))


def test_openvino_reads_bytes_from_floats_as_torch_does() -> None:
    pytest.importorskip("openvino")
    pytest.importorskip("onnxscript")
    op = tracepack.script(lambda x: (x * 100).to(torch.int8), engine="openvino")
    mod = tracepack.trace(lambda x: op(x), torch.tensor([[0.1, 0.2], [0.5, 0.3]]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the engine .* (fails|does not answer) on")
        for _ in range(2):
            assert mod(torch.tensor([[2.0, 3.0], [0.5, -4.0]])).tolist() == [[-56, 44], [50, 112]]


@pytest.mark.parametrize(
    "divide",
    [
        lambda a, b: a // b,
        lambda a, b: 7 % b + a,
        lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        lambda a, b: torch.fmod(a, b),
    ],
)
def test_a_division_of_integers_by_data_stays_with_torch(divide: Callable[..., Any]) -> None:
    pytest.importorskip("onnxscript")
    op = tracepack.script(divide, engine="onnxruntime")
    with pytest.raises(tracepack.LoweringError, match="it divides integers by numbers of the data"):
        tracepack.trace(lambda a, b: op(a, b), torch.tensor([5, -7, 9]), torch.tensor([2, 3, -4]))


HUGE = [[2**62, 2**62 - 1, -(2**62), 2**53 + 1], [2**31 - 1, -(2**31), 2**24 + 1, 2**40 + 3], [-1, -2, 7, 0]]
ON_INTEGERS: dict[str, Callable[..., Any]] = {
    "sum": lambda x: x.sum(0),
    "sum in 32 bits": lambda x: x.sum(dtype=torch.int32),
    "prod": lambda x: x.prod(1),
    "pow": lambda x: x.abs() ** (x % 40),
    "pow of a number": lambda x: 3 ** (x % 70 - 20),
    "trunc": lambda x: torch.div(x, 3, rounding_mode="trunc"),
    "floor": lambda x: x.div(7, rounding_mode="floor"),
    "cumsum": lambda x: x.cumsum(1),
    "power": lambda x: x**3,
    "matmul": lambda x: x @ x.T,
    "einsum": lambda x: torch.einsum("ij->i", x.long()),
    "//": lambda x: x // -7,
    "%": lambda x: x % 11,
    "clamp": lambda x: x.clamp(-(2**30), 2**30),
    "compare": lambda x: (x > 2**62 - 1) | (x == 2**53 + 1),
    "compare with floats": lambda x: x >= 2.5,
    "to float64": lambda x: x.double(),
    "sort": lambda x: x.sort(1).values,
    "scatter_add": lambda x: torch.zeros_like(x).scatter_add(1, x.abs() % 4, x),
}


@pytest.mark.parametrize("engine", ["onnxruntime", pytest.param("openvino", marks=pytest.mark.campaign)])
@pytest.mark.parametrize("dtype", [torch.int64, pytest.param(torch.int32, marks=pytest.mark.campaign)])
@pytest.mark.parametrize(
    "name",
    [name if number < 6 else pytest.param(name, marks=pytest.mark.campaign) for number, name in enumerate(ON_INTEGERS)],
)
def test_large_integers_are_as_torch_computes_them(name: str, dtype: torch.dtype, engine: str) -> None:
    pytest.importorskip(engine)
    pytest.importorskip("onnxscript")
    function = ON_INTEGERS[name]
    op = tracepack.script(function, engine=engine)
    example = torch.tensor([[1, 2, 3, 4], [2, 1, 1, 3]], dtype=dtype)
    declined: Any = tracepack.LoweringError if engine == "openvino" else ()
    try:
        mod = tracepack.trace(lambda x: op(x), example)
    except declined:
        return  # it computes in 32 bits, so it may
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the engine .* (fails|does not answer) on")
        for x in (example, torch.tensor(HUGE).to(dtype), torch.tensor(HUGE).flip(1).to(dtype)):
            assert torch.equal(mod(x), function(x))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x >= 0.1, "it computes float64 with a number that is no float32"),
        (lambda x: torch.nn.functional.threshold(x, 0.1, 20.0), "it computes float64 with a number that is no float32"),
        (lambda x: x.isinf(), "it asks float64 for infinities in float32"),
        (lambda x: x.float() % 0.25, "it rounds quotients of floating numbers"),
        (lambda x: torch.logaddexp(x, x), "it takes the logarithm of a sum of exponentials"),
    ],
)
def test_what_onnx_computes_by_other_numbers_stays_with_torch(function: Callable[..., Any], reason: str) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    op = tracepack.script(function, engine="onnxruntime")
    with pytest.raises(
        tracepack.LoweringError, match=f"cannot run it; got {reason}, which other runtimes do otherwise"
    ):
        tracepack.trace(lambda x: op(x), torch.tensor([0.5, 0.7], dtype=torch.float64))


def test_comparisons_of_float64_that_float32_holds_stay_with_the_engine() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    op = tracepack.script(lambda x: x * 2 > 0.25, engine="onnxruntime")
    mod = tracepack.trace(lambda x: op(x), torch.tensor([0.5, 0.1], dtype=torch.float64))
    x = torch.tensor([0.125, 0.125 + 1e-12], dtype=torch.float64)
    assert mod(x).tolist() == [False, True]
