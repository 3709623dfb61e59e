"""Optimizable: a pipeline whose parts engines may run in place of the flat function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ops.engines.rescue import Engaged
from ...ops.graph.device import Device
from ...ops.graph.errors import SignatureError
from ...ops.runtime.safety.budget import Budget
from ...ops.runtime.state import State
from ..running.runner import Runner
from ..signature.described import DescribedProgram
from .engaging import calls, names

if TYPE_CHECKING:
    from .findings import Findings


class Optimizable(DescribedProgram):
    """What a pipeline does with engines."""

    grad: bool
    _options: dict[str, Any]
    _places: Mapping[int, Device]
    _engaged: list[Engaged]
    _runner: Runner

    def _new_runner(self, state: State | None) -> Runner:
        """A runner with the engines that were chosen, and a state that is given or its own."""
        options = self._options
        return Runner(
            self.program, self._places, grad=self.grad, convert=options["convert"],
            budget=Budget.of(options["budget"]), engines=calls(self.graph, self._engaged), state=state,
        )  # fmt: skip

    @property
    def engines(self) -> dict[str, str]:
        """Which engine runs what: ``"aten"`` is the flat function, which runs all where nothing else was chosen.

        Example:
            >>> import torch, tracepack
            >>> tracepack.trace(lambda x: x * 2, torch.ones(3)).engines
            {'pipeline': 'aten'}
        """
        return dict(names(self.graph, self._engaged))

    def optimize(
        self,
        examples: Sequence[Mapping[str, Any]],
        *,
        tolerance: float | None = None,
        engines: Sequence[str] | None = None,
        seconds: float = 60.0,
        threads: int | None = None,
        progress: Callable[[float, str], None] | None = None,
    ) -> Findings:
        """Tries every engine on every part of the pipeline, and keeps the fastest that answer as it does.

        An engine is kept where the outputs of the whole pipeline stay within the tolerance of the flat function on
        the examples, and beside them: at other sizes where the signature leaves these free, in other layouts, with
        other data. Then the whole is measured. What an engine cannot take stays with the flat function, and so does
        every call in which an engine fails. Ctrl-C ends the search; the best so far is kept.

        The pipeline must not run in another thread meanwhile. `save` writes what was chosen into the file.

        Args:
            examples: feed dicts like those of `run`, of the sizes that matter.
            tolerance: by how much outputs may differ, relative and absolute; by default that of golden examples,
                which is that of rounding, see `save`.
            engines: the names of those to try; by default all that are installed.
            seconds: the time after which no other engine is tried.
            threads: torch's number of threads while it measures; by default as it is.
            progress: called with the fraction that is done, and what is tried next.

        Returns:
            The report: every engine tried, its time, its difference, and why it was not taken. `print` shows a table.

        Raises:
            SignatureError: the examples do not fit, or there are none.
            GraphError: an engine is unknown; MissingExtraError: its package is not installed.

        Example:
            >>> import torch, tracepack
            >>> mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
            >>> mod.optimize([{"x": torch.ones(3)}], engines=[]).engines
            {}
        """
        from ..comparing.golden import checked_feeds, golden_terms
        from .cases import SHARE_OF_CASES, cases
        from .search import Search, choices, engines_of, threads_of_torch
        from .trial import Bench

        if self.grad or self._options["budget"] is not None:
            raise SignatureError(
                "a pipeline with gradients or a budget keeps to the flat function", where=f"pipeline {self.name!r}",
                fix="Load it without grad and budget.",
            )  # fmt: skip
        found = engines_of(engines)
        feeds = checked_feeds(examples, self._runner.binding.plain)
        with threads_of_torch(threads) as count:
            base = replace(self.program, engines=())
            known = cases(base, Runner(base, self._places), feeds, seconds * SHARE_OF_CASES)
            stage = Bench(
                base, self._places, known, golden_terms(self.graph, map(str, self._places.values()), tolerance)
            )
            chosen, findings = Search(stage, found, seconds, count, progress or _silent).run()
        self.program = replace(self.program, engines=choices(chosen))
        self._engaged = [each.engaged for each in chosen]
        self._runner = self._new_runner(self._runner.state())
        return findings


def _silent(done: float, what: str) -> None:
    """Shows no progress."""
