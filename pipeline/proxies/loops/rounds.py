"""The loops of a recording over lists of any length: those that go on, and what belongs to rounds that are over."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import Value
from ....ops.runtime.user_code import is_users, user_line
from .copies import Copies

_ASKING = frozenset(("__bool__", "__torch_function__", "dispatch", "_branched", "decided"))
"""The functions between a branch in the user's code and the question which side it takes."""


class Rounds:
    """The loops of a recording over lists of any length.

    Attributes:
        open: the loops whose results are not collected yet.
        closing: the loop that has just given its last item; None once its results are collected.
        left: the values of rounds that are over, by id: nothing may use them.
        plain: the loops over constants that go on.
        nested: the outermost loops of comprehensions with several, where Python runs them, that go on.
        copies: of objects that are items of lists.
    """

    def __init__(self) -> None:
        self.open: list[Any] = []
        self.plain: list[Any] = []
        self.nested: list[Any] = []
        self.closing: Any = None
        self.left: dict[int, Value] = {}
        self.copies = Copies()

    def refuse_open(self) -> None:
        """Refuses a recording in which a loop was left early, or gave its results to what cannot be recorded.

        One that changed the objects of a list is refused, too.

        Raises:
            RecordError: there is such a loop.
        """
        self.copies.refuse_changed()
        for loop in self.open:
            way = "gave its items to a function that is not recorded" if loop.closed else "was left early"
            raise RecordError(
                f"a loop over a list of any length {way}",
                where=str(loop.line or ""),
                fix="Write a list comprehension, or use tracepack.map(fn, items).",
            )

    def decided(self, found: Any) -> bool | None:
        """The side that a loop takes where the user's code branches on a stand-in in it; None elsewhere."""
        loop, frame = self.open[-1] if self.open else None, self.asking()
        if loop is None or loop.closed or frame is None or not is_users(frame.f_code.co_filename):
            return None
        return bool(loop.decide(found))

    def asking(self) -> FrameType | None:
        """The frame of the code that branches; the innermost loop over constants around it takes note of that."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name in _ASKING:
            frame = frame.f_back
        outer, inside = frame, None
        while self.plain and outer is not None and inside is None:
            inside = next((loop for loop in reversed(self.plain) if loop.frame is outer), None)
            outer = outer.f_back
        if inside is not None:
            inside.branched()
        return frame

    def inside(self, value: Value | None) -> Value | None:
        """The value, unless it belongs to a round that is over.

        Raises:
            RecordError: it does.
        """
        if value is not None and id(value) in self.left:
            raise RecordError(
                "a value of one round of a loop over a list of any length is used after the loop",
                where=str(user_line() or ""),
                fix="Collect the values in a list comprehension, or use tracepack.map(fn, items).",
            )
        return value
