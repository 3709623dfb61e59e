"""Rows of engines that no search writes: refused, or left with a warning, however many there are."""

from __future__ import annotations

import io
import time
from itertools import pairwise

import pytest
import torch

import tracepack
from tests.security.forge import NO_FACTS, apply, tensor
from tracepack.ops.graph.graph import Graph
from tracepack.ops.graph.program import Artefact, EngineChoice, Parameter, Parameters, Program, Slot
from tracepack.serialization.program import save_program


def row(start: int, stop: int, files: dict[str, bytes] | None = None) -> EngineChoice:
    package = f"torch {torch.__version__}"
    return EngineChoice(None, (start, stop), {}, Artefact("inductor", package, {}, files or {}, {}), 0.0)


def archive(*rows: EngineChoice, nodes: int = 3) -> bytes:
    """A file that doubles its input so often."""
    values = [tensor() for _ in range(nodes + 1)]
    made = tuple(apply("aten.add.Tensor", a, a, output=b) for a, b in pairwise(values))
    parameters = Parameters((Parameter("x", "positional", Slot(0)),), ("x",), (values[0].type,))
    file = io.BytesIO()
    save_program(file, Program("forged", Graph((values[0],), made, values[-1]), parameters, NO_FACTS, engines=rows))
    return file.getvalue()


@pytest.mark.parametrize("spans", [((0, 2), (1, 3)), ((0, 3), (0, 3)), ((1, 2), (0, 3))])
def test_two_engines_for_the_same_nodes_are_refused(spans):
    with pytest.raises(tracepack.GraphError, match="a file names two engines for the same nodes; got node"):
        tracepack.load(archive(*(row(*span) for span in spans)), trust=True)


def test_more_engines_than_there_is_time_for_are_refused():
    """3,000 of them took 36 seconds to load."""
    data = archive(*(row(n, n + 1) for n in range(3000)), nodes=3000)
    began = time.process_time()
    with pytest.raises(tracepack.GraphError, match="a file names too many engines; got 3000 of 3000 nodes"):
        tracepack.load(data, trust=True)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("files", [{}, {"model.pt2": b"junk"}, {"model.pt2": b"PK\5\6" + b"\0" * 18}])
def test_a_package_that_is_none_leaves_the_flat_function(files):
    mod = tracepack.load(archive(row(0, 2, files)), trust=True)
    with pytest.warns(UserWarning, match="the engine 'inductor' fails on .* the flat function runs instead"):
        assert mod(torch.ones(2)).tolist() == [8.0, 8.0]
