"""Methods that a recorded function asks a class of Python for, and calls with their receiver: ``str.lower(text)``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any

from ....ops.tracing_hook import current

CLASSES_OF_PYTHON = {kind.__name__: kind for kind in (str, bytes, int, float, list, tuple, dict, set, frozenset)}


class MethodsOfClass:
    """Stands for a class of Python, a method of which is called.

    Args:
        kind: the class.
        receivers: what gives the receiver of a method, by the name of the method.
    """

    def __init__(self, kind: type, receivers: Mapping[str, Any]) -> None:
        self._kind, self._receivers = kind, receivers

    def __getattribute__(self, name: str) -> Any:
        kind, receivers = (object.__getattribute__(self, each) for each in ("_kind", "_receivers"))
        plain = getattr(kind, name)

        def asked(thing: Any) -> Any:
            return getattr(receivers[name][thing] if name in receivers else thing, name)

        def call(*args: Any, **options: Any) -> Any:
            if current() is None or not args or not isinstance(args[0], kind):
                return plain(*args, **options)
            return asked(args[0])(*args[1:], **options)

        return call if isinstance(plain, MethodDescriptorType | WrapperDescriptorType) else asked(kind)
