"""Members of an Enum that data decides: ``Label(int(x.argmax())).name`` is a look-up in the names of its members."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import is_traced
from ..tracer import Tracer

IDENTITY = "identity"
"""What a recording of plain code takes for False: that a member which data decides is another one, by ``is``."""


class TracedMember:
    """A member of an Enum that is decided at run time: its name and its value."""

    def __init__(self, recorder: Tracer, kind: type[enum.Enum], value: Any) -> None:
        self._recorder, self._kind = recorder, kind
        recorder.plainly_used = recorder.plainly_used or "a member of an Enum was chosen"  # `is` is for the deep one
        recorder.asked.add(IDENTITY)
        entries = {member.value: member for member in kind}
        if not all(type(each) in (int, str) for each in entries):
            recorder.refuse(
                f"a member of {kind.__name__} is chosen by data", "Give its members values that are numbers or texts."
            )
        self.name = recorder.scalar("lookup", {key: member.name for key, member in entries.items()}, value)
        self.value = recorder.scalar("lookup", {key: key for key in entries}, value)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, TracedMember | enum.Enum):
            same = (other._kind if isinstance(other, TracedMember) else type(other)) is self._kind
            return self.value == other.value if same else False
        return self.value == other if issubclass(self._kind, int | str) else False

    def __ne__(self, other: object) -> Any:
        found = self == other
        return self._recorder.scalar("not_", found) if is_traced(found) else not found

    def table(self, plain: dict[Any, Any]) -> dict[Any, Any]:
        """The entries of a dict that it may find, by the values of their keys, and its own value is the key for it."""
        members = {key.value: entry for key, entry in plain.items() if isinstance(key, self._kind)}
        alike = issubclass(self._kind, int | str)
        others = {key: entry for key, entry in plain.items() if alike and not isinstance(key, enum.Enum)}
        return others | members

    def is_member(self, other: Any) -> Any:
        """Whether it is a member, as ``is`` says it: a class has one object for each."""
        return self == other if isinstance(other, TracedMember | enum.Enum) else False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(next(iter(self._kind)), name):
            raise AttributeError(f"{self._kind.__name__!r} object has no attribute {name!r}")
        return self._recorder.refuse(
            f"{self._kind.__name__}.{name} of a member that data decides cannot be recorded",
            "Use its name or its value, or a table with an entry for each.",
        )

    __hash__ = None  # type: ignore[assignment]  # a key of a dict of constants only, see `table`


def kind_of_member(leaf: Any) -> type[enum.Enum] | None:
    """The class of a member of an Enum whose members are no numbers and no texts themselves; None for anything else."""
    kind = leaf._kind if type(leaf) is TracedMember else type(leaf)
    return kind if issubclass(kind, enum.Enum) and not issubclass(kind, int | str) else None


def with_values(leaves: Sequence[Any]) -> tuple[list[Any], dict[int, type[enum.Enum]]]:
    """The leaves of a result with values for members of Enums, and the class of each by its place."""
    kinds = {place: kind for place, leaf in enumerate(leaves) if (kind := kind_of_member(leaf)) is not None}
    return [leaf.value if place in kinds else leaf for place, leaf in enumerate(leaves)], kinds


def with_members(recorder: Tracer, leaves: Sequence[Any], kinds: Mapping[int, type[enum.Enum]]) -> list[Any]:
    """The leaves with the members again, of which data decides the values."""
    return [TracedMember(recorder, kinds[n], leaf) if n in kinds else leaf for n, leaf in enumerate(leaves)]
