"""Which models a server has: the files and folders that its command line names, and what changed about them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...ops.graph.errors import ArchiveError

SUFFIX = ".tpk"
Found = dict[str, dict[str, str]]


def find_models(paths: Sequence[str]) -> Found:
    """The file of each model, by its name and version.

    A file is version 1 of a model that is called by its stem. A folder is searched for files, and for folders that hold
    versions: ``cell.tpk``, or ``cell/1.tpk`` and ``cell/2.tpk``.

    Raises:
        ArchiveError: a path is missing, a folder has no models, or two files have one name and version.
    """
    found: Found = {}
    for path in map(Path, paths):
        if path.is_dir():
            files = [(file.stem, "1", file) for file in _files(path)]
            folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
            files += [(folder.name, file.stem, file) for folder in folders for file in _files(folder)]
            if not files:
                raise ArchiveError("the folder holds no models", where=str(path), expected=f"*{SUFFIX}, NAME/1{SUFFIX}")
        elif path.is_file():
            files = [(path.stem, "1", path)]
        else:
            raise ArchiveError("there is no such file", where=str(path))
        for name, version, file in files:
            versions = found.setdefault(name, {})
            if version in versions:
                raise ArchiveError(
                    "two files have one name", where=f"model {name!r}", got=f"{versions[version]}, {file}"
                )
            versions[version] = str(file)
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob(f"*{SUFFIX}") if file.is_file())


def stamp(versions: Mapping[str, str]) -> tuple[tuple[str, int, int, int], ...]:
    """What changes when a file of a model is replaced; a file that is missing has none."""
    stamps = []
    for version, path in versions.items():
        try:
            status = os.stat(path)
        except OSError:
            continue
        stamps.append((version, status.st_ino, status.st_mtime_ns, status.st_size))
    return tuple(stamps)
