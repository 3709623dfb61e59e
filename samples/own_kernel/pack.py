"""A kernel of another package in a pipeline: packed here, loaded and run by a fresh process.

pip install ./samples/own_kernel
python samples/own_kernel/pack.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from tracepack_polynomial import Polynomial

import tracepack

RUN = """
import sys, torch, tracepack
mod = tracepack.load(sys.argv[1])
print("a fresh process:", mod.run({"x": torch.tensor([0.0, 1.0, 2.0])}).tolist())
"""


def main() -> None:
    """Packs 1 + 2 x + 3 x^2, halved, and runs it elsewhere."""
    op = tracepack.script(Polynomial((1.0, 2.0, 3.0)))
    mod = tracepack.trace(lambda x: op(x) / 2, torch.rand(3))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "polynomial.tpk")
        mod.save(path)
        subprocess.run([sys.executable, "-c", RUN, str(path)], check=True)


if __name__ == "__main__":
    main()
