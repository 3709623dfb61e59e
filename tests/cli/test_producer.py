"""`inspect` warns of a file whose torch is newer than the one here."""

from __future__ import annotations

import json

import pytest
import torch

from tests.archive.files import rewritten
from tracepack.cli import main


@pytest.mark.parametrize(
    ("version", "warned"),
    [("99.0.1", True), (torch.__version__, False), ("1.13.0+cu117", False), ("x", False), (7, False)],
)
def test_a_newer_torch_is_warned_of(cell_file, tmp_path, capsys, version, warned):
    path = tmp_path / "x.tpk"
    path.write_bytes(rewritten(cell_file[0], lambda m: m["producer"].update(torch=version)))
    assert main(["inspect", "--json", str(path)]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert any(f"written with torch {version}, newer than" in text for text in warnings) is warned
