"""A choice that looks at all rows keeps requests apart; one that is each row's own does not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import torch

import tracepack
from tests.serving.models.test_batching import all_at_once, requests, served
from tracepack.pipeline.signature.rows.whole_choices import choice_for_all
from tracepack.serving.models.row_check import why_not_by_rows

REFUSED = "a choice is made for all rows at once"


def by_a_shared_size(x):
    if x.shape[1] > 10:
        return x * 2
    return x - 1


def by_the_rank(x):
    return x * 2 if x.dim() == 2 else x.sum()


def for_no_rows(x):
    if x.shape[0] == 0:
        return x
    return x * 2


def by_the_step_of_a_loop(x):
    for step in range(x.shape[1]):
        x = x + 1 if step > 2 else x * 2
    return x


def checked_first(x):
    if x.min() < -1e20:
        raise ValueError("too small")
    return x * 2


def by_each_row(x):
    return torch.stack([row * 2 if row.max() > 0 else -row for row in x])


def by_each_row_of_a_loop(x):
    found = []
    for row in x:
        if row.sum() > 0:
            found.append(row * 2)
        else:
            found.append(row - 1)
    return torch.stack(found)


def by_each_text(texts):
    return [text.upper() if text.startswith("a") else text for text in texts]


def by_a_rare_number(x):
    if (x == 31337).any():
        return x
    return x * 2


def by_a_sum(x):
    return x * 2 if x.sum() > 0 else x - 1


def a_factor(x):
    return x * (2.0 if x.sum() > 1e30 else 1.0)


def a_flag_as_a_number(x):
    return x + int(x.sum() > 1e30)


def by_how_many(x):
    if x.shape[0] > 77:
        return x * 2
    return x - 1


def by_the_remainder_of_how_many(x):
    return x * (1 if x.shape[0] % 31 else -1)


def until_all_are_small(x):
    while x.abs().max() > 1e30:
        x = x * 0.5
    return x


def by_all_in_each_row(x):
    return torch.stack([row * 2 if x.max() > 1e30 else -row for row in x])


def by_the_first_text(texts):
    return [text.upper() if texts[0] == "rare" else text for text in texts]


def by_the_rows_before(x):
    found, total = [], torch.zeros(())
    for row in x:
        total = total + row.sum()
        if total > 1e30:
            found.append(row)
        else:
            found.append(row * 2)
    return torch.stack(found)


def by_the_place(x):
    found = []
    for place, row in enumerate(x):
        if place == 40:
            found.append(row)
        else:
            found.append(row * 2)
    return torch.stack(found)


def by_rows_that_are_not_given(x):
    moved = x - x.mean(0)
    return torch.stack([row * 2 if row.max() > 0 else -row for row in moved])


def by_each_row_and_how_many(x):
    return torch.stack([row * 2 if row.max() > x.shape[0] - 100 else -row for row in x])


def by_texts_before(texts):
    seen, found = [], []
    for text in texts:
        if text in seen:
            found.append("again")
        else:
            found.append(text)
        seen.append(text)
    return found


def in_a_model(x):
    return twice_by_all(x)


class ByAll(torch.nn.Module):
    def forward(self, x):
        return tracepack.cond(x.sum() > 1e30, lambda x: x * 2, lambda x: x - 1, x)


twice_by_all = tracepack.script(ByAll().eval())

X = torch.randn(4, 5)
TEXTS = ["ab", "cd", "ae"]
OWN = [by_a_shared_size, by_the_rank, for_no_rows, by_the_step_of_a_loop, checked_first, by_each_row]
OWN += [by_each_row_of_a_loop, by_each_text]
FOR_ALL = [by_a_rare_number, by_a_sum, a_factor, a_flag_as_a_number, by_how_many, by_the_remainder_of_how_many]
FOR_ALL += [until_all_are_small, by_all_in_each_row, by_the_first_text, by_the_place]
FOR_ALL += [by_rows_that_are_not_given, by_texts_before, in_a_model]


def pipeline_of(function):
    if "texts" in function.__code__.co_varnames:
        return tracepack.trace(function, TEXTS)
    return tracepack.trace(function, torch.tensor([[1, 31337], [1, 2]]) if function is by_a_rare_number else X)


@pytest.mark.parametrize("function", OWN)
def test_a_choice_of_each_row_is_none_for_all(function) -> None:
    assert choice_for_all(pipeline_of(function).graph) == ""


@pytest.mark.parametrize("function", FOR_ALL)
def test_a_choice_for_all_rows_is_found(function) -> None:
    assert choice_for_all(pipeline_of(function).graph).startswith(REFUSED)


@pytest.mark.parametrize("function", [by_the_rows_before, by_each_row_and_how_many])
def test_a_choice_by_the_count_of_rows_is_found_where_that_is_a_number(function) -> None:
    assert choice_for_all(pipeline_of(function).graph).startswith("the number of rows, or the place of a row, is used")


@pytest.mark.parametrize("function", [by_a_rare_number, by_a_sum, a_factor, by_how_many, until_all_are_small])
def test_what_no_runs_show_is_not_run_together(function) -> None:
    reason = why_not_by_rows(pipeline_of(function), [])
    assert reason.startswith(f"{REFUSED} (test_whole_choices.py:")


@pytest.mark.parametrize("function", [by_a_shared_size, by_the_step_of_a_loop, checked_first])
def test_requests_to_a_pipeline_with_choices_are_run_together(function) -> None:
    mod = pipeline_of(function)
    given = [torch.randn(1 + place % 3, 4 + 8 * (place % 2)) for place in range(64)]
    answers, passages = asyncio.run(all_at_once(served(mod), requests(*given)))
    for x, answer in zip(given, answers, strict=True):
        torch.testing.assert_close(answer.outputs[0].value, function(x))
    assert max(passage.requests for passage in passages) > 1


def test_a_choice_for_all_rows_gives_each_request_its_own() -> None:
    mod = pipeline_of(by_a_sum)
    given = [torch.randn(1, 5) + (5 if place % 2 else -5) for place in range(64)]
    answers, passages = asyncio.run(all_at_once(served(mod), requests(*given)))
    for x, answer in zip(given, answers, strict=True):
        torch.testing.assert_close(answer.outputs[0].value, by_a_sum(x))
    assert max(passage.requests for passage in passages) == 1


def test_a_job_is_refused_whose_first_rows_do_not_show_the_choice(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [[1.0, 2.0]] * 40 + [[-100.0, 3.0]] + [[1.0, 1.0]] * 9
    pq.write_table(pa.table({"x": pa.array(rows, pa.list_(pa.float32()))}), tmp_path / "rows.parquet")
    mod = tracepack.trace(by_a_sum, torch.randn(3, 2))
    with pytest.raises(tracepack.BatchError, match="the answer for a row depends on the rows beside it; got a choice"):
        tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "refused", batch_size=16)
    done = tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=1)
    found = pq.read_table(done.target)["output"].to_pylist()
    assert found == [by_a_sum(torch.tensor([row]))[0].tolist() for row in rows]


def test_a_job_takes_rows_together_whose_choices_are_their_own(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = torch.randn(50, 3).tolist()
    pq.write_table(pa.table({"x": pa.array(rows, pa.list_(pa.float32()))}), tmp_path / "rows.parquet")
    mod = tracepack.trace(by_each_row_of_a_loop, torch.randn(3, 3))
    done = tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=16)
    found = torch.tensor(pq.read_table(done.target)["output"].to_pylist())
    torch.testing.assert_close(found, by_each_row_of_a_loop(torch.tensor(rows)))
