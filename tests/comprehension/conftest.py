"""Compiled code goes to a folder of the session; the table of operators is importable beside the tests."""

import os
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory):
    before = os.environ.get("TRACEPACK_CACHE")
    os.environ["TRACEPACK_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("TRACEPACK_CACHE")
    if before is not None:
        os.environ["TRACEPACK_CACHE"] = before


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
