"""Engines of a pipeline: those that its program names, where they can run here."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from ...ops.engines import catalogue
from ...ops.engines.region import Region, region_at
from ...ops.engines.rescue import Engaged, Reference
from ...ops.graph.device import CPU, Device
from ...ops.graph.errors import GraphError, MissingExtraError, shown
from ...ops.graph.graph import Graph
from ...ops.graph.program import EngineChoice, Program
from ...ops.graph.traverse import bodies
from ...ops.runtime.engine_call import EngineCall
from ...ops.runtime.user_code import user_stacklevel
from ..comparing.processor import kind_of_processor

ATEN = catalogue.ATEN


_MOST_WORK = 1 << 22  # engines times nodes: each region is found by a look at all nodes
SEVERAL = "its ops run on several devices"


def only_device(places: Iterable[Device]) -> Device | None:
    """The device on which all ops of a pipeline run; None where there are several."""
    found = set(places) or {CPU}
    return found.pop() if len(found) == 1 else None


def here(device: Device) -> dict[str, str]:
    """The kind of this machine's processor, and of the accelerator, on which a measurement holds."""
    return kind_of_processor(() if device.is_cpu else (str(device),))


def engage(program: Program, places: Iterable[Device]) -> list[Engaged]:
    """The engines that a program names, for the regions that they can run here.

    Where one cannot run, its region stays with the flat function, and one warning says why.

    Raises:
        GraphError: it names a region that the graph does not have, or parts of it twice.
    """
    _check_rows(program)
    found: list[Engaged] = []
    reasons: dict[str, None] = {}
    device = only_device(places)
    for choice in program.engines:
        region = region_at(program.graph, _place(choice))
        if not isinstance(region, Region):
            raise GraphError("a file names an engine for what is no region", got=f"{_place(choice)}: {region}")
        reason = SEVERAL if device is None else _reason(choice, device)
        if reason or device is None:
            reasons[f"{choice.artefact.engine} on {region.name}: {reason}"] = None
        else:
            engine = catalogue.find(choice.artefact.engine)
            found.append(Engaged(engine, choice.artefact, region, Reference(region, device), choice.tolerance))
    if reasons:
        warnings.warn(
            shown(f"pipeline {program.name!r} runs on {ATEN} where its engines cannot: {'; '.join(reasons)}"),
            stacklevel=user_stacklevel(),
        )
    return found


def start_early(choices: Sequence[EngineChoice]) -> None:
    """Has an engine that runs on this machine's CPU begin beside the reading of its file: the first that is named."""
    for choice in choices[:1]:
        if not _reason(choice, CPU):
            with suppress(Exception):  # the first call meets it again, and the flat function answers
                catalogue.find(choice.artefact.engine).start(choice.artefact)


def _check_rows(program: Program) -> None:
    """Refuses rows whose regions share nodes, and more rows than there is time to find regions for.

    Raises:
        GraphError: there are such.
    """
    rows, nodes = program.engines, len(program.graph.nodes)
    if len(rows) * nodes > _MOST_WORK:
        raise GraphError(
            "a file names too many engines",
            got=f"{len(rows)} of {nodes} nodes",
            expected=f"{_MOST_WORK // nodes} at most",
        )
    end = -1
    for start, stop in sorted(choice.nodes for choice in rows if choice.body is None and choice.nodes):
        if start < end:
            raise GraphError("a file names two engines for the same nodes", got=f"node {start}")
        end = stop
    named = [choice.body for choice in rows if choice.body is not None]
    if len(set(named)) < len(named):
        raise GraphError("a file names two engines for the same op", got=f"ops {sorted(named)}"[:200])


def _place(choice: EngineChoice) -> int | tuple[int, int]:
    if choice.body is not None:
        return choice.body
    return choice.nodes or (0, 0)


def _reason(choice: EngineChoice, device: Device) -> str:
    """Why an engine of a file cannot run here; empty where it can."""
    if choice.processor and dict(choice.processor) != (mine := here(device)):
        return f"it was measured on {' '.join(choice.processor.values())}, and this is {' '.join(mine.values())}"
    try:
        engine = catalogue.find(choice.artefact.engine)
    except (GraphError, MissingExtraError) as error:
        return error.what
    if device.kind not in engine.devices:
        return f"it does not run on {device}"
    if not engine.accepts(choice.artefact.package):
        return f"its artefact is of {choice.artefact.package}, and {engine.version()} is installed"
    return ""


def calls(graph: Graph, engaged: Sequence[Engaged]) -> dict[int, EngineCall]:
    """The calls of engines as a plan takes them: by the id of the first node, or of the op's body."""
    found: dict[int, EngineCall] = {}
    for each in engaged:
        found[each.region.key(graph)] = each.call()
    return found


def names(graph: Graph, engaged: Sequence[Engaged]) -> Mapping[str, str]:
    """Which engine runs what: regions by name, and ops outside of them."""
    if not engaged:
        return {"pipeline": ATEN}
    found = {each.region.name: each.label for each in engaged}
    runs = [each.region.place for each in engaged if isinstance(each.region.place, tuple)]
    covered = {id(body) for each in engaged if (body := each.region.body) is not None}
    covered |= {id(body) for start, stop in runs for body in bodies(Graph((), graph.nodes[start:stop], ()))}
    found |= {f"op {body.name!r}": ATEN for body in bodies(graph) if id(body) not in covered}
    return found if "pipeline" in found else {**found, "other nodes": ATEN}
