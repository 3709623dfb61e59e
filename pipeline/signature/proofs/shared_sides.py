"""SharedSides: choices and loops in a run without data, in which no condition is known.

Both sides of a choice run, and the result has the sizes that they share; another size is one of which nothing is
known. A loop runs until a round changes no size of what it carries: what holds before a round holds after it then, and
so after any number of rounds. Torch refuses to decide by a size of which nothing is known, and the proof ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

_MOST_ROUNDS = 20
_NUMBERS: dict[type, str] = {
    int: "int", torch.SymInt: "int", float: "float", torch.SymFloat: "float", bool: "bool", torch.SymBool: "bool",
}  # fmt: skip


class UnlikeError(Exception):
    """Two sides give what no one type says, so that nothing is known of the result."""


class SharedSides:
    """What stands for choices and loops in a run without data.

    Args:
        known: torch's environment of the symbols.
    """

    def __init__(self, known: Any) -> None:
        self.known = known

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The functions by the names of their operators."""
        return {"cond": self.choose, "while_loop": self.repeat, "filter": self.refuse}

    def choose(
        self, pred: Any, on_true: Callable[..., Any], on_false: Callable[..., Any], operands: Sequence[Any]
    ) -> Any:
        """Runs both sides; whatever the condition is."""
        return self.shared(on_true(*operands), on_false(*operands), set())

    def repeat(
        self, test: Callable[..., Any], body: Callable[..., Any], carried: Sequence[Any], constant: Sequence[Any] = ()
    ) -> Any:
        """Runs rounds until one changes no size."""
        widened = set[Any]()
        state = self.shared(tuple(carried), tuple(carried), widened)
        for _ in range(_MOST_ROUNDS):
            before = len(widened)
            state = self.shared(state, tuple(body(*state, *constant)), widened)
            if len(widened) == before:
                return state
        raise UnlikeError("a loop whose rounds do not settle")

    def refuse(self, *args: Any) -> Any:
        """A loop that leaves items out gives a list of unknown length."""
        raise UnlikeError("a list of unknown length")

    def shared(self, a: Any, b: Any, widened: set[Any]) -> Any:
        """What two sides have in common, with new tensors.

        Args:
            a: of the one side, or before a round.
            b: of the other side, or after it.
            widened: the symbols of sizes of which nothing is known, which stay so; gets those that are made here.
        """
        if isinstance(a, tuple | list) and type(a) is type(b) and len(a) == len(b):
            return type(a)([self.shared(*both, widened) for both in zip(a, b, strict=True)])
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if (a.dim(), a.dtype, a.device) != (b.dim(), b.dtype, b.device):
                raise UnlikeError("tensors of two ranks")
            sizes = [self._size(*both, widened) for both in zip(a.shape, b.shape, strict=True)]
            return torch.empty(sizes, dtype=a.dtype, device=a.device)
        kind = _NUMBERS.get(type(a))
        if kind is not None and kind == _NUMBERS.get(type(b)):
            return a if _is_same(a, b) or _expression(a) in widened else self._unknown(kind, widened)
        if (a is None and b is None) or (type(a) is type(b) is str and a == b):
            return a
        raise UnlikeError("results of two kinds")

    def of_unknown_sizes(self, tree: Any) -> Any:
        """A list or a dict that a caller gives, with tensors of which only dtype and rank are known."""
        match tree:
            case list() | tuple():
                return type(tree)(map(self.of_unknown_sizes, tree)) if type(tree) in (list, tuple) else tree
            case dict():
                return {key: self.of_unknown_sizes(item) for key, item in tree.items()}
            case torch.Tensor():
                sizes = [self._unknown_size(set()) for _ in tree.shape]
                return torch.empty(sizes, dtype=tree.dtype, device=tree.device)
        return tree

    def _size(self, a: Any, b: Any, widened: set[Any]) -> Any:
        return a if _is_same(a, b) or _expression(a) in widened else self._unknown_size(widened)

    def _unknown_size(self, widened: set[Any]) -> Any:
        from torch.fx.experimental.symbolic_shapes import _constrain_range_for_size

        size = self._unknown("int", widened)
        _constrain_range_for_size(size)
        return size

    def _unknown(self, kind: str, widened: set[Any]) -> Any:
        made = getattr(self.known, f"create_unbacked_sym{kind}")()
        widened.add(_expression(made))
        return made


def _expression(size: Any) -> Any:
    """The expression of torch behind a number: compared as it stands, since to ask torch would assume something."""
    return size.node.expr if isinstance(size, torch.SymInt | torch.SymFloat | torch.SymBool) else size


def _is_same(a: Any, b: Any) -> bool:
    one, other = _expression(a), _expression(b)
    plain = one is a, other is b
    if all(plain):
        return repr(a) == repr(b)  # nan is not nan, and 0.0 is -0.0
    return not any(plain) and bool(one == other)
