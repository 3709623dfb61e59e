"""Pipelines whose rows depend on those beside them are refused, whatever row shows it; sound ones are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack

pa = pytest.importorskip("pyarrow", reason="the extra 'batch' is not installed")
import pyarrow.parquet as pq  # noqa: E402 - after the skip

from tests.batch.checks import errors, read  # noqa: E402 - after the skip
from tracepack.batch import setting  # noqa: E402 - after the skip

pytestmark = pytest.mark.usefixtures("jobs")
ROWS = 400
DEPENDS = "the answer for a row depends on the rows beside it"


def source(folder: Path, *, extremes: bool) -> Path:
    """Rows of which the first 50 are alike; with extremes, some later ones are not."""
    generator = torch.Generator().manual_seed(1)
    x, n = torch.randn(ROWS, 4, generator=generator), torch.randint(0, 5, (ROWS,), generator=generator)
    texts = [f"word{row % 7} b" for row in range(ROWS)]
    if extremes:
        x[300], x[350], n[333] = 50.0, x[350] * 200, 40
        texts = [text + " b" * (row % 5) if row > 50 else text for row, text in enumerate(texts)]
    lists = pa.array(x.tolist(), pa.list_(pa.float32()))
    pq.write_table(pa.table({"id": range(ROWS), "x": lists, "n": n.numpy(), "t": texts}), folder / "rows.parquet")
    return folder / "rows.parquet"


def refusal(*arguments: Any, **options: Any) -> str:
    with pytest.raises(tracepack.BatchError) as caught:
        tracepack.batch.run(*arguments, **options)
    return str(caught.value)


X, N, T = torch.randn(3, 4) * 30, torch.tensor([1, 2, 0]), ["word1 b", "word2 b", "word3"]


def any_is_large(x):
    return x * (1 - (x > 40).any().float())


def over_the_largest(x):
    return x / x.abs().max().clamp(min=30.0)


def without_what_is_missing(x):
    return torch.where(x.isnan().any(), torch.zeros_like(x), x)


def less_the_large_ones(x):
    return x - x[(x.abs() > 40).all(1)].sum(0)


def above_a_quantile(x):
    norm = x.norm(dim=1)
    return (norm > norm.quantile(0.9).clamp(min=9.0)).float()


def over_the_norm(x):
    return x / x.norm().clamp(min=1e3)


def mean_of_the_large(x):
    y = x.clone()
    y[x.amax(1) > 40] = y[x.amax(1) > 40].mean()
    return y


def at_the_first_places(x):
    y = x.sum(1)
    y[: len((x[:, 0] > 40).nonzero())] += 1.0
    return y


def counted(n):
    return torch.bincount(n, minlength=5)[n.clamp(max=4)].clamp(max=1) + (n.max() > 30)


def padded(t):
    longest = max(len(text.split()) for text in t)
    return torch.tensor([len(text.split()) / max(longest, 3) for text in t])


def once_each(n):
    return torch.cat([torch.ones(1, dtype=torch.int64), (n[1:] != n[:-1]).long()]) * n


def texts_and_numbers(t, x):
    return torch.tensor([float(len(text)) for text in t]) / x.max().clamp(min=30.0)


def with_the_first(t):
    return [f"{text} {t[0]}" for text in t]


def with_the_last(t):
    return [f"{text} {t[-1]}" for text in t]


TIED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((each, (X,)) for each in (
        any_is_large, over_the_largest, without_what_is_missing, less_the_large_ones, above_a_quantile, over_the_norm,
        mean_of_the_large, at_the_first_places,
    )),
    (counted, (N,)), (once_each, (N,)), (padded, (T,)), (texts_and_numbers, (T, X)),
]  # fmt: skip


@pytest.mark.parametrize("extremes", [True, False])
@pytest.mark.parametrize(("process", "example"), TIED, ids=lambda each: getattr(each, "__name__", ""))
def test_rows_that_are_tied_by_others_than_the_first_are_refused(
    process: Any, example: Any, extremes: bool, tmp_path: Path
) -> None:
    mod, rows = tracepack.trace(process, *example), source(tmp_path, extremes=extremes)
    text = refusal(mod, rows, tmp_path / "out", batch_size=100)
    assert text.startswith(f"output 'output': {DEPENDS}; got ")
    assert " beside " in text
    assert text.endswith("as alone. Run each row alone: batch_size=1.")
    assert not list((tmp_path / "out").glob("part-*"))
    done = tracepack.batch.run(mod, rows, tmp_path / "alone", batch_size=1)
    assert (done.rows, done.errors) == (ROWS, 0)


@pytest.mark.parametrize("process", [with_the_first, with_the_last])
def test_rows_that_are_tied_are_refused_where_those_of_the_source_are_alike(process: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": ["a"] * ROWS}), tmp_path / "rows.parquet")
    text = refusal(tracepack.trace(process, T), tmp_path / "rows.parquet", tmp_path / "out", batch_size=64)
    assert text.startswith(f"output 'output': {DEPENDS}; got ")
    assert " beside empty texts" in text


# -- rows that are not tied --------------------------------------------------------------------------------------


class Masked(torch.nn.Module):
    """Attention over words of texts that are padded to the longest; the padding changes rounding alone."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.last = torch.nn.Embedding(10, 16), torch.nn.Linear(16, 3)

    def forward(self, ids):
        empty, y = ids == 0, self.words(ids)
        weights = (y @ y.transpose(1, 2) / 4).masked_fill(empty.unsqueeze(1), -1e9).softmax(-1)
        y = (weights @ y) * (~empty).unsqueeze(-1)
        return self.last(y.sum(1) / (~empty).sum(1, keepdim=True)).softmax(-1)


def network(*layers: Any) -> Any:
    return tracepack.script(torch.nn.Sequential(*layers).eval())


LINEAR = network(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
NORMED = network(torch.nn.LayerNorm(4), torch.nn.Linear(4, 3), torch.nn.Sigmoid())
HALF = network(torch.nn.Linear(4, 64).bfloat16(), torch.nn.Tanh(), torch.nn.Linear(64, 4).bfloat16())
EMBEDDED = network(torch.nn.Embedding(41, 8), torch.nn.Linear(8, 3), torch.nn.Softmax(-1))
MASKED = tracepack.script(Masked().eval())


def checked(x):
    torch._assert((x <= 100).all(), "beyond 100")  # pytest rewrites plain assertions
    return LINEAR(x)


def of_padded_texts(t):
    longest = max(len(text.split()) for text in t)
    return MASKED(torch.tensor([[1 + len(w) for w in s.split()] + [0] * (longest - len(s.split())) for s in t]))


SOUND: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x: x.softmax(-1), (X,)),
    (lambda x: LINEAR(x), (X,)),
    (lambda x: (LINEAR(x).argmax(-1), LINEAR(x).topk(2, dim=-1).indices), (X,)),
    (lambda x: NORMED(x), (X,)),
    (lambda x: HALF(x.bfloat16()).float(), (X,)),
    (lambda x: x / x.norm(dim=1, keepdim=True), (X,)),
    (lambda x: x.sort(dim=1), (X,)),
    (lambda n: EMBEDDED(n), (N,)),
    (lambda n: torch.nn.functional.one_hot(n, 50), (N,)),
    (lambda t: [text.upper()[:3] for text in t], (T,)),
    (checked, (X,)),
    (of_padded_texts, (T,)),
]


@pytest.mark.parametrize("extremes", [True, False])
@pytest.mark.parametrize("index", range(len(SOUND)))
def test_rows_that_are_not_tied_run_together(index: int, extremes: bool, tmp_path: Path) -> None:
    process, example = SOUND[index]
    mod, rows = tracepack.trace(process, *example), source(tmp_path, extremes=extremes)
    done = tracepack.batch.run(mod, rows, tmp_path / "out", batch_size=64, keep=["id"])
    alone = tracepack.batch.run(mod, rows, tmp_path / "alone", batch_size=1, keep=["id"])
    assert (done.rows, done.batch_size) == (alone.rows, 64)
    assert done.rows == ROWS - done.errors
    for found, wanted in zip(read(tmp_path / "out"), read(tmp_path / "alone"), strict=True):
        assert alike(found, wanted), (found, wanted)
    assert [row["row"] for row in errors(tmp_path / "out")] == [row["row"] for row in errors(tmp_path / "alone")]


def test_rows_that_are_made_may_be_left_out(tmp_path: Path) -> None:
    mod = tracepack.trace(lambda x: x[~x.isnan().any(1)] * 2, X)
    done = tracepack.batch.run(mod, source(tmp_path, extremes=False), tmp_path / "out", batch_size=64)
    assert (done.rows, done.errors) == (ROWS, 0)


def test_rows_are_checked_in_a_fork_where_this_process_computes_none(tmp_path: Path) -> None:
    """As the engine `ray` does: a row that ends the process that runs it must not end the one that leads the job."""
    rows = source(tmp_path, extremes=True)
    for process, tied in ((mean_of_the_large, True), (lambda x: x.relu(), False)):
        mod = tracepack.trace(process, X)
        found = setting.prepared(mod, "", rows, tmp_path / str(tied), {}, None, None)
        with found.target.owned():
            if tied:
                with pytest.raises(tracepack.BatchError, match=DEPENDS):
                    found.plan(64, None, apart=True)
            else:
                assert found.plan(64, None, apart=True).work.batch == 64
        assert not (tmp_path / str(tied) / "_work" / "check.started").exists()


def alike(found: Any, wanted: Any) -> bool:
    """Whether two rows are the same within the rounding of floats of 16 bits."""
    if isinstance(found, dict | list):
        pairs = zip(found, wanted, strict=True) if isinstance(found, list) else ((found[k], wanted[k]) for k in wanted)
        return len(found) == len(wanted) and all(alike(*pair) for pair in pairs)
    return bool(found == pytest.approx(wanted, rel=2e-2, abs=2e-2)) if isinstance(found, float) else found == wanted
