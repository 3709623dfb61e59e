"""The global names of a block of plain Python: its functions and classes, with the guards that one run at a time has.

Classes are made once, and not in each run: their functions find the guards among these names, which know the run.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import CodeType
from typing import Any

from .....graph.errors import GraphError
from ...control_flow import round_counter
from .. import block_tensors, block_texts, gone_through, guarded
from ..growing_operators import FUNCTIONS, paid
from ..guarded_text import CALLED, DTYPE, FUNCTION, GIVING, GUARDS, OPERATOR, PAYING, TICK
from ..language import BUILTINS, FILE
from ..objects.makers import HELD, MAKERS
from .block_refusals import RefusedError, refuse_caught, ticking
from .metering import Meter, Metered

_OPERATORS = {OPERATOR.format(name): each for name, each in FUNCTIONS.items()}


class BoundNames:
    """Those of one run, or of several one after the other.

    Args:
        code: of the block.
        constants: the names of its constants.
        tensors: whether it uses torch.
        metered: whether it is looked at how deep things hold each other.
        budget: what pays for it, where something does.
    """

    def __init__(
        self, code: CodeType, constants: set[str], tensors: bool, metered: bool = False, budget: Meter | None = None
    ) -> None:
        self.guards = guarded.Guarded(())
        self.metered = Metered(budget, FILE, ()) if metered or budget else None
        found = {"__import__": block_tensors.imported} if tensors else {}
        names = {"__builtins__": found, **BUILTINS, **{CALLED.format(n): f for n, f in guarded.CALLS.items()}}
        names |= {"<slice>": builtins.slice, DTYPE: int, **self._operations(), **_OPERATORS, **MAKERS}
        if self.metered is not None and budget is None:
            names[TICK] = self.metered.look
        elif self.metered is not None:
            names |= {CALLED.format(name): self.metered.charging(each) for name, each in guarded.CALLS.items()}
            names |= {name: self.metered.charging(names[name]) for name in (*PAYING, *_OPERATORS, HELD)}
            gives = {name: self.metered.giving(names[name], name == FUNCTION) for name in GIVING}
            names |= gives | {TICK: self.metered.tick}
        self.names: dict[str, Any] = names
        try:
            exec(code, names)  # a text that was checked, without builtins
        except RefusedError as refusal:  # of a constant
            raise GraphError("a block of plain Python is malformed", got=str(refusal)[:80]) from None
        except Exception as error:  # of a class
            raise GraphError(
                "a block of plain Python is malformed", got=f"{type(error).__name__}: {error}"[:80]
            ) from None
        self.fixed = {id(each) for name in constants for each in containers(names[name])}

    def _operations(self) -> dict[str, Any]:
        guards = self.guards
        found = (
            guards.attribute, guards.own, gone_through.ordered, gone_through.bounded_items, gone_through.each_ordered,
            gone_through.gathered, gone_through.require_few, guards.augmented, guards.augment_entry,
            guards.function, block_texts.formatted, block_texts.joined, round_counter(), guards.changed,
            guards.attributes, gone_through.counted, guarded.entry_of, refuse_caught, paid,
        )  # fmt: skip
        return {**dict(zip(GUARDS, found, strict=True)), HELD: guards.hold}

    def begin(self, others: set[int], memory: set[int]) -> None:
        """Begins a run.

        Args:
            others: ids of the containers that it must not change.
            memory: that of the tensors that it must not change.
        """
        self.guards.others, self.guards.memory = others, memory
        if self.metered is None:
            self.names[TICK] = ticking(round_counter())
        else:
            self.metered.begin(others)


def containers(thing: Any) -> Iterator[Any]:
    """The lists, dicts and sets in a thing, itself among them, each once."""
    waiting, seen = [thing], set[int]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, _CONTAINERS):
            if id(each) in seen:
                continue
            seen.add(id(each))
            yield each
        if isinstance(each, dict):
            waiting += [item for item in each.values() if not isinstance(item, _PLAIN)]
        elif isinstance(each, list | tuple):
            waiting += [item for item in each if not isinstance(item, _PLAIN)]


_CONTAINERS, _PLAIN = (list, dict, set), (str, int, float, bytes)
