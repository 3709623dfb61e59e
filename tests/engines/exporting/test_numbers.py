"""Numbers that other runtimes hold in fewer bits, or compute by other formulas, get the answers of torch."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tracepack.ops.engines.checks.index_checks import DataChecks
from tracepack.ops.engines.checks.left_to_torch import Unfit

pytest.importorskip("onnxscript")
pytestmark = pytest.mark.filterwarnings("ignore:the engine .* (fails|does not answer) on")


def engaged(process, example: torch.Tensor, engine: str) -> tracepack.Pipeline:
    if engine != "inductor":
        pytest.importorskip(engine)
    op = tracepack.script(process, name="op", engine=engine)
    return tracepack.trace(lambda x: op(x), example)


@pytest.mark.parametrize(
    "process", [lambda x: x + 1, lambda x: x > 100, lambda x: x.amax(0), lambda x: x * x, lambda x: x.cumsum(0)]
)
@pytest.mark.parametrize("values", [[10**12, -3], [2**31, 1], [2**16, 2**16]])
def test_openvino_gives_integers_of_64_bits(process, values) -> None:
    mod = engaged(process, torch.tensor([1, 2]), "openvino")
    x = torch.tensor(values)
    for _ in range(2):
        assert torch.equal(mod(x), process(x))


@pytest.mark.parametrize(
    ("process", "example"),
    [
        (lambda x: x.argmax(0), torch.tensor([1.0, 2.0], dtype=torch.float64)),
        (lambda x: x + x, torch.tensor([1, 2], dtype=torch.int8)),
        (lambda x: x == 10**12, torch.tensor([1, 2])),
        (lambda x: x << 4, torch.tensor([1, 2])),
        (lambda x: x >> 2, torch.tensor([1, 2])),
        (lambda x: torch.floor(x / 0.1), torch.tensor([1.25, 2.0])),
        (lambda x: (x / 0.1).long(), torch.tensor([1.25, 2.0])),
    ],
)
def test_openvino_declines_what_it_computes_in_fewer_bits(process, example) -> None:
    with pytest.raises(tracepack.LoweringError, match="32 bits|which OpenVINO rounds"):
        engaged(process, example, "openvino")


@pytest.mark.parametrize(
    "process",
    [
        torch.nn.functional.logsigmoid,
        torch.signbit,
        torch.erfc,
        lambda x: torch.nn.functional.soft_margin_loss(x, x.sign()),
        lambda x: torch.nn.functional.cosine_embedding_loss(x, x + 1, x[:, 0].sign()),
        torch.special.erfcx,
        torch.special.log_ndtr,
        lambda x: torch.atan2(x, x - 1),
        lambda x: torch.div(x, 0.7, rounding_mode="floor"),
        lambda x: torch.nn.functional.grid_sample(x[None, None], x.view(1, 2, 3, 2), "nearest", align_corners=True),
    ],
)
def test_functions_that_onnx_has_by_another_formula_stay_with_torch(process) -> None:
    with pytest.raises(tracepack.LoweringError, match="other runtimes do otherwise"):
        engaged(process, torch.rand(3, 4), "onnxruntime")


@pytest.mark.parametrize(
    ("process", "match"),
    [
        (lambda x: x >= 0.1, "compares float16 with a number that is no float16"),
        (lambda x: torch.eq(x, 2049), "compares float16 with a number that is no float16"),
        (lambda x: (x * 10).floor(), "rounds numbers to 16 bits"),
        (lambda x: (x / 3).round() * 2, "rounds numbers to 16 bits"),
        (lambda x: (x - 0.1).sign(), "rounds numbers to 16 bits"),
    ],
)
def test_steps_on_float16_stay_with_torch(process, match) -> None:
    """0.1 in float16 is below 0.1 in float32, and ten times that is 1 in float16 alone."""
    with pytest.raises(tracepack.LoweringError, match=match):
        engaged(process, torch.rand(3, 4, dtype=torch.float16), "onnxruntime")


@pytest.mark.parametrize("process", [lambda x: x >= 0.5, lambda x: x.round(), lambda x: x * 0.1, torch.relu])
def test_other_functions_of_float16_go_to_an_engine(process) -> None:
    mod = engaged(process, torch.rand(3, 4, dtype=torch.float16), "onnxruntime")
    x = torch.tensor([[0.5, 1.5, 2.5, -0.5]] * 3, dtype=torch.float16)
    torch.testing.assert_close(mod(x), process(x))


@pytest.mark.parametrize("process", [lambda x: (x << 1).long(), lambda x: torch.bitwise_right_shift(x, 1).float()])
def test_shifts_of_bytes_stay_with_torch(process) -> None:
    """An export shifts int8 in place of uint8: 100 << 1 was -56."""
    with pytest.raises(tracepack.LoweringError, match="it shifts bytes as if they had a sign"):
        engaged(process, torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8), "onnxruntime")


@pytest.mark.parametrize("process", [torch.sinc, torch.special.sinc, torch.trapz, torch.trapezoid])
def test_what_is_rounded_to_16_bits_on_the_way_stays_with_torch(process) -> None:
    """The sine of pi in 16 bits is 1e-3, and sums of neighbours overflow before they are halved."""
    with pytest.raises(tracepack.LoweringError, match="it rounds (multiples of pi|terms) to 16 bits"):
        engaged(process, torch.rand(3, 4, dtype=torch.float16), "onnxruntime")


def test_a_slice_without_an_end_is_no_number_of_64_bits() -> None:
    """Transformers have such slices of shapes; `torch.export` writes the largest integer for their end."""

    class Sliced(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x[:, 1:] * 2

    mod = engaged(Sliced(), torch.ones(3, 4, dtype=torch.int64), "openvino")
    assert mod.engines == {"op 'op'": "openvino", "other nodes": "aten"}
    x = torch.arange(20).reshape(5, 4)
    assert torch.equal(mod(x), x[:, 1:] * 2)


def test_a_slice_from_a_number_of_64_bits_is_declined() -> None:
    with DataChecks([], in_32_bits=True), pytest.raises(Unfit, match="integers beyond 2"):
        torch.ops.aten.slice.Tensor(torch.ones(3, 4), 1, 2**40)


LEAST = torch.iinfo(torch.int64).min


@pytest.mark.parametrize(
    ("process", "values"),
    [
        (lambda x: x.sum(), [LEAST, 2**63 - 1]),
        (lambda x: x[:1] + x.sum(0, keepdim=True), [LEAST, 2**63 - 2]),
        (lambda x: x // 3, [LEAST, LEAST + 1]),
        (lambda x: x % 7, [LEAST, 2]),
        (lambda x: (-1) ** x, [2**63 - 1, 2**53 + 1]),
        (lambda x: torch.pow(x, x.abs()), [-1, 2**62 + 1]),
    ],
)
def test_onnx_runtime_gives_the_integers_of_torch_at_their_ends(process, values) -> None:
    """The least integer is its own absolute value, and float64 has no odd numbers beyond 2^53."""
    mod = engaged(process, torch.tensor([1, 2]), "onnxruntime")
    x = torch.tensor(values)
    for _ in range(2):
        assert torch.equal(mod(x), process(x))


def test_shares_that_torch_refuses_are_refused_on_an_engine() -> None:
    wanted = torch.tensor([1.0, 0.0])
    mod = engaged(
        lambda x: torch.nn.functional.binary_cross_entropy(x, wanted), torch.tensor([0.5, 0.2]), "onnxruntime"
    )
    x = torch.tensor([0.1, 0.9])
    torch.testing.assert_close(mod(x), torch.nn.functional.binary_cross_entropy(x, wanted))
    for _ in range(2):
        with pytest.raises(tracepack.NodeError, match="input should be between 0 and 1"):
            mod(torch.tensor([0.5, 1.5]))


def test_as_many_numbers_as_a_mask_chooses_are_left_to_torch() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        filled = x.clone()
        filled[x > 0] = torch.tensor([7.0, 8.0])
        return filled

    with pytest.raises(tracepack.LoweringError, match="as many numbers as a mask chooses"):
        engaged(process, torch.tensor([1.0, -1.0, 2.0]), "onnxruntime")


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino", "inductor"])
@pytest.mark.parametrize(
    "process",
    [
        lambda x: (x * 2).half().float(),
        lambda x: (x * 3).bfloat16().long(),
        lambda x: x - x.to(torch.bfloat16).float(),
        lambda x: (x.half() + 1000).argmax(-1),
    ],
)
def test_rounding_to_16_bits_stays_with_torch(process, engine) -> None:
    """Runtimes leave a conversion to 16 bits and back out, or cut off the bits that torch rounds."""
    with pytest.raises(tracepack.LoweringError, match="rounds numbers to 16 bits|in float32, without rounding"):
        engaged(process, torch.rand(3, 4), engine)


def test_torchs_compiler_declines_float16() -> None:
    """It sums in float32, and torch does not."""
    with pytest.raises(tracepack.LoweringError, match="it rounds numbers to 16 bits, which runtimes leave out"):
        engaged(lambda x: (x * 2).sum(-1), torch.rand(3, 4).half(), "inductor")


def test_openvino_declines_float16() -> None:
    """It computes in float32, and ends the process on some exponentials."""
    with pytest.raises(tracepack.LoweringError, match="computes float16 and bfloat16 in float32, without rounding"):
        engaged(lambda x: (x * 2).exp(), torch.rand(3, 4).half(), "openvino")


PLACES = [
    lambda x: x.topk(2)[1],
    lambda x: x.topk(2, 0, largest=False)[1],
    lambda x: x.topk(2, sorted=False).indices.sum(-1),
]
SORTS = [lambda x: x.sort(-1)[1], lambda x: x.sort(0, descending=True)[1], lambda x: x.argsort(0)]


@pytest.mark.parametrize(
    ("engine", "process"),
    [("openvino", process) for process in PLACES] + [("onnxruntime", process) for process in (*PLACES, *SORTS)],
)
def test_the_places_of_equal_numbers_are_those_of_torch(engine, process) -> None:
    mod = engaged(process, torch.tensor([[0.3, 0.9, 0.6, 0.1, 0.2], [0.2, 0.5, 0.8, 0.7, 0.4]]), engine)
    generator = torch.Generator().manual_seed(0)
    for _ in range(8):
        x = torch.randint(3, (2, 5), generator=generator).float()
        assert torch.equal(mod(x), process(x))


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(
    "process",
    [
        lambda x: x.sigmoid().argmax(-1),
        lambda x: (x.tanh() * 2).max(-1)[1],
        lambda x: (-x.sigmoid()).min(0)[1],
        lambda x: x.sigmoid().argmax(),
        lambda x: (x[:, :1].sigmoid() * x[:, 1:].sigmoid()).topk(1)[1],
        lambda x: torch.special.expit(x).topk(2)[1],
    ],
)
def test_of_numbers_that_a_sigmoid_makes_equal_the_first_is_chosen(process, engine) -> None:
    mod = engaged(process, torch.tensor([[0.3, 0.9, 0.6, 0.1, 0.2], [0.2, 0.5, 0.8, 0.7, 0.4]]), engine)
    for least in (8.0, 15.0, 16.5, 17.0, 30.0):
        x = least + torch.tensor([[0.0, 2.0, 1.0, 3.0, 0.5], [1.0, 0.5, 0.25, 2.0, 4.0]])
        assert torch.equal(mod(x), process(x))


@pytest.mark.parametrize("process", SORTS)
def test_openvino_does_not_sort(process) -> None:
    with pytest.raises(tracepack.LoweringError, match="it sorts, and OpenVINO gives equal numbers in another order"):
        engaged(process, torch.rand(2, 5), "openvino")


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(
    "process",
    [
        lambda x: x.sigmoid().log(),
        lambda x: (x.sigmoid() * 2).mean(-1, keepdim=True).log2(),
        lambda x: -(x.sigmoid() * torch.log(x.sigmoid())),
        lambda x: 1 / x.sigmoid(),
        lambda x: x / torch.nn.functional.softplus(x),
        lambda x: torch.nn.functional.softplus(x).log(),
        lambda x: torch.nn.functional.silu(x).abs().rsqrt(),
    ],
)
def test_small_numbers_that_a_runtime_has_few_digits_of_stay_with_torch(process, engine) -> None:
    """A sigmoid of ONNX Runtime is 0 below 1e-8, and a softplus of OpenVINO is negative there."""
    mod = engaged(process, torch.tensor([[0.3, 0.9, 0.6], [0.2, 0.5, 0.8]]), engine)
    for least in (-9.0, -16.0, -18.0, -30.0):
        x = torch.tensor([[least, 0.5, -0.25], [1.0, least / 2, 2.0]])
        torch.testing.assert_close(mod(x), process(x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("process", [lambda x: x.sort(-1)[1], lambda x: x.argsort(-1, descending=True)])
def test_equal_numbers_are_sorted_as_torch_does(process) -> None:
    """Of more than 16 numbers torch does not keep the first of equal ones first; ONNX Runtime does."""
    mod = engaged(process, torch.rand(3, 20), "onnxruntime")
    for seed in range(4):
        x = torch.rand(3, 20, generator=torch.Generator().manual_seed(seed))
        assert torch.equal(mod(x), process(x))
        assert torch.equal(mod((x * 3).round()), process((x * 3).round()))


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("unbiased", [True, False])
def test_the_deviation_of_equal_numbers_is_that_of_torch(engine, unbiased) -> None:
    """Runtimes find one by rounding, and a quotient by it is any number."""

    def process(x: torch.Tensor) -> torch.Tensor:
        return (x - 0.5) / (x.std(-1, unbiased=unbiased, keepdim=True) + 1e-8)

    mod = engaged(process, torch.rand(3, 10), engine)
    for value in (0.1, -3.7, 1e-6):
        x = torch.full((3, 10), value)
        torch.testing.assert_close(mod(x), process(x))


def test_an_index_into_a_tensor_as_one_row_is_checked() -> None:
    rows = torch.rand(3, 4)
    mod = engaged(lambda index: torch.take_along_dim(rows, index), torch.tensor([0, 5]), "onnxruntime")
    assert torch.equal(mod(torch.tensor([11, 2])), torch.stack([rows[2, 3], rows[0, 2]]))
    for index in (-1, 12):
        with pytest.raises(tracepack.NodeError, match="out of bounds"):
            mod(torch.tensor([index, 0]))


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_small_constants_are_kept(engine) -> None:
    """onnxscript takes 1e-8 for zero, and 1.000001 for one."""

    def process(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + 1e-8, x - 1e-9, 1e-12 + x * 3, (x * 1.000001 - x) * 1e6, x / 1.000001, x / (x.norm() + 1e-8)

    mod = engaged(process, torch.rand(4), engine)
    for scale in (1.0, 1e-8):
        x = torch.rand(4) * scale
        for found, wanted in zip(mod(x), process(x), strict=True):
            torch.testing.assert_close(
                found, wanted, rtol=1e-6, atol=0.2 if float(wanted.max()) > 0.5 and scale == 1 else 0
            )
    assert mod.engines["op 'op'"] == engine


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize(
    "process",
    [
        lambda x: x.clamp(0, 1) + x.clamp(0, 1) * 2,
        lambda x: x.clamp_min(0).clamp_max(1) - x.clamp_min(-1).clamp_max(2),
        lambda x: x.clamp(0, 1).relu() * 2 + x.clamp(-1, 3).relu(),
        lambda x: x.clamp(-1, 1) * x.clamp(-2, 2) + x.clamp(-1, 2),
    ],
)
def test_a_tensor_is_clamped_more_than_once(process, engine) -> None:
    """onnxscript gave the bounds of all clamps of a tensor the same two names."""
    mod = engaged(process, torch.linspace(-3, 3, 12), engine)
    x = torch.linspace(-4, 4, 33)
    for each in (x[:12], x):
        torch.testing.assert_close(mod(each), process(each))
    assert mod.engines["op 'op'"] == engine
