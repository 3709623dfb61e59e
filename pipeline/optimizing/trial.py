"""A pipeline with some regions run by engines: compared with the flat function, and timed against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ops.engines.engine import lowers
from ...ops.engines.rescue import Engaged
from ...ops.graph.device import Device
from ...ops.graph.graph import Graph
from ...ops.graph.program import Program
from ...ops.runtime.engine_call import EngineCall
from ...ops.runtime.interrupts.unheard import Unheard
from ...serialization.golden import Golden
from ..comparing.golden import replay
from ..running.runner import Runner
from .cases import Case
from .engaging import calls, only_device


@dataclass(frozen=True)
class Differences:
    """How outputs of the pipeline differ from those of the flat function.

    Attributes:
        largest: the largest difference.
        error: the largest relative error: the norm of the difference of an output to that of the output.
        fault: why they are too large; empty where they are not.
    """

    largest: float = 0.0
    error: float = 0.0
    fault: str = ""


@dataclass(frozen=True)
class Bench:
    """What all trials share.

    Attributes:
        program: the pipeline's program.
        places: the device of every op's body, by its id.
        cases: inputs with the outputs of the flat function.
        corners: others at the corners of the sizes around the examples, where an engine need not answer.
        terms: by how much outputs may differ.
        lower: the same where an engine computes in lower precision, which is held to the user's examples alone.
    """

    program: Program
    places: Mapping[int, Device]
    cases: Sequence[Case]
    corners: Sequence[Case]
    terms: Golden
    lower: Golden

    @property
    def device(self) -> Device | None:
        """The device on which all of it runs; None where there are several."""
        return only_device(self.places.values())

    def runner(self, engines: Mapping[int, EngineCall]) -> Runner:
        """A runner with a state of its own."""
        return Runner(self.program, self.places, engines=engines)

    def verdict(self, engaged: Sequence[Engaged]) -> Differences:
        """How the answers with some engines differ from those of the flat function, over all cases."""
        program = self.program
        lower = any(lowers(each.way) for each in engaged)
        runnable = _Trial(program, self.places, self.runner(calls(program.graph, engaged)))
        pairs = [(case.feed(program), case.expected) for case in self.cases if case.given or not lower]
        with Unheard("the engine .* (fails|does not answer) on "):  # on empty tensors, where it may
            report = replay(runnable, pairs, self.lower if lower else self.terms)
        for each in engaged:
            each.warned = False
        bad = [each for each in report.outputs if not each.within]
        return Differences(
            max((each.largest for each in report.outputs), default=0.0),
            max((each.error for each in report.outputs), default=0.0),
            ", ".join(f"{each.name} differs by {each.largest:.2g}, allowed {each.tolerance:g}" for each in bad[:3]),
        )


class _Trial:
    """The parts of a pipeline that a replay needs; it runs each case from the initial state."""

    def __init__(self, program: Program, places: Mapping[int, Device], runner: Runner) -> None:
        self.graph: Graph = program.graph
        self.placement = {str(key): str(place) for key, place in places.items()}
        self.stateful = False
        self._runner = runner

    def session(self) -> _Trial:
        """Itself, since each run begins from the initial state."""
        return self

    def run(self, feed: Mapping[str, Any]) -> Any:
        """The outputs for a feed."""
        if self._runner.stateful:
            self._runner.state().reset()
        return self._runner.run(feed)
