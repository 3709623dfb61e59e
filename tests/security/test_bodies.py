"""Ops that call ops: they run, and no pass over them takes longer than the file is large."""

from __future__ import annotations

import time

import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, body_of, call, tensor
from tracepack.ops.graph.graph import Body, Constant, Facts, Graph, Node
from tracepack.ops.graph.guards import Expression
from tracepack.ops.graph.traverse import bodies, constants, every_node
from tracepack.ops.graph.verify import verify

X = torch.arange(3.0)


def twice_each(levels: int) -> Graph:
    """Ops that each call the next one twice: so many calls as 2 to the power of the levels."""
    x = tensor()
    node = apply("aten.add.Tensor", x, 1, output=tensor())
    inner = body_of(Graph((x,), (node,), node.output), "leaf")
    for level in range(levels):
        x = tensor()
        first = call(inner, x)
        second = call(inner, first.output)
        inner = body_of(Graph((x,), (first, second), second.output), f"level{level}")
    x = tensor()
    node = call(inner, x)
    return Graph((x,), (node,), node.output)


def test_ops_that_call_ops_run():
    mod = tracepack.load(archive_of(twice_each(3)))
    assert torch.equal(mod(X), X + 8)
    assert list(mod.placement.values()) == ["cpu"] * 4


def test_state_of_an_op_inside_of_an_op_is_the_pipelines_own():
    count, x = Constant(torch.zeros(()), "count", mutable=True), tensor()
    step = apply("aten.add_.Tensor", count, 1, output=tensor())
    out = apply("aten.mul.Tensor", x, count, output=tensor())
    inner = body_of(Graph((x,), (step, out), out.output), "counter")
    y = tensor()
    middle = call(inner, y)
    outer = body_of(Graph((y,), (middle,), middle.output), "outer")
    z = tensor()
    node = call(outer, z)
    mod = tracepack.load(archive_of(Graph((z,), (node,), node.output)))
    assert torch.equal(mod(X), X)
    assert torch.equal(mod(X), X * 2)
    assert {name: int(value) for name, value in mod.state().items()} == {"counter.count": 2}
    assert torch.equal(mod.session()(X), X)


def test_calls_that_double_are_refused_before_they_are_written_out():
    began = time.process_time()
    data = archive_of(twice_each(40))
    assert len(data) < 40_000
    with pytest.raises(tracepack.ArchiveError, match=r"too large when its ops are inlined; got \d{13} nodes more, 41"):
        tracepack.load(data)
    assert time.process_time() - began < 20  # two to the power of forty steps would take years


def doubled(body: Body, levels: int) -> bytes:
    """A file in which an op is called as many times as 2 to the power of the levels."""
    for level in range(levels):
        x = tensor()
        first = call(body, x)
        second = call(body, first.output)
        body = body_of(Graph((x,), (first, second), second.output), f"level{level}")
    x = tensor()
    node = call(body, x)
    return archive_of(Graph((x,), (node,), node.output))


@pytest.mark.parametrize(
    "tree", [[1] * 2000, [()] * 2000, {float(key): () for key in range(2000)}], ids=["items", "empty", "keys"]
)
def test_arguments_are_counted_wherever_an_op_is_written_out(tree):
    x = tensor()
    length = apply("py.len", tree)
    data = doubled(body_of(Graph((x,), (length,), x)), 13)
    with pytest.raises(tracepack.ArchiveError, match=r"got \d{7} nodes more, 14 ops deep; expected 32768 nodes more"):
        tracepack.load(data)


def test_the_guards_of_an_op_are_compiled_once():
    x = tensor()
    guards = tuple(Expression.parse(" + ".join(["N"] * 80) + f" > {-n}") for n in range(40))
    body = Body("inner", "cpu", Graph((x,), (), x), Facts({"N": (0, 0)}, guards), ("a0",))
    mod = tracepack.load(doubled(body, 12))
    began = time.process_time()
    assert torch.equal(mod(X), X)
    assert time.process_time() - began < 20  # four thousand times as long takes a minute and more


def test_ops_nested_too_deeply_are_refused():
    x = tensor()
    inner = body_of(Graph((x,), (), x), "leaf")
    for level in range(300):
        x = tensor()
        node = call(inner, x)
        inner = body_of(Graph((x,), (node,), node.output), f"level{level}")
    x = tensor()
    node = call(inner, x)
    with pytest.raises(tracepack.ArchiveError, match=r"got 0 nodes more, 301 ops deep; expected .* 50 ops deep at"):
        tracepack.load(archive_of(Graph((x,), (node,), node.output)))


def test_every_pass_over_a_graph_visits_a_body_once():
    graph = twice_each(60)
    verify(graph)
    assert len(list(bodies(graph))) == 61
    assert list(constants(graph)) == []
    assert sum(1 for _ in every_node(graph)) == 1 + 60 * 2 + 1


def test_an_op_cannot_call_itself(cell_file):
    from tests.archive.files import with_graph

    def change(graph):
        graph["nodes"] = [{"target": ["body", 0], "args": [{"v": 0}, {"v": 1}], "output": {"o": ["float32", [3, 4]]}}]
        graph["output"] = {"v": 2}

    with pytest.raises(tracepack.ArchiveError, match=r"an op calls itself"):
        tracepack.load(with_graph(cell_file[0], change, "graphs/op0.msgpack"))


def test_a_call_unlike_its_op_is_refused():
    x = tensor()
    inner = body_of(Graph((x,), (), x))
    y = tensor()
    node = Node(call(inner, y).target, (y, y), {}, tensor())
    with pytest.raises(tracepack.GraphError, match="the call of an op does not fit its body"):
        tracepack.load(archive_of(Graph((y,), (node,), node.output)))
