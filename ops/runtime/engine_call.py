"""EngineCall: where a generated function calls an engine in place of the nodes of a region.

The plan knows only this: which values go in, which come out, and which nodes must run besides. It is made by
`ops/engines`, and handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph.frozen_class import frozen_object
from ..graph.graph import Node, Value


@frozen_object
class EngineCall:
    """A call of an engine.

    Attributes:
        function: takes a tensor for each input and returns one for each output; it raises what the nodes would raise.
        inputs: the values that it takes.
        outputs: the values that it gives, all tensors.
        count: the number of nodes that it replaces, from the one under which it is registered; 0 for the body of an op.
        kept: the nodes that run in any case, because they give numbers that are used outside.
        checks: the nodes that run besides where a signature of inputs is new: what decides whether the recording holds.
        apart: whether it computes outside of torch, so that torch's grad mode is nothing to it.
    """

    function: Callable[..., Any]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    count: int = 0
    kept: tuple[Node, ...] = ()
    checks: tuple[Node, ...] = ()
    apart: bool = False
