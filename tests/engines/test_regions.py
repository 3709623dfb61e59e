"""Regions: what an engine may run is found, what it may not run is left, with the reason."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.models import Counter, MyCell
from tracepack.ops.engines.region import Barrier, barriers, regions, whole
from tracepack.ops.graph.traverse import bodies
from tracepack.ops.runtime.plan import Plan


def names(function, *examples) -> list[str]:
    return [region.name for region in regions(tracepack.trace(function, *examples).graph)]


def test_a_pipeline_of_tensors_is_one_region_and_each_op_another() -> None:
    cell = tracepack.script(MyCell().eval(), name="cell")
    assert names(lambda x, h: cell(x * 2, h), torch.rand(3, 4), torch.rand(3, 4)) == ["pipeline", "op 'cell'"]


def test_a_pipeline_that_is_one_op_is_one_region() -> None:
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer")
    assert names(lambda x: layer(x), torch.rand(3, 4)) == ["pipeline"]


def test_texts_cut_a_pipeline() -> None:
    labels = ["a", "b"]
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer")
    found = names(lambda x: [labels[j] for j in layer(x + 1).argmax(-1).tolist()], torch.rand(3, 4))
    assert found == ["nodes 0-2", "op 'layer'"]


def test_models_on_the_sides_of_a_choice_come_before_the_nodes_that_decide() -> None:
    layers = [torch.nn.Linear(4, 4), torch.nn.ReLU()]
    first, second = (
        tracepack.script(torch.nn.Sequential(*layers * count).eval(), name=f"net{count}") for count in (2, 3)
    )

    def process(x):
        y = first(x) if (x + 1).mean() > 0 else second(x)
        return y * 2

    assert names(process, torch.rand(3, 4)) == ["op 'net3'", "op 'net2'", "nodes 0-2", "nodes 5-5"]


def test_a_region_computes_what_its_nodes_compute() -> None:
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer")
    mod = tracepack.trace(lambda x: (torch.relu(layer(x)), x.shape[0] * 2), torch.rand(3, 4))
    (region,) = [each for each in regions(mod.graph) if each.name == "pipeline"]
    x = torch.randn(5, 4)
    (found,) = Plan(region.graph).run([x], checked=False)
    assert torch.equal(found, mod(x)[0])
    assert [node.target.name for node in region.kept] == ["py.size", "py.mul"]


def test_every_op_has_a_region_of_its_own_number() -> None:
    first, second = (tracepack.script(torch.nn.Linear(4, 4), name=name) for name in ("first", "second"))
    mod = tracepack.trace(lambda x: second(first(x)), torch.rand(3, 4))
    found = {region.name: region.place for region in regions(mod.graph) if region.body is not None}
    assert found == {"op 'first'": 0, "op 'second'": 1}
    assert [body.name for body in bodies(mod.graph)] == ["first", "second"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: tracepack.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, x), "cond has branches"),
        (lambda x: x * float(x.sum()), "reads a value"),
        (lambda x: x[x > 0] * 2, "has sizes that data decide"),
        (lambda x: x.repeat_interleave((x[0] > 0).long(), 1), "has sizes that data decide"),
        (lambda x: x.numpy().sum(), "works on texts, lists or arrays"),
    ],
)
def test_what_bars_a_region_is_named(function, reason) -> None:
    found = whole(tracepack.trace(function, torch.rand(3, 4)).graph)
    assert isinstance(found, Barrier)
    assert reason in str(found)


def test_an_op_with_state_is_no_region() -> None:
    op = tracepack.script(Counter(), name="count")
    found = whole(tracepack.trace(lambda x: op(x), torch.ones(2)).graph)
    assert str(found).startswith("count has ")
    assert str(found).endswith("keeps state")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: (x.add_(1), x * 2)[1], "it writes to an input or a weight"),
        (lambda x, k: x * k, "it takes a number"),
    ],
)
def test_what_is_not_pure_is_no_region(function, reason) -> None:
    examples = [torch.rand(3, 4), 2][: function.__code__.co_argcount]
    assert whole(tracepack.trace(function, *examples).graph) == reason


def test_an_op_whose_sizes_depend_on_data_is_checked_in_every_run() -> None:
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer")
    mod = tracepack.trace(lambda x: layer(x[x[:, 0] > 0.5]) * 2, torch.rand(9, 4))
    assert [region.name for region in regions(mod.graph)] == ["nodes 0-1", "nodes 4-4", "op 'layer'"]
    assert "layer is checked in every run, since its sizes depend on data" in map(str, barriers(mod.graph))


def test_tensors_whose_sizes_data_decided_are_in_regions() -> None:
    mod = tracepack.trace(lambda x: x[x > 0.5] * 2, torch.rand(9))
    assert [region.name for region in regions(mod.graph)] == ["nodes 0-0", "nodes 2-2"]
    x = torch.rand(20)
    (found,) = Plan(regions(mod.graph)[1].graph).run([x], checked=False)
    assert torch.equal(found, x * 2)


class Chosen(torch.nn.Module):
    """Sizes that data decide, by an operator that is composed of others."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[torch.where(x > 0)[0]] * 2


def test_an_op_whose_sizes_data_decides_is_no_region() -> None:
    op = tracepack.script(Chosen(), name="chosen")
    mod = tracepack.trace(lambda x: op(x * 2) @ torch.ones(1, 2), torch.rand(3)[:, None])
    assert [region.name for region in regions(mod.graph)] == ["nodes 2-3", "nodes 0-0"]
