"""Answers with other keys on each side: the file gives those of the side that a run takes."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.outcomes import unlike_answers as f

X, Y = torch.rand(2, 2), torch.rand(3, 2) * 4
EVENTS = [{"a": 1.0, "b": 2.0}, {"a": 0.5, "b": -2.0}, {"a": 3.0, "b": 1.0}]
POINTS = [[1.0, 2.0], [0.5, 1.0], [3.0, -1.0]]
CASES = {
    f.of_number: [(3,), (-3,), (0,), (9,)],
    f.parsed: [("1.5",), ("x",), ("",), ("-7",)],
    f.of_all: [([1, -1],), ([1, 2],), ([],), ([-1, -1, 2],)],
    f.of_tensor: [(torch.tensor([1.0, 3.0]),), (torch.tensor([-1.0, -3.0]),), (torch.tensor([-1.0, 0.5, 4.0]),)],
    f.best: [(X, 2), (X, 7), (Y, 1), (Y, 4)],
    f.with_imports: [(["a1", "b"],), (["", "12 c"],), ([],), (["x"] * 4,)],
}


@pytest.mark.parametrize("example", [0, 1], ids=["one", "other"])
@pytest.mark.parametrize("process", CASES, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("error")
def test_answers_with_other_keys(process, example) -> None:
    check(Case(process, CASES[process][example], CASES[process]))


@pytest.mark.filterwarnings("error")
def test_a_model_is_called_on_one_side() -> None:
    check(Case(f.labelled, ["a", X], [("", X), ("b", Y), (" ", Y)]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("was_called", [False, True], ids=["new", "called before"])
def test_a_model_that_the_example_does_not_call_is_called_where_another_text_leads_there(was_called) -> None:
    model = tracepack.script(torch.nn.Linear(2, 3).eval(), device="cpu")

    def process(text, x):
        return {"error": "no text"} if not text.strip() else {"logits": model(x)}

    if was_called:
        assert loaded(process, "a", X)("", Y) == process("", Y)
    mod = loaded(process, "", X)
    assert mod(" ", Y) == process(" ", Y)
    for x in (X, Y):
        torch.testing.assert_close(mod("a", x), process("a", x))


@pytest.mark.parametrize(("process", "items"), [(f.of_events, EVENTS), (f.of_points, POINTS)])
def test_an_empty_list_before_a_model(process, items) -> None:
    check(Case(process, [items], [([],), (items[:1],), (items * 3,)]))


def test_a_choice_by_a_size_stays_a_recording() -> None:
    def cut(x):
        return x[:4] * 2 if x.shape[0] > 4 else x.sum(0)

    mod = tracepack.trace(cut, torch.rand(6, 2))
    assert str(mod.signature) == "(x: f32[N,M]) -> f32[?,M] where N > 4"
