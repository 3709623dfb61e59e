"""Forged recordings for calls without an argument: what no writer makes is refused, and a file's rules hold there."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
import torch

import tracepack
from tests.security.forge import apply, tensor
from tracepack.ops.graph.graph import Facts, Graph, Node, Operator
from tracepack.ops.graph.program import REQUIRED, Parameter, Parameters, Program, Slot
from tracepack.serialization.container.archive_writer import write
from tracepack.serialization.program import packed

NO_FACTS: dict[str, Any] = {"symbols": {}, "guards": []}


def _way(operator: str = "torch.Tensor.neg", count: int = 1) -> Graph:
    values = tuple(tensor() for _ in range(count))
    node = apply(operator, values[0])
    return Graph(values, (node,), node.output)


def _nested() -> Graph:
    x = tensor()
    return Graph((x,), (Node(Operator("py.left_out"), (("x1",), _way(), NO_FACTS)),), x)


def _marked(*args: Any, times: int = 1, default: Any = None) -> bytes:
    """A file whose second input need not be given, with such marks."""
    x, y = tensor(), tensor("M")
    nodes = tuple(Node(Operator("py.left_out"), args) for _ in range(times))
    graph = Graph((x, y), (*nodes, add := apply("torch.Tensor.add", x, y)), add.output)
    items = (Parameter("x0", "positional", Slot(0)), Parameter("x1", "positional", Slot(1), default))
    file = io.BytesIO()
    program = Program("forged", graph, Parameters(items, ("x0", "x1"), (x.type, y.type)), Facts({}, ()))
    manifest, members, _ = packed(program)
    write(file, manifest, members)
    return file.getvalue()


def test_a_way_that_fits_is_taken() -> None:
    pipeline = tracepack.load(_marked(("x1",), _way(), NO_FACTS))
    x = torch.arange(3.0)
    assert torch.equal(pipeline(x), -x)
    assert torch.equal(pipeline(x, x), x + x)


def test_an_input_that_must_be_given_is_not_left_out() -> None:
    with pytest.raises(tracepack.ArchiveError, match=r"malformed; got \['x1'\]; expected parameters that may be None"):
        tracepack.load(_marked(("x1",), _way(), NO_FACTS, default=REQUIRED))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), "expected names, a graph and facts"),
        ((("x1",), 3, NO_FACTS), "expected names, a graph and facts"),
        ((_way(), _way(), NO_FACTS), "a subgraph stands where none is called"),
        ((("x1",), _way()), "expected names, a graph and facts"),
        ((["x1"], _way(), NO_FACTS), "expected names, a graph and facts"),
        (((3,), _way(), NO_FACTS), "expected names, a graph and facts"),
        ((("y",), _way(), NO_FACTS), "expected parameters that may be None"),
        ((("x1",), _way(), {"symbols": {"N": [3, 0]}, "guards": []}), "an input and one of its dimensions"),
        ((("x1",), _way(), {"symbols": {}, "guards": ["N > 2"]}), "unknown symbol"),
        ((("x1",), _way(), {}), "malformed"),
        ((("x1",), _way(count=2), NO_FACTS), "got a graph of 2 inputs; expected one of 1"),
        ((("x1",), _nested(), NO_FACTS), "no other one inside"),
    ],
)  # fmt: skip
def test_malformed_ones_are_refused(args: tuple[Any, ...], text: str) -> None:
    with pytest.raises(tracepack.TracepackError, match=re.escape(text)):
        tracepack.load(_marked(*args))


def test_there_is_a_limit() -> None:
    with pytest.raises(tracepack.ArchiveError, match="too many recordings without arguments; expected 64 at most"):
        tracepack.load(_marked((), Graph((tensor(), tensor()), (), 1), NO_FACTS, times=65))


def _split(text: str, by: str | None = None) -> list[str]:
    return text.split(by) if by is not None else re.findall(r"(\w+\s*)+x", text)


def test_what_needs_trust_needs_it_on_each_way() -> None:
    file = io.BytesIO()
    with pytest.warns(UserWarning, match="needs load.path, trust=True.: the time of"):
        tracepack.trace(_split, "aax bx", " ").save(file)
    with pytest.raises(tracepack.TrustError, match="a time that has no bound"):
        tracepack.load(file.getvalue())
    assert tracepack.load(file.getvalue(), trust=True)("aax") == _split("aax")


def test_a_way_trains_with_the_weights_of_the_others(tmp_path) -> None:
    op = tracepack.script(torch.nn.Linear(3, 1), name="head")

    def predict(x, scale=None):
        y = op(x)
        return y if scale is None else y * scale

    tracepack.trace(predict, torch.rand(2, 3), 2.0).save(tmp_path / "mod.tpk")
    mod = tracepack.load(tmp_path / "mod.tpk", grad=True)
    assert sorted(mod.weights()) == ["head.bias", "head.weight"]
    x = torch.rand(4, 3)
    (mod(x).sum() + mod(x, 3.0).sum()).backward()
    assert torch.allclose(mod.weights()["head.bias"].grad, torch.tensor([16.0]))
