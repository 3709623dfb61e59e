"""A choice whose sides may fail, such as ``sum(xs) / len(xs) if xs else 0.0``, as a `cond` node.

Python goes through the code of all sides, as for a choice between what is there before. What each records is cut out
of the recording, and becomes a branch of the node: the file runs the one that is chosen only. So the sides do nothing
but compute, and give numbers and texts, or tuples and dicts of them. Where one fails on the example, the recording
holds for the way of the example, as in the attempt before.
"""

from __future__ import annotations

import builtins
from collections import ChainMap
from collections.abc import Sequence
from types import FrameType
from typing import Any

from .....ops.graph.graph import Operator, Value
from .....ops.graph.operators.names import DRAWING, FRESH, VIEW, effect
from .....ops.graph.traverse import leaves, uses
from .....ops.runtime.user_code import user_line
from ....lists.ways import Fork, Tree, Way, closed_graph
from ....proxies.base import is_traced
from ....proxies.make import traced
from ....proxies.trees import concrete, same_container
from ....recording.recorder import Recorder
from ....rules.gradients import follow_grad_mode
from ...source.shared_parts import shared_names
from ..loops.constants import goes_both_ways, went_both_ways
from ..purity import are_pure
from .sides import KINDS, kind_of, note_kinds


class FallibleSides:
    """The sides of such a choice.

    Attributes:
        count: of them.
        code: their instructions.
    """

    def __init__(self, count: int, code: Sequence[Any]) -> None:
        self.count, self.code = count, code

    def may_run(self, recorder: Recorder, frame: FrameType) -> bool:
        """Whether the running attempt takes both ways at the choice, in code that a frame runs."""
        key = (frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_code.co_name, frame.f_lasti)
        if recorder.rounds.open or recorder.rounds.plain:
            return False
        return are_pure(self.code, ChainMap(frame.f_locals, frame.f_globals, vars(builtins))) and goes_both_ways(key)


def joined(recorder: Recorder, place: Any, sides: Sequence[tuple[list[Any], Any]], frame: FrameType) -> Any:
    """What the choice gives.

    Args:
        recorder: of the function.
        place: the number of the side that is chosen.
        sides: the nodes of each, and what it gave.
        frame: of the function.
    """
    ways, line, nodes = [Way(()) for _ in sides], user_line(), recorder.nodes
    note_kinds(kind_of(result) for _, result in sides)
    for way, (own, result) in zip(ways, sides, strict=True):
        if not _is_plain(result):
            recorder.refuse("a choice by data gives other things than numbers and texts", "Use tracepack.cond.")
        way.nodes, way.result, way.output = own, result, recorder.output(result)
    for number in range(len(sides) - 1):
        chosen = recorder.scalar("eq", place, number).value
        for way in ways[number + 1 :]:
            way.steps.append(Fork(chosen, 0, False))
        ways[number].steps.append(Fork(chosen, 0, True))
    _refuse_effects(recorder, ways)
    inner = {id(leaf): leaf for way in ways for leaf in way.values()}
    used = [leaf for way in ways for node in way.nodes for leaf in uses(node)]
    used += [leaf for way in ways for leaf in leaves(way.output)] + [step.value for way in ways for step in way.steps]
    outer = list({id(leaf): leaf for leaf in used if isinstance(leaf, Value) and id(leaf) not in inner}.values())
    follow_grad_mode(recorder)
    made, output = Tree(recorder, line, outer, lambda own, found: closed_graph(own, found, outer)).output(ways)
    nodes += made
    recorder.rounds.left |= inner
    went_both_ways()
    handed = _handed(recorder, sides[int(concrete(place))][1], output)
    given = [result for _, result in sides]
    if any(_is_known(result, frame) for result in given):
        recorder.values.keep([*given, handed], line)
    return handed


def _is_known(result: Any, frame: FrameType) -> bool:
    """Whether a variable holds a dict that a side gives, so that the side did not make it."""
    others = frame.f_globals.values()
    return bool(shared_names({"": result}, frame, {*frame.f_locals})) or any(each is result for each in others)


def _refuse_effects(recorder: Recorder, ways: Sequence[Way]) -> None:
    """Refuses sides that draw random numbers or write, which those that are not chosen would do, too."""
    names = (node.target.name for way in ways for node in way.nodes if isinstance(node.target, Operator))
    if any(name in DRAWING or effect(name) not in (FRESH, VIEW) for name in names):
        recorder.refuse("a choice by data draws random numbers, or writes to a tensor", "Do it before the choice.")


def _is_plain(result: Any) -> bool:
    if type(result) in (tuple, dict):
        return all(map(_is_plain, result.values() if type(result) is dict else result))
    return kind_of(result) in KINDS


def _handed(recorder: Recorder, found: Any, output: Any) -> Any:
    """What the function gets for what a choice gives: that of the example, as the node says it."""
    if type(found) is tuple:
        return same_container(found, [_handed(recorder, *pair) for pair in zip(found, output, strict=True)])
    if type(found) is dict:
        return {key: _handed(recorder, item, output[key]) for key, item in found.items()}
    if not isinstance(output, Value):
        return output
    recorder.values.varying.add(id(output))
    return traced(recorder, output, concrete(found) if is_traced(found) else found, True)
