"""Exporting a model with torch.export, in as many ways as it takes to leave its sizes free."""

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
from .isolate import InferenceForm, buffers_in_place
from .patches import int_range as integers
from .patches.modules import idle_moves
from .patches.scalar_tensors import Counts, Reads, numbers
from .patches.shape_functions import FreeSizes
from .patches.silence import Silence


class Flat(torch.nn.Module):
    """The model as a module from flat tensors to a flat tuple.

    Args:
        model: the user's model.
        call: how it is called.
        keeps_mode: whether it is exported in the mode that it is in, instead of evaluation mode.
    """

    def __init__(self, model: Any, call: Call, keeps_mode: bool) -> None:
        super().__init__()
        self.keeps_mode = keeps_mode
        self.model = model  # a submodule where it is one, so that names and ties of weights are kept
        self.call = call
        self.numbers: dict[str, Any] | None = None  # where sizes are followed through tensors; see `scalar_tensors`

    def forward(self, *flat: Any) -> Any:
        """The leaves of what the model returns."""
        given = [t.size(0) if kind is None else t for t, kind in zip(flat, self.call.kinds, strict=True)]
        args, kwargs, objects = self.call.rebuild(given)
        with buffers_in_place(self.model), self.followed():
            return tuple(pytree.tree_leaves(returned(self.model(*args, **kwargs), objects)))

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follows sizes through tensors, if this was asked for."""
        if self.numbers is None:
            yield
            return
        counts = Counts(self.model, self.numbers)
        with counts, Reads(counts):
            yield


def programs(flat: Flat, tensors: Leaves, model: Any, name: str, reference: Callable[..., Any]) -> Iterator[Any]:
    """Exports with sizes as free as the model allows; what is freer, but changes more while it exports, comes first.

    A first size of 1 is tried as 2, since torch fixes ones. Tensors with gaps, or of elements that share memory, are
    tried without them first.

    Raises:
        LoweringError: torch.export cannot take the model in any of the ways.
    """
    error: Exception | None = None
    yielded = False
    exact, closed = separate(tensors), dense(tensors)
    ways = [closed] if all(map(_lie_alike, exact, closed)) else [closed, exact]
    for example in [example for way in ways for example in examples(_carriers(way))]:
        found, caught = _attempts(flat, example, model)
        yield from found
        yielded = yielded or bool(found)
        error = error or caught
    if yielded:
        return
    assert error is not None
    if isinstance(error, TracepackError):
        raise error
    raise lowering_error(error, name, lambda: reference(*separate(tensors))) from error


def _carriers(tensors: Leaves) -> list[torch.Tensor]:
    """The same with each number as the first size of an empty tensor: torch.export reasons about sizes best."""
    return [t if isinstance(t, torch.Tensor) else torch.empty(t, 0) for t in tensors]


def _lie_alike(one: Any, other: Any) -> bool:
    return not isinstance(one, torch.Tensor) or one.layout is not torch.strided or one.stride() == other.stride()


def _attempts(flat: Flat, tensors: Sequence[torch.Tensor], model: Any) -> tuple[list[Any], Exception | None]:
    """The programs that torch.export makes of a model, the freest first, or its error.

    Where the model asks for plain integers, it is exported once more with `int` and `range` that keep sizes free;
    where it cannot be exported, with these and with sizes followed through tensors.
    """
    asking: list[integers.Globals] = []
    plain, error = _attempt(flat, tensors, model, asking)
    if plain is not None and not asking:
        return [plain], None
    flat.numbers = None if plain is not None else numbers(model)
    try:
        freer, later = _attempt(flat, tensors, model, asking)
        if freer is None and plain is None:  # it came further now, and other modules may have asked
            freer, later = _attempt(flat, tensors, model, asking)
    finally:
        flat.numbers = None
    return [program for program in (freer, plain) if program is not None], error and later


def _attempt(
    flat: Flat, tensors: Sequence[torch.Tensor], model: Any, asking: list[integers.Globals]
) -> tuple[Any, Exception | None]:
    """One export; modules that ask for plain integers are lent their own, and others that ask are added to them."""
    with integers.Noting() as noted:
        try:
            with integers.Lent(asking):
                return export(flat, tensors, model), None
        except Exception as error:  # torch.export raises errors of many kinds
            return None, error
        finally:
            asking += [module for module in noted.found if not any(module is other for other in asking)]


def examples(tensors: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    """The example, before it the one whose first sizes of 1 are 2."""
    wide = [t.repeat(2, *[1] * (t.dim() - 1)) if t.dim() and t.size(0) == 1 and t.numel() else t for t in tensors]
    changed = any(a is not b for a, b in zip(wide, tensors, strict=True))
    return [wide, list(tensors)] if changed else [list(tensors)]


def export(flat: Flat, tensors: Sequence[torch.Tensor], model: Any) -> Any:
    """torch.export with every size left to it, in the model's inference form, without its warnings."""
    shapes = tuple(dict.fromkeys(range(t.dim()), Dim.AUTO) for t in tensors)
    keeps = flat.keeps_mode
    with (
        torch.no_grad(),
        InferenceForm(model, keeps),
        InferenceForm(flat, keeps),
        Silence(),
        FreeSizes(),
        idle_moves(),
    ):
        program = torch.export.export(flat, tuple(tensors), dynamic_shapes={"flat": shapes}, strict=False)
        # The casts of autocast are written out by torch's decompositions only, which leave all else as it is here.
        return program.run_decompositions({}) if _uses_autocast(program) else program


def _uses_autocast(program: Any) -> bool:
    modules = [module for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    return any(node.target is wrap_with_autocast for module in modules for node in module.graph.nodes)
