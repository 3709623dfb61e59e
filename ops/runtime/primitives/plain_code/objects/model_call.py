"""What a block of plain Python calls a model by: a closed graph of the file, behind checks of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from .....graph.graph import Graph
from .....graph.sharing.memory import handed_on
from .....graph.types import BOOL, FLOAT, INT, STR, TensorType, Type
from ...views import apart
from ..one_run.block_refusals import RefusedError, refuse
from .model_outputs import as_outputs

OF_MODELS = "M"
"""How the names of arguments begin that are called."""
OF_OTHER_KINDS = "a block of plain Python calls a model with other kinds of arguments than on the example of the trace"
_SCALARS = {INT: int, FLOAT: float, BOOL: bool, STR: str}


def is_callable(graph: Any) -> bool:
    """Whether a block may call something: a graph over tensors, numbers and texts."""
    kinds = [value.type for value in graph.inputs] if isinstance(graph, Graph) else [None]
    return all(isinstance(kind, TensorType) or kind in _SCALARS for kind in kinds)


class ModelCall:
    """A function of a graph that a block calls; no handler of the block catches what it raises.

    Args:
        function: of the emitter; it knows its graph.
    """

    __slots__ = ("copies", "function", "homes", "kinds")

    def __init__(self, function: Any) -> None:
        graph: Graph = function.graph
        self.function, self.kinds = function, [value.type for value in graph.inputs]
        self.homes = [str(each) for each in function.homes]
        self.copies = any(constant for _, constant in handed_on(graph))

    def __call__(self, *args: Any) -> Any:
        """What the graph gives; a weight that it gives is a copy, which the block may write to.

        Raises:
            RefusedError: the arguments are of other kinds than in the trace, or the graph raises an error.
        """
        got, expected = [*map(_kind_of, args)], [*map(_shown, self.kinds)]
        if got != expected:
            refuse(
                OF_OTHER_KINDS,
                got=", ".join(got) or "nothing", expected=", ".join(expected) or "nothing",
            )  # fmt: skip
        pairs = zip(args, self.homes, strict=True)
        given = [_on(each, home) if isinstance(each, torch.Tensor) else each for each, home in pairs]
        found = unheard(self.function, *given)
        return as_outputs(apart(found, *given) if self.copies else found)


def unheard(function: Callable[..., Any], *args: Any) -> Any:
    """What a model gives; an error of it leaves the block, since its graph raises other ones than the model.

    Raises:
        RefusedError: it raises one.
    """
    try:
        return function(*args)
    except Exception as error:
        raise RefusedError(error) from None


def model_call(function: Any) -> ModelCall:
    """The call of a function of the emitter, made once."""
    known: dict[str, Any] = vars(function)
    if "call" not in known:
        known["call"] = ModelCall(function)
    found: ModelCall = known["call"]
    return found


def at_home(found: Any, calls: Iterable[Any]) -> Any:
    """A result with its tensors where the nodes of the block's graph expect them: models may lie elsewhere."""
    homes = {str(each.function.home) for each in calls if isinstance(each, ModelCall)}
    return _moved(found, homes.pop()) if len(homes) == 1 else found


def _moved(thing: Any, home: str) -> Any:
    if isinstance(thing, torch.Tensor):
        return _on(thing, home)
    if type(thing) is dict:
        return {key: _moved(each, home) for key, each in thing.items()}
    if isinstance(thing, tuple) and hasattr(thing, "_make"):
        return type(thing)._make(_moved(each, home) for each in thing)
    return type(thing)(_moved(each, home) for each in thing) if type(thing) in (list, tuple) else thing


def _on(tensor: torch.Tensor, home: str) -> torch.Tensor:
    return tensor if str(tensor.device) == home else tensor.to(home)


def _shown(kind: Type) -> str:
    return f"{kind.dtype} of rank {len(kind.shape)}" if isinstance(kind, TensorType) else str(kind)


def _kind_of(thing: Any) -> str:
    if type(thing) is torch.Tensor and thing.layout is torch.strided:
        return f"{str(thing.dtype).removeprefix('torch.')} of rank {thing.dim()}"
    return type(thing).__name__
