"""`optimize` keeps an engine only where the pipeline answers as it did before, and the answers stay right."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

import tracepack
from tests.engines.fakes import Mirror
from tests.models import MyCell
from tracepack.ops.engines import catalogue
from tracepack.ops.engines.engine import Task
from tracepack.ops.graph.program import Artefact


@pytest.fixture
def mod() -> tracepack.Pipeline:
    cell = tracepack.script(MyCell().eval(), name="cell")

    def process(x: torch.Tensor, h: torch.Tensor) -> dict[str, object]:
        h = cell(x * 0.5, h)[0]
        return {"h": h, "best": h.argmax(-1), "rows": x.shape[0]}

    return tracepack.trace(process, torch.rand(3, 4), torch.rand(3, 4))


def feed(rows: int = 3) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(rows)
    return {name: torch.rand(rows, 4, generator=generator) for name in ("x", "h")}


def plain(mod: tracepack.Pipeline, rows: int) -> dict[str, torch.Tensor]:
    """The answer of the flat function."""
    return mod._runner.reference.run(list(feed(rows).values()))


def test_an_engine_runs_what_it_was_chosen_for(mod, mirror: type[Mirror]) -> None:
    wanted = mod(*feed(5).values())
    report = mod.optimize([feed()], engines=["mirror"])
    assert report.engines == {"pipeline": "mirror"}
    assert mod.engines == {"pipeline": "mirror"}
    mirror.calls.clear()
    for _ in range(2):  # a new signature, and a known one
        found = mod.run(feed(5))
        assert torch.equal(found["h"], wanted["h"])
        assert torch.equal(found["best"], wanted["best"])
        assert found["rows"] == 5
    assert mirror.calls == ["pipeline", "pipeline"]


def test_no_engine_leaves_all_with_the_flat_function(mod, mirror: type[Mirror]) -> None:
    report = mod.optimize([feed()], engines=["refusing"])
    assert report.engines == {}
    assert mod.engines == {"pipeline": "aten"}
    assert {each.reason for each in report.attempts} == {"it takes nothing"}
    assert (report.before, report.difference) == (report.after, 0.0)


def test_an_engine_beyond_the_tolerance_is_refused(mod, mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t + 0.01 if t.is_floating_point() else t))
    report = mod.optimize([feed()], engines=["mirror"])
    assert report.engines == {}
    assert all("out['h'] differs by 0.01, allowed 0.0001" in each.reason for each in report.attempts)
    assert torch.equal(mod.run(feed())["h"], plain(mod, 3)["h"])


def test_a_wider_tolerance_takes_it_and_says_what_it_costs(mod, mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t + 0.01 if t.is_floating_point() else t))
    report = mod.optimize([feed()], engines=["mirror"], tolerance=0.05)
    assert report.engines == {"pipeline": "mirror"}
    assert report.difference == pytest.approx(0.01, rel=1e-3)


def test_an_engine_that_is_right_for_the_size_of_the_example_only_is_refused(mod, mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t if len(t) == 3 else t.flip(0)))
    report = mod.optimize([feed()], engines=["mirror"])
    assert report.engines == {}


def test_sizes_that_equal_fixed_ones_are_varied_by_the_letters_of_the_signature(mod, mirror, monkeypatch) -> None:
    """Four rows of four numbers: no table of sizes can change the rows and leave the numbers."""
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t if len(t) == 4 else t.flip(0)))
    report = mod.optimize([feed(4)], engines=["mirror"])
    assert report.engines == {}
    assert all("differs by" in each.reason for each in report.attempts)


def test_an_engine_of_another_dtype_is_refused(mod, mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t.double() if t.is_floating_point() else t))
    report = mod.optimize([feed()], engines=["mirror"], tolerance=0.5)
    assert report.engines == {}
    assert "it gives torch.float64 [" in report.attempts[0].reason


def test_an_engine_that_gives_back_the_memory_of_an_input_is_refused(mirror, monkeypatch) -> None:
    opened = mirror.open
    monkeypatch.setattr(mirror, "open", lambda self, *given: _returning_inputs(opened(self, *given)))
    mod = tracepack.trace(lambda x: (x * 1.0).contiguous(), torch.rand(3, 4))
    report = mod.optimize([{"x": torch.rand(3, 4)}], engines=["mirror"])
    assert report.attempts[0].reason == "it gives memory that it was given, or gives it twice"


def _returning_inputs(run):
    return lambda *values: list(values[: len(run(*values))])


def test_a_call_in_which_an_engine_fails_is_answered_by_the_flat_function(mod, mirror, monkeypatch) -> None:
    mod.optimize([feed()], engines=["mirror"])

    def fail(tensor: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(mirror, "change", staticmethod(fail))
    with pytest.warns(UserWarning, match=r"the engine 'mirror' fails on pipeline with inputs of \[4, 4\], \[4, 4\]"):
        found = mod.run(feed(4))
    assert torch.equal(found["h"], plain(mod, 4)["h"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        mod.run(feed(4))


def test_wrong_sizes_are_the_same_error_as_without_an_engine(mod, mirror) -> None:
    wrong = {"x": torch.rand(3, 5), "h": torch.rand(3, 4)}
    with pytest.raises(tracepack.SignatureError) as before:
        mod.run(wrong)
    mod.optimize([feed()], engines=["mirror"])
    with pytest.raises(tracepack.SignatureError) as after:
        mod.run(wrong)
    assert str(after.value) == str(before.value)


def test_a_guard_inside_of_a_region_holds_for_new_sizes(mirror) -> None:
    def halves(x: torch.Tensor) -> torch.Tensor:
        y = x.sum(1)
        return y * 2 if x.shape[0] > 2 else y.sum()  # sides of two ranks

    mod = tracepack.trace(halves, torch.rand(3, 4))
    mod.optimize([{"x": torch.rand(3, 4)}], engines=["mirror"])
    assert mod.engines == {"pipeline": "mirror"}
    with pytest.raises(tracepack.TracepackError, match="N > 2|the recording"):
        mod.run({"x": torch.rand(2, 4)})


def test_ctrl_c_keeps_what_was_found(mod, mirror) -> None:
    report = mod.optimize([feed()], engines=["mirror", "interrupting"])
    assert not report.finished
    assert report.engines == {"pipeline": "mirror"}
    assert "ended before everything was tried" in str(report)


def test_state_goes_on_and_sessions_begin_anew(mirror) -> None:
    class Sum(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += x.sum(0)
            return self.total * 1.0

    layer, total = tracepack.script(torch.nn.Linear(4, 4), name="layer"), tracepack.script(Sum(), name="total")
    mod = tracepack.trace(lambda x: total(layer(x)), torch.ones(2, 4))
    one = mod.session().run({"x": torch.ones(2, 4)})
    mod.run({"x": torch.ones(2, 4)})
    report = mod.optimize([{"x": torch.ones(2, 4)}], engines=["mirror"])
    assert report.engines == {"nodes 0-0": "mirror"}
    torch.testing.assert_close(mod.run({"x": torch.ones(2, 4)}), 2 * one)
    torch.testing.assert_close(mod.session().run({"x": torch.ones(2, 4)}), one)
    mirror.calls.clear()
    mod.session().run({"x": torch.ones(2, 4)})
    assert mirror.calls == ["nodes 0-0"]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: (x * 2).t(), "an output is not contiguous"),
        (
            lambda x: (x + 1).unbind(),
            "an output shares memory with an input, a weight or another output",
        ),
        (lambda x: x.reshape(-1), "an output shares memory with an input, a weight or another output"),
    ],
)
def test_what_an_engine_cannot_repeat_stays(function, reason, mirror) -> None:
    mod = tracepack.trace(function, torch.rand(3, 4))
    report = mod.optimize([{"x": torch.rand(3, 4)}], engines=["mirror"])
    assert [(each.engine, each.reason) for each in report.attempts] == [("mirror", reason)]
    assert mod.engines == {"pipeline": "aten"}


def test_torch_follows_the_nodes_and_not_the_engine(mod, mirror) -> None:
    mod.optimize([feed()], engines=["mirror"])
    mod.run(feed(2))
    mirror.calls.clear()
    x, h = feed(2).values()
    outer = tracepack.trace(lambda x, h: mod(x, h)["h"], x, h)
    assert torch.equal(outer(x, h), plain(mod, 2)["h"])
    many = torch.func.vmap(lambda x, h: mod(x[None], h[None])["h"][0])(x, h)
    torch.testing.assert_close(many, plain(mod, 2)["h"])
    assert mirror.calls == []


def test_empty_tensors_are_never_given_to_an_engine(mod, mirror) -> None:
    mod.optimize([feed()], engines=["mirror"])
    mirror.calls.clear()
    for _ in range(2):
        assert mod.run(feed(0))["h"].shape == (0, 4)
    assert mirror.calls == []


def test_a_pipeline_loaded_again_keeps_its_examples_for_the_search(mod, mirror) -> None:
    file = io.BytesIO()
    mod.save(file, examples=[feed()], tolerance=1e-3)
    loaded = tracepack.load(file.getvalue())
    loaded.optimize([feed(4)], engines=["mirror"])
    again = io.BytesIO()
    loaded.save(again)
    assert tracepack.load(again.getvalue(), trust=True, verify="golden").engines == {"pipeline": "mirror"}


def test_the_report_is_data_and_a_table(mod, mirror) -> None:
    report = mod.optimize([feed()], engines=["mirror", "refusing"], threads=1)
    data = json.loads(report.to_json())
    assert data["engines"] == {"pipeline": "mirror"}
    assert data["threads"] == 1
    assert [each["region"] for each in data["attempts"] if each["engine"] == "refusing"] == ["pipeline", "op 'cell'"]
    lines = str(report).splitlines()
    assert lines[0].split() == "region engine before after ratio difference error artefact result".split()
    assert lines[1].split()[:2] == ["pipeline", "mirror"]
    assert lines[1].endswith("0.00 MB  chosen")
    assert data["attempts"][0]["size"] == len(b"a mirror")
    assert "pipeline: mirror; a run takes 333 ms, before 1 s (0.33)" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"examples": []}, "there are no examples"),
        ({"examples": [{"y": torch.rand(3, 4)}]}, "unknown input"),
        ({"examples": [feed()], "engines": "mirror"}, "engines is no list of names"),
        ({"examples": [feed()], "tolerance": -1}, "not a tolerance"),
    ],
)
def test_wrong_arguments_are_refused(mod, arguments, text) -> None:
    with pytest.raises(tracepack.SignatureError, match=text):
        mod.optimize(**arguments)


def test_an_unknown_engine_lists_the_known_ones(mod) -> None:
    with pytest.raises(tracepack.GraphError, match=r"unknown engine 'fast'; expected one of \['aten', 'onnxruntime'"):
        mod.optimize([feed()], engines=["fast"])


def test_a_slow_engine_of_a_slow_pipeline_is_not_compared_at_all_sizes(mod, mirror, monkeypatch) -> None:
    """What it saves is time for the other engines; the report says both times."""
    monkeypatch.setattr("tracepack.pipeline.optimizing.candidate.interleaved", lambda ways, seconds: [0.2, 0.3])
    seen: set[int] = set()
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: (seen.add(t.numel()), t)[1]))
    report = mod.optimize([feed()], engines=["mirror"])
    assert {each.reason for each in report.attempts} == {"it is no faster: 0.3 s, before 0.2 s"}
    assert seen == {12, 3}  # the elements of the two results for three rows


def test_an_engine_of_a_quick_pipeline_is_compared_however_fast_it_is(mod, mirror, monkeypatch) -> None:
    monkeypatch.setattr("tracepack.pipeline.optimizing.candidate.interleaved", lambda ways, seconds: [0.02, 0.03])
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t if len(t) == 3 else t.flip(0)))
    report = mod.optimize([feed()], engines=["mirror"])
    assert all("differs by" in each.reason for each in report.attempts)


class Heavy(Mirror):
    """Answers as the mirror does, from a larger artefact."""

    name: ClassVar[str] = "heavy"
    calls: ClassVar[list[str]] = []

    def make(self, task: Task) -> Artefact:
        made = super().make(task)
        return replace(made, files={**made.files, "more": bytes(1 << 20)})


@pytest.mark.parametrize(("seconds", "engine"), [(0.505, "mirror"), (0.52, "heavy")])
def test_of_engines_that_are_as_fast_the_smaller_artefact_is_kept(mod, mirror, monkeypatch, seconds, engine) -> None:
    """It opens sooner and takes less memory: up to 2 % of the time are no reason for a larger one."""

    def interleaved(ways: Sequence[Callable[[], object]], wait: float) -> list[float]:
        found = []
        for way in ways:
            mirror.calls.clear(), Heavy.calls.clear()
            way()
            found.append(0.5 if Heavy.calls else seconds if mirror.calls else 1.0)
        return found

    catalogue.register("heavy", lambda: Heavy)
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", interleaved)
    report = mod.optimize([feed()], engines=["heavy", "mirror"])
    assert set(report.engines.values()) == {engine}


@pytest.mark.parametrize(
    ("alone", "engine"), [((1.0, 0.52), "heavy"), ((1.0, 0.7), "mirror"), ((2.0, 1.1), "heavy"), ((2.0, 1.4), "mirror")]
)
def test_what_is_nearly_as_fast_on_an_op_is_measured_with_the_whole(mirror, monkeypatch, alone, engine) -> None:
    """There the other is faster here: which of two of one speed an op's own measurement prefers is chance.

    Another process may slow the measurement of the one, and that of the flat function beside it as much.
    """
    op = tracepack.script(MyCell().eval(), name="cell")
    mod = tracepack.trace(lambda x, h, s: op(x, h)[0] if s.strip() else op(x, h)[1], *feed().values(), "a")

    def on_the_op(ways: Sequence[Callable[[], object]], wait: float) -> list[float]:
        Heavy.calls.clear()
        for way in ways:
            way()
        return list(alone) if Heavy.calls else [1.0, 0.5]

    catalogue.register("heavy", lambda: Heavy)
    monkeypatch.setattr("tracepack.pipeline.optimizing.candidate.interleaved", on_the_op)
    report = mod.optimize([{**feed(), "s": "a"}], engines=["mirror", "heavy"])
    assert report.engines == {"op 'cell'": engine}
