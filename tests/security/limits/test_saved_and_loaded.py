"""What save writes, load accepts; what no file can hold is refused when it is saved, and an old file stays."""

from __future__ import annotations

import io

import pytest
import torch

import tracepack
from tests.security.forge import NO_FACTS, apply, archive_of, body_of, call, tensor
from tracepack.ops.graph.graph import Body, Constant, Graph, Node, Value
from tracepack.ops.graph.program import Parameter, Parameters, Program, Slot
from tracepack.ops.graph.traverse import callers_first
from tracepack.ops.graph.types import ANY
from tracepack.serialization.container import schema
from tracepack.serialization.container.archive import Archive
from tracepack.serialization.program import save_program

X = torch.arange(4.0)


def negated(name: str) -> Body:
    value = tensor()
    node = apply("aten.neg.default", value, output=tensor())
    return body_of(Graph((value,), (node,), node.output), name)


def calling(name: str, *inner: Body) -> Body:
    """An op that calls others, one after another."""
    start = last = tensor()
    nodes: list[Node] = []
    for body in inner:
        nodes.append(call(body, last))
        last = nodes[-1].output
    return body_of(Graph((start,), tuple(nodes), last), name)


def graph_of(*ops: Body) -> Graph:
    return calling("main", *ops).graph


def test_an_op_that_is_called_before_its_caller_is_numbered_after_it():
    """It was numbered first, and load said that the other op calls itself."""
    leaf = negated("leaf")
    outer = calling("outer", leaf)
    data = archive_of(graph_of(leaf, outer, leaf))
    assert [row["name"] for row in Archive(data).manifest["bodies"]] == ["outer", "leaf"]
    assert torch.equal(tracepack.load(data)(X), -X)


def test_ops_keep_the_order_of_their_first_call_where_callers_allow_it():
    first, second, leaf = negated("first"), negated("second"), negated("leaf")
    middle = calling("middle", leaf, second)
    outer = calling("outer", middle, first)
    graph = graph_of(first, outer, leaf, second)
    assert [body.name for body in callers_first(graph)] == ["outer", "first", "middle", "leaf", "second"]
    assert torch.equal(tracepack.load(archive_of(graph))(X), X)  # negated six times


def file_of(graph: Graph) -> bytes:
    """The archive of a graph, written as `save` does."""
    names = tuple(f"x{index}" for index in range(len(graph.inputs)))
    items = tuple(Parameter(name, "positional", Slot(index)) for index, name in enumerate(names))
    types = tuple(value.type for value in graph.inputs)
    file = io.BytesIO()
    save_program(file, Program("forged", graph, Parameters(items, names, types), NO_FACTS))
    return file.getvalue()


def saved(function, *args) -> bytes:
    file = io.BytesIO()
    tracepack.trace(function, *args).save(file)
    return file.getvalue()


def test_a_pipeline_of_too_many_nodes_is_refused_at_save(monkeypatch, tmp_path):
    from tracepack.serialization import decoder

    mod = tracepack.trace(lambda x: ((x + 1) * 2).relu(), X)
    path = tmp_path / "a.tpk"
    mod.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(decoder, "MOST_NODES", 2)
    with pytest.raises(
        tracepack.ArchiveError, match="a file cannot hold this pipeline: malformed; got .* nodes in the"
    ):
        mod.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.tpk"]


def test_ops_that_call_ops_too_deeply_are_refused_at_save():
    body = negated("leaf")
    for depth in range(schema.DEEPEST_CALLS):
        body = calling(f"op{depth}", body)
    file_of(body.graph)
    with pytest.raises(tracepack.ArchiveError, match="cannot hold this pipeline: the graph is too large when its ops"):
        file_of(graph_of(calling("more", body)))


def test_a_tree_that_is_too_deep_is_refused_at_save():
    tree: object = Value(ANY)
    graph = Graph((tree,), (), tree)
    file_of(graph)
    for _ in range(schema.DEEPEST + 1):
        tree = [tree]
    with pytest.raises(
        tracepack.ArchiveError, match="cannot hold this pipeline: malformed; got 'more than 200 levels'"
    ):
        file_of(Graph(graph.inputs, (), tree))


def test_an_integer_of_too_many_digits_is_refused_at_save():
    data = saved(lambda x: (x, 10**90), X)
    assert tracepack.load(data)(X)[1] == 10**90
    with pytest.raises(tracepack.ArchiveError, match=r"main.msgpack.output\[1\]: a file cannot hold this pipeline"):
        saved(lambda x: (x, 10**150), X)


def test_state_of_which_copies_are_too_large_is_refused_at_save():
    zeros = [Constant(torch.zeros(1 << 22), f"s{index}", mutable=True) for index in range(160)]
    start = tensor()
    node = apply("torch.stack", zeros)
    with pytest.raises(
        tracepack.ArchiveError, match="the state: a file cannot hold this pipeline: the file asks for too"
    ):
        file_of(Graph((start,), (node,), node.output))


def test_half_of_a_character_is_refused_at_save():
    for function in (lambda x: {"\ud800": x}, lambda x: (x, "a\udfff")):
        with pytest.raises(tracepack.ArchiveError, match="an archive cannot hold this; got .*surrogates not allowed"):
            saved(function, X)


@pytest.mark.parametrize("name", ["a\ud800.tpk", "\udbff", "a\0b"])
def test_a_path_that_is_none_is_refused(name, tmp_path):
    mod = tracepack.trace(lambda x: x + 1, X)
    with pytest.raises(tracepack.ArchiveError, match="not a path; got .* without NUL and halves of characters"):
        mod.save(str(tmp_path / name))
    with pytest.raises(tracepack.ArchiveError, match="not a path"):
        tracepack.load(str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []
