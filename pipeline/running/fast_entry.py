"""The fast entry of a pipeline: the generated function between `run` and the plan.

For inputs of a signature that was checked before, it costs under a microsecond: a few attribute reads and one set
lookup. Inputs of a pipeline on an accelerator are moved there where they lie elsewhere. All other feeds (other dtypes,
new sizes, containers, errors) go to the runner's slow run, which converts, checks and explains.

Grad mode is switched off and on inside one `try`, and not by a `finally`: an interrupt can come at any bytecode, and
nothing catches one that comes inside a `finally`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import torch

from ...ops.graph.frozen_class import frozen_object
from ...ops.graph.types import TensorType
from ...ops.runtime.node_errors import fail

_SOURCE = """\
def make(T, seen, slowly, fast, enabled, enable, transform, fail, keys, dtypes, homes, convert, arrive, followed):
    {bind}
    def entry(feed):
        if type(feed) is dict and len(feed) == {count}:
            try:
                {fetch}
                {convert}
                known = {tests}
            except (KeyError, RuntimeError):  # of a nested or sparse tensor: it has no strides
                return slowly(feed)
            if known:
                if enabled():
                    if transform() is not None:
                        return slowly(feed)
                    try:
                        enable(False)
                        result = fast({names})
                        enable(True)
                        return result
                    except BaseException as error:
                        enable(True)
                        failed = error
                else:
                    try:
                        return fast({names})
                    except BaseException as error:
                        enable(False)
                        failed = error
                fail(failed, fast)
        return slowly(feed)
    return entry
"""


Run = Callable[[Mapping[str, Any]], Any]


@frozen_object
class EntryInputs:
    """The flat inputs of a pipeline in which each parameter is one tensor.

    Attributes:
        names: the keys of the feed.
        types: the dtype and the rank of each input.
        homes: the device that each input must be on, as `Tensor.device` names it.
        written: whether a run may write into the inputs; then a write to a moved copy must reach the original.
        followed: tells whether torch makes a graph of the caller, which the slow run refuses; None where it may.
    """

    names: Sequence[str]
    types: Sequence[TensorType]
    homes: Sequence[torch.device]
    written: bool
    followed: Callable[[], bool] | None


def make_entry(inputs: EntryInputs, fast: Callable[..., Any], slowly: Run, seen: Set[Any]) -> Run:
    """The function behind `Pipeline.run` for inputs that are all tensors.

    Args:
        inputs: their names, types and devices.
        fast: the plan's function of the flat inputs, without checks.
        slowly: a run that converts and checks everything, for any other feed.
        seen: the signatures that were checked; the set may grow later.
    """
    count, on_cpu = len(inputs.names), [home.type == "cpu" for home in inputs.homes]
    names = [f"x{i}" for i in range(count)]
    source = _SOURCE.format(
        bind="; ".join(f"k{i} = keys[{i}]; d{i} = dtypes[{i}]; h{i} = homes[{i}]" for i in range(count)),
        count=count,
        fetch="; ".join(f"x{i} = feed[k{i}]" for i in range(count)),
        tests=_tests(names, on_cpu) + ("" if inputs.followed is None else " and not followed()"),
        names=", ".join(names),
        # The slow run copies back what a run writes to an input that was moved.
        convert="\n                ".join(
            f"if type({x}) is not T: {x} = convert({x})"
            if cpu or inputs.written
            else f"if type({x}) is not T or {x}.device != h{i}: {x} = arrive({x}, h{i})"
            for i, (x, cpu) in enumerate(zip(names, on_cpu, strict=True))
        ),
    )
    namespace: dict[str, Any] = {}
    exec(compile(source, "<tracepack entry>", "exec"), namespace)
    entry: Run = namespace["make"](
        torch.Tensor, seen, slowly, fast,
        torch.is_grad_enabled, torch._C._set_grad_enabled, torch._C._functorch.peek_interpreter_stack, fail,
        tuple(inputs.names), tuple(getattr(torch, kind.dtype) for kind in inputs.types),
        inputs.homes, _convert, _arrive, inputs.followed,
    )  # fmt: skip
    return entry


def _convert(value: Any) -> Any:
    """A tensor that shares the memory of a numpy array; anything else is returned as it is, for the slow run."""
    if type(value) is np.ndarray and value.flags.writeable:
        try:
            return torch.from_numpy(value)
        except (TypeError, ValueError):  # torch has no such dtype, or takes no such strides
            pass
    return value


def _arrive(value: Any, device: torch.device) -> Any:
    """The tensor or array as a tensor on a device."""
    value = _convert(value)
    return value.to(device) if type(value) is torch.Tensor else value


def _tests(names: list[str], on_cpu: list[bool]) -> str:
    """The generated condition that holds where the signature of the inputs was checked before."""
    each = [
        f"type({x}) is T and {x}.dtype is d{i} and " + (f"{x}.is_cpu" if cpu else f"{x}.device == h{i}")
        for i, (x, cpu) in enumerate(zip(names, on_cpu, strict=True))
    ]
    shapes = "".join(f"({x}.shape, {x}.stride()), " for x in names)
    return " and ".join([*each, f"({shapes}) in seen"])
