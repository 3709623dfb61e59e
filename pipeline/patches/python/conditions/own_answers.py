"""Methods of the user's own classes of which Python wants a plain answer: `__bool__`, `__len__`, `__str__`.

Python calls them in C, and refuses a stand-in as their result. So they are called as functions, in their place.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from .....ops.graph.graph import Guard, Node
from .....ops.runtime.user_code import is_users, user_line
from ....proxies.base import is_traced
from ....proxies.byte_strings import TracedBytes
from ....proxies.trees import concrete
from ....recording.recorder import Recorder

_TEXT_METHODS = {"": ("__str__", "__repr__"), "s": ("__str__", "__repr__"), "r": ("__repr__",)}


def own_answer(thing: Any, names: tuple[str, ...], kind: type) -> Any:
    """What the first of some methods of an object's class gives, if it is one of the user's; None elsewhere.

    Args:
        thing: the object.
        names: of the methods, in Python's order.
        kind: of the answer.
    """
    own = type(thing)
    if own.__module__ == "builtins" or is_traced(thing):
        return None
    methods: list[Any] = [inspect.getattr_static(own, name, None) for name in names]
    found = next((each for each in methods if each not in (None, vars(object)["__str__"])), None)
    if type(found) is not FunctionType or not is_users(found.__code__.co_filename):
        return None
    answer = found(thing)
    return answer if type(concrete(answer)) is kind else None  # else Python says what is wrong


def own_truth(recorder: Recorder, thing: Any) -> Any:
    """The truth of an object whose class says it; anything else as it is."""
    answer = own_answer(thing, ("__bool__",), bool)
    if answer is None and not hasattr(type(thing), "__bool__") and (length := own_length(recorder, thing)) is not None:
        return recorder.scalar("ne", length, 0) if is_traced(length) else thing
    return thing if answer is None else answer


def own_length(recorder: Recorder, thing: Any) -> Any:
    """The length of an object whose class says it, as a stand-in; None elsewhere. Every run checks that it is one."""
    answer = own_answer(thing, ("__len__",), int)
    if is_traced(answer):
        held = recorder.scalar("ge", answer, 0)
        held.tracer.nodes.append(Node(Guard(True, "a length is below 0"), (held.value,), {}, None, user_line()))
    return answer


def own_text(thing: Any, spec: Any = "", conversion: str = "") -> Any:
    """The text of an object whose class says it, for a format without a conversion or with one; None elsewhere."""
    if type(thing) is TracedBytes and (conversion or not spec):
        return thing.shown()
    formats = not conversion and (is_traced(spec) or spec or not _is_formatted_as_text(thing))
    if conversion not in _TEXT_METHODS or formats:
        return None
    return own_answer(thing, _TEXT_METHODS[conversion], str)


def _is_formatted_as_text(thing: Any) -> bool:
    plain: Any = object.__format__
    return type(thing).__format__ is plain
