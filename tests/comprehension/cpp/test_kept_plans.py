"""The plans that layers keep for each size are bounded for all of them together, and so are their libraries."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import torch

from tracepack.ops.comprehension import Layer, define
from tracepack.ops.comprehension.run import kept_plans


def square(name: str) -> Layer:
    return define(f"def {name}(float(N) A) -> (B) {{ B(i) = A(i) * A(i) }}")


def check(layer: Layer, size: int, options: str | None = None) -> None:
    a = torch.randn(size, requires_grad=True)
    found = layer(a, options=options)
    torch.testing.assert_close(found, a * a)
    found.sum().backward()
    torch.testing.assert_close(a.grad, 2 * a)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_plans, "MOST_PLANS", 3)
    monkeypatch.setattr(kept_plans, "_latest", type(kept_plans._latest)())
    gc.collect()
    kept_plans._dead.clear()


def plan(layer: Layer, size: int) -> object:
    return layer.plan([torch.empty(size)], "torch")


def test_the_plans_of_all_layers_share_a_bound_and_those_used_last_stay() -> None:
    first, second = square("f"), square("g")
    for size in range(1, 9):
        check(first, size, "torch")
        check(second, size, "torch")
        assert len(first._plans) + len(second._plans) <= 3
    kept = plan(first, 20)
    for size in range(30, 36):
        plan(second, size)
        assert plan(first, 20) is kept
    for size in range(30, 33):
        plan(second, size)
    assert plan(first, 20) is not kept


def test_a_layer_that_is_gone_leaves_room() -> None:
    kept = square("f")
    first = plan(kept, 1)
    for _ in range(5):
        again = square("f")  # takes the place of the layer before as the one that serves recordings
        plan(again, 2)
        del again
        gc.collect()
    assert plan(kept, 1) is first


def mapped(folder: Path) -> int:
    return len(
        {
            line.split()[-1]
            for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
            if str(folder) in line
        }
    )


def test_the_libraries_of_plans_that_make_room_are_unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    layer = square("f")
    seen = []
    for size in range(40, 46):
        check(layer, size)
        layer.set_tuned([(1,)], [])  # forgets the latest calls, which keep their plans as well
        gc.collect()
        seen.append(mapped(tmp_path))
    assert seen[2] >= 3
    assert seen[3:] == [seen[2]] * 3
    check(layer, 40)  # from the disk


def test_a_library_stays_for_as_long_as_its_plan_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    layer = square("f")
    forward = layer.plan([torch.empty(50)]).forward
    for size in range(51, 56):
        plan(layer, size)
    a = torch.randn(50)
    torch.testing.assert_close(forward([a])[0], a * a)
