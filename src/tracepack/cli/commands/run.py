"""``tracepack run``, ``verify`` and ``bench``: the commands that load a pipeline, and so need torch."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...pipeline.feeds import build_feed
from ...pipeline.load import load
from ...pipeline.pipeline import Pipeline
from ...pipeline.running.binding import as_tensor
from ..exit_codes import UsageError
from ..input_files import read_inputs
from ..output_files import write_atomically
from ..report import Block, Report, Table, Text


@dataclass(frozen=True)
class Loading:
    """How a command loads its archive: the options that they share."""

    device: str | None = None
    trust: bool = False
    gpu_ops: str = "gpu"

    def load(self, path: str) -> Pipeline:
        """The pipeline, on the device; a number may be given as text."""
        device: Any = self.device
        if device is not None and device.lstrip("-").isdigit():
            device = int(device)
        return load(path, device, trust=self.trust, gpu_ops=self.gpu_ops)


# -- run -------------------------------------------------------------------------------------------------------


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
    rows = [[name, _kind(value), _shape(value), _excerpt(value)] for name, value in result]
    entries = [{"name": n, "dtype": _kind(v), "shape": _sizes(v)} for n, v in result]
    if output is None:
        entries = [{**entry, "value": _plain(value)} for entry, (_, value) in zip(entries, result, strict=True)]
    blocks: list[Block] = [Table("outputs", ["name", "type", "shape", "values"], rows)]
    return Report({"outputs": entries, "written": output}, [*blocks, *([Text(output)] if output else [])])


def named(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a result with names: a dict's keys, ``out`` and positions elsewhere.

    Example:
        >>> [n for n, _ in named({"probs": 1, "state": (2, 3)})], [n for n, _ in named(1)]
        (['probs', 'state[0]', 'state[1]'], ['out'])
    """
    if isinstance(tree, Mapping):
        for key, item in tree.items():
            yield from named(item, f"{name}[{key!r}]" if name or not isinstance(key, str) else key)
    elif isinstance(tree, tuple | list) and not (tree and all(isinstance(item, str) for item in tree)):
        for index, item in enumerate(tree):
            yield from named(item, f"{name or 'out'}[{index}]")
    else:
        yield name or "out", as_tensor(tree) if isinstance(tree, np.ndarray | np.generic) else tree


_OUTPUTS = (".npz", ".npy", ".json")


def _check_output(path: str) -> None:
    if os.path.splitext(path)[1].lower() not in _OUTPUTS:
        raise UsageError("not a kind of file for outputs", where=repr(path), expected=".npz, .npy or .json")


def _encode(path: str, result: Sequence[tuple[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    kind = os.path.splitext(path)[1].lower()
    if kind == ".json":
        return (json.dumps({name: _plain(value) for name, value in result}, ensure_ascii=False) + "\n").encode()
    if kind == ".npz":
        arrays: dict[str, Any] = {name: _array(value) for name, value in result}
        np.savez(buffer, **arrays)
    elif len(result) == 1:
        np.save(buffer, _array(result[0][1]), allow_pickle=False)
    else:
        raise UsageError(f"a .npy file holds one output; this pipeline has {len(result)}", fix="Write a .npz file.")
    return buffer.getvalue()


def _array(value: Any) -> np.ndarray[Any, Any]:
    """A leaf as an array; dtypes that numpy lacks are widened to float32, which loses nothing."""
    if isinstance(value, torch.Tensor):
        value = value.cpu().resolve_conj().resolve_neg()
        name = str(value.dtype).removeprefix("torch.")
        wide = not hasattr(np, "bool_" if name == "bool" else name)
        array: np.ndarray[Any, Any] = (value.float() if wide else value).numpy()
        return array
    return np.asarray(value)


def _plain(value: Any) -> Any:
    """A leaf for JSON; NaN and infinities as JavaScript names them, complex numbers as pairs."""
    if isinstance(value, torch.Tensor):
        value = torch.view_as_real(value) if value.is_complex() else value
        return value.tolist()
    return [value.real, value.imag] if isinstance(value, complex) else value


def _kind(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else type(value).__name__


def _sizes(value: Any) -> list[int] | None:
    return list(value.shape) if isinstance(value, torch.Tensor) else None


def _shape(value: Any) -> str:
    return "x".join(map(str, value.shape)) if isinstance(value, torch.Tensor) else ""


def _excerpt(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        text = repr(value)
        return text if len(text) <= 60 else text[:59] + "…"
    flat = value.detach().cpu().reshape(-1)
    shown = [f"{v:.5g}" if isinstance(v, float) else str(v) for v in flat[:4].tolist()]
    return ", ".join(shown) + (", …" if flat.numel() > 4 else "")
