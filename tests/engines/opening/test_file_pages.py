"""What an engine read its weights from does not stay in memory beside its own form of them."""

from __future__ import annotations

import sys

import pytest

from tests.engines.opening import page_trials

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are given back on Linux alone")


@pytest.mark.parametrize(
    "trial",
    [
        "pages_of_a_file_go_but_those_that_were_written_stay",
        "a_file_with_an_engine_keeps_no_pages_of_its_weights",
    ],
)
def test_in_a_process_of_its_own(trial: str, tmp_path) -> None:
    page_trials.require(trial, tmp_path)
