"""What hostile calls ever lost stays lost to files without trust: refused, checked, or for trusted files only."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tracepack
from tests.fuzz import blowups
from tests.fuzz.archives import KEPT, attempt, mutated, originals
from tests.fuzz.children import survive
from tests.fuzz.comprehensions import schedules
from tests.fuzz.operators import try_operator
from tests.fuzz.saving import saves
from tests.fuzz.search import campaign as searched
from tracepack.ops.graph.operators.names import TRUSTED, allowed, grade

LINES = [
    line.split(" ", 2) for line in (Path(__file__).parent / "findings.txt").read_text(encoding="utf-8").splitlines()
]
NAMES = ("scalars", "model", "choices", "texts", "lists", "draws", "tokenizer", "pairs", "pieces", "comprehension")
FOUND = sorted({(name, index) for name, index, _ in LINES if name in allowed() and grade(name) != TRUSTED})


def test_findings_are_kept():
    assert len(LINES) > 80
    assert any(outcome.startswith("signal 11") for _, _, outcome in LINES)


@pytest.mark.parametrize(("name", "index"), FOUND)
def test_a_call_that_was_lost_is_lost_no_more(name, index):
    assert (searched.attempt(name, index) if ":" in index else try_operator(name, 1, int(index))) == []


@pytest.fixture(scope="module")
def files():
    return originals()


def test_files_that_were_lost_are_not(files):
    assert list(KEPT.glob("*.tpk"))
    for path in sorted(KEPT.glob("*.tpk")):
        assert attempt(path.read_bytes(), files[path.stem.partition("-")[0]][1]) == "", path.name


@pytest.mark.parametrize("name", NAMES)
def test_a_mutation_is_another_file_and_fails_as_ours(files, name):
    data, feed = files[name]
    assert tracepack.load(data, verify="golden").run(feed) is not None
    said = [attempt(mutated(data, random.Random(index)), feed) for index in range(25)]
    assert said == [""] * 25
    assert len({mutated(data, random.Random(index)) for index in range(25)}) > 20


def test_the_harness_sees_a_crash_a_hang_and_a_report():
    import ctypes
    import time

    from tests.fuzz.children import Loss

    def call(index):
        if index == 2:
            ctypes.string_at(0)
        if index == 5:
            began = time.process_time()
            while time.process_time() - began < 60:
                pass
        return "said" if index == 7 else ""

    losses = list(survive(9, call, still=0.5))
    assert losses == [Loss(2, "signal 11"), Loss(5, "hang"), Loss(7, "said")]


@pytest.mark.parametrize("name", blowups.KINDS)
def test_the_time_to_read_a_file_follows_its_size(name):
    assert blowups.attempt(name, 160) == ""


@pytest.mark.parametrize(("power", "least", "most"), [(2, 18, 20), (1.8, 18, 20), (1.1, 0, 0)])
def test_a_pass_that_repeats_itself_is_seen_through_noise(monkeypatch, power, least, most):
    noise = random.Random(0)

    def seconds(data):
        return {"load": (len(data) / 20_000) ** power * noise.choice((1, 1, 1, 1, 1.3, 3, 10)), "show": 0.01}

    monkeypatch.setattr(blowups, "seconds", seconds)
    said = [text for text in (blowups.attempt("calls", 400) for _ in range(20)) if text]
    assert least <= len(said) <= most
    assert all(text.startswith("calls: load takes") for text in said)


def test_saves_that_go_wrong_leave_whole_files():
    assert [saves.attempt(index) for index in range(12)] == [""] * 12


def test_a_save_that_writes_in_place_is_seen(monkeypatch):
    import contextlib

    from tracepack.serialization.container import archive_writer

    @contextlib.contextmanager
    def in_place(target, what=""):
        with open(target, "w+b") as file:
            yield file

    monkeypatch.setattr(archive_writer, "replacing", in_place)
    saves.pipelines()
    assert list(survive(40, saves.attempt, most=1))  # in a child: what maps such a file may be ended


def test_schedules_of_a_file_are_refused_or_right():
    tally = {}
    assert [schedules.attempt(index, tally) for index in range(30)] == [""] * 30
    assert min(tally["ran"], tally["refused"]) > 3


def test_a_search_reaches_kernels_and_sees_what_the_table_does_not_say(monkeypatch):
    from tracepack.ops.graph.operators import names

    lost, ran = searched.search("torch.Tensor.mul_", 200)
    assert lost == []
    assert ran > 5
    wrong = names.Row("proven", names.FRESH, 2000, "")
    monkeypatch.setattr(names, "row", {"torch.Tensor.mul_": wrong, "torch.Tensor.t": wrong}.get)
    lost, _ = searched.search("torch.Tensor.mul_", 200)
    assert "an argument is written" in {each.outcome for each in lost}
    assert all(searched.attempt("torch.Tensor.mul_", each.index) == [each.outcome] for each in lost)
    lost, _ = searched.search("torch.Tensor.t", 20)
    assert {each.outcome for each in lost} == {"an argument is handed on"}
