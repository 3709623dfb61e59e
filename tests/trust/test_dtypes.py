"""The default dtype: a recording holds for the one that it was made under, and says so under another."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import get_default_dtype as usual

import tracepack
from tracepack.ops.graph.graph import Guard

INTS, X = torch.arange(6).reshape(2, 3), torch.randn(2, 3)


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


class Means(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return ids / ids.shape[0] + torch.ones(3)


class Roots(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return ids.sqrt() * 0.5


MEANS, ROOTS = Means(), Roots()


def halves(ids: torch.Tensor) -> torch.Tensor:
    return ids / 2


def roots(ids: torch.Tensor) -> torch.Tensor:
    return ids.sqrt() + 1


def made(ids: torch.Tensor) -> torch.Tensor:
    return ids + torch.zeros(3)


def asked(ids: torch.Tensor) -> torch.Tensor:
    return ids.to(torch.get_default_dtype())


def asked_by_a_number(ids: torch.Tensor) -> torch.Tensor:
    return ids.to(torch.result_type(ids, 1.0))


def asked_by_another_name(ids: torch.Tensor) -> torch.Tensor:
    return ids.to(usual())


HELD = {"usual": torch.get_default_dtype, "limits": torch.finfo}


def asked_of_a_table(ids: torch.Tensor) -> torch.Tensor:
    return ids.to(HELD["usual"]())


def limits(ids: torch.Tensor) -> torch.Tensor:
    return ids * torch.finfo().eps


def limits_by_a_text(ids: torch.Tensor) -> torch.Tensor:
    return ids.double() * getattr(torch, "finfo")().eps  # noqa: B009  # the name is a text of the code


def limits_kept(ids: torch.Tensor) -> torch.Tensor:
    read = torch.finfo
    return ids.double() * read().eps


def limits_in_a_helper(ids: torch.Tensor) -> torch.Tensor:
    return limits(ids.double())


class Limits(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return ids.double() * torch.finfo(usual()).eps


LIMITS = Limits()


def scripted_limits(ids: torch.Tensor) -> torch.Tensor:
    return tracepack.script(LIMITS)(ids)


def scripted_means(ids: torch.Tensor) -> torch.Tensor:
    return tracepack.script(MEANS)(ids)


def scripted_roots(ids: torch.Tensor) -> torch.Tensor:
    return tracepack.script(ROOTS)(ids)


def in_a_branch(ids: torch.Tensor) -> torch.Tensor:
    return tracepack.cond(ids.sum() > 0, lambda i: i * 0.5, lambda i: i * 1.5, ids)


@pytest.mark.parametrize(
    "process",
    [
        halves, roots, made, asked, asked_by_a_number, scripted_means, scripted_roots, in_a_branch,
        asked_by_another_name, asked_of_a_table, limits, limits_by_a_text, limits_kept, limits_in_a_helper,
        scripted_limits,
    ],
)  # fmt: skip
@pytest.mark.parametrize("first", [torch.float32, torch.float64])
def test_another_default_dtype_is_stopped_or_changes_nothing(process: Any, first: torch.dtype) -> None:
    other = torch.float64 if first is torch.float32 else torch.float32
    torch.set_default_dtype(first)
    traced, file = tracepack.trace(process, INTS), io.BytesIO()
    traced.save(file)
    wanted = process(INTS)
    for pipeline in (traced, tracepack.load(file.getvalue())):
        torch.set_default_dtype(first)
        for _ in range(2):
            got = pipeline(INTS)
            assert got.dtype == wanted.dtype
            assert torch.equal(got, wanted)
        torch.set_default_dtype(other)
        for _ in range(2):
            try:
                got = pipeline(INTS)
            except tracepack.GuardError as error:
                assert "default dtype" in str(error)  # noqa: PT017  # both ways are right
            else:
                assert got.dtype == wanted.dtype
                assert torch.equal(got, wanted)


def test_a_common_dtype_under_another_default_is_stopped() -> None:
    traced = tracepack.trace(lambda i, x: (torch.result_type(i, 1.0), torch.result_type(x, 1.0)), INTS, X)
    assert traced(INTS, X) == (torch.float32, torch.float32)
    torch.set_default_dtype(torch.float64)
    with pytest.raises(tracepack.GuardError, match="default dtype"):
        traced(INTS, X)
    assert tracepack.trace(lambda x: torch.result_type(x, 1.0), X)(X) is torch.float32


def test_a_question_for_inference_mode_is_refused() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if torch.is_inference_mode_enabled() else x

    with pytest.raises(tracepack.RecordError, match="whether inference mode is on") as caught:
        tracepack.trace(process, X)
    assert "in process" in str(caught.value)


def test_floating_point_work_asks_for_no_default_dtype() -> None:
    traced = tracepack.trace(lambda x: (x * 2 + torch.zeros(3)).softmax(-1), X)
    torch.set_default_dtype(torch.float64)
    assert traced(X).dtype is torch.float32


@pytest.mark.parametrize(
    "process",
    [
        asked_by_another_name, asked_of_a_table, limits, limits_by_a_text, limits_kept, limits_in_a_helper,
        scripted_limits,
    ],
)  # fmt: skip
def test_the_default_dtype_by_any_name_is_guarded(process: Any) -> None:
    traced = tracepack.trace(process, INTS)
    torch.set_default_dtype(torch.float64)
    with pytest.raises(tracepack.GuardError, match="default dtype"):
        traced(INTS)


def test_limits_of_a_dtype_ask_for_no_default() -> None:
    traced = tracepack.trace(lambda x: x.clamp(min=torch.finfo(x.dtype).min) * torch.finfo(torch.half).eps, X)
    torch.set_default_dtype(torch.float64)
    assert traced(X).dtype is torch.float32


def test_a_function_that_sets_the_default_dtype_is_refused() -> None:
    def process(ids: torch.Tensor) -> torch.Tensor:
        torch.set_default_dtype(torch.float64)
        try:
            return ids / 2
        finally:
            torch.set_default_dtype(torch.float32)

    with pytest.raises(tracepack.RecordError, match="sets torch's default dtype") as caught:
        tracepack.trace(process, INTS)
    assert "in process" in str(caught.value)
    assert torch.get_default_dtype() is torch.float32


def test_a_function_that_leaves_another_default_dtype_is_refused() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        torch.set_default_dtype(torch.float64)
        return y

    with pytest.raises(tracepack.RecordError, match="sets torch's default dtype"):
        tracepack.trace(process, X)
    assert torch.get_default_dtype() is torch.float32


def test_an_op_is_lowered_anew_under_another_default_dtype() -> None:
    op = tracepack.script(Means())
    tracepack.trace(lambda i: op(i), INTS)
    torch.set_default_dtype(torch.float64)
    assert op(INTS).dtype is torch.float64


@pytest.mark.parametrize("name", ["float", "double", "half", "bfloat16", "cfloat", "cdouble"])
def test_a_conversion_that_names_its_dtype_asks_for_no_default(name: str) -> None:
    def process(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return getattr(torch.Tensor, name)(mask) * x

    x, mask = torch.ones(2), torch.tensor([1, 0])
    traced = tracepack.trace(process, x, mask)
    assert [node.target for node in traced.graph.nodes if isinstance(node.target, Guard)] == []
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        got, wanted = traced(x * 3, mask), process(x * 3, mask)
    finally:
        torch.set_default_dtype(before)
    assert got.dtype == wanted.dtype
    assert torch.equal(got, wanted)
