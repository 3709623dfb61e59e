"""The columns of several files of text, each with the types that the beginning of the file shows."""

from __future__ import annotations

import pyarrow as pa

KEPT = {b"tracepack": b"kept"}  # of a column of CSV that no input takes, which is text where files differ


def merged(known: pa.Schema, found: pa.Schema) -> pa.Schema:
    """The columns of what was read first and of what follows. The first type of a column stays, but for a wider number;
    a column of CSV that no input takes is one of texts where files have other types.
    """
    fields = {each.name: each for each in known}
    for each in found:
        before = fields.setdefault(each.name, each)
        if pa.types.is_null(before.type) or (pa.types.is_floating(each.type) and pa.types.is_integer(before.type)):
            fields[each.name] = each
        elif each.metadata == KEPT and not _holds_all(before.type, each.type):
            fields[each.name] = each.with_type(pa.string())
    return pa.schema(fields.values())


def _holds_all(wide: pa.DataType, kind: pa.DataType) -> bool:
    """Whether a type has the values of another one, null among them."""
    return bool(wide == kind or pa.types.is_null(kind) or (pa.types.is_floating(wide) and pa.types.is_integer(kind)))
