"""Whether a signature lets the rows of several calls be run together. What it cannot say, only runs show. No torch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...ops.graph.guards import Expression
from ...ops.graph.text import guards_text
from .fields import FIXED, SignatureField


def refused_by_signature(
    stateful: bool, fields: Sequence[SignatureField], guards: Sequence[Expression], signature: str
) -> str:
    """Why rows cannot be run together; empty where nothing in the signature forbids it.

    Args:
        stateful: whether the pipeline has state.
        fields: its inputs and outputs.
        guards: the conditions of the function.
        signature: as text, with the conditions on sizes.
    """
    if stateful:
        return "it has state"
    size = shared_first_size(fields)
    if size is None:
        return "its inputs and outputs do not all share a free first size"
    relied = f"{guards_text(guards)} {signature.partition(') -> ')[2].partition(' where ')[2]}"
    return f"a condition is on the size {size}" if re.search(rf"\b{re.escape(size)}\b", relied) else ""


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
