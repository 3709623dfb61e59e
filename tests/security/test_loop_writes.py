"""Which of its operands a loop writes: what it carries to a place that it writes, and nothing that it only reads."""

from __future__ import annotations

import numpy as np

import tracepack
from tests.security.forge import apply, tensor
from tracepack.ops.graph.graph import Graph
from tracepack.ops.graph.sharing.memory import touched


def _loop(places, written, count=2):
    """A loop that writes to one of the things that it carries, and goes on with them in another order."""
    x, y, z = given = (tensor(), tensor(), tensor())
    tested, inner = [tensor() for _ in given], [tensor() for _ in given]
    body = Graph(
        tuple(inner),
        (apply("torch.Tensor.zero_", inner[written], output=tensor()),),
        tuple(inner[place] for place in places),
    )
    test = Graph(tuple(tested), (), (tested[0],))
    node = apply("while_loop", test, body, given[:count], given[count:], output=tuple(tensor() for _ in places))
    return touched(Graph((x, y, z), (node,), node.output)).inputs()


def test_a_loop_writes_to_what_it_carries_to_the_place_that_it_writes_and_to_nothing_else():
    assert _loop((0, 1), 1) == {1}
    assert _loop((0, 1), 2) == {2}
    assert _loop((1, 0), 1) == {0, 1}
    assert _loop((1, 2), 0) == {0, 1, 2}
    assert _loop((2, 1), 0) == {0, 2}
    assert _loop((1, 2, 0), 0, 3) == {0, 1, 2}
    assert _loop((0, 0), 1) == {0, 1}


def test_an_array_that_a_loop_only_reads_may_be_read_only():
    def process(x):
        out = np.zeros(len(x) // 2)
        for i in range(len(x) // 2):
            out[i] = x[2 * i : 2 * i + 2].max()
        return out

    mod = tracepack.trace(process, np.arange(6.0))
    assert "written" not in str(mod.signature)
    other = np.arange(8.0)[::-1]
    other.setflags(write=False)
    assert mod(other).tolist() == process(other).tolist() == [7.0, 5.0, 3.0, 1.0]
