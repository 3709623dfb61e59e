"""`inspect` and `show`: what they print, and that they need no torch."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack
from tests.cli.commands import answer, process, run
from tracepack.cli import exit_codes as exits


def test_inspect(capsys: pytest.CaptureFixture[str], file: str, mod: tracepack.Pipeline) -> None:
    found = answer(capsys, "inspect", file)
    assert found["signature"] == mod.signature
    assert [row["name"] for row in found["inputs"]] == ["x", "opts['scale']", "opts['state'][0]"]
    cell, head = found["ops"]
    assert (cell["name"], cell["device"], cell["calls"]) == ("cell", "cpu", 2)
    assert (head["name"], head["calls"], head["operators"], head["bytes"]) == ("head", 1, 1, (8 * 3 + 3) * 4)
    assert found["constants"]["bytes"] == sum(op["bytes"] for op in found["ops"])
    assert found["bytes"] == os.path.getsize(file)
    assert (found["format"], found["examples"], found["needs_trust"]) == ("1.4", 2, False)
    assert found["not_by_rows"] == "its inputs and outputs do not all share a free first size"
    assert found["producer"]["torch"] == torch.__version__
    assert all(len(row["sha256"]) == 64 for row in found["members"])


def test_inspect_as_text(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, _ = run(capsys, "inspect", file)
    assert code == 0
    assert "pipeline  process, 4 nodes" in out
    assert "batching  none: its inputs and outputs do not all share a free first size" in out
    assert "\n  opts['state'][0]  f32[" in out
    assert "  head  graph  cpu         1          1    108 B" in out


@pytest.mark.parametrize("command", [["inspect"], ["show", "--bodies"], ["show", "--svg", "-"]], ids=" ".join)
def test_reading_needs_no_torch(file: str, command: list[str]) -> None:
    code = "import sys; sys.modules['torch'] = None; from tracepack.cli import main; sys.exit(main(sys.argv[1:]))"
    done = process(["-c", code, *command, file])
    assert (done.returncode, done.stderr) == (0, "")
    watched = "import sys; from tracepack.cli import main; main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    assert process(["-c", watched, *command, file]).returncode == 0


def test_running_without_torch_says_so(file: str) -> None:
    code = "import sys; sys.modules['torch'] = None; from tracepack.cli import main; sys.exit(main(sys.argv[1:]))"
    done = process(["-c", code, "verify", file])
    assert done.returncode == exits.MISSING
    assert done.stderr == "tracepack: verify needs torch, which is not installed. Install torch.\n"


def test_show(capsys: pytest.CaptureFixture[str], file: str, mod: tracepack.Pipeline) -> None:
    code, out, _ = run(capsys, "show", file)
    assert (code, out) == (0, f"{mod.graph}\n")


def test_show_one_op(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, out, _ = run(capsys, "show", file, "--op", "head")
    assert "aten.linear.default(%0, $weight, $bias)" in out


def test_show_bodies_and_lines(capsys: pytest.CaptureFixture[str], file: str) -> None:
    _, out, _ = run(capsys, "show", file, "--bodies", "--lines")
    assert "    | graph(%0: f32[N,4], %1: f32[N,8]):" in out
    assert "# conftest.py:" in out


def test_an_unknown_op(capsys: pytest.CaptureFixture[str], file: str) -> None:
    code, out, err = run(capsys, "show", file, "--op", "tail")
    assert (code, out) == (exits.USAGE, "")
    assert err == "tracepack: no op is named 'tail'; got None; expected one of cell, head\n".replace("; got None", "")


def test_the_picture(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    target = tmp_path / "cell.svg"
    code, out, _ = run(capsys, "show", file, "--svg", str(target), "--bodies")
    assert (code, out) == (0, f"{target}: 4 nodes\n")
    root = ET.fromstring(target.read_text(encoding="utf-8"))
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("cell") == 2
    assert {"process", "head", "@cpu", "scores", "state[0]", "opts['scale']", "f32[N,3]", "linear"} <= set(texts)
    wide, high = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.attrib["x"]) + float(box.attrib["width"]) <= wide
        assert float(box.attrib["y"]) + float(box.attrib["height"]) <= high


def test_boxes_of_a_picture_do_not_overlap() -> None:
    from tracepack.ops.graph.svg.layout import Box, lay_out

    rng = np.random.default_rng(0)
    boxes = [Box(float(rng.integers(20, 120)), float(rng.integers(20, 60))) for _ in range(40)]
    edges = [(a, b) for b in range(1, 40) for a in sorted(set(rng.integers(max(0, b - 9), b, 2).tolist()))]
    layout = lay_out(boxes, edges)
    for a, b in edges:
        assert boxes[a].bottom < boxes[b].y
    for i, one in enumerate(boxes):
        assert one.x >= 0
        assert one.x + one.width <= layout.width
        for other in boxes[i + 1 :]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.bottom <= other.y or other.bottom <= one.y
