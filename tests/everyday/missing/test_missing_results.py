"""Results that are None on one side of a choice, and a container or a tensor on the other."""

from __future__ import annotations

import time
import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.missing import of_results as f

MASKS = [torch.tensor([[2, 0], [1, 2]]), torch.zeros(3, 3, dtype=torch.long), torch.full((2, 4), 2)]
ROWS = [torch.tensor(row) for row in ([0.9, 0.1, 0.8], [0.0, 0.2, 0.1], [0.1, 0.7, 0.2, 0.3], [-0.9, -0.1])]
TEXTS = [["a", "bb", ""], ["", ""], ["one"]]
BOXES = [
    (torch.rand(3, 4), torch.tensor([0.9, 0.1, 0.7])),
    (torch.rand(2, 4), torch.zeros(2)),
    (torch.rand(5, 4), torch.tensor([0.1, 0.2, 0.6, 0.7, 0.3])),
]
OF_MASKS = [f.box, f.box_in_one]
OF_ROWS = [
    f.nested, f.record, f.pair, f.vector, f.set_later, f.of_three, f.of_helper, f.asked, f.asked_again, f.in_conditions,
    f.as_tensor, f.made_of_it,
]  # fmt: skip


@pytest.mark.parametrize("example", [0, 1], ids=["there", "missing"])
@pytest.mark.parametrize("process", [*OF_MASKS, *OF_ROWS], ids=lambda each: each.__name__)
def test_both_sides_are_recorded_whichever_the_example_takes(process, example) -> None:
    inputs = [[each] for each in (MASKS if process in OF_MASKS else ROWS)]
    check(Case(process, inputs[example], inputs))


@pytest.mark.parametrize("example", [0, 1], ids=["there", "missing"])
def test_a_box_of_the_best_score_or_none(example) -> None:
    check(Case(f.best_box, BOXES[example], BOXES))


def test_texts_matches_and_lists() -> None:
    check(Case(f.of_texts, [TEXTS[0]], [[each] for each in (*TEXTS, [])]))
    check(Case(f.of_match, ["id=12 b"], [["zzz"], ["id=7"], [""]]))
    check(Case(f.trend, [[1.0, 2.0, 4.0]], [[[1.0]], [[]], [[3.0, 3.0, 3.0, 9.0]]]))


@pytest.mark.parametrize("example", [9, 3], ids=["there", "missing"])
def test_a_model_runs_only_where_its_side_is_chosen(example) -> None:
    model = tracepack.script(torch.nn.Conv1d(1, 2, 5), device="cpu")

    def process(wave):
        if len(wave) < 5:
            return None
        return model(wave[None, None]).mean(-1)[0].tolist()

    mod = loaded(process, torch.rand(example))
    assert mod(torch.rand(3)) is None
    wave = torch.rand(20)
    assert mod(wave) == pytest.approx(process(wave))


class Slow(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(600, 600)

    def forward(self, x):
        for _ in range(40):
            x = self.layer(x)
        return x


def test_an_early_exit_takes_no_time() -> None:
    model = tracepack.script(Slow(), device="cpu")

    def process(x):
        if x.sum() < 0:
            return {"v": None}
        return {"v": model(x.expand(400, 600))[0, :2].tolist()}

    mod, took = tracepack.trace(process, torch.ones(600)), []
    for x in (torch.ones(600), -torch.ones(600)):
        mod(x)
        began = time.perf_counter()
        mod(x)
        took.append(time.perf_counter() - began)
    assert took[1] < took[0] / 3


def test_a_run_checks_that_what_is_asked_for_a_part_is_there() -> None:
    mod = loaded(lambda x: f.span(x)[0], ROWS[0])
    assert mod(ROWS[2]) == 1
    with pytest.raises(tracepack.GuardError, match="a value is None, and the function asks it for what None has not"):
        mod(ROWS[1])


def test_as_text_it_is_refused_with_a_form() -> None:
    choose = lambda x: tracepack.cond(x.sum() > 0, lambda: [x.sum().item()], lambda: None)  # noqa: E731  # one line
    said = "a thing that may be None is turned into text. Choose what stands for None before: 'none' if found is None"
    with pytest.raises(tracepack.RecordError, match=said):
        tracepack.trace(lambda x: f"{choose(x)}", ROWS[0])
    check(Case(lambda x: "none" if (found := choose(x)) is None else f"{found[0]:.2f}", [ROWS[0]], [[ROWS[3]]]))


def test_the_fields_say_what_it_is_where_it_is_not_none() -> None:
    mod = tracepack.trace(f.nested, ROWS[0])
    assert [field.type for field in mod.outputs] == [None, "None | {'place': float, 'value': float}"]
    schema = mod.json_schema()["properties"]["outputs"]["properties"]["result"]
    assert [each["type"] for each in schema["anyOf"]] == ["object", "null"]
    assert [field.type for field in tracepack.trace(f.vector, ROWS[0]).outputs] == ["None | f32[?]"]


def test_rows_give_none_that_gave_none_in_no_example() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(f.of_rows, torch.stack(ROWS[:1]))
    assert mod(torch.stack([ROWS[0]] * 2)) == [[0, 2]] * 2
    assert mod(torch.stack(ROWS[:2])) == f.of_rows(torch.stack(ROWS[:2])) == [[0, 2], None]
    check(Case(f.of_rows, [torch.stack(ROWS[:2])], [[torch.stack(ROWS[1:2])], [torch.rand(3, 4)]]))
