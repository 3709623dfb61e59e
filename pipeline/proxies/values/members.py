"""Stand-ins for members of an Enum: the graph has the name of one, and what is asked of it is a look-up by that name.

An Enum has few members, so what a recording cannot follow otherwise (a text, an attribute, a method) is asked of each
of them while it is recorded.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base import is_traced
from ..tracer import Tracer

MEMBER = "a member of an Enum was chosen"
"""Why a recording that sees no `is` is given up."""
_KINDS = (str, int, float, bool)
_FORMS = "Use its name or its value, or a table with an entry for each."


class TracedMember:
    """A member of an Enum that is decided at run time.

    Args:
        tracer: of the recording.
        kind: the class of the member.
        name: of the member, as the recording knows it.
    """

    def __init__(self, tracer: Tracer, kind: type[enum.Enum], name: Any) -> None:
        self._tracer, self._kind, self.name = tracer, kind, name
        tracer.plainly_used = MEMBER  # `is` is for the deep one

    @classmethod
    def of_value(cls, tracer: Tracer, kind: type[enum.Enum], value: Any) -> TracedMember:
        """The member that has a value of the recording."""
        entries = {member.value: member.name for member in kind}
        if not all(type(each) in (int, str) for each in entries):
            tracer.refuse(
                f"a member of {kind.__name__} is chosen by data", "Give its members values that are numbers or texts."
            )
        return cls(tracer, kind, tracer.scalar("lookup", entries, value))

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return self._kind

    @property
    def value(self) -> Any:
        """As for a member."""
        return self._of_each("value", lambda member: member.value)

    @property
    def key(self) -> Any:
        """What stands for it in a table: its value where Python takes it for a number or a text, else its name."""
        return self.value if self.is_plain else self.name

    @property
    def is_plain(self) -> bool:
        """Whether Python takes it for a number or a text."""
        return issubclass(self._kind, int | str)

    def truth(self) -> Any:
        """As a condition."""
        return self._of_each("truth", bool)

    def converted(self, kind: type) -> Any:
        """As a bool, an int or a float."""
        return self.truth() if kind is bool else self._of_each(kind.__name__, kind)

    def in_text(self, spec: Any, conversion: str) -> Any:
        """As an f-string has it."""
        if is_traced(spec):
            return self._tracer.refuse("a member of an Enum has a format that data decides", "Write it in the code.")
        converted: dict[str, Callable[[Any], Any]] = {"r": repr, "a": ascii, "s": str}
        shown = converted.get(conversion, lambda member: member)
        return self._of_each("text", lambda member: format(shown(member), spec))

    def table(self, plain: dict[Any, Any]) -> dict[Any, Any]:
        """The entries of a dict that it may find, by what `key` is for the members that are the keys."""
        members = {_key(key): entry for key, entry in plain.items() if isinstance(key, self._kind)}
        alike = self.is_plain
        others = {key: entry for key, entry in plain.items() if alike and not isinstance(key, enum.Enum)}
        return others | members

    def is_member(self, other: Any) -> Any:
        """Whether it is a member, as ``is`` says it: a class has one object for each."""
        if type(other) is not TracedMember and not isinstance(other, enum.Enum):
            return False
        return self.name == other.name if other.__class__ is self._kind else False

    def __eq__(self, other: object) -> Any:
        if isinstance(other, enum.Enum) and not (self.is_plain and isinstance(other, int | str)):
            return self.is_member(other)
        return self.value == getattr(other, "value", other) if self.is_plain else False

    def __ne__(self, other: object) -> Any:
        found = self == other
        return self._tracer.scalar("not_", found) if is_traced(found) else not found

    def __bool__(self) -> bool:
        return bool(self.truth())

    def __str__(self) -> str:
        return str(self.in_text("", "s"))

    def __repr__(self) -> str:
        return str(self.in_text("", "r"))

    def __format__(self, spec: str) -> str:
        return str(self.in_text(spec, ""))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        members = list(self._kind)
        if self.is_plain and name not in vars(self._kind) and hasattr(str, name):
            return getattr(self.value, name)
        if not all(hasattr(member, name) for member in members):
            raise AttributeError(f"{self._kind.__name__!r} object has no attribute {name!r}")
        if all(callable(getattr(member, name)) for member in members):
            return partial(self._called, name)
        return self._of_each(name, lambda member: getattr(member, name))

    def _called(self, name: str, *args: Any, **options: Any) -> Any:
        if any(map(is_traced, [*args, *options.values()])):
            return self._refuse(name)
        return self._of_each(name, lambda member: getattr(member, name)(*args, **options))

    def _of_each(self, name: str, function: Callable[[Any], Any]) -> Any:
        """What a function gives for the member: it is called for each of the class."""
        table = {member.name: function(member) for member in self._kind}
        kinds = set(map(type, table.values()))
        if len(kinds) != 1 or not kinds <= set(_KINDS):
            return self._refuse(name)
        first = next(iter(table.values()))
        if kinds == {bool} and all(entry is first for entry in table.values()):
            return first
        return self._tracer.scalar("lookup", table, self.name)

    def _refuse(self, name: str) -> Any:
        what = f"{self._kind.__name__}.{name} of a member that data decides cannot be recorded"
        return self._tracer.refuse(what, _FORMS)

    __hash__ = None  # type: ignore[assignment]  # a key of a dict of constants only, see `table`


def _key(member: enum.Enum) -> Any:
    return member.value if isinstance(member, int | str) else member.name


def _binary(name: str) -> Any:
    def of_member(self: TracedMember, other: Any) -> Any:
        if self.is_plain:
            method = getattr(self.value, name, None)
            other = other.value if isinstance(other, enum.Enum) else other
            return NotImplemented if method is None else method(other)
        if is_traced(other) or type(other) is TracedMember or not hasattr(self._kind, name):
            return NotImplemented
        return self._of_each(name, lambda member: getattr(member, name)(other))

    return of_member


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(TracedMember, f"__{_name}__", _binary(f"__{_name}__"))
    setattr(TracedMember, f"__r{_name}__", _binary(f"__r{_name}__"))
for _name in ("lt", "le", "gt", "ge"):
    setattr(TracedMember, f"__{_name}__", _binary(f"__{_name}__"))


def _unary(name: str) -> Any:
    def of_member(self: TracedMember) -> Any:
        return self._of_each(name, lambda member: getattr(member, name)())

    return of_member


for _name in ("neg", "pos", "abs"):
    setattr(TracedMember, f"__{_name}__", _unary(f"__{_name}__"))


def member_kind(thing: Any) -> type[enum.Enum] | None:
    """The class of a member of an Enum, also of one that data decides; None for any other thing."""
    if type(thing) is TracedMember:
        return thing.__class__
    return type(thing) if isinstance(thing, enum.Enum) else None


def members_of(results: Sequence[Any]) -> type[enum.Enum] | None:
    """The class of results that are members of one Enum, which has no order of its own; None for any others."""
    kinds = set(map(member_kind, results))
    kind = kinds.pop() if len(kinds) == 1 else None
    return None if kind is None or "__lt__" in vars(kind) else kind


@dataclass(frozen=True)
class MemberForm:
    """How members of an Enum stand in a list of the graph: by what Python compares, their values or their names.

    Attributes:
        tracer: of the recording.
        kind: the class of the members.
        is_record: whether what stands in the list may be a result: it would be no member there.
    """

    tracer: Tracer
    kind: type[enum.Enum]
    is_record = False

    def plain(self, member: Any) -> Any:
        """What stands for a member."""
        return member.key if type(member) is TracedMember else _key(member)

    def __call__(self, key: Any) -> TracedMember:
        """The member for which something stands."""
        if issubclass(self.kind, int | str):
            return TracedMember.of_value(self.tracer, self.kind, key)
        return TracedMember(self.tracer, self.kind, key)
