"""What is data all through: to read it changes nothing, and there is nothing in it to call."""

from __future__ import annotations

import dis
import enum
import re
from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import torch

from ..base import is_traced
from .known_values import VALUE_CLASSES

MOST_DATA = 10_000
_PLAIN = (
    *VALUE_CLASSES, type(None), bool, int, float, complex, str, bytes, range, slice, dis.Instruction, re.Pattern,
    np.ndarray, np.generic, torch.Tensor, torch.dtype, torch.device, enum.Enum, enum.EnumMeta,
)  # fmt: skip
CONTAINERS = (list, tuple, set, frozenset, dict, OrderedDict, Counter, torch.Size)


def is_data(thing: Any) -> bool:
    """Whether a thing is data all through: no iterator, which is another one once it is read, and nothing to call."""
    waiting, count = [thing], 0
    while waiting:
        item = waiting.pop()
        count += 1
        if is_traced(item) or isinstance(item, _PLAIN):
            continue
        if count > MOST_DATA or type(item) not in CONTAINERS:
            return False
        waiting += [*item, *item.values()] if isinstance(item, dict) else item
    return True
