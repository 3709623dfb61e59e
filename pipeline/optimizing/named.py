"""Engines that a user named for ops in `script`: each must answer as its op does, and is not measured against it."""

from __future__ import annotations

from collections.abc import Iterator

from ...ops.engines import catalogue
from ...ops.engines.region import Region, op_region
from ...ops.engines.rescue import Engaged
from ...ops.graph.errors import LoweringError
from ...ops.graph.graph import Graph
from ...ops.graph.traverse import bodies
from .candidate import observe, try_engine
from .trial import Bench


def has_named(graph: Graph) -> bool:
    """Whether a graph calls an op for which an engine was named."""
    return any(body.engine for body in bodies(graph))


def named_engines(bench: Bench) -> Iterator[Engaged]:
    """The engines of a pipeline's ops.

    Raises:
        LoweringError: an engine cannot run its op, or answers otherwise.
    """
    for index, body in enumerate(bodies(bench.program.graph)):
        if not body.engine:
            continue
        region = op_region(bench.program.graph, index)
        made = _made(bench, region, body.engine) if isinstance(region, Region) else region
        if isinstance(made, str):
            raise LoweringError(f"the engine {body.engine!r} cannot run it", where=f"op {body.name!r}", got=made)
        yield made


def _made(bench: Bench, region: Region, name: str) -> Engaged | str:
    seen = observe(bench, region)
    found = seen.fault or try_engine(bench, seen, catalogue.find(name), 0.0)
    return found if isinstance(found, str) else found.engaged
