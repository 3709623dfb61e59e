"""``tracepack run``: runs a pipeline on inputs from files; the outputs go to a file or to the terminal."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...pipeline.signature.feeds import build_feed
from ..exit_codes import UsageError
from ..input_files import read_inputs
from ..loading import Loading
from ..output_files import write_atomically
from ..output_leaves import as_array, as_json, excerpt, named, shape_text, sizes_of, type_text
from ..report import Block, Report, Table, Text


def run(path: str, files: Sequence[str], values: Sequence[str], output: str | None, loading: Loading) -> Report:
    """Runs a pipeline on inputs from files and writes its outputs, or shows them.

    Raises:
        UsageError: a file cannot be read or written; TracepackError: as `load` and `Pipeline.run`.
    """
    given = read_inputs(files, values)
    if output is not None:
        _check_output(output)
    pipeline = loading.load(path)
    result = list(named(pipeline.run(build_feed(pipeline.program.parameters, given))))
    if output is not None:
        write_atomically(output, _encode(output, result))
    rows = [[name, type_text(value), shape_text(value), excerpt(value)] for name, value in result]
    entries = [{"name": n, "dtype": type_text(v), "shape": sizes_of(v)} for n, v in result]
    if output is None:
        entries = [{**entry, "value": as_json(value)} for entry, (_, value) in zip(entries, result, strict=True)]
    blocks: list[Block] = [Table("outputs", ["name", "type", "shape", "values"], rows)]
    return Report({"outputs": entries, "written": output}, [*blocks, *([Text(output)] if output else [])])


_OUTPUTS = (".npz", ".npy", ".json")


def _check_output(path: str) -> None:
    if os.path.splitext(path)[1].lower() not in _OUTPUTS:
        raise UsageError(
            "outputs cannot be written to a file of this kind", where=repr(path), expected=".npz, .npy or .json"
        )


def _encode(path: str, result: Sequence[tuple[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    kind = os.path.splitext(path)[1].lower()
    if kind == ".json":
        return (json.dumps({name: as_json(value) for name, value in result}, ensure_ascii=False) + "\n").encode()
    if kind == ".npz":
        arrays: dict[str, Any] = {name: as_array(value) for name, value in result}
        np.savez(buffer, **arrays)
    elif len(result) == 1:
        np.save(buffer, as_array(result[0][1]), allow_pickle=False)
    else:
        raise UsageError(f"a .npy file holds one output; this pipeline has {len(result)}", fix="Write a .npz file.")
    return buffer.getvalue()
