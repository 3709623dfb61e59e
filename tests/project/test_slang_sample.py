"""The sample trains on real data, and its packed form answers as the trained model does."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest


@pytest.mark.campaign
def test_the_digits_are_learnt_packed_and_loaded() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, which ships the digits, is not installed")
    sample = runpy.run_path(str(Path(__file__).parents[2] / "samples" / "slang_training.py"))
    trained, loaded = sample["main"]()
    assert trained > 0.95
    assert loaded == trained
