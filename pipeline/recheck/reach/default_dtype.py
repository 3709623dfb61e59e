"""Whether a function can ask for torch's default dtype where no recorder sees it: by another name, or by `finfo()`."""

from __future__ import annotations

import dis
from itertools import pairwise
from types import CodeType

import torch

from ....ops.runtime.user_code import codes_in, names_in
from .objects import Objects

_ASKING = (torch.get_default_dtype, torch.finfo)  # the first of them is replaced while functions are recorded
_NAMES = frozenset(("get_default_dtype", "finfo"))


def may_ask_default_dtype(objects: Objects) -> bool:
    """Whether what a function reaches holds what tells the default dtype, or code that names it.

    ``torch.finfo(dtype)`` asks for none. Any other name of `finfo` is taken to be called without an argument.
    """
    if any(map(objects.reaches, _ASKING)):
        return True
    return any(_asks(code) for function in objects.functions for code in codes_in(function.__code__))


def _asks(code: CodeType) -> bool:
    if not _NAMES.isdisjoint(item for item in code.co_consts if isinstance(item, str)):  # getattr(torch, "finfo")
        return True
    names = names_in(code)
    return "get_default_dtype" in names or ("finfo" in names and _without_argument(code))


def _without_argument(code: CodeType) -> bool:
    lines = [line for line in dis.get_instructions(code) if line.opname != "PUSH_NULL"]
    return any(line.argval == "finfo" and not after.opname.startswith("LOAD_") for line, after in pairwise(lines))
