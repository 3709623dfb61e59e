"""Writes `tests/archives/VERSION.tpk`, an archive of the present format version with the outputs that it must give.

Run it once when the format version rises; archives of older versions are never written again, since they show that
files in the world still load. The pipeline uses what a format can get wrong: nested containers and records, several
ops, tied and strided constants, scalars, a recorded size, and several dtypes.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

import tracepack
from tracepack.serialization.container.schema import VERSION

FOLDER = Path(__file__).parent.parent / "tests" / "archives"


class Tied(torch.nn.Module):
    """Embeds, and projects back with the same weights; its mask is a strided buffer."""

    mask: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(7, 4)
        self.back = torch.nn.Linear(4, 7)
        self.back.weight = self.embed.weight
        self.register_buffer("mask", torch.rand(7, 4).T.contiguous().T)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids [N] to scores [N, 7], and the rows of the mask."""
        hidden = self.embed(ids)
        return self.back(torch.tanh(hidden)), self.mask[ids] * hidden


def pipeline() -> tracepack.Pipeline:
    """The pipeline that every version's archive holds."""
    torch.manual_seed(0)
    tied = tracepack.script(Tied(), device="cpu", name="tied")
    head = tracepack.script(torch.nn.Linear(7, 2, dtype=torch.float64), device="cpu", name="head")
    shift = torch.arange(7, dtype=torch.float32)

    def process(batch: Any, scale: float, flag: bool) -> Any:
        scores, rows = tied(batch["ids"])
        best = (scores * scale + shift).max(-1)
        out = head(scores.double()) / batch["ids"].shape[0]
        return {"best": best, "out": (out, [rows.bfloat16(), flag]), "count": batch["ids"].shape[0], "none": None}

    return tracepack.trace(process, {"ids": torch.tensor([1, 2, 6])}, 0.5, flag=True)


def examples() -> list[dict[str, Any]]:
    """Inputs of two sizes."""
    inputs: list[list[int]] = [[0, 3, 5], [6, 1, 1, 2]]
    return [{"batch": {"ids": torch.tensor(ids)}, "scale": 1.5, "flag": True} for ids in inputs]


def main() -> None:
    """Writes the archive of the present version, unless it is there."""
    warnings.simplefilter("ignore")
    path = FOLDER / f"{'.'.join(map(str, VERSION))}.tpk"
    if path.exists():
        print(f"{path.name} is there; an archive of a released version stays as it is")
        return
    FOLDER.mkdir(exist_ok=True)
    pipeline().save(path, examples=examples())
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
