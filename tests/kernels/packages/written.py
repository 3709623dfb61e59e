"""Packages that a test writes, as if they were installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., str]


def write(folder: Path, name: str, source: str, version: str = "") -> None:
    """A package, and the metadata of its installation."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "__init__.py").write_text(source)
    # Python takes the compiled form of an older text of the same size and second for this one's.
    shutil.rmtree(folder / name / "__pycache__", ignore_errors=True)
    if version:
        for old in folder.glob(f"{name}-*.dist-info"):
            (old / "METADATA").unlink()
            old.rmdir()
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
