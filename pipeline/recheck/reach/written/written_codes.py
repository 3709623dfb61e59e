"""Which code a function had as it was written, where a recording has lent it another one."""

from __future__ import annotations

from types import CodeType, FunctionType
from weakref import WeakKeyDictionary

_written: WeakKeyDictionary[CodeType, CodeType] = WeakKeyDictionary()


def remember(changed: CodeType, plain: CodeType) -> None:
    """Takes note of the code from which another one was made."""
    if changed is not plain:
        _written[changed] = plain


def code_as_written(function: FunctionType) -> CodeType:
    """The code of a function as Python made it from its source."""
    return _written.get(function.__code__, function.__code__)
