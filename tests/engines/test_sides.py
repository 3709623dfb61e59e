"""Engines run models on the sides of choices, in loops and for the items of lists."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.engines import fakes

X = torch.rand(6, 64) + 1


def net(layers: int, name: str):
    torch.manual_seed(layers)
    parts = [part for _ in range(layers) for part in (torch.nn.Linear(64, 64), torch.nn.Tanh())]
    return tracepack.script(torch.nn.Sequential(*parts).eval(), name=name)


small, large = net(2, "small"), net(4, "large")


def on_sides(x):
    y = large(x) if x.mean() > 0 else small(x)
    return y * 2


def in_a_loop(x):
    while x.abs().max() > 0.5:
        x = large(x) * 0.5
    return x


def for_items(xs):
    return [large(x) for x in xs]


@pytest.mark.parametrize(
    ("function", "feed", "ops"),
    [
        (on_sides, {"x": X}, {"op 'large'", "op 'small'"}),
        (in_a_loop, {"x": X}, {"op 'large'"}),
        (for_items, {"xs": [X, X[:2]]}, {"op 'large'"}),
    ],
)
def test_models_within_run_by_engines(mirror, function, feed, ops) -> None:
    mod = tracepack.trace(function, *feed.values())
    report = mod.optimize([feed], engines=["mirror"])
    assert ops <= set(report.engines)
    mirror.calls.clear()
    for other in (feed, {name: [-x for x in v] if isinstance(v, list) else -v for name, v in feed.items()}):
        torch.testing.assert_close(mod.run(other), function(*other.values()))
    assert set(mirror.calls) >= ops


def test_a_side_that_no_example_takes_is_timed_on_inputs_beside_them(mirror, monkeypatch) -> None:
    timed: list[str] = []

    def in_turn(ways, seconds):
        before = len(mirror.calls)
        found = fakes.in_turn(ways, seconds)
        timed.extend(mirror.calls[before:])
        return found

    monkeypatch.setattr("tracepack.pipeline.optimizing.candidate.interleaved", in_turn)
    tracepack.trace(on_sides, X).optimize([{"x": X}], engines=["mirror"])
    assert "op 'small'" in timed


def test_what_an_engine_answers_wrongly_on_the_other_side_is_refused(mirror, monkeypatch) -> None:
    mod = tracepack.trace(on_sides, X)
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t + (t.shape[-1] == 64) * 0.01))
    assert mod.optimize([{"x": X}], engines=["mirror"]).engines == {}
