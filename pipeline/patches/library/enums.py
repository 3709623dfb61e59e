"""A member of an Enum that a function asks for by what data decides: ``Label(int(x.argmax()))``."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import wraps
from typing import Any

from ....ops.graph.graph import Value
from ...proxies.base import is_traced
from ...proxies.values.members import TracedMember
from ..hooks import Hooks, active


def _called(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def call(cls: Any, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is None or args or kwargs or not is_traced(value) or not cls.__members__:
            return plain(cls, value, *args, **kwargs)
        if not isinstance(value.value, Value):
            return plain(cls, value)
        return TracedMember.of_value(recorder, cls, value)

    return call


members = Hooks([(enum.EnumMeta, "__call__", _called)])
"""Shows to the recorders of all threads which member of an Enum a function asks for."""
