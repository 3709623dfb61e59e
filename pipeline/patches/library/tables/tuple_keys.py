"""Tables whose keys are tuples, asked by one with parts of the recording: ``moves[state, event]``.

Each part is looked up among those that the keys have in its place; what the parts are together is one number.
"""

from __future__ import annotations

from typing import Any

from ....proxies.base import is_traced
from ....proxies.values.members import TracedMember
from ....recording.recorder import Recorder


def of_parts(recorder: Recorder, plain: Any, key: Any) -> tuple[Any, Any]:
    """A table by numbers in place of one by tuples, and the number of a tuple; another key or table as it is.

    Args:
        recorder: of the recording.
        plain: the table, or a list of its keys.
        key: what it is asked for.
    """
    if type(key) is not tuple or not any(is_traced(part) or type(part) is TracedMember for part in key):
        return plain, key
    keys = [each for each in plain if type(each) is tuple and len(each) == len(key)]
    if not keys or len(keys) < len(list(plain)):
        return plain, key
    number: Any = 0
    numbers = [0] * len(keys)
    for part, column in zip(key, zip(*keys, strict=True), strict=True):
        places = {each: place for place, each in enumerate(dict.fromkeys(column))}
        count = len(places) + 1  # the last one is for what no key has there
        number = number * count + _place(recorder, places, part)
        numbers = [before * count + places[each] for before, each in zip(numbers, column, strict=True)]
    if type(plain) is dict:
        return dict(zip(numbers, plain.values(), strict=True)), number
    return numbers, number


def _place(recorder: Recorder, places: dict[Any, int], part: Any) -> Any:
    missing = len(places)
    if type(part) is TracedMember:
        places, part = part.table(places), part.key
    if not is_traced(part):
        return places.get(part, missing)
    return recorder.scalar("lookup", places, part, missing) if places else missing
