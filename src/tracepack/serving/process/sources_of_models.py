"""Which models a server has: the files and folders that its command line names, and what changed about them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...ops.graph.errors import ArchiveError

SUFFIX = ".tpk"
Found = dict[str, dict[str, str]]


def find_models(paths: Sequence[str], wrong: list[ArchiveError] | None = None) -> Found:
    """The file of each model, by its name and version.

    A file is version 1 of a model that is called by its stem. A folder is searched for files, and for folders that hold
    versions: ``cell.tpk``, or ``cell/1.tpk`` and ``cell/2.tpk``.

    Args:
        paths: of files and folders.
        wrong: gets the errors of paths and models, which are left out; by default the first of them is raised.

    Raises:
        ArchiveError: a path is missing, a folder has no models, or two files have one name and version.
    """
    errors: list[ArchiveError] = []
    found: Found = {}
    twice = set()
    for name, version, file in (each for path in paths for each in _found_at(Path(path), errors)):
        versions = found.setdefault(name, {})
        if version in versions:
            got = f"{versions[version]}, {file}"
            errors.append(ArchiveError("two files have one name", where=f"model {name!r}", got=got))
            twice.add(name)
        versions[version] = str(file)
    if errors and wrong is None:
        raise errors[0]
    if wrong is not None:
        wrong += errors
    return {name: versions for name, versions in found.items() if name not in twice}


def _found_at(path: Path, errors: list[ArchiveError]) -> list[tuple[str, str, Path]]:
    """The names, versions and files of the models at a path; none where there is an error."""
    what, got, files = "there is no such file", None, []
    try:
        if path.is_file():
            return [(path.stem, "1", path)]
        if path.is_dir():
            what = f"the folder holds no models; expected *{SUFFIX}, NAME/1{SUFFIX}"
            files = [(file.stem, "1", file) for file in _files(path)]
            folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
            files += [(folder.name, file.stem, file) for folder in folders for file in _files(folder)]
    except OSError as error:
        what, got = "it cannot be read", error.strerror
    if not files:
        errors.append(ArchiveError(what, where=str(path), got=got))
    return files


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
