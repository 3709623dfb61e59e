"""Traced lists and dicts: containers that a pipeline makes at run time, of any length until the length is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...ops.graph.graph import Guard, Node, Value
from ...ops.runtime.user_code import names_to_unpack, running_instruction, user_line
from ...ops.tracing_hook import current
from .base import Traced, is_traced
from .branches import HANDED
from .tracer import Tracer
from .values.changing import CHANGE, Growing

_SORT = "Write items = sorted(items, key=…), which makes a new list."
_POP = "Write item, items = items[-1], items[:-1], or items[i], items[:i] + items[i + 1 :] with an i of 0 or more."
_ENTRY = "Write items = items[:i] + [item] + items[i + 1 :], a new list, with an i of 0 or more."
CHANGED = "of a list of any length cannot be changed"

GROWING = ("append", "extend", "insert", "sort", "reverse", "pop", "remove", "clear")
"""The methods that change a list of one name."""

OF_TEXTS = "Go on with a list of them: names.tolist(), list(names), [str(name) for name in names]."
NESTED: Any = object()
_OF_DEQUES = ("popleft", "appendleft")
_LACKS = Guard(True, "a list lacks an item")
READ = "the length of the list was read"
"""Why a length is guarded."""
WITH_NONE = "a list whose items may be None is asked for more than its length"
CHOOSE_BEGIN = (
    "Choose what stands for None before: found = [''] * len(texts) in place of [None] * len(texts), or "
    "[label or 'none' for label in labels], {'label': label or 'none'}."
)
"""What to write where nothing is known of the items but that they may be None, or hold it."""


class TracedList(Growing, Traced):
    """A list that is decided at run time.

    Attributes:
        sized_by: gives the length from what has it, such as a tensor; None where the list itself is asked.
        given: whether its items are those of an argument: where the function asks for one of them by its place, and it
            is a tensor, the argument is a list of fixed length, each of whose tensors has sizes of its own.
        constants: the items, where they are constants that a loop goes through; else None.
        objects: makes the object that the code gets of an item, where it goes through objects; else None.
        with_none: an example of its items where some may be None, NESTED where parts of them may be; else None.
        samples: an item that it might have, where the example shows none.
        ends: whether it stands for a deque; most: how many items that keeps at most.
        of_array: whether it stands for an array of texts, of one dimension.
        view: whether it stands for a range, or the keys, values or items of a dict, which equal no list.
        guarded: whether code that asks for the length, which data decides, has that of the example, guarded in a run.
        made_of: what stood before the items that a call unpacks, these, and the value of both; else None.
        counted: whether a call has just taken its items, after which Python asks for the length as a hint.
    """

    sized_by: Any = None
    given: bool = False
    constants: list[Any] | None = None
    objects: Any = None
    with_none: Any = None
    samples: Sequence[Any] = ()
    view: bool = False
    guarded: bool = False
    counted: bool = False
    ends: bool = False
    most: int | None = None
    of_array = False
    made_of: tuple[list[Any], Any, Value] | None = None

    def __init__(self, tracer: Tracer, value: Value, concrete: list[Any], varies: bool) -> None:
        self._bind(tracer, value, concrete, varies)

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return list

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Called by numpy for a universal function."""
        return self.tracer.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Called by numpy for any other of its functions."""
        return self.tracer.array_function(func, args, kwargs)

    def within(self, tracer: Tracer) -> TracedList:
        """The list as a recording has it: that of a branch has the lists of the one around it as inputs."""
        if tracer is self.tracer:
            return self
        found = self.as_it_is(tracer, tracer.arguments(self))
        found.sized_by, found.given, found.constants = self.sized_by, self.given, self.constants
        found.objects, found.samples, found.guarded = self.objects, self.samples, self.guarded
        return found

    def like(self, value: Value, concrete: list[Any]) -> TracedList:
        """A list of the same kind for another value."""
        found = TracedList(self.tracer, value, concrete, True)
        found.shared, found.with_none = self.shared, self.with_none
        found.ends, found.most, found.objects = self.ends, self.most, self.objects
        return found

    def as_it_is(self, tracer: Tracer | None = None, value: Value | None = None) -> TracedList:
        """The list that this one is now, which nothing changes; that of another recording has a value there."""
        found = TracedList(tracer or self.tracer, value or self.value, self.concrete, self.varies)
        found.with_none = self.with_none
        return found

    def length(self) -> Any:
        """The length, traced."""
        return self.tracer.scalar("len", self) if self.sized_by is None else self.sized_by()

    def __len__(self) -> int:
        hint, self.counted = self.counted and running_instruction() == "CALL_FUNCTION_EX", False
        count = len(self.concrete) if hint else self.length()
        if self.guarded and is_traced(count):
            self.tracer.plainly_used = self.tracer.plainly_used or READ
            return self._fixed(READ, len(self.concrete))
        return int(self.tracer.pin(count, READ) if is_traced(count) else count)

    def __bool__(self) -> bool:
        if self.of_array:
            self._refuse_array()
        return bool(self.length() != 0)

    def __iter__(self) -> Any:
        if self.varies and running_instruction() == "CALL_FUNCTION_EX":
            self.tracer.plainly_used = self.tracer.plainly_used or HANDED  # `max` of its items can be recorded
            items, self.counted = self.as_arguments(), True
            return iter(items)
        many = names_to_unpack()
        count = len(self) if many is None else self._fixed("the function unpacks it into {} values", many)
        return iter([self[i] for i in range(count)])

    def as_arguments(self) -> list[Any]:
        """The items as arguments of a call, ``Box(*row)``, or as those of a tuple."""
        return [self[i] for i in range(self._fixed(HANDED, len(self.concrete)) if self.varies else len(self))]

    def _fixed(self, reason: str, many: int) -> int:
        """The length, guarded where data decides it, too: Python fails as well where it unpacks another number.

        It is as many as the code unpacks where the example does not come there.
        """
        count, length = many if self.tracer.untaken else len(self.concrete), self.length()
        length.tracer.nodes.append(Node(Guard(count, reason.format(count)), (length.value,), {}, None, user_line()))
        return count

    def __getitem__(self, index: Any) -> Any:
        found = self.tracer.scalar("getitem", self, index)
        if isinstance(found, Growing) and not isinstance(index, slice):
            found.enter(self, index)
        if isinstance(index, slice):
            found.of_array = self.of_array
            return found
        return found if self.objects is None else self.objects(found)

    def __contains__(self, item: Any) -> bool:
        return bool(self.tracer.pin(self.tracer.scalar("contains", self, item), "it was searched"))

    def __add__(self, other: Any) -> Any:
        if self.ends:
            self.tracer.refuse("a sum of deques cannot be recorded", "Write list(one) + list(other).")
        return self.tracer.scalar("cat_strings", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.tracer.scalar("cat_strings", other, self)

    def __iadd__(self, other: Any) -> Any:
        self.refuse_known("list")
        running: object = current()
        if self.loop is None and (running is not self.tracer or self.tracer.rounds.open):
            return self + other
        if self.loop is None:  # all of its names have what it becomes
            self.become(self.as_it_is() + other)
            return self
        self._changed("extend", other)
        return self

    def __eq__(self, other: object) -> bool:
        if self.view or self.ends or (type(other) is TracedList and (other.view or other.ends)):
            what = "a comparison of a range, a deque, or of a dict's keys, values or items, cannot be recorded"
            self.tracer.refuse(what, "Compare lists of them.")
        return self.tracer.scalar("eq", self, other)  # type: ignore[no-any-return]  # a traced bool

    def _refuse_array(self) -> Any:
        return self.tracer.refuse("more is asked of an array of texts than a recording has", OF_TEXTS)

    def __getattr__(self, name: str) -> Any:
        if self.of_array and name in ("tolist", "shape", "size"):
            found = partial(self.tracer.scalar, "list", self) if name == "tolist" else self.length()
            return (found,) if name == "shape" else found
        if self.of_array and hasattr(np.ndarray, name) and not name.startswith("__"):
            return self._refuse_array()
        if name.startswith("__") or not hasattr(deque if self.ends else list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        if name in ("index", "count"):
            return lambda item: self.tracer.scalar("index" if name == "index" else "counted", self, item)
        if name == "copy":
            return partial(self.tracer.scalar, "list", self)
        if self.ends and name == "maxlen":
            return self.most
        if name in (*GROWING, *(_OF_DEQUES if self.ends else ())) and self.loop is not None:
            return partial(self._changed, name)
        what = f"list.{name} on a list of any length cannot be recorded"
        return self.tracer.refuse(what, {"sort": _SORT, "pop": _POP}.get(name, CHANGE))

    def _changed(self, name: str, *args: Any, **options: Any) -> Any:
        """Stands for a method that changes the list."""
        tracer = self.tracer
        self.allow_change("list")
        if name in ("pop", "popleft"):
            before, item, after = self._parted(*(args if name == "pop" else [0]))
            self.become(tracer.scalar("cat_strings", before, after))
            return item if self.objects is None else self.objects(item)
        if hasattr(self.objects, "plain") and name in ("append", "appendleft", "insert"):
            args = (*args[:-1], self._plain(args[-1]))
        if options or (name in ("sort", "reverse") and args) or (name == "insert" and self.most is not None):
            fix = _SORT if name == "sort" else CHANGE
            tracer.refuse(f"list.{name} with such arguments cannot be recorded on a list of any length", fix)
        old = self.as_it_is()
        match name:
            case "append":
                new = tracer.scalar("cat_strings", old, [*args])
            case "appendleft":
                new = tracer.scalar("cat_strings", [*args], old)
            case "extend":
                (more,) = args
                new = tracer.scalar("cat_strings", old, more if type(more) is TracedList else list(more))
            case "insert" if type(args[0]) is int and args[0] == 0:
                new = tracer.scalar("cat_strings", [args[1]], old)
            case "insert":
                new = old[: args[0]] + tracer.scalar("list", [args[1]]) + old[args[0] :]
            case "remove":
                place = tracer.scalar("index", old, *args)
                new = old[:place] + old[place + 1 :]
            case "clear":
                new = old[:0]
            case "sort":
                new = tracer.scalar("sorted", old, False)
            case _:
                new = tracer.scalar("reversed", old)
        if self.most is not None:
            new = new[: self.most] if name == "appendleft" else new[-self.most :] if self.most else new[:0]
        self.become(new)
        return None

    def _parted(self, index: Any = -1) -> tuple[TracedList, Any, TracedList]:
        """What stands before an item, the item, and what stands behind it; every run checks that there is one."""
        tracer, length = self.tracer, self.length()
        place = index if is_traced(index) or index >= 0 else tracer.scalar("add", length, index)
        for held in (tracer.scalar("ge", place, 0), tracer.scalar("lt", place, length)):
            if is_traced(held):
                held.tracer.nodes.append(Node(_LACKS, (held.value,), {}, None, user_line()))
        old = self.as_it_is()
        before, after = old[slice(0, place)], old[slice(tracer.scalar("add", place, 1), None)]
        return before, old[index], after

    def _plain(self, item: Any) -> Any:
        """What stands in the graph for an object that is one more item."""
        if not isinstance(item, self.objects.kind):
            self.tracer.refuse(f"a list of {self.objects.kind.__name__} gets another kind of item", CHANGE)
        return self.objects.plain(item)

    def become(self, new: TracedList) -> None:
        """Makes the list another one, in code that may change it."""
        self.sized_by, self.with_none = None, new.with_none
        self._bind(self.tracer, new.value, new.concrete, new.varies)
        if self.place is not None:
            self.place.put(self.as_it_is())

    def __setitem__(self, index: Any, item: Any) -> None:
        if self.loop is None or isinstance(index, slice):
            self.tracer.refuse(f"an item {CHANGED}", _ENTRY)
        self.allow_change("list")
        self.tracer.rounds.copies.put(item)
        self.become(self.tracer.scalar("with_entry", self.as_it_is(), index, item))

    def __delitem__(self, index: Any) -> None:
        self.tracer.refuse(
            f"an item {CHANGED}, nor deleted",
            "Write items = items[:i] + items[i + 1 :], a new list, with an i of 0 or more.",
        )

    __hash__ = None  # type: ignore[assignment]  # as for list


Sequence.register(TracedList)  # which `match` asks for where a case is a list: nothing shows it another class
