"""Small files that ask for much: each is refused in time and memory that its size foretells."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import msgpack
import pytest
import torch

import tracepack
from tests.archive.files import rewritten, with_graph
from tests.security.forge import apply, archive_of, body_of, tensor
from tracepack.ops.graph.graph import BodyCall, Constant, Facts, Graph, Node, Value
from tracepack.ops.graph.guards import Expression
from tracepack.ops.graph.sharing.memory import touched
from tracepack.ops.graph.svg.picture import svg
from tracepack.ops.graph.types import ANY
from tracepack.serialization.container.archive import Archive, unpack

X = torch.arange(4.0)


@contextmanager
def soon(seconds: float = 30.0):
    """Processor time, far above what a linear pass takes and far below what these files used to."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def test_rows_without_end_are_refused(cell_file):
    for field in ("bodies", "kernels", "constants", "examples", "example_tensors"):
        with (
            soon(),
            pytest.raises(tracepack.ArchiveError, match=r"malformed; got 100\d+; expected 100000 rows at most"),
        ):
            tracepack.load(rewritten(cell_file[0], lambda m, f=field: m[f].extend([(m[f] or [{}])[0]] * 100_001)))


def test_a_member_is_read_once(cell_file):
    def twice(manifest):
        manifest["bodies"] = manifest["bodies"] * 5000

    with soon(), pytest.raises(tracepack.ArchiveError, match="a member is used twice; got 'graphs/op0.msgpack'"):
        tracepack.load(rewritten(cell_file[0], twice))

    def assets(manifest):
        row = {"kind": "tokenizer", "name": "k", "description": {}, "runs_code": False}
        shared = {f"a{i}": "weights.safetensors" for i in range(5000)}
        manifest["kernels"] = [{**row, "assets": shared}]

    with soon(), pytest.raises(tracepack.ArchiveError, match="a member is used twice; got 'weights.safetensors'"):
        tracepack.load(rewritten(cell_file[0], assets))


def test_members_that_lie_over_each_other_are_refused(cell_file):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        new.writestr("a", b"x" * 1000)
        info = zipfile.ZipInfo("b")
        info.header_offset, info.file_size, info.compress_size, info.CRC = 0, 1000, 1000, 0
        new.filelist.append(info)
        new.NameToInfo["b"] = info
    with pytest.raises(tracepack.ArchiveError, match="member 'b': two members overlap"):
        Archive(out.getvalue())


def test_thousands_of_nodes_load_in_linear_time():
    x = tensor()
    nodes, last = [], x
    for _ in range(5000):
        nodes.append(apply("aten.add.Tensor", last, 1, output=tensor()))
        last = nodes[-1].output
    with soon(60):
        assert torch.equal(tracepack.load(archive_of(Graph((x,), tuple(nodes), last)))(X), X + 5000)


def test_nodes_without_end_are_refused():
    x = tensor()
    node = apply("aten.add.Tensor", x, 1, output=tensor())
    graph = Graph((x,), tuple(apply("py.add", 1, 1) for _ in range(250_001)), node.args[0])
    with soon(120), pytest.raises(tracepack.ArchiveError, match="got '250001 nodes in the graphs of the file'"):
        tracepack.load(archive_of(graph))


def test_guards_and_symbols_take_linear_time():
    x = tensor(*(f"S{i}" for i in range(60)))
    symbols = {f"S{i}": (0, i) for i in range(60)}
    guard = Expression.parse("S0 + 1 > 0")
    data = archive_of(Graph((x,), (), x), Facts(symbols, (guard,) * 5000))
    with soon():
        assert tracepack.load(data).input_names == ["x0"]


def test_symbols_without_end_are_refused(cell_file):
    def many(manifest):
        manifest["facts"]["symbols"] = {f"S{i}": [0, 0] for i in range(2000)}

    with soon(), pytest.raises(tracepack.ArchiveError, match="got 2000; expected 1000 at most"):
        tracepack.load(rewritten(cell_file[0], many))


def test_a_path_in_errors_does_not_grow_with_names():
    """Keys of a million characters, over and over, were copied for every item below them."""
    x = tensor()
    tree = {"k" * 1_000_000: [0] * 20_000}
    with soon():
        tracepack.load(archive_of(Graph((x,), (), (x, tree))))


def test_state_that_many_rows_share_is_bounded():
    x, weight = tensor(), torch.zeros(1 << 20)
    constants = [Constant(weight.clone(), f"c{i}", mutable=True) for i in range(400)]
    node = apply("torch.stack", constants)
    data = archive_of(Graph((x,), (node,), node.output))
    assert len(data) < 6 << 20
    with (
        soon(),
        pytest.raises(tracepack.ArchiveError, match="the state: the file asks for too much memory; got 1677721600"),
    ):
        tracepack.load(data)


def test_examples_that_share_a_tensor_are_bounded(cell_file):
    mod = tracepack.trace(lambda x: x + 1, torch.ones(1 << 18))
    file = io.BytesIO()
    mod.save(file, examples=[{"x": torch.ones(1 << 18)}])
    path = cell_file[0].parent / "large.tpk"
    path.write_bytes(file.getvalue())

    def repeat(manifest):
        manifest["examples"][0]["output"] = [{"c": 0}] * 100_000

    with (
        soon(60),
        pytest.raises(tracepack.ArchiveError, match="the golden examples: the file asks for too much memory"),
    ):
        tracepack.load(rewritten(path, repeat), verify="golden")


def test_types_that_share_a_hash_take_linear_time(cell_file):
    """In Python -1 and -2 have one hash, and so have all tuples of them: each was compared with all before it."""
    from itertools import islice, product

    types = [{"o": ["float32", list(sizes)]} for sizes in islice(product([-1, -2], repeat=24), 20_000)]

    def many(graph):
        graph["nodes"].append({"target": ["operator", "torch.unbind"], "args": [{"v": 0}], "output": {"t": types}})

    with soon(20):
        tracepack.load(with_graph(cell_file[0], many))


def _keys_of_one_hash(count: int) -> Iterator[msgpack.Timestamp]:
    """Times of msgpack whose hash, that of a tuple of two numbers, is one: Python's formula for it, backwards."""
    word, one, two, five = (1 << 64) - 1, 11400714785074694791, 14029467366897019727, 2870177450012600261
    back_one, back_two = pow(one, -1, 1 << 64), pow(two, -1, 1 << 64)
    turned = lambda x, by: ((x << by) | (x >> (64 - by))) & word  # noqa: E731 - short
    for nanoseconds in range(20 * count):
        before = (turned(12345 * back_one & word, 33) - nanoseconds * two) & word
        seconds = (turned(before * back_one & word, 33) - five) * back_two & word
        seconds -= 1 << 64 if seconds >> 63 else 0
        if abs(seconds) < (1 << 61) - 1:
            yield msgpack.Timestamp(seconds, nanoseconds)


def test_keys_of_a_map_cannot_share_a_hash():
    keys = [*_keys_of_one_hash(4000)]
    assert len({*map(hash, keys[:500])}) == 1
    data = b"\xdf" + len(keys).to_bytes(4, "big") + b"".join(msgpack.packb(key) + b"\0" for key in keys)
    with soon(0.5):
        assert unpack(data, "m")
    for data in (msgpack.packb(msgpack.ExtType(5, b"x")), msgpack.packb([msgpack.ExtType(127, b"")])):
        with pytest.raises(tracepack.ArchiveError, match="a member cannot be decoded"):
            unpack(data, "m")


def test_what_values_may_share_memory_with_takes_linear_time_and_memory():
    """A set of places for each value took seconds for 500 KB and gigabytes for a megabyte."""
    inputs = tuple(Value(ANY) for _ in range(8000))
    nodes = [apply("py.lookup", inputs[0], inputs[1])]
    for value in inputs[2:]:
        nodes.append(apply("py.lookup", nodes[-1].output, value))
    write = apply("torch.Tensor.add_", nodes[-1].output, 1)
    with soon(5):
        assert touched(Graph(inputs, (*nodes, write), write.output)).inputs() == {*range(8000)}


def test_calls_of_a_body_of_many_results_take_linear_time():
    inner = tuple(Value(ANY) for _ in range(200))
    joined = apply("py.zip", *inner)
    parts = [apply("py.lookup", joined.output, index) for index in range(200)]
    body = body_of(Graph(inner, (joined, *parts), [part.output for part in parts]))
    inputs = given = tuple(Value(ANY) for _ in range(200))
    nodes = []
    for _ in range(200):
        nodes.append(Node(BodyCall(body), given, {}, tuple(Value(ANY) for _ in range(200))))
        given = nodes[-1].output
    write = apply("torch.Tensor.add_", given[0], 1)
    with soon(5):
        assert touched(Graph(inputs, (*nodes, write), write.output)).inputs() == {*range(200)}


def test_a_picture_takes_linear_time_and_is_refused_where_it_is_too_large():
    def picture(count: int, far: bool) -> str:
        start = tensor()
        nodes = [apply("aten.neg.default", start, output=tensor())]
        for _ in range(count):
            nodes.append(apply("aten.neg.default", nodes[-1].output, output=tensor()))
        end = apply("torch.stack", [node.output for node in nodes] if far else [nodes[-1].output])
        return svg([("f", Graph((start,), (*nodes, end), end.output), ["x"])])

    with soon(20):  # it took two minutes
        assert picture(3000, far=False).count('class="torch"') == 3002
    with soon(5), pytest.raises(tracepack.GraphError, match="the graph is too large for a picture; got 3004 boxes and"):
        picture(3000, far=True)
