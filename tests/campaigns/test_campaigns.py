"""A part of every campaign, another one each day; the whole is `python -m tests.campaigns`."""

from __future__ import annotations

import datetime
import itertools
import math
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.campaigns import journal, limit, operators
from tests.campaigns.branches import campaign as branches
from tests.campaigns.check import Check, difference
from tests.campaigns.engines import campaign as engines
from tests.campaigns.functions import gradients, pipelines
from tests.campaigns.loops import campaign as loops
from tests.campaigns.report import report
from tests.campaigns.samples import Sample
from tests.campaigns.tally import REFUSED, RIGHT, WRONG, Tally

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


def test_operators_on_engines() -> None:
    for package in ("onnxruntime", "openvino", "onnxscript"):
        pytest.importorskip(package, reason="the extras 'onnx' and 'openvino' are not installed")
    require_clean(engines.run(share()))


def test_random_processing_functions() -> None:
    tally = pipelines.run(share())
    require_clean(tally)
    assert tally.counts()[RIGHT] > len(tally.cases) / 2


def test_random_functions_with_gradients() -> None:
    tally = gradients.run(share())
    require_clean(tally)
    assert tally.counts()[RIGHT] > len(tally.cases) / 2


def test_plain_loops() -> None:
    tally = loops.run(share())
    require_clean(tally)
    assert tally.counts()[RIGHT]


def test_rare_branches() -> None:
    tally = branches.run(share())
    require_clean(tally)
    assert tally.counts()[RIGHT] > len(tally.cases) / 8  # most kinds of changes are refused in recordings


def test_a_rare_branch_that_is_lost_is_found(monkeypatch) -> None:
    lost = SimpleNamespace(save=lambda file: None, graph="")
    monkeypatch.setattr(branches.tracepack, "trace", lambda process, *given: lost)
    monkeypatch.setattr(branches.tracepack, "load", lambda data: lambda n: [n])
    marked = "def process(n):\n    a = [n]\n    if ⟦1|(n * 7919 + 31) % 97 == 5⟧:\n        a.append(2)\n    return a\n"
    outcome, reason = branches.Held(marked, ["n"], 0).outcome()
    assert outcome == WRONG
    assert "1 items instead of 2" in reason


def test_architectures() -> None:
    pytest.importorskip("transformers", reason="the demo extra is not installed")
    from tests.campaigns.architectures import campaign as architectures

    tally = architectures.run(share())
    require_clean(tally)
    assert tally.counts()[RIGHT] > len(tally.cases) / 2


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (lambda x: x.relu(), RIGHT),
        (lambda x: x.relu().nan_to_num(posinf=9.0), WRONG),  # at numbers that the example does not have
        (lambda x: x.abs(), REFUSED),  # a search finds it
        (lambda x: 1 / 0, REFUSED),  # the flat function answers
    ],
)
def test_an_engine_that_answers_otherwise_at_other_numbers_is_found(answer, outcome, monkeypatch) -> None:
    engine = SimpleNamespace(make=lambda task: None, open=lambda *given: lambda x: [answer(x)])
    monkeypatch.setattr(engines, "find", lambda name: engine)
    sample = Sample(torch.relu, [torch.tensor([-1.0, 2.0])], "float32")
    assert engines._held("fake", SimpleNamespace(region=None), sample, [0], False)["outcome"] == outcome


def test_the_report_shows_every_outcome_and_escapes_its_cells() -> None:
    tally = Tally("Things", "things", notes=["Two were tried."], full=False, tried=7, seconds=90)
    tally.add("a", RIGHT)
    tally.add("b", "refused", "no|way\nat all", "f32")
    text = report([tally])
    assert "| Things (a part) | 2 | 7 | 1 | 1 | 0 | 0 | 50.0 | 1.5 |" in text
    assert "| b | no\\|way at all | f32 |" in text


def test_a_difference_is_one_of_bits_but_not_inside_a_nan() -> None:
    nan, whole = torch.tensor([math.nan]), torch.tensor([2**62 + 1, 5])
    for same in (nan, whole, torch.tensor([0.0]), whole[::2], torch.tensor([1j * math.nan]), torch.tensor([True])):
        assert difference(same, same.clone()) == ""
    for one, other in (
        (torch.tensor([0.0]), torch.tensor([-0.0])),
        (whole, whole - 1),
        (torch.tensor([1.0]), torch.tensor([1.0 + 2**-23])),
        (torch.tensor([1.0 + 0j]), torch.tensor([1.0 - 0j]).conj()),
        (0.0, -0.0),
    ):
        assert difference(one, other)
    assert difference(torch.tensor([1.0]), torch.tensor([1.0 + 2**-23]), near=True) == ""
    found = difference(torch.tensor([1.0]), torch.tensor([1.01]), near=True)
    assert found == "1 of 1 values differ in torch.float32 [1]"


@pytest.mark.parametrize(("noise", "outcome"), [(1e-6, RIGHT), (0.5, WRONG)])
def test_where_eager_gives_other_bits_now_and_then_nearly_the_same_is_right(noise: float, outcome: str) -> None:
    runs = itertools.count()

    def unsteady(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + noise * (next(runs) % 7 == 0)

    assert Check(lambda x: x * 2, [torch.rand(3)], eager=unsteady).run().outcome == outcome
    assert Check(lambda x: x * 2 + 1e-6, [torch.rand(3)], eager=lambda x: x * 2).run().outcome == WRONG


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
