"""The tuner's cache files: the best options found, by layer, sizes, instruction set, compiler and number of threads.

`cache="conv.tc"` names two files, `conv.tc.options` and `conv.tc_backward.options`; on CUDA, as on the page of Tensor
Comprehensions, `conv.cuda/options` and `conv_backward.cuda/options`, which can also be named as they are. They are JSON
and replaced as a whole, so that a reader never sees half of one.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ...kernels.cpu import target
from ...kernels.toolchain import compiler_version
from ..expr.errors import ComprehensionWarning, OptionsError
from ..schedule.options import Options

VERSION = 1
KEPT = 10
"""Options that are kept for one key, the fastest first."""
CacheName = str | os.PathLike[str]
"""What a user gives for a cache file: `"conv.tc"`, `Path("conv.tc")`, `"~/conv.tc"`."""


class TuningCache:
    """One cache file.

    Args:
        name: the name or path that the user gave.
        backward: whether it is the file of the backward.
        device: the device of the entries, by default the CPU.

    Raises:
        OptionsError: the name is none.
    """

    def __init__(self, name: CacheName, backward: bool = False, device: torch.device | None = None) -> None:
        device = device or torch.device("cpu")
        self._machine = _machine(device)
        self.path = cache_path(_checked_name(name), backward, device.type)
        self.said = False

    def check(self) -> None:
        """Finds out before a search whether its result can be written.

        Raises:
            OptionsError: it cannot.
        """
        try:
            folder = self.path.resolve().parent
            folder.mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                is_folder = self.path.exists() and stat.S_ISDIR(os.stat(self.path).st_mode)
            reason = "a folder has this name" if is_folder else ""
        except (OSError, ValueError) as error:
            reason = _reason(error)
        if reason:
            raise OptionsError(
                f"the cache file cannot be written: {reason}", where=str(self.path), fix="Name a file in your folder."
            )

    def best(self, layer: str, shapes: Sequence[tuple[int, ...]]) -> Options | None:
        """The fastest options for a layer and shapes on this kind of machine and as many threads, or None."""
        found = self.all(layer, shapes)
        return found[0][1] if found else None

    def all(self, layer: str, shapes: Sequence[tuple[int, ...]]) -> list[tuple[float, Options]]:
        """Milliseconds and options, the fastest first; what cannot be read is left out with a warning."""
        key = self._key(layer, shapes)
        entries = [e for e in self._entries() if isinstance(e, dict) and {k: e.get(k) for k in key} == key]
        try:
            return [(float(b["ms"]), Options.from_plain(b["options"])) for e in entries for b in e["best"]]
        except (OptionsError, KeyError, TypeError, ValueError, OverflowError) as error:
            self.ignored(f"an entry ({str(error)[:200]})")
            return []

    def is_stale(self, layer: str, shapes: Sequence[tuple[int, ...]]) -> bool:
        """Whether there are entries for a layer and shapes, but none for this machine."""
        key = self._key(layer, shapes)
        found = [e for e in self._entries() if isinstance(e, dict) and e.get("layer") == layer]
        found = [e for e in found if e.get("sizes") == key["sizes"]]
        return bool(found) and not any({k: e.get(k) for k in key} == key for e in found)

    def store(self, layer: str, shapes: Sequence[tuple[int, ...]], best: Sequence[tuple[float, Options]]) -> None:
        """Adds an entry, and keeps the fastest ones of its key; warns where it cannot be written."""
        best = [(ms, options) for ms, options in best if ms < float("inf")]
        if not best:  # an interrupt came before anything was timed
            return
        try:
            self._merge(layer, shapes, best)
        except (OSError, ValueError) as error:
            text = f"'{self.path}' cannot be written ({_reason(error)}): the options found are kept in this layer only"
            warnings.warn(text, ComprehensionWarning, stacklevel=4)

    def _merge(self, layer: str, shapes: Sequence[tuple[int, ...]], best: Sequence[tuple[float, Options]]) -> None:
        key = self._key(layer, shapes)
        merged: dict[str, tuple[float, Options]] = {}
        for ms, options in [*best, *(self.all(layer, shapes) if self.path.exists() else [])]:
            merged.setdefault(options.key(), (ms, options))
        ranked = sorted(merged.values(), key=lambda pair: pair[0])[:KEPT]
        others = [e for e in self._entries() if not (isinstance(e, dict) and {k: e.get(k) for k in key} == key)]
        entry = {**key, "best": [{"ms": ms, "options": options.to_plain()} for ms, options in ranked]}
        self._write([*others, entry])

    def _entries(self) -> list[Any]:
        try:
            if not self.path.exists():
                return []
            data = json.loads(self.path.read_text()) if self.path.is_file() else {}  # of a pipe it would wait
            if data["version"] == VERSION:
                return list(data["entries"])
        except (ValueError, KeyError, TypeError, RecursionError, OSError):
            pass
        self.ignored("a file of another version")
        return []

    def ignored(self, what: str) -> None:
        """Warns that something in the file was not used."""
        self.said = True
        warnings.warn(f"'{self.path}': {what} was ignored", ComprehensionWarning, stacklevel=4)

    def _write(self, entries: list[Any]) -> None:
        folder = self.path.resolve().parent
        folder.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".options", delete=False) as f:
            try:
                json.dump({"version": VERSION, "entries": entries}, f, indent=1)
                f.flush()
                os.replace(f.name, self.path)
            except BaseException:
                Path(f.name).unlink(missing_ok=True)
                raise

    def _key(self, layer: str, shapes: Sequence[tuple[int, ...]]) -> dict[str, Any]:
        """The layer's key holds text and dtypes; options are only as good as the machine they were timed on."""
        return {"layer": layer, "sizes": [list(s) for s in shapes], **self._machine}


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _checked_name(name: object) -> str:
    """The name of a cache file as text, `~` as the user's folder.

    Raises:
        OptionsError: it is no name of a file.
    """
    path = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(path, str):
        raise OptionsError("cache= is no name of a file", got=repr(name), expected="text or a Path, as 'conv.tc'")
    if Path(path.removesuffix("/options")).name in ("", ".."):
        raise OptionsError("cache= names no file", got=repr(path), expected="the name of a file, as 'conv.tc'")
    return os.path.expanduser(path)


def cache_path(name: str, backward: bool, device: str) -> Path:
    """The file of a name: `x.tc` is `x.tc.options`; `x.cuda/options`, as Tensor Comprehensions had it, is that file."""
    more = "_backward" if backward else ""
    if name.endswith("/options"):
        stem, dot, kind = name.removesuffix("/options").rpartition(".")
        return Path(f"{stem}{more}.{kind}" if dot else f"{kind}{more}") / "options"
    if device == "cuda" and name.endswith(".tc") and not Path(f"{name}{more}.options").exists():
        return Path(f"{name.removesuffix('.tc')}{more}.cuda") / "options"
    return Path(f"{name}{more}.options")


def _machine(device: torch.device) -> dict[str, Any]:
    """The instruction set or the card, and what compiles for it."""
    if device.type == "cpu":
        return {"target": target().name, "compiler": compiler_version(), "threads": torch.get_num_threads()}
    from ...slang.compile.slangc import version

    card = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return {"target": f"{device.type} {card}".strip(), "compiler": f"slangpy {version()}"}
