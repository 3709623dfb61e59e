"""`layer.autotune`: tunes a layer's forward and backward for given inputs, from and to cache files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Protocol

import torch

from ..expr.dtypes import stored
from ..expr.errors import OptionsError
from ..expr.ir import Definition, Program
from ..run.plan import Plan
from ..run.select import GPUS, has_slang
from ..schedule.options import Options, OptionsLike, options_pair
from ..torch.emitter import TorchEmitter
from .cache import TuningCache
from .genetic import Search, Settings


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

    def run(self, seeds: Sequence[Options]) -> list[tuple[float, Options]]:
        """Milliseconds and options, the fastest first."""


def autotune(
    layer: Tunable,
    *inputs: Any,
    options: Any = None,
    cache: str | None = None,
    training: bool | None = None,
    **settings: Any,
) -> Options | list[Options]:
    """Searches for the fastest options of a layer, and uses them from then on for these sizes.

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
        OptionsError: an unknown setting, one out of its range, or a cache file that cannot be written.
    """
    for name, instead in _REPLACED.items():
        if name in settings:
            raise OptionsError(f"there is no setting '{name}'", where="autotune", fix=instead)
    known = [field.name for field in fields(Settings)]
    for name in settings:
        if name not in known:
            raise OptionsError(f"unknown setting '{name}'", where="autotune", expected=f"one of {', '.join(known)}")
    chosen = Settings(**settings)
    tensors = layer.check_inputs(_tensors(layer, inputs))
    if training is None:
        training = layer.backward_definition is not None or any(t.requires_grad for t in tensors)
    wanted = frozenset(
        i for i, t in enumerate(tensors) if t.is_floating_point() and (t.requires_grad or not _any_grad(tensors))
    )
    tensors = [t.detach().contiguous() for t in tensors]
    shapes = [tuple(t.shape) for t in tensors]
    both = training and bool(wanted)
    if both and chosen.seconds is not None:
        chosen = replace(chosen, seconds=chosen.seconds / 2)
    search = _LayerSearch(layer, tensors, chosen, cache, options)
    best = [search.forward()]
    if both:
        best.append(Options() if search.interrupted else search.backward(wanted))
    layer.set_tuned(shapes, best, layer.runs_on(tensors))
    return best if len(best) == 2 else best[0]


_REPLACED = {
    "gpus": "The tuner measures where the inputs are: put them on the device, one process for each.",
    "elites": "It is called number_elites.",
    "proto": "It is called cache.",
}
"""Settings of the tuner of Tensor Comprehensions, and what to do instead."""


def _any_grad(tensors: Sequence[torch.Tensor]) -> bool:
    return any(t.requires_grad for t in tensors)


def _tensors(layer: Tunable, inputs: Sequence[Any]) -> list[Any]:
    """Random tensors where sizes were given; integers point into the smallest dimension of any input."""
    shapes = [tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in inputs]
    smallest = min((d for s in shapes if isinstance(s, (tuple, list)) for d in s), default=1)
    found: list[Any] = []
    for given, param in zip(inputs, layer.definition.params, strict=False):
        if not isinstance(given, (tuple, list)):
            found.append(given)
            continue
        shape, dtype = tuple(given), stored(param.dtype)
        values = torch.randn(shape) if param.dtype.is_float else torch.randint(0, smallest, shape)
        found.append(values.to(dtype))
    return [*found, *inputs[len(found) :]]


class _LayerSearch:
    """Tunes the forward and the backward of a layer for given inputs."""

    def __init__(
        self, layer: Tunable, tensors: list[torch.Tensor], settings: Settings, cache: str | None, options: Any
    ) -> None:
        self._layer, self._tensors, self._settings, self._cache = layer, tensors, settings, cache
        self._given = None if options is None else options_pair(options)
        self._shapes = [tuple(t.shape) for t in tensors]
        self._plan = layer.plan(tensors, Options("torch"))
        self.interrupted = False

    def forward(self) -> Options:
        """The best options of the forward."""
        where = self._tensors[0].device if self._tensors else None
        contents = [
            torch.zeros(t.shape, dtype=stored(t.dtype), device=where)
            for t in (self._plan.program.tensors[c] for c in self._plan.program.contents)
        ]
        given = self._given.forward if self._given else None
        return self._tune(self._plan.program, [*self._tensors, *contents], False, given)

    def backward(self, wanted: frozenset[int]) -> Options:
        """The best options of the backward, on gradients of ones."""
        if self._layer.backward_definition is not None:
            training_inputs = self._named_inputs()
            program = self._plan.named(wanted, [tuple(t.shape) for t in training_inputs[len(self._tensors) :]])
            return self._tune(program, training_inputs, True, self._given.backward if self._given else None)
        forward, backward = self._plan.derived(wanted)
        everything = [*self._tensors, *TorchEmitter(forward, True)(self._tensors)]
        order = [*forward.inputs, *forward.outputs]
        inputs = [everything[order.index(s)] for s in backward.saved]
        inputs += [torch.ones_like(everything[order.index(s)]) for s in backward.seeds]
        return self._tune(backward.program, inputs, True, self._given.backward if self._given else None)

    def _named_inputs(self) -> list[torch.Tensor]:
        """The named backward's inputs; gradients get the shapes that its own parameters bind to."""
        definition = self._layer.backward_definition
        assert definition is not None
        outputs = TorchEmitter(self._plan.program, True)(self._tensors)
        wanted = len(definition.params) - len(self._tensors)
        return [*self._tensors, *[torch.ones_like(outputs[i]) for i in self._plan.seeds][-wanted:]]

    def _tune(self, program: Program, inputs: list[torch.Tensor], backward: bool, given: Options | None) -> Options:
        seeds = [given] if given is not None else []
        device = self._layer.runs_on(self._tensors)
        file = TuningCache(self._cache, backward, device) if self._cache else None
        if file is not None:
            file.check()
            seeds += [o for _, o in file.all(self._layer.key, self._shapes)]
            if not seeds and file.is_stale(self._layer.key, self._shapes):
                file.ignored("what was tuned on another kind of machine, compiler or number of threads")
        search = self._search(program, inputs, "backward" if backward else "forward", device)
        found = search.run(seeds)
        self.interrupted = search.interrupted
        if file is not None:
            file.store(self._layer.key, self._shapes, found)
        return found[0][1]

    def _search(self, program: Program, inputs: list[torch.Tensor], label: str, device: torch.device) -> _Search:
        clamp = self._layer.gather == "clamp"
        if device.type not in GPUS or not has_slang():
            return Search(program, inputs, clamp, self._settings, label)
        from .gpu_search import GpuSearch

        return GpuSearch(program, inputs, clamp, self._settings, label, device)
