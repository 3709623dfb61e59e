"""Whether signature and choices let the rows of several calls be run together. The rest, only runs show. No torch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....ops.graph.graph import Graph
from ....ops.graph.guards import Expression
from ....ops.graph.text import guards_text
from ..fields import FIXED, SignatureField
from .whole_choices import choice_for_all


def refused_by_signature(
    stateful: bool, fields: Sequence[SignatureField], guards: Sequence[Expression], signature: str, graph: Graph
) -> str:
    """Why rows cannot be run together; empty where nothing in signature or graph forbids it.

    Args:
        stateful: whether the pipeline has state.
        fields: its inputs and outputs.
        guards: the conditions of the function.
        signature: as text, with the conditions on sizes.
        graph: whose choices must be each row's own.
    """
    if stateful:
        return "it has state"
    if any(field.kind == "tensor" and not field.required for field in fields):
        return "a call may leave out an input"
    size = shared_first_size(fields)
    if size is None:
        return "its inputs and outputs do not all share a free first size"
    relied = f"{guards_text(guards)} {signature.partition(') -> ')[2].partition(' where ')[2]}"
    if re.search(rf"\b{re.escape(size)}\b", relied):
        return f"a condition is on the size {size}"
    return choice_for_all(graph)


def shared_first_size(fields: Sequence[SignatureField]) -> str | None:
    """The free first size that all tensors share; None where they do not, or where something is no tensor.

    Example:
        >>> shared_first_size([SignatureField("x", (), "tensor", "float32", ("N", 3))])
        'N'
        >>> shared_first_size([SignatureField("x", (), "tensor", "float32", (2, 3))]) is None
        True
    """
    found = {field.shape[0] if field.shape else None for field in fields if field.kind != FIXED}
    size = found.pop() if len(found) == 1 else None
    return size if isinstance(size, str) and size.isidentifier() else None
