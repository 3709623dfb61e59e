"""A timeline of one run: the generated function with a mark after each of its lines.

The marks are in a copy of the source, so that a pipeline that is not profiled has none and pays nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...ops.graph.graph import Node, target_name
from ...ops.runtime.placement import home_of, settle


@dataclass(frozen=True)
class Step:
    """One line of the generated function.

    Attributes:
        name: of the operator, the kernel or the region.
        op: the op that it belongs to; empty for the function's own code.
        engine: what ran it.
        start: seconds from the beginning of the run.
        seconds: how long it took.
        outputs: dtypes and shapes of what it gave: ``"f32[3,4]"``.
        memory: bytes of what it gave.
        line: the user's line; empty where it is not known.
    """

    name: str
    op: str
    engine: str
    start: float
    seconds: float
    outputs: str
    memory: int
    line: str


def steps(function: Any, inputs: Sequence[Any], engines: Mapping[int, tuple[str, str]]) -> list[Step]:
    """Runs a function of a plan, and says what each of its lines took.

    Args:
        function: of `Emitter.function`.
        inputs: its flat inputs.
        engines: the region and the engine behind a function in its table, by the function's id.
    """
    lines = function.source.splitlines()
    found: list[Step] = []
    home = home_of(inputs)
    known = dict(function.__globals__)
    start = before = 0.0

    def mark(number: int, variables: Mapping[str, Any]) -> None:
        nonlocal before
        settle(home)  # an accelerator goes on while Python does
        now = time.perf_counter()
        node = function.nodes.get(number)
        if node is not None:
            called = [engines[id(known[name])] for name in re.findall(r"\be_\d+\b", lines[number - 1]) if name in known]
            made = [variables[name] for name in _targets(lines[number - 1]) if name in variables]
            found.append(_step(node, function.calls.get(number), called, made, before - start, now - before))
        before = time.perf_counter()

    source = [lines[0]]
    for number, line in enumerate(lines[1:-1], 2):
        kept, _, dead = line.partition("; del ")
        source += [kept, f" mark_({number}, locals())", *([f" del {dead}"] if dead else [])]
    source.append(lines[-1])
    namespace = {**known, "mark_": mark}
    exec(compile("\n".join(source), "<tracepack timeline>", "exec"), namespace)
    run: Callable[..., Any] = namespace["plan"]
    with torch.no_grad():
        start = before = time.perf_counter()
        run(*inputs)
    return found


def _targets(line: str) -> list[str]:
    """The variables that a line assigns."""
    left, separator, _ = line.partition(" = ")
    return re.findall(r"\bv\d+\b", left) if separator else []


def _step(
    node: Node, call: Node | None, called: Sequence[tuple[str, str]], made: Sequence[Any], start: float, seconds: float
) -> Step:
    tensors = [value for value in made if isinstance(value, torch.Tensor)]
    region, engine = called[0] if called else (target_name(node.target), "aten")
    op = target_name(call.target) if call is not None else ""
    outputs = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors)
    line = str(node.line or (call.line if call is not None else None) or "")
    return Step(region, op, engine, start, seconds, outputs, sum(t.nbytes for t in tensors), line)
