"""A wheel holds every module and every data file, though the folders behind the package are symlinks."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ("pyproject.toml", "README.md", "LICENSE", "src", "ops", "pipeline", "serialization")


def test_the_wheel_is_complete(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", "77")
    tree = tmp_path / "tree"
    tree.mkdir()
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in KEPT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=leave)
        else:
            shutil.copy(ROOT / name, tree / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(tree)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("tracepack/")}
    assert names == {f"tracepack/{name}" for name in sources()}


def sources() -> set[str]:
    """Every file of the package but caches, as a path inside it."""
    found = {path.relative_to(ROOT / "src" / "tracepack") for path in (ROOT / "src" / "tracepack").rglob("*.py")}
    found.add(Path("py.typed"))
    page = ROOT / "src" / "tracepack" / "serving" / "page"
    found |= {path.relative_to(ROOT / "src" / "tracepack") for path in page.iterdir() if path.is_file()}
    for folder in ("ops", "pipeline", "serialization"):
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        found |= {path.relative_to(ROOT) for path in files}
    return {str(path) for path in found}
