"""`re.sub` with a function in place of a text: the texts between the matches, and what the function makes of each."""

from __future__ import annotations

from typing import Any

from ....lists.mapping import each
from ....proxies.base import is_traced
from ....proxies.lists import TracedList
from ....recording.recorder import Recorder
from ..given_functions import recorded


def replaced(recorder: Recorder, found: Any, count: Any) -> Any:
    """How many matches are replaced: all of them for a count of 0, and none for one below."""
    every = recorder.scalar("len", found)
    if not is_traced(count) and not count:
        return every
    chosen = recorder.scalar("mul", every, recorder.scalar("int", recorder.scalar("eq", count, 0)))
    return recorder.scalar("max", 0, recorder.scalar("min", every, recorder.scalar("add", count, chosen)))


def filled(recorder: Recorder, name: str, pattern: tuple[str, int], function: Any, text: Any, count: Any) -> Any:
    """Records `re.sub` or `re.subn` with a function, which is recorded once for any number of matches."""
    found = recorder.scalar("re_finditer", *pattern, text)
    if is_traced(count) or count:
        found = recorder.scalar("getitem", found, slice(None, replaced(recorder, found, count)))
    if type(found) is not TracedList or not found.concrete:
        recorder.refuse(
            f"re.{name} finds nothing in the example, of which its function could be recorded",
            "Trace with a text in which the pattern is found.",
        )
    ends = recorder.scalar("cat_strings", [0], each(recorder, lambda match: match.end(), found))
    starts = each(recorder, lambda match: match.start(), found)
    new = each(recorder, recorded(function), found)
    pairs = each(recorder, lambda part: text[part[0] : part[1]] + part[2], recorder.scalar("zip", ends, starts, new))
    made = recorder.scalar(
        "join_texts", recorder.scalar("str_join", "", pairs), text[recorder.scalar("getitem", ends, -1) :]
    )
    return (made, recorder.scalar("len", found)) if name == "subn" else made
