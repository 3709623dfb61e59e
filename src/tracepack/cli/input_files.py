"""Reads the inputs of ``tracepack run`` from files: arrays, JSON and text become a feed dict for the signature.

An input is named as in the signature. Nested ones may be written without quotes and brackets, which shells interpret:
``batch['ids'][0]`` is also ``batch.ids.0``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..pipeline.signature.feeds import plain_name
from .exit_codes import UsageError

_TEXT = (".txt", ".text", ".md")


def read_inputs(files: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """Reads the files and values of ``--input`` and ``--value``, by input.

    Args:
        files: ``NAME=FILE`` with a .npy, .npz, .json or .txt file; or a .npz or .json FILE that names its inputs.
        values: ``NAME=JSON``.

    Raises:
        UsageError: a file cannot be read, or is of no known kind.
    """
    given: dict[str, Any] = {}
    for item in files:
        name, separator, path = item.partition("=")
        if separator and not os.path.exists(item):
            _add(given, name, _read(path))
            continue
        content = _read(item)
        if not isinstance(content, dict):
            raise UsageError("an input without a name", where=repr(item), expected="--input NAME=FILE")
        for key, value in content.items():
            _add(given, key, value)
    for item in values:
        name, separator, text = item.partition("=")
        if not separator:
            raise UsageError("a value without a name", where=repr(item), expected="--value NAME=JSON")
        _add(given, name, _json(text, f"--value {name}"))
    return given


def _add(given: dict[str, Any], name: str, value: Any) -> None:
    if plain_name(name) in given:
        raise UsageError("an input is given twice", where=f"input {name!r}")
    given[plain_name(name)] = value


def _read(path: str) -> Any:
    kind = os.path.splitext(path)[1].lower()
    try:
        if kind == ".npy":
            return np.load(path, allow_pickle=False)
        if kind == ".npz":
            with np.load(path, allow_pickle=False) as content:
                return {name: content[name] for name in content.files}
        if kind == ".json":
            with open(path, encoding="utf-8") as file:
                return _json(file.read(), repr(path))
        if kind in _TEXT:
            with open(path, encoding="utf-8") as file:
                return file.read()
    except (OSError, ValueError, EOFError) as error:
        got = error.strerror if isinstance(error, OSError) else str(error).split("\n")[0]
        raise UsageError("cannot read the file", where=repr(path), got=got) from error
    raise UsageError(
        "inputs cannot be read from a file of this kind", where=repr(path), expected=".npy, .npz, .json or .txt"
    )


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError("not JSON", where=where, got=str(error)) from error
