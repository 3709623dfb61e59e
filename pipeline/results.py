"""What a node gave, as the function sees it: tensors as they are, everything else as stand-ins."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..ops.arrays import DTYPES
from ..ops.graph import Value
from ..ops.records import is_record
from ..ops.types import ANY, ARRAY, SCALARS, Type
from .standins import traced
from .trees import same_container


def wrapped_result(recorder: Any, result: Any, varies: bool, decided: bool = True) -> tuple[Any, Any]:
    """The output pattern of a node, and the result for the function.

    Args:
        recorder: whose result it is.
        result: what the node gave.
        varies: whether data decides its sizes.
        decided: whether data decides the numbers in it.
    """
    if isinstance(result, torch.Tensor):
        return recorder.values.add(result, varies=varies), result
    if is_record(result) or type(result) in (tuple, list, torch.Size):
        pairs = [wrapped_result(recorder, item, varies, decided) for item in result]
        outputs, items = tuple(p[0] for p in pairs), [p[1] for p in pairs]
        return outputs, same_container(result, items)
    if type(result) is dict:
        found = {key: wrapped_result(recorder, item, varies, decided) for key, item in result.items()}
        return {k: v[0] for k, v in found.items()}, {k: v[1] for k, v in found.items()}
    if isinstance(result, np.ndarray | np.generic) and result.dtype.name not in DTYPES:
        recorder.refuse(f"an array of dtype {result.dtype} cannot be recorded", "Use a dtype that torch has, too.")
    if isinstance(result, np.ndarray):
        return wrapped_scalar(recorder, ARRAY, result, varies)
    if type(result) in SCALARS or isinstance(result, np.generic):
        return wrapped_scalar(recorder, SCALARS.get(type(result), ANY), result, decided)
    return None, result


def wrapped_scalar(recorder: Any, kind: Type, result: Any, varies: bool) -> tuple[Value, Any]:
    """A new value that is no tensor, and its stand-in."""
    value = Value(kind)
    if varies:
        recorder.values.varying.add(id(value))
    return value, traced(recorder, value, result, varies)
