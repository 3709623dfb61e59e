"""Indices that no data decides cost an engine no check, and those that it may decide are refused as torch does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import tracepack
from tracepack.ops.engines.catalogue import missing
from tracepack.ops.engines.checks.left_to_torch import LeftToTorch
from tracepack.ops.engines.exporting.onnx_weights import MODEL, WITHIN

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.filterwarnings("ignore:the engine .* (fails|does not answer) on")

TABLE = torch.arange(24.0).reshape(12, 2)
PLACES = torch.arange(12).flip(0)


def known(x: torch.Tensor) -> torch.Tensor:
    rows = torch.arange(x.shape[0])[:, None].expand(-1, 2)
    return x[rows, torch.arange(2)] + TABLE[PLACES[:2]][:, 0] + torch.index_select(x, 0, torch.arange(1) + 0).sum()


def beyond(x: torch.Tensor) -> torch.Tensor:
    return TABLE[torch.arange(x.shape[0]) + 1] + x


def added_in_place(x: torch.Tensor) -> torch.Tensor:
    places = torch.arange(x.shape[0])
    part = places.view(-1)
    places += x.shape[0] // 12
    return x[part]


def filled(x: torch.Tensor) -> torch.Tensor:
    places = torch.arange(x.shape[0])
    places.fill_(x.shape[0] // 12 * 12)
    return x[places]


def of_the_data(x: torch.Tensor) -> torch.Tensor:
    return TABLE[x[:, 0].long()] + x


def engaged(process: Callable[[torch.Tensor], torch.Tensor], engine: str) -> tracepack.Pipeline:
    op = tracepack.script(process, name="op", engine=engine)
    return tracepack.trace(lambda x: op(x), torch.rand(3, 2))


def checks(pipeline: tracepack.Pipeline) -> bool:
    """Whether the model has an output for checks."""
    import onnx

    (engaged,) = pipeline._engaged
    model = onnx.load_from_string(engaged.artefact.files[MODEL])
    return WITHIN in [each.name for each in model.graph.output]


ENGINES = [
    "onnxruntime",
    pytest.param("openvino", marks=pytest.mark.skipif(bool(missing("openvino")), reason="openvino is not installed")),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_positions_are_not_checked(engine: str) -> None:
    mod = engaged(known, engine)
    assert not checks(mod)
    for rows in (3, 2, 7):
        x = torch.rand(rows, 2)
        torch.testing.assert_close(mod(x), known(x))


def position(x: torch.Tensor) -> torch.Tensor:
    return x + (torch.arange(x.shape[0]) * 2 + 1).sum()


def place(x: torch.Tensor) -> torch.Tensor:
    return x[torch.arange(x.shape[0]) + 0]


@pytest.mark.skipif(bool(missing("openvino")), reason="openvino is not installed")
def test_openvino_is_given_no_tensor_with_positions_that_it_rounds() -> None:
    """Its integers are exact up to 2**24; what the sizes of the export bound is not checked by the model."""
    mod = engaged(place, "openvino")
    assert not checks(mod)
    assert checks(engaged(position, "openvino"))
    x = torch.zeros(2**23 + 1, 2)
    (one,) = mod._engaged
    with pytest.raises(LeftToTorch, match="positions beyond"):
        one.open()(x)
    assert mod(x).equal(x)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("process", [beyond, added_in_place, filled, of_the_data])
def test_what_may_be_out_of_range_is(process, engine: str) -> None:
    if engine == "openvino" and process is not beyond:  # which reads wherever they point, before any check
        with pytest.raises(tracepack.LoweringError, match="it reads at indices of the data"):
            engaged(process, engine)
        return
    mod = engaged(process, engine)
    assert checks(mod)
    x = torch.rand(3, 2)
    torch.testing.assert_close(mod(x), process(x))
    many = torch.full((12, 2), 99.0)
    with pytest.raises(IndexError):
        process(many)
    with pytest.raises(tracepack.NodeError, match="index 12|out of bounds|out of range"):
        mod(many)
