"""Whether a function can ask for a setting of torch where no recorder sees it: by another name, or by `finfo()`."""

from __future__ import annotations

import dis
from collections.abc import Collection
from itertools import pairwise
from types import CodeType
from typing import Any

import torch

from ....ops.graph.errors import RecordError
from ....ops.lowering.autocast import AUTOCAST_QUESTIONS
from ....ops.runtime.user_code import codes_in, first_line, names_in
from .objects import Objects

_DEFAULT_DTYPE = (torch.get_default_dtype, torch.finfo)
_MODES: dict[str, dict[str, Any]] = {
    "autocast": AUTOCAST_QUESTIONS,
    "grad_mode": {"is_grad_enabled": torch.is_grad_enabled},
    "inference_mode": {"is_inference_mode_enabled": torch.is_inference_mode_enabled},
}
"""The settings, and what tells them; a recorder replaces these in torch, and sees them where they go by these names."""


def asked_unseen(objects: Objects) -> set[str]:
    """The settings for which a function may ask unseen: `default_dtype`, `autocast`, `grad_mode`.

    Args:
        objects: what the function reaches.

    Raises:
        RecordError: it may ask whether inference mode is on.
    """
    codes = [code for function in objects.functions for code in codes_in(function.__code__)]
    found = {mode for mode, asking in _MODES.items() if any(_may_ask(objects, codes, *each) for each in asking.items())}
    if "inference_mode" in found:
        raise RecordError(
            "the function asks whether inference mode is on, which no graph holds",
            where=str(next(filter(None, map(first_line, objects.functions)), "")),
            fix="Pass it as a flag.",
        )
    if any(map(objects.reaches, _DEFAULT_DTYPE)) or any(map(_names_dtype, codes)):
        found.add("default_dtype")
    return found


def _may_ask(objects: Objects, codes: Collection[CodeType], name: str, asking: Any) -> bool:
    """Whether a function reaches what tells a mode by another name than torch's."""
    return objects.reaches(asking) or any(
        _has_text(code, {name}) or {"_C", name} <= {*names_in(code)} for code in codes
    )


def _names_dtype(code: CodeType) -> bool:
    """Whether code names what tells the default dtype.

    ``torch.finfo(dtype)`` asks for none. Any other name of `finfo` is taken to be called without an argument.
    """
    names = names_in(code)
    asked = "get_default_dtype" in names or ("finfo" in names and _without_argument(code))
    return asked or _has_text(code, {"get_default_dtype", "finfo"})


def _has_text(code: CodeType, names: Collection[str]) -> bool:
    """Whether code holds one of the names as a text: ``getattr(torch, "finfo")``."""
    return any(isinstance(item, str) and item in names for item in code.co_consts)


def _without_argument(code: CodeType) -> bool:
    lines = [line for line in dis.get_instructions(code) if line.opname != "PUSH_NULL"]
    return any(line.argval == "finfo" and not after.opname.startswith("LOAD_") for line, after in pairwise(lines))
