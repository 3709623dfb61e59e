"""Optimizable: a pipeline whose parts engines may run in place of the flat function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...ops.graph.device import Device
from ...ops.graph.errors import SignatureError
from ...ops.runtime.state import State
from ..running.runner import Runner
from ..signature.described import DescribedProgram

if TYPE_CHECKING:
    from ...ops.engines.rescue import Engaged
    from .findings import Findings
    from .profile import Profile
    from .trial import Bench


P = TypeVar("P", bound="Optimizable")


class Optimizable(DescribedProgram):
    """What a pipeline does with engines."""

    grad: bool
    _options: dict[str, Any]
    _places: Mapping[int, Device]
    _engaged: list[Engaged]
    _runner: Runner

    def _new_runner(self, state: State | None) -> Runner:
        """A runner with the engines that were chosen, and a state that is given or its own."""
        options, engines, budget = self._options, {}, None
        if self._engaged:
            from .engaging import calls

            engines = calls(self.graph, self._engaged)
        if options["budget"] is not None:
            from ...ops.runtime.safety.budget import Budget  # as above: what few pipelines need

            budget = Budget.of(options["budget"])
        return Runner(
            self.program, self._places, grad=self.grad, convert=options["convert"],
            budget=budget, engines=engines, state=state,
        )  # fmt: skip

    @property
    def engines(self) -> dict[str, str]:
        """Which engine runs what: ``"aten"`` is the flat function, which runs all where nothing else was chosen.

        Example:
            >>> import torch, tracepack
            >>> tracepack.trace(lambda x: x * 2, torch.ones(3)).engines
            {'pipeline': 'aten'}
        """
        from .engaging import names

        return dict(names(self.graph, self._engaged))

    def _tolerance_of_engines(self) -> float:
        """By how much outputs may differ because of the engines that run; 0 for no more than by rounding."""
        return max((each.tolerance for each in self._engaged), default=0.0)

    def optimize(
        self,
        examples: Sequence[Mapping[str, Any]],
        *,
        tolerance: float | None = None,
        engines: Sequence[str] | None = None,
        seconds: float = 60.0,
        threads: int | None = None,
        precision: str | None = None,
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
            tolerance: by how much floating outputs may differ, relative and absolute; by default that of golden
                examples, which is that of rounding, see `save`. Integers must be equal.
            engines: the names of those to try; by default all that are installed.
            seconds: the time after which no other engine is tried.
            threads: torch's number of threads while it measures; by default as it is.
            precision: ``"bf16"`` or ``"int8"``: engines that compute in this lower precision are tried as well. They
                are held to the tolerance, by default 0.05 and 0.3, on the examples alone: integers are quantised to
                fit these. The report shows their relative error.
            progress: called with the fraction that is done, and what is tried next.

        Returns:
            The report: every engine tried, its time, its difference, and why it was not taken. `print` shows a table.

        Raises:
            SignatureError: the examples do not fit, there are none, or there is no such precision.
            GraphError: an engine is unknown; MissingExtraError: its package is not installed.

        Example:
            >>> import torch, tracepack
            >>> mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
            >>> mod.optimize([{"x": torch.ones(3)}], engines=[]).engines
            {}
        """
        from .cases import SHARE_OF_CASES
        from .search import Search, choices, engines_of, threads_of_torch

        found = engines_of(engines, {place.kind for place in self._places.values()} or {"cpu"})
        with threads_of_torch(threads) as count:
            bench = self._bench(examples, tolerance, seconds * SHARE_OF_CASES, precision)
            chosen, findings = Search(bench, found, precision or "", seconds, count, progress or _silent).run()
        self.program = replace(self.program, engines=choices(chosen))
        self._engaged = [each.engaged for each in chosen]
        self._runner = self._new_runner(self._runner.state())
        return findings

    def to_onnx(self, path: str | os.PathLike[str], examples: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Writes the whole pipeline as an ONNX model, with its weights and its free sizes, for other runtimes.

        Before the file is written, ONNX Runtime must answer as the pipeline does on the examples, at other sizes beside
        them, and for far, tiny and negative numbers and large integers. For NaN, infinity and an empty batch a warning
        says what is otherwise. What the signature asks of sizes and indices is not part of an ONNX model.

        Args:
            path: the file, by custom ``*.onnx``.
            examples: feed dicts like those of `run`; by default the golden examples of the file that the pipeline was
                loaded from.

        Raises:
            LoweringError: ONNX cannot express the pipeline, or runtimes answer otherwise; the message names the
                operation and its line, or the numbers that show it.
            SignatureError: the examples do not fit, or there are none.
            MissingExtraError: a package of the extra ``onnx`` is not installed.
            ArchiveError: the file cannot be written.
        """
        from ...serialization.golden import kept_examples
        from .onnx_file import write_onnx

        feeds = kept_examples(self.program.source)[0] if examples is None else examples
        write_onnx(self._bench(feeds, None, _SECONDS_OF_EXPORT, around=False), path)

    def _engaged_as_named(self: P, feed: Mapping[str, Any]) -> P:
        """The pipeline itself, its ops on the engines that `script` named for them.

        Args:
            feed: the example that it was traced with.

        Raises:
            LoweringError: an engine cannot run its op, or answers otherwise.
        """
        from .named import has_named, named_engines
        from .search import choice

        if has_named(self.graph):
            found = list(named_engines(self._bench([feed], None, _SECONDS_OF_EXPORT)))
            self.program = replace(self.program, engines=tuple(choice(each, {}) for each in found))
            self._engaged = found
            self._runner = self._new_runner(None)
        return self

    def profile(self, feed: Mapping[str, Any], runs: int = 10) -> Profile:
        """Measures what each node of a run takes. A pipeline that is not profiled pays nothing for it.

        The runs begin from the initial state, and leave the state of this pipeline as it is.

        Args:
            feed: like that of `run`.
            runs: how many runs are measured; the least time of each node counts.

        Returns:
            A table of nodes with time, share, shapes, memory and the user's line: `print` shows it, and `save_trace`
            writes a timeline that Perfetto opens.

        Raises:
            SignatureError, GuardError, NodeError: as `run`.

        Example:
            >>> import torch, tracepack
            >>> mod = tracepack.trace(lambda x: (x * 2).relu(), torch.ones(3))
            >>> [(step.name, step.outputs) for step in mod.profile({"x": torch.ones(4)}).steps]
            [('torch.Tensor.mul', 'float32[4]'), ('torch.Tensor.relu', 'float32[4]')]
        """
        from ..recheck.vary import clones
        from ..running.handed import at_home
        from ..running.timeline import steps
        from .cases import Case
        from .profile import Profile, fastest

        runner = self._new_runner(None).way(feed)
        given = runner.binding.flatten(feed)
        runner.run_slowly(Case(given, None, True).feed(runner.program))
        engaged = self._engaged if runner.program is self.program else []
        pairs = zip(runner.plan.engines.values(), engaged, strict=True)
        engines = {id(call.function): (each.region.name, each.engine.name) for call, each in pairs}
        homes = runner.homes
        given = [at_home(value, home) for value, home in zip(given, homes, strict=True)]
        rounds = [steps(runner.plan.fast, clones(given), engines) for _ in range(max(1, runs))]
        return Profile(self.name, fastest(rounds), len(rounds))

    def _plain(self, feed: Mapping[str, Any]) -> dict[str, Any]:
        """A feed with the leaves that a run makes of it; what was left to its default stays out."""
        return self._runner.way(feed).binding.plain(feed)

    def _bench(
        self, examples: Sequence[Mapping[str, Any]], tolerance: float | None, seconds: float,
        precision: str | None = None, *, around: bool = True,
    ) -> Bench:  # fmt: skip
        """The flat function with its answers on the examples, beside them, and at the corners of the sizes around."""
        from ..comparing.golden import checked_feeds, golden_terms
        from .cases import cases, corners
        from .trial import Bench

        if self.grad or self._options["budget"] is not None:
            raise SignatureError(
                "a pipeline with gradients or a budget keeps to the flat function", where=f"pipeline {self.name!r}",
                fix="Load it without grad and budget.",
            )  # fmt: skip
        if precision is not None and precision not in LOWER:
            raise SignatureError("there is no such precision", got=repr(precision), expected=f"one of {list(LOWER)}")
        feeds = checked_feeds(examples, self._plain)
        if not (feeds := [feed for feed in feeds if self._runner.way(feed) is self._runner]):
            raise SignatureError(
                "engines run calls that give every input", where=f"pipeline {self.name!r}",
                fix="Give an example with all of them.",
            )  # fmt: skip
        base = replace(self.program, engines=())
        runner = Runner(base, self._places)
        known = cases(base, runner, feeds, seconds)
        others = corners(base, runner, known[: len(feeds)], seconds) if around else []
        terms = golden_terms(self.graph, map(str, self._places.values()), tolerance)
        if tolerance is not None:  # of floating numbers: integers stay exact
            terms = replace(terms, tolerance=0.0, engines=terms.tolerance or 0.0)
        lower = replace(terms, engines=LOWER[precision]) if precision and tolerance is None else terms
        return Bench(base, self._places, known, others, terms, lower)


LOWER = {"bf16": 0.05, "int8": 0.3}
"""Lower precisions, with the tolerance of their outputs where none is given, relative and absolute."""

_SECONDS_OF_EXPORT = 10.0  # for the answers beside the examples


def _silent(done: float, what: str) -> None:
    """Shows no progress."""
