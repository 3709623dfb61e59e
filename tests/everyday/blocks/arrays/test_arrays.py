"""Blocks that hold arrays of numpy: values, dtypes and types are numpy's own, and no array is changed but their own."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracepack
from tests.campaigns.check import difference
from tests.everyday.blocks.arrays import of_grids as grids
from tests.everyday.blocks.arrays import of_points as points
from tests.everyday.blocks.arrays import of_signals as signals
from tests.everyday.blocks.test_blocks import blocks
from tests.everyday.case import loaded

DRAWN = np.random.default_rng(7)


def drawn(*sizes: int) -> np.ndarray[Any, Any]:
    """Numbers around zero."""
    return DRAWN.normal(size=sizes)


def pair(count: int) -> np.ndarray[Any, Any]:
    """Points around two places."""
    return np.concatenate([drawn(count, 2), drawn(count, 2) + 5])


def boxes(count: int) -> np.ndarray[Any, Any]:
    """Boxes that overlap."""
    corner = drawn(count, 2) * 3
    return np.concatenate([corner, corner + np.abs(drawn(count, 2)) + 1], 1)


NAN, LONG, FLAT = np.array([1.0, np.nan, 3.0, -1.0, np.nan]), drawn(23), np.zeros(4)
SERIES: list[list[Any]] = [[LONG], [drawn(2)], [FLAT], [NAN], [-np.ones(3)], [np.array([np.inf, 0.0, -np.inf])]]
EMPTY: list[list[Any]] = [[drawn(0)]]
WHOLE = (drawn(5, 5) > 0).astype(np.int64)
CASES: dict[str, tuple[Callable[..., Any], list[Any], list[list[Any]]]] = {
    "pool": (signals.pool, [drawn(6)], SERIES + EMPTY),
    "envelope": (signals.envelope, [drawn(6)], SERIES + EMPTY),
    "gaps": (signals.fill_gaps, [NAN], SERIES + EMPTY),
    "peaks": (signals.peaks, [drawn(9)], SERIES + EMPTY),
    "zero crossings": (signals.zero_cross, [drawn(9)], SERIES + EMPTY),
    "runs": (signals.runs, [drawn(9)], SERIES + EMPTY),
    "frames": (signals.frames, [drawn(10)], [[drawn(4)], [LONG], [np.arange(9.0)]]),
    "loudest": (signals.snr, [drawn(6)], SERIES),
    "bisection": (signals.bisect_fn, [np.abs(drawn(4))], [[np.abs(LONG)], [FLAT], [NAN], *EMPTY]),
    "changes": (signals.changes, [drawn(6)], SERIES + EMPTY),
    "Kalman": (signals.kalman, [drawn(6)], SERIES),
    "bytes that wrap": (
        signals.u8, [np.array([100, 200, 3], np.uint8)],
        [[np.full(9, 250, np.uint8)], [np.array([], np.uint8)], [np.arange(8, dtype=np.uint8)[::-1]]],
    ),
    "interpolated": (signals.interp, [drawn(5)], SERIES),
    "biquad": (signals.biquad, [drawn(6)], SERIES + EMPTY),
    "hysteresis": (signals.hysteresis, [drawn(6)], SERIES + EMPTY),
    "run lengths": (
        signals.rle, [np.array([1, 1, 2])], [[np.array([], np.int64)], [np.array([3])], [np.array([0, 0, 7, 0])]]
    ),
    "median filter": (signals.median_filter, [drawn(6)], SERIES + EMPTY),
    "numbers that overflow": (
        signals.integrate, [np.array([4, 3], np.int32)],
        [[np.array([90, 20, 5], np.int32)], [np.array([], np.int32)], [np.array([2**31 - 1, -5, 7], np.int32)],
         [np.array([-(2**31), -1], np.int32)]],
    ),
    "halved": (signals.masks, [np.abs(drawn(5)) * 9], SERIES[:4] + EMPTY),
    "report": (signals.text_report, [drawn(6)], SERIES + EMPTY),
    "merged": (
        signals.interleave, [np.array([1.0, 4.0]), np.array([2.0])],
        [[drawn(0), np.ones(2)], [np.ones(2), drawn(0)], [np.sort(LONG), np.sort(drawn(5))]],
    ),
    "isotonic": (signals.pav, [drawn(6)], SERIES),
    "edit distance": (grids.edit, ["kitten", "sitting"], [["", ""], ["a", ""], ["abc", "abc"], ["flaw", "lawn"]]),
    "time warping": (
        grids.dtw, [drawn(4), drawn(5)], [[drawn(1), LONG], [drawn(0), drawn(0)], [NAN, FLAT], [LONG, drawn(0)]]
    ),
    "Viterbi": (
        grids.viterbi, [drawn(4, 3), drawn(3, 3)],
        [[drawn(1, 2), drawn(2, 2)], [drawn(9, 4), drawn(4, 4)], [np.zeros((3, 3)), np.zeros((3, 3))]],
    ),
    "blobs": (
        grids.blobs, [WHOLE], [[np.zeros((2, 3), np.int64)], [np.ones((4, 2), np.int64)], [WHOLE.T[:3]], [WHOLE[:0]]]
    ),
    "Otsu": (grids.otsu, [np.abs(drawn(50)) * 60], [[np.full(3, 10.0)], [np.abs(LONG) * 30]]),
    "life": (grids.life, [WHOLE], [[np.zeros((3, 3), np.int64)], [WHOLE[:4].T], [np.eye(3, dtype=np.int64)]]),
    "Gauss": (
        grids.gauss, [drawn(3, 3), drawn(3)],
        [[np.eye(2)[::-1], drawn(2)], [np.ones((2, 2)), np.ones(2)], [drawn(6, 6), drawn(6)]],
    ),
    "all paths": (
        grids.floyd, [np.abs(drawn(3, 3))],
        [[np.abs(drawn(6, 6))], [np.zeros((0, 0))], [np.full((2, 2), np.nan)]],
    ),
    "knapsack": (
        grids.knap, [np.array([2, 3, 4]), np.array([3.0, 4.0, 5.0]), 6],
        [[np.array([], np.int64), drawn(0), 3], [np.array([1, 1]), drawn(2), 9], [np.array([7]), drawn(1), 2]],
    ),
    "common letters": (grids.lcs, ["abcde", "ace"], [["", ""], ["a", ""], ["xyz", "abc"], ["banana", "atana"]]),
    "dithered": (
        grids.dither, [np.abs(drawn(3, 4)) * 80],
        [[np.abs(drawn(5, 2)) * 99], [np.zeros((0, 3))], [np.full((1, 1), 3e2)]],
    ),
    "rows of length one": (
        grids.norm_rows, [drawn(3, 4)],
        [[drawn(5, 2)], [np.zeros((2, 2))], [drawn(0, 3)], [NAN[None]]],
    ),
    "power iteration": (
        points.fixpoint, [np.eye(2) * 2], [[np.array([[2.0, 1.0], [1.0, 3.0]])], [np.eye(5)], [np.abs(drawn(3, 3)).T]]
    ),
    "k-means": (points.kmeans, [pair(4)], [[pair(10)], [np.ones((3, 2))], [pair(5)[::2]]]),
    "boxes": (
        points.nms, [boxes(5), np.abs(drawn(5))],
        [[boxes(0), drawn(0)], [boxes(1), drawn(1)], [boxes(12), drawn(12)]],
    ),
    "clusters": (points.dbscan, [pair(3)], [[pair(8)], [np.zeros((0, 2))], [np.ones((3, 2))], [pair(6)[::2]]]),
    "joined clusters": (points.agglom, [drawn(5)], [[drawn(3)], [drawn(9)], [drawn(1)], [NAN]]),
    "perceptron": (
        points.perceptron, [pair(3), np.repeat([1.0, -1.0], 3)],
        [[pair(4), np.repeat([1.0, -1.0], 4)], [drawn(5, 3), np.sign(drawn(5))], [np.zeros((2, 2)), np.ones(2)]],
    ),
    "descent": (points.descend, [drawn(6, 2), drawn(6)], [[drawn(9, 3), drawn(9)], [np.zeros((2, 1)), np.ones(2)]]),
    "flatter": (points.softmax_until, [drawn(4) * 9], [[LONG * 99], [FLAT], [NAN], [np.array([1e308, 0.0])]]),
    "mixture": (points.gmm1d, [drawn(9)], [[LONG], [np.ones(3)]]),
    "eigenvalue": (points.eigen, [np.eye(2) * 2], [[np.zeros((3, 3))], [np.abs(drawn(4, 4)).T]]),
    "tracks": (
        points.tracker, [[drawn(2, 4), drawn(2, 4)]],
        [[[np.zeros((2, 4)), np.zeros((1, 4)) + 0.1]], [[drawn(2, 4), drawn(3, 4)]]],
    ),
}  # fmt: skip


def _read_only(thing: Any) -> Any:
    if isinstance(thing, list):
        return [_read_only(each) for each in thing]
    if isinstance(thing, np.ndarray):
        thing = thing.copy()
        thing.setflags(write=False)
    return thing


def _strided(thing: Any) -> Any:
    if isinstance(thing, list):
        return [_strided(each) for each in thing]
    return np.repeat(thing, 2, -1)[..., ::2] if isinstance(thing, np.ndarray) and thing.ndim else thing


def _outcome(function: Callable[..., Any], given: list[Any]) -> Any:
    try:
        return function(*given)
    except Exception as error:  # a run says it with the user's line, and raises it from Python's own
        return type(error.__cause__ or error)


@pytest.mark.parametrize("name", CASES)
def test_loops_with_arrays_answer_as_numpy_does_and_change_nothing(name: str) -> None:
    function, example, others = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's own, of divisions by zero
        mod = loaded(function, *copy.deepcopy(example))
        assert "written" not in str(mod.signature)
        for given in (example, *others):
            for made in (copy.deepcopy, _read_only, _strided):
                wanted, got, left = _outcome(function, made(given)), made(given), made(given)
                found = _outcome(mod, got)
                assert difference(wanted, found) == "", f"{given}: {found!r} instead of {wanted!r}"
                assert difference(left, got) == ""


def _twice(x):
    """Two results that hold the same memory, and one that holds that of the argument."""
    out = np.zeros(len(x))
    n = 0
    while n < len(x) and x[n] > 0:
        out[n] = x[n]
        n += 1
    return out, out[:2], x[1:]


def test_results_share_memory_where_they_do_in_python() -> None:
    mod = loaded(_twice, np.ones(3))
    x = np.array([1.0, 2.0, -1.0, 4.0])
    out, part, rest = mod(x)
    part[0], rest[0] = 7.0, 8.0
    assert out.tolist() == [7.0, 2.0, 0.0, 0.0]
    assert x.tolist() == [1.0, 8.0, -1.0, 4.0]


def _changing(x, y):
    total = 0.0
    while total < 5:
        total += np.abs(x).sum() + 1
        if x[0] < 0:
            y[0] = total
    return total


def test_a_block_writes_to_no_array_that_it_was_given() -> None:
    mod = loaded(_changing, np.ones(2), np.zeros(2))
    assert blocks(mod)
    y = np.zeros(3)
    assert mod(np.ones(1), y) == _changing(np.ones(1), np.zeros(3))
    with pytest.raises(
        tracepack.GuardError, match=r"writes to an array that is not its own; .*x\.copy\(\)|x\.copy\(\)"
    ):
        mod(-np.ones(2), y)
    assert not y.any()


def _best(x):
    best = -1.0
    for v in x:
        if v > best:  # noqa: PLR1730  # as it is written by those who know the other one not
            best = v
    return best


def _scored(x, w):
    best = -1.0
    for v in x:
        if v > best:  # noqa: PLR1730  # as it is written by those who know the other one not
            best = v
    return w * best


def test_a_number_of_numpy_is_none_of_python() -> None:
    mod = loaded(_best, np.ones(2, np.float32))
    for x in (np.array([3.0, 2.0], np.float32), -np.full(2, 5.0, np.float32), np.zeros(0, np.float32)):
        assert type(mod(x)) is type(_best(x))
    mod = loaded(_scored, np.ones(2), np.ones(2, np.float32))
    for x in (np.array([3.0, 2.0]), -np.full(2, 5.0)):
        assert mod(x, np.ones(3, np.float32)).dtype == _scored(x, np.ones(3, np.float32)).dtype
