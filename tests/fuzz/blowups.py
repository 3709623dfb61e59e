"""Files that grow: of each kind one of some size and one of four times that; the time to read it must follow the size.

What a pass over a file repeats for each value, body, type or key costs nothing in files that people write, and hours in
a file that was written for it. So every kind here repeats one thing that a file may repeat.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import islice, product
from pathlib import Path
from typing import Any

import torch

import tracepack
from tests.fuzz.children import survive
from tests.security.forge import apply, archive_of, body_of, tensor
from tracepack.cli.commands import inspect, show
from tracepack.ops.graph.graph import Body, BodyCall, Constant, Facts, Graph, Node, Value
from tracepack.ops.graph.guards import Expression
from tracepack.ops.graph.types import ANY, ListType, TensorType

_STEP = 4  # times the size
_TIMES = 8  # as long: half way, by factors, from 4 of a linear pass to 16 of a quadratic one
_FIRST = 4  # times that the smaller file is measured: noise in its time would hide a slow pass
_AGAIN = 3  # times that what looks slow is measured again: noise only ever adds, so the least of all counts
_LEAST = 1.0  # seconds, below which times say nothing


def _values(count: int) -> tuple[Value, ...]:
    return tuple(Value(ANY) for _ in range(count))


def chain(count: int) -> bytes:
    """Nodes one after another."""
    nodes = [apply("py.neg", Value(ANY))]
    start = nodes[0].args[0]
    for _ in range(4 * count):
        nodes.append(apply("py.neg", nodes[-1].output))
    return archive_of(Graph((start,), tuple(nodes), nodes[-1].output))


def joined(count: int) -> bytes:
    """Values that may share memory with ever more inputs."""
    inputs = _values(count)
    nodes = [apply("py.lookup", inputs[0], inputs[1])]
    for value in inputs[2:]:
        nodes.append(apply("py.lookup", nodes[-1].output, value))
    return archive_of(Graph(inputs, tuple(nodes), nodes[-1].output))


def results(count: int) -> bytes:
    """A node of many arguments and results."""
    inputs, made = _values(count), _values(count)
    node = apply("py.zip", *inputs, output=made)
    return archive_of(Graph(inputs, (node,), list(made)))


def calls(count: int) -> bytes:
    """A body that is called again and again."""
    inner = tensor()
    body = body_of(Graph((inner,), (), inner))
    start = last = tensor()
    nodes = []
    for _ in range(count):
        nodes.append(Node(BodyCall(body), (last,), {}, tensor()))
        last = nodes[-1].output
    return archive_of(Graph((start,), tuple(nodes), last))


def bodies(count: int) -> bytes:
    """Bodies of one name, with a constant each."""
    start = last = tensor()
    nodes = []
    for index in range(count // 4):
        inner = tensor()
        add = apply("aten.add.Tensor", inner, Constant(torch.tensor(float(index)), "c"), output=tensor())
        nodes.append(Node(BodyCall(body_of(Graph((inner,), (add,), add.output))), (last,), {}, tensor()))
        last = nodes[-1].output
    return archive_of(Graph((start,), tuple(nodes), last))


def nested(count: int) -> bytes:
    """Bodies that call one, which calls another, and so on, each with nodes of its own."""
    body: Body | None = None
    for _ in range(40):
        inner = last = tensor()
        nodes: list[Node] = []
        for _ in range(count // 40):
            nodes.append(apply("aten.neg.default", last, output=tensor()))
            last = nodes[-1].output
        if body is not None:
            nodes.append(Node(BodyCall(body), (last,), {}, tensor()))
            last = nodes[-1].output
        body = body_of(Graph((inner,), tuple(nodes), last))
    assert body is not None
    start = tensor()
    call = Node(BodyCall(body), (start,), {}, tensor())
    return archive_of(Graph((start,), (call,), call.output))


def types(count: int) -> bytes:
    """Types whose sizes have one hash as tuples: -1 and -2 have one."""
    made = tuple(Value(TensorType("float32", sizes)) for sizes in islice(product((-1, -2), repeat=24), 4 * count))
    start = tensor()
    return archive_of(Graph((start,), (apply("torch.unbind", start, output=made),), made[0]))


def lists(count: int) -> bytes:
    """Inputs that are lists in lists."""
    kind: Any = ANY
    for _ in range(100):
        kind = ListType(kind)
    inputs = tuple(Value(kind) for _ in range(count // 20))
    return archive_of(Graph(inputs, (), list(inputs)))


def constants(count: int) -> bytes:
    """Constants of one tensor."""
    weight, start = torch.zeros(4), tensor()
    node = apply("torch.stack", [Constant(weight, f"c{index}") for index in range(2 * count)])
    return archive_of(Graph((start,), (node,), node.output))


def guards(count: int) -> bytes:
    """Guards over many symbols."""
    start = tensor(*(f"S{index}" for index in range(60)))
    symbols = {f"S{index}": (0, index) for index in range(60)}
    texts = (Expression.parse(" + ".join(f"S{(n + i) % 60}" for i in range(8)) + f" > {-n}") for n in range(count // 2))
    return archive_of(Graph((start,), (), start), Facts(symbols, tuple(texts)))


def branches(count: int) -> bytes:
    """Choices whose branches are large, one in another."""
    graph: Graph | None = None
    for _ in range(8):
        inner = last = tensor()
        nodes: list[Node] = []
        for _ in range(count // 8):
            nodes.append(apply("aten.neg.default", last, output=tensor()))
            last = nodes[-1].output
        if graph is not None:
            nodes.append(apply("cond", True, graph, Graph((a := tensor(),), (), (a,)), (last,), output=(tensor(),)))
            last = nodes[-1].output[0]
        graph = Graph((inner,), tuple(nodes), (last,))
    start = tensor()
    assert graph is not None
    node = apply("cond", True, graph, Graph((b := tensor(),), (), (b,)), (start,), output=(tensor(),))
    return archive_of(Graph((start,), (node,), node.output))


def trees(count: int) -> bytes:
    """Trees of many small containers, and dicts of many keys."""
    start = tensor()
    tree = [{"key": [index, (index,)]} for index in range(count)]
    return archive_of(Graph((start,), (), (start, tree, {float(index): index for index in range(count)})))


KINDS: dict[str, Callable[[int], bytes]] = {
    kind.__name__: kind
    for kind in (chain, joined, results, calls, bodies, nested, types, lists, constants, guards, branches, trees)
}
"""The kinds of files, by name: each makes one of a size."""


def read(data: bytes) -> Iterator[str]:
    """Reads a file in every way, and gives the name of each before it begins."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.tpk")
        Path(path).write_bytes(data)
        for name, way in (
            ("load", lambda: repr(tracepack.load(path, budget={"seconds": 5})(torch.ones(2)))),
            ("inspect", lambda: json.dumps(inspect.inspect(path).data)),
            ("show", lambda: show.show(path, picture=None, with_bodies=True, op=None, lines=True)),
            ("svg", lambda: show.show(path, picture="-", with_bodies=True, op=None, lines=False)),
        ):
            yield name
            try:
                way()
            except tracepack.TracepackError:
                continue


def seconds(data: bytes) -> dict[str, float]:
    """The processor time of each way to read a file."""
    found: dict[str, float] = {}
    name, began = "", time.process_time()
    for following in read(data):
        found[name], name, began = time.process_time() - began, following, time.process_time()
    found[name] = time.process_time() - began
    return found


def attempt(name: str, size: int) -> str:
    """A kind of file of some size, and of four times that; returns what takes much more than four times the time.

    What looks too slow is measured again, both files in turn, before it counts.
    """
    made = KINDS[name]
    small, large = made(size), made(_STEP * size)
    seconds(made(max(size // 8, 1)))  # what the first use of everything costs
    once, more = reduce(_least, (seconds(small) for _ in range(_FIRST))), seconds(large)
    for _ in range(_AGAIN):
        if not any(_is_slow(once[way], took) for way, took in more.items()):
            return ""
        once, more = _least(once, seconds(small)), _least(more, seconds(large))
    for way, took in more.items():
        if _is_slow(once[way], took):
            return f"{name}: {way} takes {once[way]:.2f} s for {size}, {took:.2f} s for {_STEP} times that"
    return ""


def _is_slow(once: float, more: float) -> bool:
    return more > _LEAST and more > _TIMES * once


def _least(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    return {way: min(took, second[way]) for way, took in first.items()}


def run(size: int, first: int = 0) -> int:
    """Tries every kind in a child, and returns 1 if one was lost; `first` is the number of the first kind."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names = list(KINDS)[first % len(KINDS) :]
    lost = list(survive(len(names), lambda index: attempt(names[index], size), still=120, slow=240, most=20))
    for loss in lost:
        print(f"{names[loss.index]}: {loss.outcome}")
    print(f"{len(names)} kinds of files of size {size}: {len(lost)} lost")
    return int(bool(lost))
