"""Archives of every promised format version are kept, load, and give the right numbers."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

import tracepack
from tracepack.serialization.container.schema import VERSION

VALUES = [5.833123, 6.933182, 9.372519]
OUT = [[0.142697, 0.016169], [0.125107, 0.102534], [-0.102878, 0.497706]]

FOLDER = Path(__file__).parents[1] / "archives"
PROMISED = [f"{VERSION[0]}.{minor}" for minor in range(VERSION[1] + 1)]


@pytest.mark.parametrize("version", PROMISED)
def test_a_promised_version_loads_and_gives_the_right_numbers(version: str) -> None:
    path = FOLDER / f"{version}.tpk"
    assert path.exists(), f"no archive of format {version}: run tools/make_archives.py"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="golden examples give other bits here")  # another processor wrote it
        mod = tracepack.load(path, verify="golden")
    assert mod.signature == (
        "(batch['ids']: i64[N], scale: float, flag: bool) -> {'best': torch.return_types.max(values=f32[N], "
        "indices=i64[N]), 'out': (f64[N,2], [bf16[N,4], bool]), 'count': int, 'none': None}"
    )
    got = mod.run({"batch": {"ids": torch.tensor([0, 3, 5])}, "scale": 1.5, "flag": True})
    torch.testing.assert_close(got["best"].values, torch.tensor(VALUES), rtol=1e-5, atol=1e-5)
    assert type(got["best"]).__name__ == "max"
    assert got["best"].indices.tolist() == [5, 6, 5]
    torch.testing.assert_close(got["out"][0], torch.tensor(OUT, dtype=torch.float64), rtol=1e-5, atol=1e-5)
    assert (got["out"][1][0].dtype, got["out"][1][0].shape) == (torch.bfloat16, (3, 4))
    assert (got["out"][1][1], got["count"], got["none"]) == (True, 3, None)


def test_no_archive_is_of_a_version_that_is_not_promised() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.tpk")) == sorted(PROMISED)
