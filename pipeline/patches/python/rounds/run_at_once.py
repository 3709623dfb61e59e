"""Functions that code makes inside of itself, and runs at once: nothing keeps them, nor what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any

from ...redirect import name_of
from .takers import ATTRIBUTES, called_with

ASKING = (
    "len",
    "dict",
    "copy",
    "deepcopy",
    "sum",
    "min",
    "max",
    "sorted",
    "any",
    "all",
    "list",
    "stack",
    "cat",
    "join",
    "pad_sequence",
    "tensor",
    "as_tensor",
    "array",
    "asarray",
    "set",
    "tuple",
)
"""The functions, of Python and of torch, that keep nothing of a list that they are given."""
_BY_KEY = ("min", "max", "sorted", "sort", "nlargest", "nsmallest", "cond")
"""What calls a function that it is given, and keeps nothing of it."""
AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>")


def asked(code: Sequence[Any], at: int) -> str:
    """The name of the function that is loaded just before what an instruction loads; empty where none is."""
    at -= 1
    while code[at].opname in ("NOP", "MAKE_FUNCTION", "PUSH_NULL"):  # a stand-in of a builtin
        at -= 1
    if isinstance(code[at].argval, FunctionType):  # Python 3.10 has it as a constant
        return name_of(code[at].argval)
    for each in (code[at], code[at - 1]):  # before Python 3.11 the name of a function is loaded after its code
        if isinstance(each.argval, CodeType):
            return each.argval.co_name.rpartition(".")[2]
    return str(code[at].argval) if code[at].opname in ("LOAD_GLOBAL", *ATTRIBUTES) else ""


def runs_at_once(code: Sequence[Any], made: int) -> bool:
    """Whether a function that is made of some code is run at once, and kept by nothing."""
    name = code[made].argval.co_name
    if name == "<genexpr>":
        return asked(code, before_cells(code, made)) in ASKING
    return name in AT_ONCE or (name == "<lambda>" and called_with(code, made) in _BY_KEY)


def own(name: str) -> str:
    """The plain variable of one in a cell."""
    return f"{name} of its own"


def fills_cell(instructions: Sequence[Any], index: int) -> bool:
    """Whether an instruction fills the cell of such a variable, which only the function that is made then sees."""
    each = instructions[index]
    return bool(index and each.opname == "STORE_DEREF" and instructions[index - 1].argval == own(each.argval))


def before_cells(instructions: Sequence[Any], index: int) -> int:
    """Where the loads of the cells of a function begin, before the instruction that loads its code."""
    if not index or instructions[index - 1].opname != "BUILD_TUPLE":
        return index
    index -= 1
    for _ in range(instructions[index].arg):
        index -= 3 if fills_cell(instructions, index - 2) else 1
    return index
