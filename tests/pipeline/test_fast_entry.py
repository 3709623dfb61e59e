"""The entry: what runs between `Pipeline.run` and the generated function, on any device."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack
from tests.models import MyCell
from tracepack.ops.graph.device import CPU, Device
from tracepack.pipeline.running.handed import give_back
from tracepack.pipeline.running.runner import Runner

META = Device("meta")  # stands for an accelerator: every machine has it


def runner_on(device: Device, process=None) -> Runner:
    op = tracepack.script(MyCell().eval())
    program = tracepack.trace(process or (lambda x, h: op(x, h)[0] * 2), torch.rand(3, 4), torch.rand(3, 4)).program
    return Runner(
        program, {id(node.target.body): device for node in program.graph.nodes if hasattr(node.target, "body")}
    )


@functools.cache
def own_file(name: str) -> bool:
    """Whether code is our package's: one of its files, wherever they lie, or a function that it generated."""
    return name.startswith("<tracepack") or Path(name).is_relative_to(Path(tracepack.__file__).parent)


def own_calls(run, feed) -> int:
    """The Python functions of ours that a run enters; torch's meta device is written in Python itself."""
    entered = []

    def profile(frame, event, _):
        if event == "call" and own_file(frame.f_code.co_filename):
            entered.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        run(feed)
    finally:
        sys.setprofile(None)
    return len(entered)


@pytest.mark.parametrize("device", [CPU, META])
def test_a_known_signature_enters_two_functions(device):
    runner = runner_on(device)
    feed = {name: torch.rand(3, 4, device=str(device)) for name in ("x", "h")}
    assert runner.run(feed).device.type == device.kind
    assert own_calls(runner.run, feed) == 2  # the entry and the plan


@pytest.mark.parametrize("device", [CPU, META])
def test_a_new_size_is_checked_and_then_known(device, monkeypatch):
    runner, slow = runner_on(device), []
    original = Runner.run_slowly
    monkeypatch.setattr(Runner, "run_slowly", lambda self, feed: slow.append(1) or original(self, feed))
    for rows in (3, 3, 5, 5, 3):
        feed = {name: torch.rand(rows, 4, device=str(device)) for name in ("x", "h")}
        assert runner.run(feed).shape == (rows, 4)
    assert len(slow) == 2
    with pytest.raises(tracepack.SignatureError, match="input 'x': wrong dtype; got float64; expected float32"):
        runner.run({name: torch.rand(3, 4, device=str(device), dtype=torch.float64) for name in ("x", "h")})


def test_inputs_from_elsewhere_are_moved_without_the_slow_way(monkeypatch):
    runner = runner_on(META)
    runner.run({"x": torch.rand(3, 4), "h": torch.rand(3, 4)})
    monkeypatch.setattr(Runner, "run_slowly", None)
    assert runner.run({"x": torch.rand(3, 4), "h": np.zeros((3, 4), np.float32)}).device.type == "meta"


def test_what_is_written_to_a_moved_input_comes_back():
    mine, untouched = torch.zeros(3), torch.zeros(3)
    moved, same = mine.clone(), untouched.clone()
    moved += 1
    give_back([mine, untouched, 2], [moved, same, 2])
    assert mine.tolist() == [1, 1, 1]
    assert untouched._version == 0


def test_a_pipeline_that_writes_moves_inputs_the_slow_way(monkeypatch):
    op = tracepack.script(MyCell().eval())

    def process(x, h):
        x += 1
        return op(x, h)[0]

    back = []
    runner = runner_on(META, process)
    monkeypatch.setattr("tracepack.pipeline.running.runner.give_back", lambda given, used: back.append(given[0]))
    for _ in range(2):
        x = torch.zeros(3, 4)
        runner.run({"x": x, "h": x})
        assert back[-1] is x


def scaled(texts: list[str], x: torch.Tensor, n: int, mode: str) -> tuple[torch.Tensor, str]:
    kept = [text.upper() for text in texts]
    return (x * n if n < 5 else x.sum()), f"{kept[0]} {len(kept)} {mode}"


def test_texts_and_numbers_have_a_known_signature() -> None:
    mod = tracepack.trace(scaled, ["a", "b"], torch.rand(3), 2, "m")
    x = torch.rand(4)

    def feed(texts: list[str], number: object = 3, mode: object = "k") -> dict[str, object]:
        return {"texts": texts, "x": x, "n": number, "mode": mode}

    mod.run(feed(["c", "d"]))
    mine = ["e", "f"]
    slow, known = own_calls(mod._runner.run_slowly, feed(mine)), own_calls(mod._runner.run, feed(mine))
    assert known < slow / 2
    found, said = mod.run(feed(mine))
    assert torch.equal(found, x * 3)
    assert said == "E 2 k"
    assert torch.equal(mod.run(feed(["e", "f"], 7))[0], x.sum())  # the other branch, of another rank
    assert mod.run(feed(["e", "f"], 4))[1] == "E 2 k"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"texts": ["a", 1]}, "not a list of strings"), ({"n": "3"}, "wrong type"), ({"mode": 3}, "wrong type"),
        ({"x": 3}, "not a tensor"), ({"n": True}, "wrong type"),
    ],
)  # fmt: skip
def test_a_known_signature_says_nothing_of_other_classes(changed: dict[str, object], said: str) -> None:
    mod = tracepack.trace(scaled, ["a", "b"], torch.rand(3), 2, "m")
    feed = {"texts": ["a", "b"], "x": torch.rand(3), "n": 2, "mode": "m"}
    mod.run(feed)
    mod.run(feed)
    with pytest.raises(tracepack.SignatureError, match=said):
        mod.run({**feed, **changed})


def test_a_recording_takes_over_a_pipeline_of_texts_that_it_calls() -> None:
    inner = tracepack.trace(lambda text, x: (f"{text}!", x * 2), "a", torch.rand(3))
    inner.run({"text": "b", "x": torch.rand(3)})
    outer = tracepack.trace(lambda text, x: inner(text, x), "a", torch.rand(3))
    assert outer.run({"text": "c", "x": torch.ones(2)})[0] == "c!"
