"""Guards a run-time value that the function uses as a plain one, or refuses that where data decides the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Guard, Node, Operator, SourceLine, Value
from ...ops.graph.traverse import leaves, uses
from ...ops.graph.types import ARRAY, STR, ScalarType
from ...ops.runtime.user_code import following_instruction, running_instruction, user_line
from ..proxies.branches import BRANCH, PINNED, PLAIN_FLOAT, PLAIN_INT, RAISING_BRANCH
from ..proxies.tracer import Tracer
from ..rules.advice.instead import for_branch, instead
from ..rules.tried.tried_lines import TriedLine, tried_line

_CHOOSE = (
    "Use torch.where or tracepack.cond(pred, true_fn, false_fn, *args) for a choice that data makes; "
    "items = items + [item] * int(bool(pred)) adds an item or not."
)
_BEFORE = "Keep it in arithmetic and torch functions, or do it before, and pass what it gives as an argument."
ON_ARRAYS = "Use numpy's functions on it, or torch.from_numpy to get a tensor."
_FIXES = {
    "taken as a plain": "float(), int() and math keep it in the graph where the traced function itself calls them.",
    "plain array": ON_ARRAYS,
}


def pin(recorder: Tracer, scalar: Any, reason: str) -> Any:
    """Guards that a traced value stays equal to that of the example, and returns the value of the example.

    Raises:
        RecordError: data decides it.
    """
    line = user_line()
    if reason == RAISING_BRANCH and isinstance(tried_line(), TriedLine):
        reason = BRANCH
    if scalar.varies or scalar.value.type == ARRAY:
        with recorder.refusing():
            raise RecordError(
                f"a value that data decides cannot leave the graph: {reason}",
                where=str(line or ""),
                got=_brief(scalar.concrete),
                fix=_fix(recorder, scalar, reason, line),
            )
    if isinstance(scalar.concrete, np.generic):
        recorder.pin(recorder.scalar("item", scalar), reason)
    else:
        guard = Guard(scalar.concrete, f"{PINNED}, because {reason}")
        recorder.nodes.append(Node(guard, (scalar.value,), {}, None, line))
    return scalar.concrete


def _fix(recorder: Tracer, scalar: Any, reason: str, line: SourceLine | None) -> str:
    """What to write where data decides a value that the function uses as a plain one."""
    found = instead(line) or next((fix for word, fix in _FIXES.items() if word in reason), "")
    if found or type(scalar.concrete) is not bool:
        return found or (_CHOOSE if reason == BRANCH else _BEFORE)
    return for_branch(line, is_about_text(recorder, scalar.value)) or _CHOOSE


def is_about_text(recorder: Tracer, value: Value) -> bool:
    """Whether a text, or the length of a text or a list, decides a condition or a number, as the last nodes say."""
    made = {id(leaf): node for node in recorder.nodes[-_MOST_BACK:] for leaf in leaves(node.output)}
    waiting, seen = [value], set[int]()
    while waiting:
        asked = waiting.pop()
        if asked.type == STR:
            return True
        node = made.get(id(asked))
        if node is None or id(asked) in seen:
            continue
        seen.add(id(asked))
        if isinstance(node.target, Operator) and node.target.name == "py.len":
            return True
        waiting += [leaf for leaf in uses(node) if isinstance(leaf, Value) and isinstance(leaf.type, ScalarType)]
    return False


_MOST_BACK = 200
"""How many nodes back a condition looks for what it is about."""


HELD = "the function goes on by whether the table has the key"
"""Why it is guarded whether a table has a key, where `get` gives an entry that is no number and no text, or None."""
MATCH = "the function asks whether there is a match"
"""Why it is guarded whether a pattern is found, where the function goes on without a match, too."""

ONE_BY_ONE = tuple(f"the function goes through the rows of {what} one by one" for what in ("a tensor", "an array"))
"""Why a number of rows is guarded where Python goes through them."""

_PLAINLY = (
    "it was turned into text", "it was formatted into a string", "it was used as a key", "it is the key of a dict",
    "it was searched", "its length was read", *ONE_BY_ONE,
)  # fmt: skip


def may_stay_free(recorder: Tracer, scalar: Any, reason: str) -> bool:
    """Whether a guard may not be needed where operations of Python are recorded, too: subscripts, texts, loops."""
    found = scalar.concrete
    if type(found) is bool and is_about_text(recorder, scalar.value):
        return True
    if reason == BRANCH and type(found) is bool and _is_made(recorder, scalar.value):
        return True
    if isinstance(found, str | list | dict) or reason in _PLAINLY or reason.startswith("the length of"):
        return True
    asked = running_instruction()
    asked = following_instruction() if asked == "TO_BOOL" else asked  # of Python 3.13, before branches, too
    places = any(each in asked for each in ("SUBSCR", "SLICE", "CALL"))  # a key, the end of a slice, or a range
    formats = asked in ("BINARY_OP", "BINARY_MODULO", "INPLACE_MODULO")  # "%d rows" % len(x), and "%x" % n
    used = reason == "it was used as a plain integer" and (places or formats)
    calculates = "CALL" in asked or formats  # by a builtin under another name
    return asked == "UNARY_NOT" or used or (reason in (PLAIN_FLOAT, PLAIN_INT) and calculates)


def _is_made(recorder: Tracer, value: Value) -> bool:
    """Whether one of the last nodes gives a value, which is an argument otherwise."""
    return any(leaf is value for node in recorder.nodes[-_MOST_BACK:] for leaf in leaves(node.output))


def _brief(found: Any) -> str:
    return f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else repr(found)
