"""``tracepack run``: runs a pipeline on inputs from files; the outputs go to a file or to the terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...pipeline.signature.feeds import build_feed
from ..exit_codes import UsageError
from ..input_files import read_inputs, settled
from ..loading import Loading
from ..output_files import is_stdout, is_stream, write_output
from ..output_formats import FORMATS, encoded
from ..output_leaves import as_json, excerpt, named, shape_text, sizes_of, type_text
from ..report import Block, Report, Table, Text


def run(path: str, files: Sequence[str], values: Sequence[str], output: str | None, loading: Loading) -> Report:
    """Runs a pipeline on inputs from files and writes its outputs, or shows them.

    Raises:
        UsageError: a file cannot be read or written; TracepackError: as `load` and `Pipeline.run`.
    """
    given = read_inputs(files, values)
    kind = None if output is None else _kind(output)
    pipeline = loading.load(path)
    parameters = pipeline.program.parameters
    result = named(pipeline.run(build_feed(parameters, settled(given, parameters))))
    if output is not None and kind is not None:
        write_output(output, encoded(kind, result))
    rows = [[name, type_text(value), shape_text(value), excerpt(value)] for name, value in result]
    entries = [{"name": n, "dtype": type_text(v), "shape": sizes_of(v)} for n, v in result]
    if output is None:
        entries = [{**entry, "value": as_json(value)} for entry, (_, value) in zip(entries, result, strict=True)]
    data = {"outputs": entries, "written": output}
    if output is not None and is_stdout(output):
        return Report(data)  # a table would follow the outputs there
    blocks: list[Block] = [Table("outputs", ["name", "type", "shape", "values"], rows)]
    return Report(data, [*blocks, *([Text(output)] if output else [])])


def _kind(path: str) -> str:
    """The format of an output file, by its name; JSON for a pipe or a device whose name tells none."""
    kind = os.path.splitext(path)[1].lower()
    if kind in FORMATS:
        return kind
    if is_stream(path):
        return ".json"
    raise UsageError(
        "outputs cannot be written to a file of this kind", where=repr(path), expected=".npz, .npy or .json"
    )
