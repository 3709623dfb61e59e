"""Sizes of 1 that a model computes: of the result of a convolution or a pooling, where torch.export sets them apart."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import nn

import tracepack


def _small_resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, 2, 1), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )  # fmt: skip


class Enlarged(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.interpolate(nn.functional.avg_pool2d(x, 2), scale_factor=2.0)


MODELS: dict[str, tuple[Any, tuple[int, ...], tuple[tuple[int, ...], ...], str]] = {
    "a convolution": (
        lambda: nn.Sequential(nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        (2, 3, 6, 7),
        ((2, 3, 3, 3), (1, 3, 3, 3), (2, 3, 5, 3), (1, 3, 3, 9), (2, 3, 4, 4)),
        "where M >= 3 and K >= 3",
    ),
    "a convolution of rows": (lambda: nn.Conv1d(3, 2, 3), (2, 3, 9), ((2, 3, 3), (1, 3, 3)), "where M >= 3"),
    "a pooling": (
        lambda: nn.MaxPool2d(2),
        (2, 3, 6, 8),
        ((2, 3, 2, 2), (1, 3, 3, 2), (1, 1, 3, 8)),
        "where M >= 1 and K >= 2 and L >= 2",
    ),
    "two poolings": (
        lambda: nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(3, 2, 1), nn.MaxPool2d(2)),
        (2, 3, 16, 20),
        ((1, 3, 4, 7), (3, 3, 8, 4)),
        "where M >= 4 and K >= 4",
    ),
    "a small resnet": (
        _small_resnet,
        (2, 3, 16, 20),
        ((1, 3, 2, 2), (1, 3, 1, 1), (3, 3, 2, 1), (1, 3, 8, 2), (3, 3, 3, 3), (1, 3, 4, 4)),
        "where M >= 1 and K >= 1",
    ),
    "an enlarged image": (
        Enlarged,
        (2, 3, 8, 8),
        ((1, 3, 2, 2), (1, 3, 3, 3), (2, 3, 2, 9)),
        "where M >= 1 and K >= 2 and L >= 2",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_images_of_which_one_row_is_left(name: str) -> None:
    make, example, others, where = MODELS[name]
    model = make().eval()
    op = tracepack.script(model, device="cpu", contiguous=True)
    one = tracepack.trace(lambda x: op(x), torch.rand(example))
    assert one.signature.endswith(where)
    file = io.BytesIO()
    tracepack.trace(lambda xs: [op(x) for x in xs], [torch.rand(example)] * 2).save(file)
    several = tracepack.load(file.getvalue())
    for shape in (*others, example):
        x = torch.rand(shape)
        for found in (one(x), several([x, x])[1]):
            torch.testing.assert_close(found, model(x))


class Branched(nn.Module):
    """Answers otherwise where it is left with one column."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rest = x[:, 2:]
        return rest * 2 if rest.shape[1] == 1 else rest * 3


class Squeezed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[1:, 2:].squeeze().contiguous()


class BothBranched(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rest = x[1:, 2:]
        return rest * 2 if rest.shape[0] == 1 and rest.shape[1] == 1 else rest * 3


@pytest.mark.parametrize(("model", "shape"), [(Branched(), (2, 3)), (Squeezed(), (2, 3)), (BothBranched(), (2, 3))])
def test_a_size_at_which_the_model_answers_otherwise_is_stopped(model: nn.Module, shape: tuple[int, int]) -> None:
    op = tracepack.script(model, device="cpu")
    mod = tracepack.trace(lambda x: op(x), torch.rand(4, 6))
    with pytest.raises(tracepack.SignatureError, match="the sizes do not satisfy"):
        mod(torch.rand(shape))
    for other in ((4, 6), (3, 5), (3, 4)):
        x = torch.rand(other)
        torch.testing.assert_close(mod(x), model(x))


class AlmostOrTogether(nn.Module):
    """Answers otherwise where both are left with one, and not where one of them is."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a, b = x[:, 2:], y[:, 2:]
        return a.sum() + (b.sum() * 2 if a.squeeze(1).dim() == b.squeeze(1).dim() == 1 else b.sum())


def test_sizes_that_are_right_one_by_one_and_not_together() -> None:
    model = AlmostOrTogether()
    op = tracepack.script(model, device="cpu")
    mod = tracepack.trace(lambda x, y: op(x, y), torch.rand(3, 6), torch.rand(4, 7))
    with pytest.raises(tracepack.SignatureError, match="the sizes do not satisfy"):
        mod(torch.rand(3, 3), torch.rand(4, 3))
    for one, other in ((4, 4), (3, 5)):
        x, y = torch.rand(3, one), torch.rand(4, other)
        torch.testing.assert_close(mod(x, y), model(x, y))


class Bounded(nn.Module):
    """Bounds its numbers at one size only, which numbers of an example seldom show."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.clamp(max=5) if x.shape[1] == 1 else x) * 2


class Cleaned(nn.Module):
    """The same of what it computed, at sizes that torch sets apart as well."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Conv1d(2, 2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rest = self.rows(x)
        return (rest.nan_to_num() if rest.shape[2] == 1 else rest) * 2


class Chosen(Cleaned):
    """Chooses by another size there, whose way no run of an export sees."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rest = self.rows(x)
        return rest * 3 if max(rest.shape[2], 1) == 1 and rest.shape[0] == 3 else rest * 2


@pytest.mark.parametrize(
    ("model", "example", "other"),
    [
        (Bounded(), torch.rand(3, 4), torch.full((3, 1), 100.0)),
        (Cleaned(), torch.rand(3, 2, 8), torch.full((3, 2, 3), torch.nan)),
        (Chosen(), torch.rand(2, 2, 8), torch.rand(3, 2, 3)),
    ],
    ids=["bounded", "cleaned", "chosen"],
)
def test_what_a_model_chooses_at_a_size_of_1_is_stopped(model: nn.Module, example: Any, other: Any) -> None:
    op = tracepack.script(model.eval(), device="cpu")
    mod = tracepack.trace(lambda x: op(x), example)
    with pytest.raises(tracepack.SignatureError, match="the sizes do not satisfy"):
        mod(other)
    torch.testing.assert_close(mod(example[:2]), model(example[:2]))
