"""Which variables alone hold what they hold, so that a block may have a copy of it in its place, and change that.

A list, a tensor or an object that is made somewhere before the block is made there, and the block begins with a copy:
what stands between keeps its order. No other name may have the thing, or a part of its memory, for a change shows under
all of them in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from ...source.changed_containers import bound_names, own_containers
from .beginnings import makes_new, makes_object, makes_tensor
from .memory_uses import LIBRARIES, MemoryUses, Place, around_each, is_fresh, uses_of

Given = tuple[str, str, Place]
"""A variable, a function of the user's that is given it, and the argument's place."""


class OwnVariables:
    """The variables of a function that have a container, an object, a tensor or an array which no other one has.

    Args:
        before: the statements before the block.
        given: the parameters of the function.
        after: those of the block.

    Attributes:
        names: of them.
        handed: the functions that are given some of them before, and must keep nothing of those.
    """

    def __init__(self, before: Sequence[ast.stmt], given: Collection[str], after: Sequence[ast.stmt]) -> None:
        self.names = own_containers(before, makes_new) - {*given}
        self.handed = list[Given]()
        for name, place in _last_made(before).items():  # a parameter, too, that is set anew
            lines = before[place:]
            self.names |= (own_containers(lines, makes_new) | own_containers(lines, makes_object)) & {name}
            if _is_altered(name, after):
                self._add_memory(name, lines)

    def _add_memory(self, name: str, lines: Sequence[ast.stmt]) -> None:
        """A variable with a tensor or an array that it alone holds, if it does."""
        handed = list[Given]()

        def called(function: str, place: Place) -> bool:
            """A function that is asked about when the names have a meaning."""
            handed.append((name, function, place))
            return True

        uses = MemoryUses(around_each(lines), called=called)
        old = {id(part) for part in ast.walk(lines[0]) if isinstance(getattr(part, "ctx", None), ast.Load)}
        if name in own_containers(lines, _makes_memory, lambda part, _: id(part) in old or uses.apart(part)):
            self.names.add(name)
            self.handed += handed


def _last_made(lines: Sequence[ast.stmt]) -> dict[str, int]:
    """The variables that statements set to new things, and the last of those that does so for certain."""
    return {
        name.id: place
        for place, line in enumerate(lines)
        for name, value in bound_names(line)
        if makes_new(value) or _makes_memory(value) or makes_object(value)
    }


def _makes_memory(value: ast.expr) -> bool:
    """Whether an expression makes a tensor or an array that no other one shares the memory of."""
    match value:
        case ast.Call(ast.Attribute(asked, name), _, named) if makes_tensor(value):
            of_library = isinstance(asked, ast.Name) and asked.id in LIBRARIES
            is_method = name in ("clone", "copy", "astype") or name.startswith("new_")
            return (of_library or is_method) and all(each.arg not in (None, "copy", "out") for each in named)
    return is_fresh(value)


def _is_altered(name: str, lines: Sequence[ast.stmt]) -> bool:
    """Whether some statements may write to the tensor of a variable, or give it another name."""
    reads = MemoryUses(around_each(lines), writes=False)
    return not all(map(reads.apart, uses_of(name, lines)))
