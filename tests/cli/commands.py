"""Running commands, in this process and in one of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tracepack.cli import main


def feed(count: int = 3) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)
    state = torch.rand(count, 8, generator=generator)
    return {"x": torch.rand(count, 4, generator=generator), "opts": {"scale": torch.tensor(1.5), "state": [state]}}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    got, out, err = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert err.startswith("tracepack: ")
    assert err.count("\n") == 1
    return err


def process(arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


def damaged(file: str, target: Path, member: str) -> str:
    """A copy with one bit of a member flipped."""
    from tracepack.serialization.container.archive import Archive

    data = bytearray(Path(file).read_bytes())
    data[Archive(file).offset(member) + Archive(file).view(member).nbytes - 1] ^= 1
    target.write_bytes(data)
    return str(target)
