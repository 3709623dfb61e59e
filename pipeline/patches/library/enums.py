"""Members of an Enum that data decides: ``Label(int(x.argmax())).name`` is a look-up in the names of its members."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import wraps
from typing import Any

from ....ops.graph.graph import Value
from ...proxies.base import is_traced
from ...recording.recorder import Recorder
from ..hooks import Hooks, active


class TracedMember:
    """A member of an Enum that is decided at run time: its name and its value."""

    def __init__(self, recorder: Recorder, kind: type[enum.Enum], value: Any) -> None:
        self._recorder, self._kind = recorder, kind
        recorder.plainly_used = recorder.plainly_used or "a member of an Enum was chosen"  # `is` is for the deep one
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
        if name.startswith("__"):
            raise AttributeError(name)
        return self._recorder.refuse(
            f"{self._kind.__name__}.{name} of a member that data decides cannot be recorded",
            "Use its name or its value, or a table with an entry for each.",
        )

    __hash__ = None  # type: ignore[assignment]  # a key of a dict of constants only, see `table`


def _called(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def call(cls: Any, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is None or args or kwargs or not is_traced(value) or not cls.__members__:
            return plain(cls, value, *args, **kwargs)
        if not isinstance(value.value, Value):
            return plain(cls, value)
        return TracedMember(recorder, cls, value)

    return call


members = Hooks([(enum.EnumMeta, "__call__", _called)])
"""Shows to the recorders of all threads which member of an Enum a function asks for."""
