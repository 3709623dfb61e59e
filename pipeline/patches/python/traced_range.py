"""Stands for `range`, which takes plain numbers: with a traced one it is a list, of any length."""

from __future__ import annotations

from typing import Any

import torch

from ....ops.graph.graph import Operator
from ...proxies.base import is_traced
from ...proxies.scalars import TracedNumber
from ...proxies.trees import concrete
from ...recording.recorder import Recorder
from .operations import active


def traced_range(*args: Any) -> Any:
    """Stands for `range`; whether it goes up or down is a condition of the signature where an argument decides it."""
    recorder = active()
    numbers = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    whole = len(numbers) == 3 and all(type(concrete(number)) is int for number in numbers)
    if recorder is None or not whole or not any(issubclass(type(number), TracedNumber) for number in numbers):
        return range(*args)
    start, stop, step = numbers
    if is_traced(step) and step.varies:
        return range(*args)  # data decides the step, and so may say up or down
    up = recorder.pin(recorder.scalar("gt", step, 0), "range goes up or down by it") if is_traced(step) else step > 0
    if not concrete(step):
        return range(*args)
    stop = recorder.scalar("max" if up else "min", start, stop)
    with torch._C.DisableTorchFunction():
        ends = (start, stop) if type(step) is int and step == 1 else (start, stop, step)
        found = recorder.scalar("tolist", recorder.apply(Operator("torch.arange"), torch.arange, ends, {}))
    found.sized_by = lambda: _steps(recorder, *((start, stop, step) if up else (stop, start, -step)))
    found.view = True
    if recorder.rounds.open:  # the range of another round may have numbers, where that of the example has none
        found.samples = [concrete(start)]
    return found


def _steps(recorder: Recorder, start: Any, stop: Any, step: Any) -> Any:
    """The number of steps from one number up to another one."""
    between = recorder.scalar("sub", stop, start)
    if type(step) is int and step == 1:
        return between
    return recorder.scalar("floordiv", recorder.scalar("add", between, step - 1), step)
