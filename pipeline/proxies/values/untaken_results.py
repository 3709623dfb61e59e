"""What an operator of Python stands for where it fails on the example, in a side that the example does not take.

Python never runs that side for such values: `int(text) if text.isdigit() else -1`, of "ab". The operator is recorded
all the same, and what follows in the side needs a value of the kind that it gives. No run sees that value.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ....ops.graph.errors import GuardError
from ....ops.graph.operators.names import MATH
from ....ops.graph.types import STRINGS, ListType, ScalarType
from ....ops.runtime.safety.patterns import absent_groups
from ..base import is_traced

FAILURES = (ValueError, LookupError, ArithmeticError, GuardError)
"""The errors that hang on values; any other one is of the code, and fails for other values, too."""

MATCHES = ("re_match", "re_search", "re_fullmatch")
"""What gives None where it finds nothing."""
NOTHING: Any = object()
_PLAIN: dict[str, Any] = {"int": 1, "float": 1.0, "bool": True, "str": "x"}
_BY_NAME: dict[str, Any] = {
    "int": 1, "float": 1.0, "truediv": 1.0, "ord": 97, "chr": "x", "index": 0, "str_index": 0, "str_rindex": 0,
    "math_pow": 1.0, "re_group": "", "from_hex": b"x", "b64decode": b"x", "decode": "x",
    **dict.fromkeys(MATH, 1.0),
    **dict.fromkeys(("floor", "ceil", "trunc", "isqrt", "gcd", "lcm", "factorial", "comb", "perm"), 1),
    **dict.fromkeys(("modf", "frexp"), NOTHING),
}  # fmt: skip


def untaken_result(name: str, args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """A value of the kind that an operator gives; `NOTHING` where none is known.

    Args:
        name: of the operator, in the family ``py.…``.
        args: its arguments, stand-ins among them.
        concrete: the same, as they are on the example.
    """
    if (special := _SPECIAL.get(name)) is not None:
        return special(args, concrete)
    return _BY_NAME.get(name, NOTHING)


def _entry(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """An entry of a table that lacks the key."""
    table = concrete[0]
    entries = table.values() if isinstance(table, Mapping) else table if isinstance(table, list | tuple) else ()
    return next((entry for entry in entries if entry is not None), NOTHING)


def _item(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """A letter of a text, or an item of a list."""
    if isinstance(concrete[0], str):
        return "x"
    if is_traced(args[0]) and isinstance(concrete[0], list) and not concrete[0]:
        samples = [*args[0].samples]
        return samples[0] if samples else _of_type(args[0].value.type)
    return _entry(args, concrete)


def _item_of_second(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """An item of a list that stands behind another argument."""
    return _item(args[1:], concrete[1:])


def _of_type(kind: Any) -> Any:
    """An item of a list, by the type of the list."""
    return "x" if kind == STRINGS else _of_item(kind.item) if isinstance(kind, ListType) else NOTHING


def _of_item(item: Any) -> Any:
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, tuple) else ()
    found = [_of_item(part) for part in parts]
    if any(each is NOTHING for each in found):
        return NOTHING
    if isinstance(item, dict):
        return dict(zip(item, found, strict=True))
    if isinstance(item, tuple):
        return tuple(found)
    return _PLAIN.get(item.kind, NOTHING) if isinstance(item, ScalarType) else NOTHING


def _number(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """What arithmetic gives of two numbers; a text by `%` is none."""
    if not all(isinstance(each, int | float) for each in concrete):
        return NOTHING
    return 1.0 if any(isinstance(each, float) for each in concrete) else 1


def _statistic(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """What is reckoned of a list of floats; of ints some functions give an int, and some a float."""
    floats = isinstance(_item(args[1:], concrete[1:]), float)
    return 1.0 if floats and concrete[0] not in ("multimode", "quantiles") else NOTHING


def _date(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """What is read from a text that is no date."""
    day = datetime.datetime(2001, 2, 3, 4, 5, 6)
    match concrete:
        case ["strptime", str(), str(form)]:
            return datetime.datetime.strptime(day.strftime(form), form)
        case ["fromisoformat", str(kind), str()]:
            found: dict[str, Any] = {"datetime": day, "date": day.date(), "time": day.time()}
            return found.get(kind, NOTHING)
    return NOTHING


def _decimal(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    made = concrete[0] in ("make", "truediv", "floordiv", "mod", "quantize")
    return Decimal(1) if made else NOTHING


def _match(args: Sequence[Any], concrete: Sequence[Any]) -> Any:
    """A match with the groups of a pattern; those that need not take part are such groups again."""
    pattern, flags, _ = concrete
    found, absent = re.compile(pattern, flags), absent_groups(pattern, flags)
    names = {place: f"?P<{name}>" for name, place in found.groupindex.items()}
    groups = [f"({names.get(each, '')}){'?' * (each in absent)}" for each in range(1, found.groups + 1)]
    return re.match("".join(groups), "")


_SPECIAL: dict[str, Callable[[Sequence[Any], Sequence[Any]], Any]] = {
    "lookup": _entry, "getitem": _item, "max": _item, "min": _item, "best_by": _item_of_second,
    "floordiv": _number, "mod": _number, "date": _date, "decimal": _decimal, "statistics": _statistic,
    **dict.fromkeys(MATCHES, _match),
}  # fmt: skip
