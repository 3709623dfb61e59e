"""What runs a block of plain Python: its text, once compiled, and the check of what it gives."""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from threading import RLock
from types import FunctionType
from typing import Any

import torch

from ....graph.errors import GraphError, GuardError
from ....graph.graph import Graph
from ...interrupts.unheard import Unheard
from ..named_tuples import is_record
from ..nesting import check_nesting
from . import block_tensors
from .allowed import checked
from .arrays import block_arrays
from .guarded_text import Guarding, makes_sets
from .language import FILE, MODULES, MUTATES
from .library_values import bounded_decimals
from .objects.left_objects import left
from .objects.model_call import OF_MODELS, at_home, is_callable, model_call
from .objects.user_names import renamed, taken_out
from .one_run.block_refusals import RefusedError, refusals
from .one_run.bound_names import BoundNames, containers
from .one_run.metering import Meter, meter, tensors_charged
from .one_run.set_orders import in_orders

OF_TENSORS = "T"
"""How the names of arguments begin that may hold tensors."""
LONGEST = 1 << 22
"""The characters of the longest block."""
_PLACE = re.compile(r"  # (\S+:\d+ in .*)$")


_PARSING = RLock()
"""Trees of Python are made by one thread at a time: Python 3.11 counts how deep it is for all threads together."""


class Block:
    """A block of plain Python, compiled.

    Args:
        text: its source.
        metered: whether it runs under a budget, or is not trusted.
    """

    def __init__(self, text: str, metered: bool = False) -> None:
        if len(text) > LONGEST:
            raise GraphError("a block of plain Python is too long", got=len(text), expected=f"at most {LONGEST}")
        with Unheard(), _PARSING:
            tree = checked(text)
            attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            stores = any(
                (isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load))
                or isinstance(node, ast.AugAssign)
                for node in ast.walk(tree)
            )
            self.decimals = any(isinstance(node, ast.Name) and node.id == "decimal" for node in ast.walk(tree))
            self.changes = stores or bool(attributes & MUTATES)
            function = tree.body[-1]
            assert isinstance(function, ast.FunctionDef)  # says `checked`
            self.name = function.name
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            given = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
            self.models = [each.startswith(OF_MODELS) for each in given]
            of_tensors = any(each.startswith((OF_TENSORS, OF_MODELS)) for each in given)
            self.tensors = bool(names & {*MODULES}) or of_tensors
            called = taken_out(tree)
            guarded_tree = ast.fix_missing_locations(Guarding(makes_sets(tree), metered, self.tensors).visit(tree))
            code = compile(guarded_tree, FILE, "exec")
            self.code = renamed(code, called) if called else code
        self.metered = metered
        self.lines = text.split("\n")
        targets = [name for each in tree.body if isinstance(each, ast.Assign) for name in each.targets]
        self.constants = {name.id for name in targets if isinstance(name, ast.Name)}
        self.idle = [self._new_names(None)]

    def check_given(self, given: Sequence[Any]) -> None:
        """Checks the arguments that a graph gives it.

        Raises:
            GraphError: it takes another number, or calls what is no graph that it may call.
        """
        if len(given) != len(self.models):
            raise GraphError(
                "a block of plain Python is given another number of arguments",
                got=len(given), expected=len(self.models),
            )  # fmt: skip
        for each, called in zip(given, self.models, strict=True):
            if called and not is_callable(each):
                raise GraphError("a block of plain Python calls what is no graph over tensors, numbers and texts")
            if not called and isinstance(each, Graph):
                raise GraphError("a block of plain Python is given a graph that it does not call")

    def run(self, given: tuple[Any, ...]) -> Any:
        """What the block gives for some arguments.

        Raises:
            GuardError: it does what a block must not do.
        """
        calls = [_called(each) for each, called in zip(given, self.models, strict=False) if called]
        if calls:
            models = iter(calls)
            given = tuple(next(models) if called else each for each, called in zip(given, self.models, strict=True))
        found = in_orders(partial(self._once, given), self._comment)
        return at_home(found, calls) if calls else found

    def _once(self, given: tuple[Any, ...]) -> Any:
        """What one run of it gives."""
        budget = meter.get() if self.metered else None
        bound = self._bound(budget)
        others = bound.fixed
        if self.changes:
            others = others | {id(each) for each in containers(given)}
        tensors = [*block_tensors.tensors_in(given)] if self.changes or self.tensors else []
        memory = {block_tensors.memory_of(each) for each in tensors}
        if self.changes:
            memory |= {block_arrays.place_in_memory(each) for each in block_arrays.arrays_in(given)}
        bound.begin(others, memory)
        refused: list[RefusedError] = []
        token = refusals.set(refused)
        try:
            decimals = bounded_decimals() if self.decimals else nullcontext()
            if self.tensors:
                with block_tensors.device_of(tensors) or nullcontext(), tensors_charged(bound.metered), decimals:
                    found = bound.names[self.name](*given)
            else:
                with decimals:
                    found = bound.names[self.name](*given)
            found = left(found)
            if refused:
                raise refused[0]
        except (RefusedError, Exception) as caught:
            if refused:
                refused[0].error.user_line = self._place(refused[0])  # type: ignore[attr-defined]  # for the message
                raise refused[0].error from None
            caught.user_line = self._place(caught)  # type: ignore[union-attr]  # for the message
            raise
        finally:
            refusals.reset(token)
            if budget is None:
                self.idle.append(bound)
        check_nesting([found])
        if bound.fixed and any(id(each) in bound.fixed for each in containers(found)):
            found = copy.deepcopy(found)
        return found

    def _bound(self, budget: Meter | None) -> BoundNames:
        """Names that no other run has now."""
        try:
            return self.idle.pop() if budget is None else self._new_names(budget)
        except IndexError:
            return self._new_names(None)

    def _new_names(self, budget: Meter | None) -> BoundNames:
        return BoundNames(self.code, self.constants, self.tensors, self.metered, budget)

    def _place(self, error: BaseException) -> str:
        """The user's line from which an error came, as a comment says; empty where none does."""
        trace, number = error.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == FILE:
                number = trace.tb_lineno
            trace = trace.tb_next
        return self._comment(number)

    def _comment(self, number: int) -> str:
        """The user's line of a line of the block."""
        found = _PLACE.search(self.lines[number - 1]) if number else None
        return found[1] if found else ""


def _called(each: Any) -> Any:
    """What the block calls: while it is recorded, the model itself."""
    return model_call(each) if isinstance(each, FunctionType) else each


@lru_cache(256)
def block_of(text: str, metered: bool = False) -> Block:
    """The block of a text, compiled once."""
    return Block(text, metered)


_untrusted = set[str]()


def distrust(text: str) -> None:
    """Lets a block of a file that is not trusted run with checks of how deep things hold each other."""
    _untrusted.add(text)


def plain_code(text: str, kind: Any, *given: Any) -> Any:
    """Runs a block, and checks that it gives a result of the kind that the recording relies on."""
    found = block_of(text, meter.get() is not None or text in _untrusted).run(given)
    other = misfit(found, kind)
    if other is None:
        other = block_arrays.shared(found, kind, given) or None
    if other is not None:
        raise GuardError(
            "the code gives another kind of value than on the example of the trace", got=other,
            expected=described(kind), fix=_fix(other, kind),
        )  # fmt: skip
    return found


def _fix(other: str, kind: Any) -> str:
    begun = other.rpartition(" ")[2] in ("int", "float", "NoneType") and "a tensor of" in described(kind)
    form = "Begin with a tensor, as torch.zeros(()) for 0" if begun else "Trace with an example that shows it"
    return f"{form}, or choose a value of the same kind."


def is_kind(kind: Any, levels: int = 32) -> bool:
    """Whether a thing says of which kind a result is, as `misfit` takes it."""
    match kind:
        case str():
            return kind == "any" or kind in _KINDS
        case ["tensor", *_]:
            return block_tensors.is_kind([*kind])
        case ["array" | "number", *_]:
            return block_arrays.is_kind([*kind])
        case ["sizes", int(rank)]:
            return 0 <= rank <= block_tensors.MOST_RANK
        case ["list" | "dict", inner]:
            return levels > 0 and is_kind(inner, levels - 1)
        case ["tuple", *parts]:
            return levels > 0 and all(is_kind(each, levels - 1) for each in parts)
        case ["keys", *parts]:
            pairs = [each for each in parts if isinstance(each, list | tuple) and len(each) == 2]
            named = all(isinstance(key, str) and is_kind(inner, levels - 1) for key, inner in pairs)
            return levels > 0 and len(pairs) == len(parts) and named
    return False


_KINDS: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str, "complex": complex}


def misfit(found: Any, kind: Any) -> str | None:
    """What a value is where it is not of a kind; None where it is.

    Args:
        found: the value.
        kind: the name of a type, "any" for all that an archive holds, or a list: ``["list", kind]``,
            ``["dict", kind]`` of texts to that, ``["tuple", kind, …]``, ``["keys", [key, kind], …]``, ``["sizes",
            rank]`` of a `torch.Size`, or what `kind_of` of tensors and of arrays gives.
    """
    if kind == "any":
        return None if _is_holdable(found) else type(found).__name__
    if isinstance(kind, str):
        return None if type(found) is _KINDS[kind] else type(found).__name__
    name, *parts = kind
    if name in ("array", "number"):
        right = block_arrays.is_of_block(found) and block_arrays.kind_of(found) == [*kind][:3]
        return None if right else _shown_kind(found)
    if name == "tensor":
        right = block_tensors.is_of_block(found) and block_tensors.kind_of(found)[1:] == parts
        return None if right else _shown_kind(found)
    if name == "sizes":
        right = type(found) is torch.Size and len(found) == parts[0]
        return None if right else _shown_kind(found)
    if type(found) is not (dict if name == "keys" else getattr(builtins, name)):
        return type(found).__name__
    if name == "keys":
        keys = [key for key, _ in parts]
        if list(found) != keys:
            return f"a dict with the keys {list(found)}"
        pairs = [(found[key], inner) for key, inner in parts]
    elif name == "tuple":
        if len(found) != len(parts):
            return f"a tuple of {len(found)}"
        pairs = list(zip(found, parts, strict=True))
    elif name == "dict":
        if any(type(key) is not str for key in found):
            return "a dict with other keys than texts"
        pairs = [(item, parts[0]) for item in found.values()]
    else:
        pairs = [(item, parts[0]) for item in found]
    inner = next((other for item, each in pairs if (other := misfit(item, each)) is not None), None)
    return None if inner is None else f"a {type(found).__name__} with {inner}"


def described(kind: Any) -> str:
    """A kind in words."""
    if isinstance(kind, str):
        return "a value that an archive can hold" if kind == "any" else kind
    name, *parts = kind
    if name == "keys":
        return f"a dict with the keys {[key for key, _ in parts]}"
    if name in ("array", "number"):
        return block_arrays.described([*kind])
    if name == "sizes":
        return f"a torch.Size of {parts[0]}"
    if name == "tensor":
        return f"a tensor of {parts[0]} with {parts[1]} dimensions"
    return f"{name}[{', '.join(map(described, parts))}]"


def _shown_kind(found: Any) -> str:
    if type(found) is torch.Size:
        return described(["sizes", len(found)])
    of = next((each for each in _HOLDING if each.is_of_block(found)), None)
    return type(found).__name__ if of is None else described(of.kind_of(found))


_HOLDING = (block_tensors, block_arrays)
_HOLDABLE = (str, int, float, bool, complex, type(None))


def _is_holdable(thing: Any) -> bool:
    """Whether a result may hold it: plain values, and lists, tuples and dicts by their exact class."""
    waiting = [thing]
    while waiting:
        each = waiting.pop()
        if type(each) in (list, tuple, torch.Size) or is_record(each):
            waiting += each
        elif type(each) is dict:
            waiting += each.values()
            if any(type(key) not in (str, int, float, bool) for key in each):
                return False
        elif type(each) not in _HOLDABLE and not any(of.is_of_block(each) for of in _HOLDING):
            return False
    return True
