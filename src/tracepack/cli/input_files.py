"""Reads the inputs of ``tracepack run`` from files: arrays, JSON and text become a feed dict for the signature.

An input is named as in the signature. Nested ones may be written without quotes and brackets, which shells interpret:
``batch['ids'][0]`` is also ``batch.ids.0``.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ops.graph.program import Parameters
from ..ops.graph.types import STR, STRINGS
from ..pipeline.signature.feeds import FileText, plain_name
from .exit_codes import UsageError


class BareText(str):
    """A value of ``--value`` that is no JSON, or a number, as it was written: what an input for a text takes."""

    number: Any
    error: str


def read_inputs(files: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """Reads the files and values of ``--input`` and ``--value``, by input.

    Args:
        files: ``NAME=FILE`` with a .npy, .npz, .json or .txt file; or a .npz or .json FILE that names its inputs.
        values: ``NAME=JSON``, or a text without quotes, which is one only where the input takes one: see `settled`.

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
        _add(given, name, _value(text, f"--value {name}"))
    return given


def settled(given: Mapping[str, Any], parameters: Parameters) -> dict[str, Any]:
    """Inputs in which texts without quotes are texts where the pipeline takes them, and numbers elsewhere.

    Args:
        given: by plain names, as `read_inputs` gives them.
        parameters: of the pipeline.

    Raises:
        UsageError: a value is neither JSON nor an input that takes a text.
    """
    kinds = dict(zip(map(plain_name, parameters.names), parameters.types, strict=True))
    texts = {name for name, kind in kinds.items() if kind == STR}
    texts |= {item.name for item in parameters.items if isinstance(item.tree, str)}
    known = kinds.keys() | {item.name for item in parameters.items}
    return {
        name: _settled(name, value, kinds.get(name), name in texts or name not in known)
        for name, value in given.items()
    }


def _settled(name: str, value: Any, kind: Any, as_text: bool) -> Any:
    if not isinstance(value, BareText) or as_text:
        return str(value) if isinstance(value, BareText) else value
    if not value.error:
        return value.number
    form = shlex.quote(f"{name}={json.dumps([str(value)], ensure_ascii=False)}")
    fix = f"A list of texts is written with quotes, and quoted for the shell: --value {form}." * (kind == STRINGS)
    raise UsageError("not JSON", where=f"--value {name}", got=value.error, expected=kind, fix=fix)


def _add(given: dict[str, Any], name: str, value: Any) -> None:
    if plain_name(name) in given:
        raise UsageError("an input is given twice", where=f"input {name!r}")
    given[plain_name(name)] = value


def _read(path: str) -> Any:
    reader = _READERS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        raise UsageError(
            "inputs cannot be read from a file of this kind", where=repr(path), expected=".npy, .npz, .json or .txt"
        )
    try:
        return reader(path)
    except UsageError:
        raise
    except Exception as error:  # numpy and zipfile raise errors of a dozen kinds on damaged files, MemoryError too
        got = getattr(error, "strerror", None) or str(error).split("\n")[0] or type(error).__name__
        raise UsageError("cannot read the file", where=repr(path), got=got) from error


def _read_array(path: str) -> Any:
    with open(path, "rb") as file:
        found = np.load(file, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
    raise UsageError("not a .npy file", where=repr(path), got="a zip, as .npz files are")


def _read_arrays(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:  # numpy leaves the file open where the zip is damaged
        content = np.load(file, allow_pickle=False)
        if isinstance(content, np.ndarray):
            raise UsageError("not a .npz file", where=repr(path), got="one array, as .npy files hold")
        found = {name: content[name] for name in content.files}
        twice = next((name for name in found if content.files.count(name) > 1), None)
    other = next((name for name, value in found.items() if not isinstance(value, np.ndarray)), None)
    if twice is not None or other is not None:
        what = "a name is there twice" if twice is not None else "a member is no array"
        raise UsageError(what, where=repr(path), got=repr(other if twice is None else twice))
    return found


def _read_text(path: str) -> FileText:
    with open(path, encoding="utf-8-sig") as file:  # editors on Windows begin a file with a byte order mark
        return FileText(file.read())


def _value(text: str, where: str) -> Any:
    """A value of JSON; a `BareText` for a number, and for what neither is JSON nor begins as it does."""
    found, problem = None, ""
    try:
        found = _json(text, where)
    except UsageError as error:
        if text.lstrip().startswith(('"', "[", "{")):
            raise
        problem = str(error.got)
    if not problem and type(found) not in (int, float, bool):
        return found
    bare = BareText(text)
    bare.number, bare.error = found, problem
    return bare


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, where))
    except RecursionError as error:
        raise UsageError("not JSON", where=where, got="too many levels") from error
    except ValueError as error:
        raise UsageError("not JSON", where=where, got=str(error)) from error


def _object(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise UsageError("a key is there twice", where=where, got=repr(key))
        found[key] = value
    return found


_READERS: dict[str, Callable[[str], Any]] = {
    ".npy": _read_array,
    ".npz": _read_arrays,
    ".json": lambda path: _json(_read_text(path), repr(path)),
    **dict.fromkeys((".txt", ".text", ".md"), _read_text),
}
