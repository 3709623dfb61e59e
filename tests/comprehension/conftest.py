"""Compiled code goes to a folder of the session."""

import os

import pytest
import torch


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
