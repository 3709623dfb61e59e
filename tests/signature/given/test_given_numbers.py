"""Numbers of numpy that are given for those of Python: taken where the function gives the same, else refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tracepack

X = torch.rand(5, generator=torch.Generator().manual_seed(0))

COMPUTING = {
    "a sum of ints": (lambda n: n + 1, 5, np.int8(127)),
    "another width": (lambda n: n + 1, 5, np.int32(2**31 - 1)),
    "a difference": (lambda n: n - 1, 5, np.uint8(0)),
    "a sum beyond a uint8": (lambda n: n + 1, 5, np.uint8(255)),
    "a product": (lambda n: n * 100, 5, np.int8(5)),
    "a product of floats": (lambda v: v * 3, 0.5, np.float32(0.1)),
    "in half precision": (lambda v: v * 3, 0.5, np.float16(0.1)),
    "a size that is reckoned": (lambda n: [0] * (n - 1), 3, np.uint8(0)),
    "a sum of a list": (lambda xs: sum(xs), [0.1, 0.2, 0.3], [*np.float32([0.1, 0.2, 0.3])]),
    "flags that are added": (lambda flag: flag + flag, True, np.True_),
    "its class": (lambda n: "whole" if isinstance(n, int) else "other", 2, np.int64(2)),
    "its text": (lambda v: f"{v!r}", 0.25, np.float64(0.5)),
    "in a dict": (lambda config: config["n"] + 1, {"n": 5}, {"n": np.int8(127)}),
}


@pytest.mark.parametrize("name", COMPUTING)
def test_where_it_computes_otherwise_it_is_refused(name: str) -> None:
    process, example, given = COMPUTING[name]
    mod = tracepack.trace(process, example)
    with pytest.raises(tracepack.SignatureError, match="the function computes otherwise with a number of numpy than"):
        mod(given)
    assert mod(example) == process(example)


def test_the_message_says_what_to_pass_and_that_runs() -> None:
    mod = tracepack.trace(lambda x, n: (x, n + 1), X, 5)
    with pytest.raises(tracepack.SignatureError) as info:
        mod(X, np.int8(127))
    assert str(info.value) == (
        "input 'n': the function computes otherwise with a number of numpy than with one of Python; got numpy.int8; "
        "expected int. Pass int(value), or value.item()."
    )
    assert mod(X, int(np.int8(127)))[1] == 128


HANDED = {
    "a scale": (lambda x, v: x * v, 0.5, np.float32(0.25)),
    "a threshold": (lambda x, v: x[x > v], 0.5, np.float64(0.25)),
    "a count": (lambda x, n: x.topk(n).values, 2, np.int64(3)),
    "a size": (lambda x, n: torch.zeros(n) + x[:1], 2, np.int8(3)),
    "a flag": (lambda x, flag: x if flag else -x, True, np.False_),
    "a double that is computed with": (lambda x, v: x * (v * 3 + 1), 0.5, np.float64(0.1)),
    "a long that is computed with": (lambda x, n: x * (n * 3 + 1), 2, np.int64(7)),
}


@pytest.mark.parametrize("name", HANDED)
def test_where_it_gives_the_same_it_is_taken(name: str) -> None:
    process, example, given = HANDED[name]
    mod = tracepack.trace(process, X, example)
    assert torch.equal(mod(X, given), process(X, given))


def test_a_number_that_is_handed_on_is_one_of_python() -> None:
    mod = tracepack.trace(lambda x, v: {"x": x, "v": v}, X, 0.5)
    assert mod(X, np.float32(0.25))["v"] == 0.25


def test_a_loaded_file_refuses_it_too(tmp_path) -> None:
    tracepack.trace(lambda n: n + 1, 5).save(tmp_path / "a.tpk")
    mod = tracepack.load(tmp_path / "a.tpk")
    with pytest.raises(tracepack.SignatureError, match="the function computes otherwise with a number of numpy than"):
        mod.run({"n": np.int8(127)})
    assert tracepack.load(tmp_path / "a.tpk", convert=True).run({"n": np.int8(127)}) == 128


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [2**70, -(2**70), 2**63, 1e300, -1e300, float("inf"), float("nan"), 1e5])
def test_numbers_that_none_of_numpy_holds_are_taken(number) -> None:
    mod = tracepack.trace(lambda x, n: x if n > 3 else -x, X, number)
    assert torch.equal(mod(X, number), X if number > 3 else -X)
