"""Steps that fall on numbers of sizes: a runtime may round these otherwise at some sizes between those compared."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import tracepack
from tracepack.ops.engines.exporting.rounded_steps import stepping_sizes


def exported(function, shape: tuple[int, ...], free: tuple[int, ...]) -> torch.export.ExportedProgram:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    sizes = tuple(torch.export.Dim.AUTO if dim in free else None for dim in range(len(shape)))
    return torch.export.export(Model(), (torch.randn(shape),), dynamic_shapes=(sizes,), strict=False)


def part(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[0]) / x.shape[0]


@pytest.mark.parametrize(
    ("function", "steps"),
    [
        (lambda x: (part(x) >= 0.3) * x[:, 0], True),
        (lambda x: (torch.arange(x.shape[0]) < x.shape[0] * 0.3) * x[:, 0], True),
        (lambda x: x[torch.linspace(0, x.shape[0] - 1, 8).long()], True),
        (lambda x: (part(x) * 10).floor() + x[:, 0], True),
        (lambda x: part(x) + x[:, 0], False),
        (lambda x: (part(x) + x[:, 0]).argmax() + x, False),
        (lambda x: x * torch.ones(x.shape[0], x.shape[0]).triu(1).bool()[:, :4], False),
        (lambda x: x * (torch.arange(x.shape[0]) % 3 == 0)[:, None], False),
        (lambda x: x[(torch.linspace(0, 5, 6) * 0.2).long()], False),
        (lambda x: (x * x.shape[0] ** -0.5) > 0.5, False),
    ],
)
def test_steps_on_numbers_of_sizes_are_found(function, steps: bool) -> None:
    assert bool(stepping_sizes(exported(function, (20, 4), (0,)))) is steps


@pytest.mark.parametrize(("free", "count"), [((0,), 0), ((2,), 1), ((2, 3), 2), ((0, 3), 1)])
def test_of_the_nearest_pixel_the_sizes_of_images_are_found(free: tuple[int, ...], count: int) -> None:
    program = exported(lambda x: functional.interpolate(x, size=(13, 17)) * 2, (5, 3, 20, 24), free)
    assert len(stepping_sizes(program)) == count


def resized(x: torch.Tensor) -> torch.Tensor:
    return functional.interpolate(x, size=(13, 17), mode="bilinear")


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (resized, 0),
        (lambda x: resized(x)[:, 0] > 0.5, 1),
        (lambda x: (resized(x) * 255).round(), 1),
        (lambda x: resized(x).argmax(1), 0),
        (lambda x: functional.conv2d(resized(x), torch.ones(2, 3, 1, 1)).relu() > 1, 0),
    ],
)
def test_a_bound_on_means_of_pixels_is_found(function, count: int) -> None:
    """Of a mask of zeros and ones, the mean of two pixels is the bound."""
    assert len(stepping_sizes(exported(function, (5, 3, 20, 24), (0, 2)))) == count


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.filterwarnings("ignore:the engine .* answers otherwise")
def test_the_nearest_pixel_is_that_of_torch_between_the_sizes_of_examples(engine: str) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip(engine)
    op = tracepack.script(lambda x: functional.interpolate(x, size=(24,)), name="op", engine=engine)
    mod = tracepack.trace(lambda x: op(x), torch.randn(2, 3, 30))
    for length in (20, 21, 39, 40, 41, 49):
        x = torch.randn(2, 3, length)
        assert torch.equal(mod(x), functional.interpolate(x, size=(24,)))
