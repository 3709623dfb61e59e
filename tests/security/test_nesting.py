"""Lists in lists: a few nodes that hold a list twice each make one that nothing can walk; none is made."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, body_of, tensor
from tracepack.ops.graph.graph import BodyCall, Graph, Guard, Node, Operator, Value
from tracepack.ops.graph.types import ANY

X = torch.arange(3.0)


def doubled(levels, gather):
    """Nodes that each make a list which holds the one before twice."""
    nodes, inner = [], 1
    for _ in range(levels):
        nodes.append(gather(inner))
        inner = nodes[-1].output
    return nodes


GATHERS = {
    "list": lambda inner: apply("py.list", [inner, inner]),
    "zip": lambda inner: apply("py.zip", [inner], [inner]),
    "dict": lambda inner: apply("py.dict", ["a", "b"], (inner, inner)),
    "sum": lambda inner: apply("py.add", [inner], [inner]),
    "branch": lambda inner: apply("cond", True, twice(), twice(), (inner,)),
    "loop": lambda inner: apply("map", twice(), [[inner]], ()),
}


def twice():
    x = Value(ANY)
    return Graph((x,), (), ([x, x],))


@pytest.mark.parametrize("name", GATHERS)
def test_lists_that_double_are_refused(name):
    x = tensor()
    nodes = doubled(40, GATHERS[name])
    mod = tracepack.load(archive_of(Graph((x,), tuple(nodes), nodes[-1].output)))
    with pytest.raises(tracepack.GuardError, match="lists in a list grow too large"):
        mod(X)


def test_a_loop_that_doubles_is_refused():
    x, state, again = tensor(), Value(ANY), Value(ANY)
    test, body = Graph((state,), (), (True,)), Graph((again,), (), ([again, again],))
    node = apply("while_loop", test, body, (1,), ())
    with pytest.raises(tracepack.GuardError, match="lists in a list grow too large"):
        tracepack.load(archive_of(Graph((x,), (node,), node.output)))(X)


def test_lists_that_a_pipeline_makes_are_taken():
    x = tensor()
    nodes = doubled(10, GATHERS["list"])
    expected = 1
    for _ in range(10):
        expected = [expected, expected]
    assert tracepack.load(archive_of(Graph((x,), tuple(nodes), nodes[-1].output)))(X) == expected


@pytest.mark.parametrize("name", ["py.setitem", "py.iadd", "py.imul", "py.ior"])
def test_a_list_is_not_written(name):
    """It could come to hold itself."""
    x, made = tensor(), apply("py.list", [1])
    rest = (0, made.output) if name == "py.setitem" else ([made.output],)
    node = apply(name, made.output, *rest)
    with pytest.raises(tracepack.GuardError, match="was given a list"):
        tracepack.load(archive_of(Graph((x,), (made, node), made.output)))(X)


def test_an_op_takes_no_dict():
    x, inner = tensor(), Value(ANY)
    body = body_of(Graph((inner,), (), inner))
    node = Node(BodyCall(body), ({"a": x},), {}, Value(ANY))
    with pytest.raises(tracepack.GraphError, match="an op takes values and lists of them, and was given another cont"):
        tracepack.load(archive_of(Graph((x,), (node,), node.output)))


def test_lists_that_ops_double_are_refused():
    x, inner = tensor(), Value(ANY)
    body = body_of(Graph((inner,), (), inner))
    nodes, last = [], x
    for _ in range(40):
        nodes.append(Node(BodyCall(body), ([last, last],), {}, Value(ANY)))
        last = nodes[-1].output
    with pytest.raises(tracepack.GuardError, match="lists in a list grow too large"):
        tracepack.load(archive_of(Graph((x,), tuple(nodes), last)))(X)


def test_the_text_of_a_condition_does_not_double():
    x, size = tensor(), Value(ANY)
    first = Node(Operator("py.size"), (x, 0), {}, size)
    nodes, inner = [first], size
    for _ in range(40):
        nodes.append(apply("py.add", inner, inner))
        inner = nodes[-1].output
    test = apply("py.gt", inner, 5)
    guard = Node(Guard(True, "r"), (test.output,))
    mod = tracepack.load(archive_of(Graph((x,), (*nodes, test, guard), x)))
    assert len(mod.signature) < 200
    assert torch.equal(mod(X), X)


def test_a_text_in_a_base_makes_no_endless_integer():
    x = tensor()
    text = apply("py.mul", "1", 8_000_000)
    node = apply("py.int", text.output, 16)
    with pytest.raises(tracepack.GuardError, match="an integer grows too large; got 8000000 digits"):
        tracepack.load(archive_of(Graph((x,), (text, node), node.output)))(X)


def test_an_integer_that_python_does_not_write_is_no_other_error():
    x = tensor()
    large = apply("py.pow", 3, 20_000)
    small = apply("py.getitem", [1], large.output)
    with pytest.raises(tracepack.NodeError, match="node py.getitem"):
        tracepack.load(archive_of(Graph((x,), (large, small), small.output)))(X)
