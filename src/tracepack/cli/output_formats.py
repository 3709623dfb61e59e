"""The bytes of an output file: .npz, .npy or .json.

Every output is in it under its own name and exactly, or there is an error: nothing is pickled, nothing left out.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from .exit_codes import UsageError
from .output_leaves import as_array, as_json, type_text

FORMATS = (".npz", ".npy", ".json")

_LONGEST_MEMBER = 65535  # bytes of a name in a zip


def encoded(kind: str, outputs: Sequence[tuple[str, Any]]) -> bytes:
    """The content of a file of a kind of `FORMATS`.

    Raises:
        UsageError: such a file cannot hold the outputs.
    """
    if kind == ".json":
        return b"{" + b", ".join(_pair(name, value) for name, value in outputs) + b"}\n"
    buffer = io.BytesIO()
    if kind == ".npz":
        _write_arrays(buffer, outputs)
    elif len(outputs) == 1:
        np.lib.format.write_array(buffer, _array(*outputs[0]), allow_pickle=False)
    else:
        raise UsageError(f"a .npy file holds one output; this pipeline has {len(outputs)}", fix="Write a .npz file.")
    return buffer.getvalue()


def _pair(name: str, value: Any) -> bytes:
    text = f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(as_json(value), ensure_ascii=False)}"
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "a text that no encoding has", where=f"output {name!r}", got=repr(text[error.start : error.start + 1]),
            expected="no lone surrogates",
        ) from None  # fmt: skip


def _write_arrays(buffer: io.BytesIO, outputs: Sequence[tuple[str, Any]]) -> None:
    """Writes what `numpy.savez` does, which takes some names for its options."""
    names = {name for name, _ in outputs}
    with zipfile.ZipFile(buffer, "w") as zipped:
        for name, value in outputs:
            if f"{name}.npy" in names:
                raise UsageError("numpy reads two outputs of a .npz file as one", got=f"{name!r} and {f'{name}.npy'!r}")
            with zipped.open(_member(name), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, _array(name, value), allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    written = f"{name}.npy"
    member = zipfile.ZipInfo(written)
    try:
        fits = member.filename == written and len(written.encode()) <= _LONGEST_MEMBER
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise UsageError("a .npz file has no such name", where=f"output {name[:80]!r}", fix="Write a .json file.")
    return member


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    array = as_array(value)
    if array is None:
        raise UsageError(
            "no array holds the value", where=f"output {name!r}", got=_described(value), fix="Write a .json file."
        )
    return array


def _described(value: Any) -> str:
    match value:
        case None:
            return "None"
        case int():
            return "an integer of more than 64 bits"
        case str() | list() | tuple():
            return "a text that ends in NUL"
    return type_text(value)
