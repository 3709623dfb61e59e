"""The op that the tests of `trace` and `run` share."""

from __future__ import annotations

import pytest

import tracepack
from tests.models import MyCell


@pytest.fixture
def cell():
    return tracepack.script(MyCell().eval(), name="cell")
