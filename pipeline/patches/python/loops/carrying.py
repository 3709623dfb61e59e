"""Finds plain loops that hand values from one round to the next, and names the variables that do.

Its body stays within itself, and changes nothing but local variables, and lists of them that were made empty just
before the loop, and are known by one name only. A loop in it is one of these, too, or one that only appends. Any other
loop is run as Python runs it, and fixes its length.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from types import CodeType
from typing import Any

from ....lists.carried import Carried
from ....proxies.lists import GROWING
from ....proxies.values.changing import MOST_SHARED
from ..rounds.entry_names import EntryNames
from .appending import changes_others, leaves_itself
from .flow import LOADS, LocalFlow, is_rare, stored_cells, stored_inside
from .growing import Uses, changing, may_change_later
from .leaving import is_flag
from .new_lists import has_one_name, is_new_list, is_own_list, stores_new_list


class Carrying:
    """The loops that carry values, in some instructions.

    Args:
        instructions: of a function.
        code: what they were made from.
        others: the indices of the instructions that make iterators for loops of another kind.

    Attributes:
        begins: the indices of the instructions that make their iterators.
        heads: the indices of the instructions that ask for the next item -> what is carried.
        loops: the indices of all instructions that ask for the next item; known: those of loops that a graph can hold.
    """

    def __init__(self, instructions: Sequence[Any], code: CodeType, others: set[int]) -> None:
        self.instructions, self.flow, self.code = instructions, LocalFlow(instructions), code
        self.given = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self.begins: set[int] = set()
        self.heads: dict[int, Carried] = {}
        self.loops = [
            head for head in range(1, len(instructions))
            if (instructions[head].opname, instructions[head - 1].opname) == ("FOR_ITER", "GET_ITER")
        ]  # fmt: skip
        self.known = {begin + 1 for begin in others}
        for head in reversed(self.loops):  # those inside of others first
            if head not in self.known:
                self._add(head)

    def _add(self, head: int) -> None:
        code, flow = self.instructions, self.flow
        end = flow.places[id(code[head].target)]
        body = range(head + 1, end)
        inner = {loop for loop in self.loops if loop in body}
        stored = {code[at].argval for at in body if code[at].opname == "STORE_FAST"}
        growing, own = self._growing(body, head, inner), self._own(body, stored)
        known = [*growing.values(), *(Uses(code, name, body) for name in own)]
        stores = {flow.places[id(each)] for uses in known for each in uses.stores}
        if inner - self.known or leaves_itself(code, body, head, flow.places, inner | stores):
            return
        if sum(each.target is code[end] for each in code) != 1 or self._grows_elsewhere(stored - own, body, head):
            return
        cells = stored_cells(code, body)
        kept = {name for name in cells if flow.reads_later(end, name)} | flow.unstored(body, cells)
        if kept or stored_inside(self.code, cells):
            return
        if any(is_rare(code[at]) for at in body):
            return
        rest = [at for at in body if not any(at in uses.entries for uses in growing.values())]
        lists = {code[at - 1].argval for at in rest if code[at].argval == "append" and "LOAD" in code[at].opname}
        lists -= growing.keys() | own
        if changes_others(code, rest, lists, growing.keys() | own) or lists & stored:
            return
        if not all(is_new_list(code, flow.places, name, head) for name in lists):
            return
        carried = {name for name in stored if flow.reads_later(end, name)} | flow.unstored(body, stored)
        if any(name not in self.given and flow.may_lack(name, head) for name in carried):
            return
        names = tuple(sorted(carried | lists | growing.keys()))
        if names:
            self.begins.add(head - 1)
            self.known.add(head)
            read = {name for name, uses in growing.items() if uses.reads}
            later = {name for name in lists | growing.keys() if may_change_later(code, flow.places, name, end)}
            first = code[head + 1]
            left = first.argval if first.opname == "LOAD_FAST" and is_flag(first.argval) else ""
            unread = {name for name in names if not flow.reads_later(end, name)}
            sharing = {name: EntryNames(code, name).sharing() for name in names}
            shared, deep = ({name for name in names if sharing[name] == level} for level in (MOST_SHARED, 1))
            places = [_places(names, some) for some in (growing.keys(), read, later, unread, shared, deep)]
            self.heads[head] = Carried(
                names, places[0], places[1], places[2], places[3], left, shared=places[4], deep=places[5]
            )

    def _grows_elsewhere(self, names: set[str], body: range, head: int) -> bool:
        """Whether ``items += [item]`` in a body changes a list that has another name, too."""
        code = self.instructions
        built = [name for name in names if self._is_built(name, head) and set(changing(code, name)).intersection(body)]
        return any(not Uses(code, name, body).known for name in built)

    def _growing(self, body: range, head: int, inner: Set[int]) -> dict[str, Uses]:
        """The lists that a body changes and reads, or that have items before it."""
        code, found = self.instructions, dict[str, Uses]()
        for name in {code[at].argval for at in body if code[at].opname in (*LOADS, "STORE_FAST")}:
            uses = Uses(code, name, body)
            changes = uses.changes or any(code[at].opname == "STORE_FAST" and code[at].argval == name for at in body)
            if not changes or not uses.known or not self._is_new(name, head):
                continue
            if not (uses.changes or uses.loaded) and not is_new_list(code, self.flow.places, name, head):
                continue  # a number or a tensor may be set as well
            if uses.handed and not (uses.changes or self._is_built(name, head)):
                continue
            shared = any(name in self.heads[loop].names for loop in inner & self.heads.keys())
            if shared or not self._only_appends(name, body) or not is_new_list(code, self.flow.places, name, head):
                found[name] = uses
        return found

    def _own(self, body: range, stored: set[str]) -> set[str]:
        """The names of containers that each round makes for itself."""
        code, begun = self.instructions, self.flow.unstored(body, stored)
        stores = [(code[at].argval, at) for at in body if code[at].opname == "STORE_FAST"]
        changed = {code[at - 1].argval for at in body if code[at].argval in GROWING and is_own_list(code, at)}
        return stored - begun - {name for name, at in stores if not (name in changed or stores_new_list(code, at))}

    def _is_new(self, name: str, head: int) -> bool:
        """Whether a list is made before a loop, or before one around it in which it has no other name."""
        code, places = self.instructions, self.flow.places

        def is_made(loop: int) -> bool:
            made = is_new_list(code, places, name, loop, filled=True, kinds=_KINDS)
            return made or has_one_name(code, name, loop - 1)

        around = [(loop, range(loop + 1, places[id(code[loop].target)])) for loop in self.loops if loop < head]
        return is_made(head) or any(
            head in body and is_made(loop) and Uses(code, name, body).known for loop, body in around
        )

    def _is_built(self, name: str, head: int) -> bool:
        """Whether a list, a set or a dict is built before a loop."""
        return is_new_list(self.instructions, self.flow.places, name, head, filled=True, kinds=_KINDS)

    def _only_appends(self, name: str, body: range) -> bool:
        code = self.instructions
        uses = [at for at in body if code[at].argval == name]
        return all(code[at].opname in LOADS and code[at + 1].argval == "append" for at in uses)


_KINDS = ("list", "set", "dict", "table")


def _places(names: Sequence[str], some: Set[str]) -> frozenset[int]:
    return frozenset(place for place, name in enumerate(names) if name in some)
