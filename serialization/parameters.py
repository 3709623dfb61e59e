"""The calling convention of a pipeline in the manifest of its archive. It needs no torch."""

from __future__ import annotations

from typing import Any

from ..ops.graph.program import REQUIRED, Parameter, Parameters, Slot
from .contents import input_types
from .decoder import decode_tree, expect, malformed


def decode_parameters(manifest: dict[str, Any], count: int) -> Parameters:
    """The parameters of a manifest.

    Args:
        manifest: of an archive.
        count: the number of inputs of its graph.

    Raises:
        ArchiveError: they are malformed.
    """
    data, path = manifest["parameters"], "$.parameters"
    names = tuple(expect(n, str, f"{path}.names") for n in expect(data.get("names"), list, f"{path}.names"))
    kinds = tuple(input_types(manifest))
    if not len(names) == len(kinds) == count:
        raise malformed(path, f"{len(names)} names and {len(kinds)} types", f"{count} of each")
    rows = expect(data.get("items"), list, f"{path}.items")
    items = tuple(_decode_item(row, f"{path}.items[{index}]", count) for index, row in enumerate(rows))
    return Parameters(items, names, kinds)


def _decode_item(row: Any, path: str, count: int) -> Parameter:
    match row:
        case [str(name), "positional" | "keyword" | "variadic" as kind, tree, *default] if len(default) < 2:
            value = _decode_slots(default[0], f"{path}.default", 0) if default else REQUIRED
            return Parameter(name, kind, _decode_slots(tree, path, count), value)
    raise malformed(path, row, "a parameter")


def _decode_slots(tree: Any, path: str, count: int) -> Any:
    match tree:
        case {"p": int(index), **rest} if not rest and 0 <= index < count:
            return Slot(index)
    return decode_tree(tree, path, lambda item, where: _decode_slots(item, where, count))
