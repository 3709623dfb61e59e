"""`script(..., engine=...)` fixes the engine of an op; it must answer as the op does."""

from __future__ import annotations

import io

import pytest
import torch

import tracepack
from tests.engines.fakes import Mirror


def test_an_op_runs_on_the_engine_that_was_named(mirror: type[Mirror]) -> None:
    layer = torch.nn.Linear(4, 2)
    op = tracepack.script(layer, name="layer", engine="mirror")
    other = tracepack.script(torch.nn.Linear(2, 2), name="other")
    mod = tracepack.trace(lambda x: other(op(x + 1)), torch.rand(3, 4))
    assert mod.engines == {"op 'layer'": "mirror", "op 'other'": "aten", "other nodes": "aten"}
    mirror.calls.clear()
    with torch.no_grad():
        wanted = other.model(layer(torch.ones(5, 4) + 1))
    torch.testing.assert_close(mod.run({"x": torch.ones(5, 4)}), wanted)
    assert mirror.calls == ["op 'layer'"]
    file = io.BytesIO()
    mod.save(file)
    assert tracepack.load(file.getvalue(), trust=True).engines == mod.engines


def test_every_call_of_the_op_runs_on_it(mirror) -> None:
    op = tracepack.script(torch.nn.Linear(4, 4), name="layer", engine="mirror")

    def twice(x: torch.Tensor) -> torch.Tensor:
        return tracepack.cond(x.sum() > 0, lambda x: op(op(x)), lambda x: op(x), x)

    mod = tracepack.trace(twice, torch.rand(3, 4))
    mirror.calls.clear()
    mod.run({"x": torch.ones(3, 4)})
    mod.run({"x": -torch.ones(3, 4)})
    assert mirror.calls == ["op 'layer'"] * 3


def test_the_engine_of_the_flat_function_is_no_other_engine() -> None:
    op = tracepack.script(torch.nn.Linear(4, 2), engine="aten")
    assert tracepack.trace(lambda x: op(x), torch.rand(3, 4)).engines == {"pipeline": "aten"}


def test_an_engine_that_cannot_run_the_op_is_an_error(mirror) -> None:
    op = tracepack.script(torch.nn.Linear(4, 2), name="layer", engine="refusing")
    with pytest.raises(
        tracepack.LoweringError, match="op 'layer': the engine 'refusing' cannot run it; got it takes no"
    ):
        tracepack.trace(lambda x: op(x), torch.rand(3, 4))


def test_an_engine_that_answers_otherwise_is_an_error(mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t + 1))
    op = tracepack.script(torch.nn.Linear(4, 2), name="layer", engine="mirror")
    with pytest.raises(tracepack.LoweringError, match="cannot run it; got out differs by 1, allowed 0.0001"):
        tracepack.trace(lambda x: op(x), torch.rand(3, 4))


def test_what_has_no_engine_is_refused_at_script(mirror) -> None:
    with pytest.raises(tracepack.GraphError, match="unknown engine 'turbo'"):
        tracepack.script(torch.nn.Linear(4, 2), engine="turbo")
    kernel = tracepack.comprehension.define("def twice(float(N) x) -> (y) { y(n) = x(n) * 2.0 }")
    with pytest.raises(
        tracepack.ScriptError, match="an engine runs models of torch on the CPU; got 'twice', which is a"
    ):
        tracepack.script(kernel, engine="mirror")


def test_named_tuples_in_results_are_compared_by_their_items(mirror, monkeypatch) -> None:
    op = tracepack.script(lambda x: {"best": x.max(-1), "sorted": [x.sort(0)]}, engine="mirror")
    mod = tracepack.trace(lambda x: op(x), torch.rand(3, 4))
    x = torch.rand(3, 4)
    found = mod(x)
    assert type(found["best"]) is torch.return_types.max
    assert torch.equal(found["best"].values, x.max(-1).values)
    assert torch.equal(found["sorted"][0].indices, x.sort(0).indices)
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t + 1))
    with pytest.raises(tracepack.LoweringError, match=r"got out\['best'\]\[0\] differs by 1, allowed 0.0001"):
        tracepack.trace(lambda x: op(x), torch.rand(3, 4))
