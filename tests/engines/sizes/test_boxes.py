"""Sizes between compared ones: an engine answers alone there, and nowhere that a branch or a misfit could hide."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from torch.nn import functional

import tracepack
from tests.engines.fakes import Mirror
from tracepack.ops.engines import catalogue
from tracepack.ops.engines.engine import Task
from tracepack.ops.engines.region import regions
from tracepack.ops.engines.rescue import SIZES, Reference
from tracepack.ops.engines.size_boxes import BOXES, MOST_BOXES, SizeBoxes
from tracepack.ops.graph.program import Artefact

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
SHAPES = (("n", 3, "k"), ("n",))


def sizes(n: int, k: int) -> tuple[torch.Size, ...]:
    return torch.Size((n, 3, k)), torch.Size((n,))


def boxes(*points: tuple[int, int]) -> SizeBoxes:
    return SizeBoxes.among(SHAPES, [sizes(*point) for point in points], lambda box: True)


def test_a_box_needs_all_its_corners() -> None:
    corners = list(product((4, 16), (8, 32)))
    found = boxes(*corners)
    assert found.boxes == ({"n": (4, 16), "k": (8, 32)},)
    agreed = {sizes(*corner) for corner in corners}
    for n, k in product(range(1, 20), range(6, 36)):
        assert found.agreed(agreed).hold(sizes(n, k)) is (4 <= n <= 16 and 8 <= k <= 32)
    for corner in corners:
        assert not found.agreed(agreed - {sizes(*corner)}).hold(sizes(5, 9))
        assert {"n": (4, 16), "k": (8, 32)} not in boxes(*(each for each in corners if each != corner)).boxes


def test_one_is_no_end_of_a_range() -> None:
    assert boxes((1, 8), (4, 8)).boxes == ()
    assert boxes((1, 8), (1, 32), (4, 8)).boxes == ({"n": (1, 1), "k": (8, 32)},)
    assert boxes((0, 8), (4, 8)).boxes == ()


def test_sizes_of_one_name_are_equal() -> None:
    found, agreed = boxes((4, 8), (16, 8)), {sizes(4, 8), sizes(16, 8)}
    assert found.agreed(agreed).hold(sizes(5, 8))
    assert not found.agreed(agreed).hold((torch.Size((5, 3, 8)), torch.Size((6,))))
    assert not found.agreed(agreed).hold((torch.Size((5, 4, 8)), torch.Size((5,))))
    assert not found.agreed(agreed).hold((torch.Size((5, 3)), torch.Size((5,))))


def test_where_the_exporter_proved_nothing_there_is_no_box() -> None:
    points = [sizes(4, 8), sizes(16, 8)]
    assert SizeBoxes.among(SHAPES, points, lambda box: box["n"][1] < 10).boxes == ()


def test_plain_data_gives_the_boxes_again() -> None:
    found = boxes(*product((4, 16), (8, 32)))
    assert SizeBoxes.read(found.described()) == found


@pytest.mark.parametrize(
    "data",
    [
        None, 7, "text", {}, {"shapes": 1}, {"shapes": [["n"]], "boxes": [{}]}, {"shapes": [[None]], "boxes": []},
        *({"shapes": [["n"]], "boxes": [{"n": ends}]} for ends in (1, [2, "x"], [9, 2], [0, 2], [2, 3, 4])),
        {"shapes": [list("abcde")], "boxes": [{name: [2, 3] for name in "abcde"}]},
    ],
)  # fmt: skip
def test_malformed_data_is_no_box(data: Any) -> None:
    assert not SizeBoxes.read(data).boxes
    assert SizeBoxes.read_all(data) == [] or isinstance(data, list)


def test_many_boxes_are_cut() -> None:
    data = {"shapes": [["n"]], "boxes": [{"n": [2, 3]}] * 100}
    assert len(SizeBoxes.read(data).boxes) == MOST_BOXES


# -- what the exporter decided -----------------------------------------------------------------------------------------


def proven(function: Any, *inputs: torch.Tensor, others: list[tuple[torch.Tensor, ...]]) -> list[dict[str, Any]]:
    """The boxes of a traced function, between the inputs and others."""
    from tracepack.ops.engines.exporting.onnx_export import exported
    from tracepack.ops.engines.exporting.proven_boxes import proven_boxes

    region, *_ = regions(tracepack.trace(function, *inputs).program.graph)
    program = exported(Task(region, [inputs, *others], 1, [inputs]))
    return [dict(box) for each in proven_boxes(program, [inputs, *others], [inputs]) for box in each.boxes]


def test_a_function_without_branches_is_right_between() -> None:
    (box,) = proven(lambda x: x.softmax(-1) * 2, torch.rand(6, 8), others=[(torch.rand(3, 8),), (torch.rand(12, 8),)])
    assert list(box.values()) == [(3, 12), (8, 8)]


def reshaped(x: torch.Tensor) -> torch.Tensor:
    """The exporter must know whether the length is even."""
    return x.reshape(2, -1) + 1


def test_where_a_condition_is_open_there_is_no_box() -> None:
    assert proven(reshaped, torch.rand(8), others=[(torch.rand(4),), (torch.rand(16),)]) == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x: functional.interpolate(x, scale_factor=0.57),
        lambda x: x.sum() * torch.arange(0, 1, 1 / x.shape[2]),
    ],
)
def test_where_a_size_is_rounded_there_is_no_box(function: Any) -> None:
    """A runtime that computes in single precision makes 57 of 100 * 0.57, and torch 56."""
    assert proven(function, torch.rand(2, 3, 50), others=[(torch.rand(2, 3, n),) for n in (25, 101)]) == []


def test_sizes_in_whole_numbers_have_boxes() -> None:
    found = proven(
        lambda x: functional.pad(x, (0, -x.shape[1] % 8)) * (x.shape[1] // 3),
        torch.rand(6, 10), others=[(torch.rand(6, 5),), (torch.rand(6, 20),)],
    )  # fmt: skip
    assert [box for box in found if (5, 20) in box.values()]


def test_sizes_that_are_equal_in_the_example_may_have_to_be() -> None:
    """Of the corners of two sizes those that differ are refused, and were not compared."""
    x, others = torch.rand(6, 5), [(torch.rand(n, 5), torch.rand(n, 5)) for n in (3, 12)]
    found = proven(lambda x, y: torch.cat([x, y], 1), x, torch.rand(6, 5), others=others)
    assert [box for box in found if (3, 12) in box.values()]


# -- in a pipeline -----------------------------------------------------------------------------------------------------


class Boxed(Mirror):
    """A mirror that says to be right between the sizes of its examples."""

    name = "boxed"

    def make(self, task: Task) -> Artefact:
        made = super().make(task)
        shapes = [[f"s{place}" for place in range(value.dim())] for value in task.examples[0]]
        found = SizeBoxes.among(shapes, [[each.shape for each in values] for values in task.examples], lambda box: True)
        return Artefact(
            made.engine, made.package, {**made.description, BOXES: [found.described()]}, made.files, made.constants
        )


@pytest.fixture
def nodes_run(mirror: type[Mirror], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sizes at which the nodes ran beside an engine; the engine `boxed` is known."""
    catalogue.register("boxed", lambda: Boxed)
    found: list[Any] = []
    run = Reference.guarded

    def guarded(reference: Reference, *values: torch.Tensor) -> Any:
        found.append([tuple(value.shape) for value in values])
        return run(reference, *values)

    monkeypatch.setattr(Reference, "guarded", guarded)
    return found


def engaged(x: torch.Tensor) -> tracepack.Pipeline:
    mod = tracepack.trace(lambda x: (x * 3).contiguous(), x)
    report = mod.optimize([{"x": x}], engines=["boxed"])
    assert report.engines == {"pipeline": "boxed"}, str(report)
    return mod


def test_between_the_sizes_of_a_search_the_engine_answers_alone(nodes_run: list[Any]) -> None:
    mod = engaged(torch.rand(8, 10))
    file = io.BytesIO()
    mod.save(file)
    for each in (mod, tracepack.load(file.getvalue(), trust=True)):
        nodes_run.clear()
        for shape in ((5, 7), (16, 20), (11, 6), (1, 13)):
            assert torch.equal(each(torch.ones(shape)), torch.full(shape, 3.0))
        assert nodes_run == []
        for shape in ((40, 7), (40, 7), (5, 50), (7, 1)):
            assert torch.equal(each(torch.ones(shape)), torch.full(shape, 3.0))
        assert nodes_run == [[(40, 7)], [(5, 50)], [(7, 1)]]


def test_where_an_engine_fails_at_a_corner_new_sizes_are_compared(
    nodes_run: list[Any], mirror: type[Mirror], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.shape == (16, 20):
            raise RuntimeError("too large")
        return tensor

    monkeypatch.setattr(mirror, "change", staticmethod(failing))
    mod = engaged(torch.rand(8, 10))
    nodes_run.clear()
    mod(torch.ones(15, 19))
    assert nodes_run == [[(15, 19)]]


def test_an_archive_that_claims_boxes_without_corners_is_not_believed(nodes_run: list[Any]) -> None:
    mod = engaged(torch.rand(8, 10))
    (choice,) = mod.program.engines
    artefact = choice.artefact
    forged = replace(artefact, description={**artefact.description, SIZES: [], BOXES: artefact.description[BOXES]})
    mod.program = replace(mod.program, engines=(replace(choice, artefact=forged),))
    file = io.BytesIO()
    mod.save(file)
    loaded = tracepack.load(file.getvalue(), trust=True)
    nodes_run.clear()
    loaded(torch.ones(5, 7))
    assert nodes_run == [[(5, 7)]]


class Attention(torch.nn.Module):
    """One head with a convolution over time."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.smooth = torch.nn.Linear(16, 48), torch.nn.Conv1d(16, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.project(x)[:, None].chunk(3, -1)
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        return self.smooth((x + mixed[:, 0]).transpose(1, 2)).transpose(1, 2).contiguous()


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_real_engines_are_right_between(engine: str, nodes_run: list[Any]) -> None:
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    pytest.importorskip(engine, reason=f"the extra for {engine} is not installed")
    torch.manual_seed(0)
    layer = Attention()
    op = tracepack.script(layer, name="layer", engine=engine)
    mod = tracepack.trace(lambda x: op(x), torch.rand(3, 10, 16))
    nodes_run.clear()
    for n, length in product((1, 2, 3, 4, 5, 6), (5, 7, 12, 19, 20)):
        x = torch.randn(n, length, 16)
        with torch.no_grad():
            torch.testing.assert_close(mod(x), layer(x), rtol=1e-4, atol=1e-4)
    assert nodes_run == []
