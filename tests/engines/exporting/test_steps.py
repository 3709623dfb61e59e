"""Whole numbers and comparisons of what torch computes exactly, and arguments that an export leaves out."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.nn import functional

import tracepack

pytest.importorskip("onnxscript")


def engaged(process, example: torch.Tensor, engine: str) -> tracepack.Pipeline:
    pytest.importorskip(engine)
    op = tracepack.script(process, name="op", engine=engine, contiguous=True)
    return tracepack.trace(lambda x: op(x), example)


POWERS = torch.tensor([[2.0**15, 2.0**29, 2.0**30, 1e3, 1e9, 1e5], [2.0**13, 2.0**26, 2.0**31, 1e2, 1e8, 1e7]])


@pytest.mark.parametrize(
    "process",
    [
        lambda x: x.log2().floor(),
        lambda x: (4 + torch.log2(x / 224)).clamp(min=2).long(),
        lambda x: torch.log10(x) >= 9,
        lambda x: 10 * x.log10() == 80,
        lambda x: (x.log10() - 3).sign(),
        lambda x: (x * 2**0.5).log2().round(),
    ],
)
def test_steps_on_logarithms_are_those_of_torch(process) -> None:
    mod = engaged(process, torch.rand(2, 6) * 50 + 3, "onnxruntime")
    usual = torch.tensor([[5.0, 70.0, 300.0, 6e5, 9.0, 3.5], [6.0, 7.0, 11.0, 13.0, 900.0, 7e7]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # between the steps the engine answers
        torch.testing.assert_close(mod(usual), process(usual))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (POWERS, POWERS * 224, POWERS.flip(1) / 2):
            assert torch.equal(mod(x), process(x))


def test_a_logarithm_that_is_whole_but_for_rounding_is_left_to_torch() -> None:
    mod = engaged(lambda x: x.log2().floor(), torch.rand(2, 6) * 50 + 3, "onnxruntime")
    with pytest.warns(UserWarning, match="left to the flat function"):
        assert torch.equal(mod(POWERS), POWERS.log2().floor())


@pytest.mark.parametrize(
    "process",
    [
        lambda x: x >= torch.arange(0, 1, 0.1),
        lambda x: x[:, None] == torch.linspace(-1, 1, 21)[:, None],
        lambda x: (x - torch.linspace(0, 1, x.shape[1]) * 2).sign(),
        lambda x: (x + torch.arange(0.05, 1, 0.1)).floor(),
    ],
)
def test_steps_on_data_and_spaced_numbers_stay_with_torch(process) -> None:
    """ONNX Runtime has 0.70000005 for the 0.7 of `arange(0, 1, 0.1)`."""
    with pytest.raises(tracepack.LoweringError, match="of data and numbers of `linspace` or `arange`"):
        engaged(process, torch.rand(2, 10), "onnxruntime")


def test_bytes_are_resized_by_torch() -> None:
    """ONNX Runtime cuts means of bytes, which shows at no image of one colour."""
    with pytest.raises(
        tracepack.LoweringError, match="it resizes bytes, of which other runtimes cut what torch rounds"
    ):
        engaged(
            lambda x: functional.interpolate(x, size=(4, 4), mode="bilinear"),
            torch.full((1, 1, 3, 3), 7, dtype=torch.uint8), "onnxruntime",
        )  # fmt: skip


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    "step", [torch.round, lambda x: x.clamp(0, 255).round(), lambda x: x / 255 >= 0.5, lambda x: x.long()]
)
def test_steps_on_resized_pixels_are_those_of_torch(step, mode) -> None:
    """ONNX Runtime finds half of the numbers that are whole and a half on the other side."""

    def process(x: torch.Tensor) -> torch.Tensor:
        return step(functional.interpolate(x, size=(24, 24), mode=mode)) * 2

    mod = engaged(process, torch.rand(1, 1, 16, 16) * 50 + 3, "onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # where no step is near the engine answers
        usual = torch.full((1, 1, 16, 16), 99.2)
        assert torch.equal(mod(usual), process(usual))
    generator = torch.Generator().manual_seed(0)
    for _ in range(4):
        x = torch.randint(0, 256, (1, 1, 16, 16), generator=generator).float()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert torch.equal(mod(x), process(x))


@pytest.mark.parametrize(
    "process",
    [
        lambda x: x * torch.linspace(0, 1, 10),
        lambda x: (torch.arange(10, dtype=torch.float32) < x[:, :1]) * 2,
        lambda x: torch.linspace(0, 9, 4).long() + x[:, :4],
        lambda x: (x * torch.arange(0, 1, 0.1)).softmax(-1) > 0.5,
    ],
)
def test_other_spaced_numbers_go_to_an_engine(process) -> None:
    mod = engaged(process, torch.rand(2, 10), "onnxruntime")
    x = torch.rand(2, 10) * 9
    torch.testing.assert_close(mod(x), process(x))


@pytest.mark.parametrize(
    "process",
    [
        lambda x: x.float() / 255 >= 0.2,
        lambda x: torch.where(x.float().div(255).sub(0.2) > 0, 1.0, 0.0),
        lambda x: functional.relu(x.float() / 10).eq(0.3),
        lambda x: (x.float().mean(-1) - 7).sign(),
    ],
)
def test_openvino_compares_no_quotients(process) -> None:
    with pytest.raises(tracepack.LoweringError, match="it compares quotients, which are products with a rounded recip"):
        engaged(process, torch.arange(12, dtype=torch.uint8).reshape(2, 6), "openvino")


def test_openvino_compares_halves_and_what_a_layer_makes_of_quotients() -> None:
    layer = torch.nn.Linear(6, 4)

    def process(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x / 2 > 1, layer(x / 255).softmax(-1) > 0.5

    mod = engaged(process, torch.rand(2, 6), "openvino")
    x = torch.tensor([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [9.0, -2.0, 2.5, 1.5, -7.0, 30.0]])
    assert all(map(torch.equal, mod(x), process(x)))


@pytest.mark.parametrize(
    ("process", "said"),
    [
        (lambda x: x.mean(-1, dtype=torch.float64), "it converts what a function gives, not what it takes"),
        (lambda x: x.long().mean(-1, dtype=torch.float32), "it converts what a function gives, not what it takes"),
        (lambda x: x.softmax(-1, dtype=torch.float64).log(), "it converts what a function gives, not what it takes"),
        (lambda x: torch.special.softmax(x, -1, torch.float64), "it converts what a function gives, not what it takes"),
        (lambda x: functional.log_softmax(x, -1, 3, torch.float64), "it converts what a function gives, not what it t"),
        (
            lambda x: functional.avg_pool2d(x, 2, divisor_override=1) > 30,
            "it takes the size of a window for the diviso",
        ),
        (lambda x: functional.avg_pool3d(x, 2, 2, 0, False, True, 3), "it takes the size of a window for the divisor"),
        (lambda x: torch.full_like(x, 0.1, dtype=torch.float64) * 3, "it computes float64 with a number that is no f"),
        (lambda x: x[0, 0].t().as_strided((2, 2), (1, 2)) * 2, "`as_strided` is not on the list"),
    ],
)
def test_arguments_that_an_export_leaves_out_are_declined(process, said: str) -> None:
    with pytest.raises(tracepack.LoweringError, match=said):
        engaged(process, torch.rand(2, 2, 4, 4), "onnxruntime")


@pytest.mark.parametrize(
    "function",
    [
        torch.log2, torch.log10, torch.rad2deg, functional.celu, torch.sinc, lambda x: x.softmax(-1).log10(),
        lambda x: functional.pairwise_distance(x, x), lambda x: functional.triplet_margin_loss(x, x, x),
    ],
)  # fmt: skip
def test_float64_by_numbers_of_float32_stays_with_torch(function) -> None:
    with pytest.raises(tracepack.LoweringError, match="it computes float64 with numbers of float32, which other runti"):
        engaged(lambda x: function(x) > 0.5, torch.rand(3, 4, dtype=torch.float64), "onnxruntime")


def test_the_dtype_of_a_tensor_may_be_said() -> None:
    mod = engaged(
        lambda x: functional.avg_pool2d(x.softmax(-1, dtype=torch.float32), 2), torch.rand(2, 4, 4), "openvino"
    )
    x = torch.rand(2, 4, 4) * 9
    torch.testing.assert_close(mod(x), functional.avg_pool2d(x.softmax(-1), 2), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:the engine .* does not answer on")
@pytest.mark.parametrize(
    "process",
    [
        lambda x: functional.layer_norm(x, (6,)),
        lambda x: x.std((0, 1)),
        lambda x: (x * 1e12).std((0, 1)),
        lambda x: x @ x.T,
        lambda x: functional.binary_cross_entropy((x * 1e-17).sigmoid(), torch.full((2, 6), 0.25)),
    ],
)
def test_what_overflows_on_an_engine_and_what_is_left_of_one_stay_with_torch(process) -> None:
    mod = engaged(process, torch.rand(2, 6), "onnxruntime")
    for x in (torch.linspace(-1, 1, 12).reshape(2, 6) * scale for scale in (1.0, 2e18, 1e30)):
        torch.testing.assert_close(mod(x), process(x), rtol=1e-4, atol=1e-5, equal_nan=True)
