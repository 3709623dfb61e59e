"""Lists of any length as indices: ``x[keep]``, where `keep` has places, or says of each item whether it stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ....proxies.arrays import TracedArray
from ....proxies.lists import TracedList
from ....recording.recorder import Recorder

_KEEP_NOTHING = (list, tuple, dict, str)


def plain_index(recorder: Recorder | None, container: Any, key: Any) -> Any:
    """An index with an array, or a tensor, for each list of any length in it.

    It is one of whole numbers, or of truths, also where the list is empty, as numpy and torch take it.

    Args:
        recorder: of the running function; None outside of a recording.
        container: what is asked.
        key: the index.
    """
    if recorder is None:
        return key
    if not (isinstance(container, np.ndarray | torch.Tensor) or type(container) is TracedArray):
        if type(key) is TracedList and key.loop is not None and not isinstance(container, _KEEP_NOTHING):
            what = f"a list that a loop fills is an index of {type(container).__name__}, which may keep it"
            recorder.refuse(what, "Give it a copy: list(items).")
        return key
    if type(key) is tuple and any(type(part) is TracedList for part in key):
        return tuple(_places(recorder, container, part) for part in key)
    return _places(recorder, container, key)


def _places(recorder: Recorder, container: Any, part: Any) -> Any:
    kinds = set(map(type, part.concrete or part.samples)) if type(part) is TracedList else set()
    if len(kinds) != 1 or not kinds <= {int, bool}:
        return part
    if isinstance(container, torch.Tensor):
        return torch.tensor(part, dtype=torch.bool if kinds == {bool} else torch.int64)
    return recorder.array("numpy.array", part, np.dtype(kinds.pop()))
