"""Traced strings, and matches in them: text ops take them, their methods are recorded, a branch on one is a guard."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...ops.graph.graph import Value
from ...ops.graph.operators.names import TEXT_METHODS
from ...ops.runtime.safety.patterns import absent_groups
from .base import Traced, is_traced
from .byte_strings import TracedBytes
from .tracer import Tracer

_KEYWORDS: dict[str, dict[str, Any]] = {
    "split": {"sep": None, "maxsplit": -1},
    "rsplit": {"sep": None, "maxsplit": -1},
    "splitlines": {"keepends": False},
    "expandtabs": {"tabsize": 8},
}


class TracedStr(Traced):
    """A str that is decided at run time.

    Attributes:
        is_group: whether it is a group of a match, which is None in a run where it takes no part.
    """

    is_group: bool = False

    def __init__(self, tracer: Tracer, value: Value, concrete: str, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return str

    def __str__(self) -> str:
        return str(self._pin("it was read as a string"))

    def __eq__(self, other: object) -> Any:
        return _compared(self, "eq", other)

    def __ne__(self, other: object) -> Any:
        return _compared(self, "ne", other)

    def __lt__(self, other: object) -> Any:
        return _compared(self, "lt", other)

    def __le__(self, other: object) -> Any:
        return _compared(self, "le", other)

    def __gt__(self, other: object) -> Any:
        return _compared(self, "gt", other)

    def __ge__(self, other: object) -> Any:
        return _compared(self, "ge", other)

    __hash__ = Traced.__hash__

    def __bool__(self) -> bool:
        if self.is_group:
            return bool(self.tracer.scalar("bool", self))
        return bool(self != "")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in TEXT_METHODS:
            return partial(self.method, name)
        if name == "encode":
            return self._encode
        if name in ("item", "tolist"):  # of an entry of an array; a plain text has none, as a replay finds
            return lambda: self
        return getattr(self._pin(f"its method {name!r} was called"), name)

    def _encode(self, encoding: str = "utf-8", errors: str = "strict") -> TracedBytes:
        return TracedBytes(self.tracer, self.tracer.scalar("encode", self, encoding, errors))

    def method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Records a method of str."""
        return method_of(self.tracer, self, name, args, kwargs)

    def __len__(self) -> int:
        return int(self.tracer.pin(self.tracer.scalar("len", self), "its length was read"))

    def __iter__(self) -> Any:
        return iter([self[index] for index in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return self.tracer.scalar("getitem", self, index)

    def __contains__(self, item: Any) -> bool:
        return bool(self.tracer.pin(self.tracer.scalar("contains", self, item), "it was searched"))

    def __add__(self, other: Any) -> Any:
        return self.tracer.scalar("join_texts", self, other) if _is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return self.tracer.scalar("join_texts", other, self) if _is_text(other) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return self.tracer.scalar("mul", self, times)

    __rmul__ = __mul__


def _is_text(thing: Any) -> bool:
    return isinstance(thing, str)


def _compared(text: TracedStr, name: str, other: Any) -> Any:
    if not _is_text(other):
        return NotImplemented
    found = text.tracer.scalar(name, text, other)
    if name == "eq" and found.concrete and not is_traced(other):
        found.equal = text  # a guard on the text itself says more than one on the comparison
    return found


def method_of(tracer: Tracer, text: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Records a method of str, whose receiver or arguments are traced."""
    if kwargs:
        known: dict[str, Any] = _KEYWORDS.get(name, {})
        if not kwargs.keys() <= known.keys():
            tracer.refuse(f"str.{name} was given a keyword that is not recorded", "Pass it by position.")
        args = (*args, *[kwargs.get(key, known[key]) for key in list(known)[len(args) :]])
    return tracer.scalar(f"str_{name}", text, *args)


class TracedMatch(Traced):
    """A match of a regular expression, which the recording has guarded to be one."""

    def __init__(self, tracer: Tracer, value: Value, concrete: Any, varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    def __bool__(self) -> bool:
        return True

    def may_lack(self, which: Any = 0) -> bool:
        """Whether a group of the match need not take part in it."""
        pattern = self.concrete.re
        number = pattern.groupindex.get(which, which)
        return number in absent_groups(pattern.pattern, pattern.flags)

    def group(self, *which: Any) -> Any:
        """A group of the match, or several."""
        if len(which) > 1:
            return tuple(self.group(each) for each in which)
        found = self.tracer.scalar("re_group", self, *which)
        if type(found) is TracedStr:
            found.is_group = True
        return found

    def __getitem__(self, which: Any) -> Any:
        return self.group(which)

    def groups(self, default: Any = None) -> tuple[Any, ...]:
        """All groups of the match."""
        if default is not None:
            self.tracer.refuse("re.Match.groups with a default cannot be recorded", "Choose it for each group.")
        return tuple(self.group(which) for which in range(1, self.concrete.re.groups + 1))

    def groupdict(self, default: Any = None) -> dict[str, Any]:
        """The named groups of the match."""
        if default is not None:
            self.tracer.refuse("re.Match.groupdict with a default cannot be recorded", "Choose it for each group.")
        return {name: self.group(name) for name in self.concrete.re.groupindex}

    def start(self, *which: Any) -> Any:
        """Where the match, or a group of it, begins."""
        return self.tracer.scalar("re_start", self, *which)

    def end(self, *which: Any) -> Any:
        """Where the match, or a group of it, ends."""
        return self.tracer.scalar("re_end", self, *which)

    def span(self, *which: Any) -> tuple[Any, Any]:
        """Where the match, or a group of it, begins and ends."""
        return self.start(*which), self.end(*which)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.tracer.refuse(
            f"re.Match.{name} cannot be recorded", "Use group(), groups(), groupdict(), start(), end() or span()."
        )
