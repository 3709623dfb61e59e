"""`layer.autotune`: tunes a layer's forward and backward for given inputs, from and to cache files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from ..expr.dtypes import stored
from ..expr.errors import OptionsError
from ..expr.ir import Definition, Program
from ..run.plan import Plan
from ..run.select import GPUS, has_slang
from ..schedule.options import Options, OptionsLike, options_pair
from ..torch.emitter import TorchEmitter
from .cache import CacheName, TuningCache
from .genetic import Search
from .search_settings import Settings, checked_settings
from .timed_inputs import check_examples, example_tensors


class Tunable(Protocol):
    """The parts of a layer that tuning uses."""

    gather: str
    definition: Definition

    @property
    def key(self) -> str:
        """A name for everything that decides what it computes."""

    @property
    def backward_definition(self) -> Definition | None:
        """The named backward."""

    def check_inputs(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        """The inputs as tensors of the definition's types."""

    def plan(self, tensors: Sequence[torch.Tensor], options: OptionsLike | None = None) -> Plan:
        """What runs for these inputs and options."""

    def runs_on(self, tensors: Sequence[torch.Tensor]) -> torch.device:
        """Where a call with these inputs runs."""

    def set_tuned(
        self, shapes: list[tuple[int, ...]], options: list[Options], device: torch.device | None = None
    ) -> None:
        """Uses options for these shapes from now on."""


class _Search(Protocol):
    """A search for the options of one program."""

    interrupted: bool

    @property
    def failed(self) -> Exception | None:
        """The error of the function that shows the progress."""

    def run(self, seeds: Sequence[Options]) -> list[tuple[float, Options]]:
        """Milliseconds and options, the fastest first."""


def autotune(
    layer: Tunable,
    *inputs: Any,
    options: Any = None,
    cache: CacheName | None = None,
    training: bool | None = None,
    **settings: Any,
) -> Options | list[Options]:
    """Searches for the fastest options of a layer, and uses them from then on for these sizes.

    Everything that is given is checked before the search; what a search found is used and written even where the next
    one fails.

    Args:
        layer: the layer to tune.
        inputs: one tensor or one tuple of sizes for each parameter; random values stand in for sizes.
        options: the options to start from, besides those of the analysis.
        cache: a file whose entries the search starts from, and that the best are written to.
        training: tune the backward as well; left out, where an input that is a tensor requires gradients, or
            the layer names a backward.
        **settings: as in `Settings`.

    Returns:
        The best options, or `[forward, backward]`.

    Raises:
        OptionsError: an unknown setting, one out of its range, options that do not fit the layer, or a cache file that
            cannot be written.
        ComprehensionInputError: inputs that do not fit the layer, or without elements: there is nothing to time.
    """
    chosen = checked_settings(settings)
    if training is not None and type(training) is not bool:
        raise OptionsError("training is no bool", where="autotune", got=repr(training), expected="True, False or None")
    tensors = layer.check_inputs(example_tensors(layer.definition, inputs))
    check_examples(layer.definition, tensors)
    if training is None:
        training = layer.backward_definition is not None or any(t.requires_grad for t in tensors)
    wanted = frozenset(
        i for i, t in enumerate(tensors) if t.is_floating_point() and (t.requires_grad or not _any_grad(tensors))
    )
    both = training and bool(wanted)
    if both and chosen.seconds is not None:
        chosen = replace(chosen, seconds=chosen.seconds / 2)
    tensors = [t.detach().contiguous() for t in tensors]
    return _LayerSearch(layer, tensors, chosen, cache, options).run(wanted if both else None)


def _any_grad(tensors: Sequence[torch.Tensor]) -> bool:
    return any(t.requires_grad for t in tensors)


@dataclass
class _Job:
    """The search for the options of one program."""

    search: _Search
    seeds: list[Options]
    file: TuningCache | None


class _LayerSearch:
    """Tunes the forward and the backward of a layer for given inputs."""

    def __init__(
        self,
        layer: Tunable,
        tensors: list[torch.Tensor],
        settings: Settings,
        cache: CacheName | None,
        options: Any,
    ) -> None:
        self._layer, self._tensors, self._settings, self._cache = layer, tensors, settings, cache
        self._given = None if options is None else options_pair(options)
        self._both_given = isinstance(options, list | tuple) and len(options) == 2
        self._shapes = [tuple(t.shape) for t in tensors]
        self._device = layer.runs_on(tensors)
        self._plan = layer.plan(tensors, Options("torch"))

    def run(self, wanted: frozenset[int] | None) -> Options | list[Options]:
        """The best options of the forward, and of the backward for the wanted gradients unless they are None.

        Both searches are prepared first, so that no mistake is found after the first one.
        """
        jobs = [self._forward(), *([] if wanted is None else [self._backward(wanted)])]
        best: list[Options] = []
        failed: Exception | None = None
        for job in jobs:
            best.append(Options() if best and jobs[0].search.interrupted else self._found(job))
            self._layer.set_tuned(self._shapes, list(best), self._device)
            failed = failed or job.search.failed
        if failed is not None:
            raise failed
        return best if wanted is not None else best[0]

    def _found(self, job: _Job) -> Options:
        found = job.search.run(job.seeds)
        if job.file is not None:
            job.file.store(self._layer.key, self._shapes, found)
        return found[0][1]

    def _forward(self) -> _Job:
        where = self._tensors[0].device if self._tensors else None
        contents = [
            torch.zeros(t.shape, dtype=stored(t.dtype), device=where)
            for t in (self._plan.program.tensors[c] for c in self._plan.program.contents)
        ]
        given = self._given.forward if self._given else None
        if given is not None:
            given.resolve(self._plan.program)
        return self._job(self._plan.program, [*self._tensors, *contents], False, given)

    def _backward(self, wanted: frozenset[int]) -> _Job:
        """On gradients of ones."""
        if self._layer.backward_definition is not None:
            inputs = self._named_inputs()
            program = self._plan.named(wanted, [tuple(t.shape) for t in inputs[len(self._tensors) :]])
        else:
            forward, backward = self._plan.derived(wanted)
            everything = [*self._tensors, *TorchEmitter(forward, True)(self._tensors)]
            order = [*forward.inputs, *forward.outputs]
            inputs = [everything[order.index(s)] for s in backward.saved]
            inputs += [torch.ones_like(everything[order.index(s)]) for s in backward.seeds]
            program = backward.program
        given = self._given.backward if self._given else None
        if given is not None and self._both_given:  # one for both need not fit the backward's axes
            given.resolve(program)
        return self._job(program, inputs, True, given)

    def _named_inputs(self) -> list[torch.Tensor]:
        """The named backward's inputs; gradients get the shapes that its own parameters bind to."""
        definition = self._layer.backward_definition
        assert definition is not None
        outputs = TorchEmitter(self._plan.program, True)(self._tensors)
        wanted = len(definition.params) - len(self._tensors)
        return [*self._tensors, *[torch.ones_like(outputs[i]) for i in self._plan.seeds][-wanted:]]

    def _job(self, program: Program, inputs: list[torch.Tensor], backward: bool, given: Options | None) -> _Job:
        seeds = [given] if given is not None else []
        file = TuningCache(self._cache, backward, self._device) if self._cache is not None else None
        if file is not None:
            file.check()
            seeds += [o for _, o in file.all(self._layer.key, self._shapes)]
            if not seeds and file.is_stale(self._layer.key, self._shapes):
                file.ignored("what was tuned on another kind of machine, compiler or number of threads")
        return _Job(self._search(program, inputs, "backward" if backward else "forward"), seeds, file)

    def _search(self, program: Program, inputs: list[torch.Tensor], label: str) -> _Search:
        clamp = self._layer.gather == "clamp"
        if self._device.type not in GPUS or not has_slang():
            return Search(program, inputs, clamp, self._settings, label)
        from .gpu_search import GpuSearch

        return GpuSearch(program, inputs, clamp, self._settings, label, self._device)
