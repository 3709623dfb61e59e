"""Exports a model with torch.export, in several ways until its sizes are free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._higher_order_ops.wrap import wrap_with_autocast
from torch.export import Dim
from torch.utils import _pytree as pytree

from ..graph.errors import TracepackError
from .call import Call, Leaves, dense, returned, separate
from .errors import lowering_error
from .patches import int_range as integers
from .patches.distributions import DistributionChecks
from .patches.layers.attention import FastPaths
from .patches.layers.packed_sequences import PackedSequences
from .patches.modules import idle_moves
from .patches.plain.askers import Heard
from .patches.plain.lending import LentQuestions
from .patches.plain.mode_questions import modes_around
from .patches.plain.plain_answers import PlainAnswers
from .patches.scalar_tensors import Counts, Reads, numbers
from .patches.shape_functions import FreeSizes
from .patches.silence import Silence
from .user_model.buffers import buffers_in_place
from .user_model.isolate import InferenceForm


class Flat(torch.nn.Module):
    """The model as a module from flat tensors to a flat tuple.

    Args:
        model: the user's model.
        call: the structure of its call.
        keeps_mode: whether it is exported in its present mode, instead of evaluation mode.

    Attributes:
        heard: what the model asks about its export.
        lent: what its functions ask with.
    """

    def __init__(self, model: Any, call: Call, keeps_mode: bool) -> None:
        super().__init__()
        self.keeps_mode = keeps_mode
        self.model = model  # as a submodule, where it is a module, so that names and ties of weights are kept
        self.call = call
        self.heard, self.lent = Heard(), LentQuestions(())
        self.numbers: dict[str, Any] | None = None  # where sizes are followed through tensors; see `scalar_tensors`

    def forward(self, *flat: Any) -> Any:
        """The leaves of what the model returns."""
        self.heard.modes = modes_around()
        given = [t.size(0) if kind is None else t for t, kind in zip(flat, self.call.kinds, strict=True)]
        args, kwargs, objects = self.call.rebuild(given)
        with buffers_in_place(self.model), self.followed():
            return tuple(pytree.tree_leaves(returned(self.model(*args, **kwargs), objects)))

    @contextmanager
    def followed(self) -> Iterator[None]:
        """A context that follows sizes through tensors, where `counts` is set."""
        if self.numbers is None:
            yield
            return
        counts = Counts(self.model, self.numbers)
        with counts, Reads(counts):
            yield


def programs(flat: Flat, tensors: Leaves, model: Any, name: str, reference: Callable[..., Any]) -> Iterator[Any]:
    """Yields exports, those with the freest sizes first, although these need the most patches.

    A first size of 1 in the example is replaced by 2, since torch.export fixes sizes of 1. Tensors with gaps, or of
    elements that share memory, are first tried without them.

    Raises:
        LoweringError: torch.export refuses the model in all of the ways.
    """
    error: Exception | None = None
    yielded = False
    exact, closed = separate(tensors), dense(tensors)
    ways = [closed] if all(map(_lie_alike, exact, closed)) else [closed, exact]
    tried = [example for way in ways for example in examples(_carriers(way))]
    for told in (False, True):
        if told and (flat.heard.told or not flat.heard.libraries):
            break
        flat.heard.told = told
        for example in tried:
            found, caught = _attempts(flat, example, model)
            yield from found
            yielded = yielded or bool(found)
            error = error or caught
    if yielded:
        return
    assert error is not None
    if isinstance(error, TracepackError):
        raise error
    raise lowering_error(error, name, lambda: reference(*separate(tensors)), flat.heard.own.values()) from error


def program_at(flat: Flat, tensors: Leaves, model: Any, heard: Heard) -> Any:
    """The freest export for inputs of other sizes, which are taken as they are.

    Args:
        flat: the model.
        tensors: the inputs.
        model: the user's model.
        heard: gets what the model asks.
    """
    before, flat.heard = flat.heard, heard
    heard.compares_bools = before.compares_bools
    try:
        found, error = _freest(flat, _carriers(separate(tensors)), model)
    finally:
        flat.heard = before
    if not found:
        assert error is not None
        raise error
    return found[0]


def _carriers(tensors: Leaves) -> list[torch.Tensor]:
    """The inputs, with each number as the first size of an empty tensor: torch.export reasons best about sizes."""
    return [t if isinstance(t, torch.Tensor) else torch.empty(t, 0) for t in tensors]


def _lie_alike(one: Any, other: Any) -> bool:
    """Whether two inputs have the same strides."""
    return not isinstance(one, torch.Tensor) or one.layout is not torch.strided or one.stride() == other.stride()


def _attempts(flat: Flat, tensors: Sequence[torch.Tensor], model: Any) -> tuple[list[Any], Exception | None]:
    """The results of torch.export for a model, or its error; libraries are told of the export only where it fails."""
    found, error = _freest(flat, tensors, model)
    if not found and flat.heard.libraries and not flat.heard.told:
        flat.heard.told = True
        found, error = _freest(flat, tensors, model)
    return found, error


def _freest(flat: Flat, tensors: Sequence[torch.Tensor], model: Any) -> tuple[list[Any], Exception | None]:
    """The results of torch.export for a model, the one with the freest sizes first, or its error.

    Where the model converts sizes to plain integers, it is exported once more with an `int` and a `range` that keep
    sizes free; where the export fails, with these and with sizes followed through tensors.
    """
    asking: list[integers.Asker] = []
    plain, error = _attempt(flat, tensors, model, asking)
    if plain is not None and not asking:
        return [plain], None
    flat.numbers = None if plain is not None else numbers(model)
    try:
        freer, later = _attempt(flat, tensors, model, asking)
        if freer is None and plain is None:  # this export came further, and further functions may have converted sizes
            freer, later = _attempt(flat, tensors, model, asking)
    finally:
        flat.numbers = None
    return [program for program in (freer, plain) if program is not None], error and later


def _attempt(
    flat: Flat, tensors: Sequence[torch.Tensor], model: Any, asking: list[integers.Asker]
) -> tuple[Any, Exception | None]:
    """One export with `int` and `range` lent to some functions; further ones that convert sizes are added to them."""
    with integers.Noting() as noted:
        try:
            with integers.Lent(asking):
                return export(flat, tensors, model), None
        except Exception as error:  # torch.export raises errors of many kinds
            return None, error
        finally:
            asking += [asker for asker in noted.found if not any(asker.code is other.code for other in asking)]


def examples(tensors: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    """The example, and before it the one with 2 in place of first sizes of 1."""
    wide = [t.repeat(2, *[1] * (t.dim() - 1)) if t.dim() and t.size(0) == 1 and t.numel() else t for t in tensors]
    changed = any(a is not b for a, b in zip(wide, tensors, strict=True))
    return [wide, list(tensors)] if changed else [list(tensors)]


def export(flat: Flat, tensors: Sequence[torch.Tensor], model: Any) -> Any:
    """Runs torch.export with automatic sizes, on the model as inference runs it, without warnings."""
    shapes = tuple(dict.fromkeys(range(t.dim()), Dim.AUTO) for t in tensors)
    keeps = flat.keeps_mode
    with (
        torch.no_grad(),
        InferenceForm(model, keeps),
        InferenceForm(flat, keeps),
        flat.lent,
        PlainAnswers(flat.heard),
        Silence(),
        FreeSizes(),
        PackedSequences(),
        FastPaths(),
        DistributionChecks(),
        idle_moves(),
    ):
        program = torch.export.export(flat, tuple(tensors), dynamic_shapes={"flat": shapes}, strict=False)
        # Only torch's decompositions write out the casts of autocast; here they change nothing else.
        return program.run_decompositions({}) if _uses_autocast(program) else program


def _uses_autocast(program: Any) -> bool:
    modules = [module for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    return any(node.target is wrap_with_autocast for module in modules for node in module.graph.nodes)
