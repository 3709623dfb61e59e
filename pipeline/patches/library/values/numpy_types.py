"""The types of numpy's numbers, such as `numpy.float32`, where a function calls them with recorded values.

They read what they are given at once, and so see no stand-ins: `numpy.asarray` with the type gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .....ops.runtime.primitives.numpy import DTYPES
from ....proxies.arrays import TracedArray
from ....proxies.strings import TracedStr
from ....recording.recorder import Recorder
from ...python.operations import active


def _type(kind: Any) -> Callable[..., Any]:
    """Stands for one of them, which reads a text as Python does."""
    read_as = "float" if issubclass(kind, np.floating) else "int" if issubclass(kind, np.integer) else ""

    def convert(*args: Any, **options: Any) -> Any:
        recorder = active()
        if recorder is None or len(args) != 1 or options:
            return kind(*args, **options)
        if kind is np.float64 and _is_of_several(recorder, args[0]):
            recorder.refuse(
                "numpy.float64 of a tensor is a number where that has a single element, and an array elsewhere",
                "Write x.numpy().astype(numpy.float64), which is an array in each run.",
            )
        given = recorder.scalar(read_as, args[0]) if read_as and type(args[0]) is TracedStr else args[0]
        found: Any = np.asarray(given, dtype=kind)  # which is recorded where a value of the recording takes part
        if type(found) is not TracedArray:
            return kind(*args)
        return found if found.ndim else found[()]

    return convert


def _is_of_several(recorder: Recorder, thing: Any) -> bool:
    """Whether a thing is a tensor of the recording that may have several elements."""
    return isinstance(thing, torch.Tensor) and thing in recorder.values and thing.dim() > 0


_NAMED = {name: kind for name, kind in vars(np).items() if isinstance(kind, type) and issubclass(kind, np.generic)}
_STAND_INS = {kind: _type(kind) for kind in {np.dtype(name).type for name in DTYPES}}

OF_NUMBERS: dict[str, tuple[Any, Callable[..., Any]]] = {
    name: (kind, _STAND_INS[kind]) for name, kind in _NAMED.items() if kind in _STAND_INS
}
"""A name of a type in numpy, of which some have several -> the type, and what stands for it."""
