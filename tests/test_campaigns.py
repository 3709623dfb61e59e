"""A part of every campaign, another one each day; the whole is `python -m tests.campaigns`."""

from __future__ import annotations

import datetime
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaigns import journal, limit, operators, pipelines
from tests.campaigns.report import report
from tests.campaigns.tally import RIGHT, Tally

pytestmark = pytest.mark.campaign


@pytest.fixture(autouse=True)
def _eager_warnings_are_not_ours() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's samples use what torch itself deprecates
        yield


def share() -> int:
    """The part of today: CAMPAIGN_SHARE, or the day of the year."""
    return int(os.environ.get("CAMPAIGN_SHARE", datetime.date.today().timetuple().tm_yday))


def require_clean(tally: Tally) -> None:
    assert tally.cases
    assert [f"{case.outcome}: {case.name}: {case.reason} {case.detail}" for case in tally.bugs()] == []


def test_operators_in_the_processing_function() -> None:
    require_clean(operators.run(share()))


def test_operators_in_a_scripted_module() -> None:
    require_clean(operators.run_scripted(share()))


def test_random_processing_functions() -> None:
    tally = pipelines.run(share())
    require_clean(tally)
    assert tally.counts()[RIGHT] > len(tally.cases) / 2


def test_architectures() -> None:
    pytest.importorskip("transformers", reason="the demo extra is not installed")
    from tests.campaigns import architectures

    tally = architectures.run(share())
    require_clean(tally)
    assert tally.counts()[RIGHT] > len(tally.cases) / 2


def test_the_report_shows_every_outcome_and_escapes_its_cells() -> None:
    tally = Tally("Things", "things", notes=["Two were tried."], full=False, tried=7, seconds=90)
    tally.add("a", RIGHT)
    tally.add("b", "refused", "no|way\nat all", "f32")
    text = report([tally])
    assert "| Things (a part) | 2 | 7 | 1 | 1 | 0 | 0 | 50.0 | 1.5 |" in text
    assert "| b | no\\|way at all | f32 |" in text


def test_a_journal_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "FOLDER", tmp_path)
    asked: list[int] = []

    def find(key: int) -> journal.Record:
        asked.append(key)
        if key == 3 and asked.count(3) == 1:
            raise KeyboardInterrupt
        return {"square": key * key}

    with pytest.raises(KeyboardInterrupt):
        journal.Journal("squares").complete([1, 2, 3], find, 1)
    with (tmp_path / journal.state_of_the_code() / "squares.jsonl").open("a") as file:
        file.write('\n["3", {"squ')  # cut off by the end of the process
    assert list(journal.Journal("squares").complete([1, 2, 3], find, 1)) == [{"square": n * n} for n in (1, 2, 3)]
    assert list(journal.Journal("squares").records) == ["1", "2", "3"]
    assert asked == [1, 2, 3, 3]
    assert list(journal.Journal("squares", fresh=True).complete([2], find, 1)) == [{"square": 4}]
    assert asked == [1, 2, 3, 3, 2]


def test_a_sample_that_hangs_is_stopped() -> None:
    def hangs() -> None:
        while True:
            try:
                time.sleep(0.01)
            except Exception:  # the limit is none of these
                continue

    with pytest.raises(limit.Overdue), limit.limited(0.1):
        hangs()
