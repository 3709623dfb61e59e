"""`profile` says what each node took, and leaves nothing in a pipeline that is not profiled."""

from __future__ import annotations

import itertools
import json

import pytest
import torch

import tracepack
from tests.engines.fakes import Mirror
from tests.models import Counter, MyCell


@pytest.fixture
def mod() -> tracepack.Pipeline:
    cell = tracepack.script(MyCell().eval(), name="cell")
    return tracepack.trace(lambda x, h: cell(x * 0.5, h)[0].softmax(-1), torch.rand(3, 4), torch.rand(3, 4))


FEED = {"x": torch.ones(5, 4), "h": torch.zeros(5, 4)}


def test_each_node_has_a_time_its_shapes_its_memory_and_its_line(mod) -> None:
    found = mod.profile(FEED, runs=3)
    names = [step.name for step in found.steps]
    assert (names[0], names[-1]) == ("torch.Tensor.mul", "torch.Tensor.softmax")
    assert {step.op for step in found.steps[1:-1]} == {"cell"}
    assert all(step.seconds > 0 and step.engine == "aten" for step in found.steps)
    last = found.steps[-1]
    assert (last.outputs, last.memory) == ("float32[5, 4]", 80)
    assert "test_profile.py" in last.line
    assert found.seconds == pytest.approx(sum(step.seconds for step in found.steps))
    assert str(found).splitlines()[0].split() == [
        "node", "op", "engine", "time", "share", "memory", "outputs", "line",
    ]  # fmt: skip


def test_the_trace_opens_in_perfetto(mod, tmp_path) -> None:
    found = mod.profile(FEED)
    found.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert [event["name"] for event in events] == [step.name for step in found.steps]
    for event, following in itertools.pairwise(events):
        assert event["ph"] == "X"
        assert event["ts"] + event["dur"] <= following["ts"] + 1e-6
    assert events[-1]["args"]["outputs"] == "float32[5, 4]"


def test_a_region_is_one_line_that_names_its_engine(mod, mirror: type[Mirror]) -> None:
    mod.optimize([FEED], engines=["mirror"])
    assert [(step.name, step.engine) for step in mod.profile(FEED).steps] == [("pipeline", "mirror")]


def test_the_state_stays_as_it_was() -> None:
    op = tracepack.script(Counter(), name="count")
    mod = tracepack.trace(lambda x: op(x), torch.ones(2))
    mod.run({"x": torch.ones(2)})
    mod.profile({"x": torch.ones(2)})
    assert mod.run({"x": torch.ones(2)}).tolist() == [2.0, 2.0]


def test_inputs_that_are_written_stay_as_they_were() -> None:
    mod = tracepack.trace(lambda x: x.add_(1) * 2, torch.ones(3))
    x = torch.zeros(3)
    mod.profile({"x": x})
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_choices_and_texts_are_steps_too() -> None:
    labels = ["a", "b"]

    def name(x: torch.Tensor) -> list[str]:
        y = tracepack.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, x)
        return [labels[j] for j in y.argmax(-1).tolist()]

    mod = tracepack.trace(name, torch.rand(3, 2))
    names = [step.name for step in mod.profile({"x": torch.rand(4, 2)}).steps]
    assert "cond" in names
    assert names[-2:] == ["py.tolist", "map"]


def test_wrong_inputs_are_refused(mod) -> None:
    with pytest.raises(tracepack.SignatureError, match="missing input"):
        mod.profile({"x": torch.ones(5, 4)})
