"""A number that is made of how many rows there are keeps requests apart; one that is a shape only does not."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

import tracepack
from tracepack.pipeline.signature.rows.whole_choices import choice_for_all
from tracepack.serving.models.row_check import why_not_by_rows

REFUSED = "the number of rows, or the place of a row, is used as a number"


class Attends(torch.nn.Module):
    """A model with places of its own, masks and views."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.places = torch.nn.Linear(8, 8), torch.nn.Embedding(20, 8)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.project(x + self.places(torch.arange(t))).view(b, t, 2, 4).transpose(1, 2)
        mask = torch.zeros(b, 1, t, t) + torch.ones(b, t).cumsum(1)[:, None, None] * 0
        seen = torch.ones(b, t, dtype=torch.bool)[
            torch.arange(b)[:, None, None, None], torch.arange(t)[None, None, None] + 0
        ]
        mask = mask.masked_fill(~(seen & (torch.arange(t) >= 0)[None, None, :, None]), -1.0)
        found = torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        return found.transpose(1, 2).reshape(b, -1) / x.shape[1]


class Embeds(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = torch.nn.Embedding(3, 4), torch.nn.Embedding(20, 4)

    def forward(self, ids):
        return (self.words(ids) + self.places(torch.arange(ids.shape[1]))).mean(1)


class Recurs(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.LSTM(5, 4, batch_first=True)

    def forward(self, x):
        first = torch.zeros(1, x.shape[0], 4)
        return self.cell(x[:, None], (first, first))[0][:, -1]


class Counts(torch.nn.Module):
    def forward(self, x):
        return x / (1 + x.shape[0] // 64)


attend, recur, counts = (tracepack.script(model().eval()) for model in (Attends, Recurs, Counts))


def sizes_of_new_tensors(x):
    n, m = x.shape
    return (
        torch.zeros(n, m) + x.new_ones(n, 1) + torch.full((n, m), 2.0).expand(n, m) + torch.ones_like(x).sum(1)[:, None]
    )


def views(x):
    return x.view(len(x), -1).repeat_interleave(2, 1).view(len(x) * 2, -1).view(len(x), -1)


def the_size_of_a_row(x):
    return x.sum(1) / x.shape[1] + x.view(len(x), -1)[:, :3].shape[1] + (x * 2)[:, :100].shape[1]


def an_item_of_each_row(x):
    return x[torch.arange(len(x)), x.argmax(-1)]


def items_of_each_row(x):
    return x[torch.arange(x.shape[0])[:, None], x.argsort(-1)][: len(x)]


def rows_by_place(x):
    return torch.stack([x[i] * 2 for i in range(len(x))])


def numbered_rows(x):
    y = x * 2
    return torch.stack([row if row.sum() > 0 else y[i] for i, row in enumerate(x)])


def filled_row_by_row(x):
    out = torch.zeros(len(x), 3)
    for i in range(len(x)):
        out[i] = x[i, :3] * 2
    return out * 2


def added_row_by_row(x):
    out = torch.zeros(len(x), 3)
    for i in range(len(x)):
        out[i] += x[i, :3]
    return out


def arrays(x):
    array = x.numpy()
    return torch.from_numpy(array / array.sum(1, keepdims=True) / array.shape[1])


def a_list_of_one_number(x):
    return x * torch.tensor([2.0] * len(x))[:, None]


def rounds_of_shared_sizes(x):
    half = x.shape[1] // 2
    x = tracepack.while_loop(lambda i, y: i < y.shape[1] // 2, lambda i, y: (i + 1, y * 2), 0, x)[1]
    for step in range(half):
        x = x * step + 1
    return x


def a_model_of_rows(x):
    return attend((x * 2)[:, :, None].expand(-1, -1, 8)), recur(x[:, :5])


def a_side_of_a_choice(x):
    return tracepack.cond(torch.tensor(True), lambda x: x / x.shape[1], lambda x: x, x)


def a_divisor(x):
    return x / max(1, len(x) // 64)


def a_filling(x):
    return x + torch.full((len(x), 1), len(x) // 64)


def a_tensor_of_the_size(x):
    return x + torch.tensor(x.shape[0]) // 64


def elements(x):
    return x * (1 + x.numel() // 10_000)


def a_text_of_the_size(x):
    return x * len(str(x.shape[0] // 100))


def an_end_of_a_slice(x):
    return x + x[: len(x) // 64].sum()


def a_padding(x):
    return torch.nn.functional.pad(x, (len(x) // 64, 0))


def places(x):
    return x + torch.arange(len(x))[:, None] // 64


def numbers_of_rows(x):
    return torch.stack([row * (1 + i // 64) for i, row in enumerate(x)])


def a_row_far_above(x):
    return torch.stack([x[max(0, i - 64)] for i in range(len(x))])


def a_counter(x):
    out, count = [], 0
    for row in x:
        count = count + 2
        out.append(row * (1 + count // 64))
    return torch.stack(out)


def ones_for_rows(x):
    return x + torch.ones(len(x), 1).sum() // 64


def places_of_ones(x):
    return x + torch.ones(len(x), 1).cumsum(0) // 64


def a_size_that_moved(x):
    return x + (x @ x.T).shape[1] // 64


def an_array(x):
    array = x.numpy()
    return torch.from_numpy(array / max(1, len(array) // 64))


def in_a_model(x):
    return counts(x)


def in_a_side(x):
    return tracepack.cond(torch.tensor(True), lambda x: x / max(1, len(x) // 64), lambda x: x, x)


def of_data_too(x):
    return x * float(x.sum().clamp(1, 1).item() * max(1, len(x) // 64))


def a_number_of_bytes(x):
    return x + x.nbytes // 10_000


def a_sum_of_ones(x):
    return x + sum(1 for _ in x) // 64


def rounds_of_a_loop(x):
    return tracepack.while_loop(lambda i, y: i < len(x) // 64, lambda i, y: (i + 1, y * 2), 0, x)[1]


def rounds_that_were_computed(x):
    rounds = len(x) // 64
    return tracepack.while_loop(lambda i, y: i < rounds, lambda i, y: (i + 1, y * 2), 0, x)[1]


def written_before(x):
    total = torch.zeros(3)
    total[:] = x.sum().clamp(min=1e30)
    return x * 2 if total[0] > 2e30 else x


SHAPES_ONLY = [sizes_of_new_tensors, views, the_size_of_a_row, an_item_of_each_row, items_of_each_row, rows_by_place]
SHAPES_ONLY += [numbered_rows, filled_row_by_row, added_row_by_row, arrays, a_list_of_one_number, a_model_of_rows]
SHAPES_ONLY += [a_side_of_a_choice, rounds_of_shared_sizes]
AS_A_NUMBER = [a_divisor, a_filling, a_tensor_of_the_size, elements, a_text_of_the_size, an_end_of_a_slice, a_padding]
AS_A_NUMBER += [places, numbers_of_rows, a_row_far_above, a_counter, ones_for_rows, places_of_ones, a_size_that_moved]
AS_A_NUMBER += [an_array, in_a_model, in_a_side, of_data_too, a_number_of_bytes, a_sum_of_ones, rounds_of_a_loop]
AS_A_NUMBER += [rounds_that_were_computed]


def pipeline_of(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tracepack.trace(function, torch.randn(4, 7))


@pytest.mark.parametrize("function", SHAPES_ONLY)
def test_a_size_that_is_a_shape_leaves_rows_their_own(function) -> None:
    assert choice_for_all(pipeline_of(function).graph) == ""


def test_the_length_of_texts_is_none_of_rows() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "cat": 2}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(["[PAD]"])
    tok, embed = tracepack.script(made), tracepack.script(Embeds().eval())

    def encode(texts):
        ids = tok(texts, padding=True, truncation=True, max_length=16)["input_ids"][:, :10]
        return embed(ids) / ids.shape[1]

    assert choice_for_all(tracepack.trace(encode, ["cat", "a cat"]).graph) == ""


@pytest.mark.parametrize("function", AS_A_NUMBER)
def test_a_count_of_rows_that_is_a_number_is_found(function) -> None:
    reason = choice_for_all(pipeline_of(function).graph)
    assert reason.startswith(f"{REFUSED} (test_row_counts.py:")


def test_a_choice_by_what_was_written_is_found() -> None:
    assert choice_for_all(pipeline_of(written_before).graph).startswith("a choice is made for all rows at once")


def test_what_few_rows_do_not_show_is_not_run_together() -> None:
    assert why_not_by_rows(pipeline_of(a_divisor), []).startswith(REFUSED)
    assert why_not_by_rows(pipeline_of(an_item_of_each_row), []) == ""


def test_a_job_is_refused_whose_rows_are_divided_by_their_number(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = torch.ones(200, 3)
    pq.write_table(pa.table({"x": pa.array(rows.tolist(), pa.list_(pa.float32()))}), tmp_path / "rows.parquet")
    mod = tracepack.trace(a_divisor, torch.randn(3, 3))
    with pytest.raises(tracepack.BatchError, match=f"got {REFUSED} .test_row_counts.py:"):
        tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "refused", batch_size=128)
    done = tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "out", batch_size=1)
    assert pq.read_table(done.target)["output"].to_pylist() == rows.tolist()


def test_a_job_tries_as_many_rows_as_it_runs_together(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = torch.rand(200, 3)
    pq.write_table(pa.table({"x": pa.array(rows.tolist(), pa.list_(pa.float32()))}), tmp_path / "rows.parquet")
    mod = tracepack.trace(lambda x: torch.where((x < 9e9).cumsum(0) > 60, x * 0, x), torch.rand(3, 3))
    with pytest.raises(
        tracepack.BatchError, match=r"depends on the rows beside it; got \[0.0, 0.0, 0.0\] for row 61 of 64"
    ):
        tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / "refused", batch_size=64)
    for size in (1, 32):
        done = tracepack.batch.run(mod, tmp_path / "rows.parquet", tmp_path / str(size), batch_size=size)
        assert pq.read_table(done.target)["output"].to_pylist() == rows.tolist()
