"""Operators that sometimes give back their argument itself: `contiguous`, `to`, `float`, dropout that is off.

Whether the argument itself comes back depends on strides and dtypes. A recording that took argument and result for one
tensor would be wrong for inputs where they are two, so the recorder returns another object that shares the memory.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import BodyCall, Graph
from ...ops.graph.sharing.memory import touched
from ...ops.graph.traverse import leaves, own_constants, walk
from ...ops.runtime.user_code import user_line
from ..proxies.base import is_traced

_RESHAPING = ("squeeze_", "unsqueeze_", "transpose_", ".t_", "swapaxes_", "swapdims_", "as_strided_")


def versions(tree: Any) -> dict[int, int]:
    """The version counter of each tensor in a tree, by id.

    A traced list of strings is a leaf, although it pretends to be a list: a walk would read its length.
    """
    return {id(leaf): version(leaf) for leaf in leaves(tree, is_traced) if isinstance(leaf, torch.Tensor)}


def version(tensor: torch.Tensor) -> int:
    """The version counter of a tensor; -1 for a tensor made in inference mode, which has none."""
    return -1 if tensor.is_inference() else tensor._version


def refuse_written_weights(graph: Graph) -> None:
    """Refuses a function that writes into a weight of an op, which the op gives as a result.

    Python would change the model so, and its next answer; a file has its weights once and for all.

    Raises:
        RecordError: it does; the message names the op's line.
    """
    written = touched(graph).constants()
    for node in walk(graph) if written else ():
        if isinstance(node.target, BodyCall):
            body = node.target.body
            given = [constant for constant in own_constants(body.graph) if id(constant) in written]
            own = touched(body.graph).constants()  # the model's own writes are its state
            found = [constant.name for constant in given if not constant.mutable and id(constant) not in own]
            if found:
                raise RecordError(
                    f"op {body.name!r} gives its own weight as a result, and the function writes into it",
                    where=str(node.line or ""),
                    got=repr(found[0]),
                    fix="Write into a copy: op(x).clone().",
                )


class Twins:
    """Pairs of tensors of one recording that are one object for some inputs and two for others."""

    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._alive: list[torch.Tensor] = []  # keeps their ids from being reused

    def separate(self, result: Any, before: dict[int, int], function: str, given: Collection[int]) -> Any:
        """The result with a new tensor object in place of an argument that the function returned.

        Args:
            result: what the function returned.
            before: the versions of its arguments before: a function that writes to one returns it always.
            function: its name.
            given: the ids of the tensors that the caller keeps.

        Raises:
            RecordError: the function changes the shape of a tensor that may be one with another, or of an input.
        """
        if isinstance(result, torch.Tensor):
            if id(result) not in before:
                return result
            if version(result) != before[id(result)] or function.endswith("_"):
                self._refuse_reshaping(result, function, given)
                return result
            return self.twin(result)
        if type(result) in (tuple, list):
            return type(result)(self.separate(item, before, function, given) for item in result)
        return result

    def twin(self, tensor: torch.Tensor) -> torch.Tensor:
        """Another tensor object that shares the memory of a tensor."""
        twin = tensor.detach()
        self._ids |= {id(tensor), id(twin)}
        self._alive += (tensor, twin)
        return twin

    def _refuse_reshaping(self, tensor: torch.Tensor, function: str, given: Collection[int]) -> None:
        if function.endswith(_RESHAPING) and (id(tensor) in given or id(tensor) in self._ids):
            raise RecordError(
                f"{function} changes the shape of an input, which stays as it is for the caller of a pipeline"
                if id(tensor) in given
                else f"{function} changes the shape of a tensor that may be the same object as another one",
                where=str(user_line() or ""),
                fix="Use the form that returns a new view, without the underscore.",
            )
