"""What a user may give to `autotune` wrongly: one message of ours, before the search; and nothing found is lost."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.tune.cache import TuningCache
from tracepack.ops.comprehension.tune.genetic import Search

MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
GATHER = "def g(float(N) A, int32(M) I) -> (B) { B(i) = A(I(i)) }"
SIZES = ((6, 5), (5, 7))
QUICK: dict[str, Any] = {"generations": 1, "pop_size": 2, "threads": 2}


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Search, "run", lambda *_: pytest.fail("the search began"))


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"crossover_rate": 101}, "autotune: crossover_rate is above 100; got 101; expected a percentage"),
        ({"mutation_rate": 200}, "autotune: mutation_rate is above 100; got 200; expected a percentage"),
        ({"number_elites": 11}, "autotune: number_elites is above pop_size; got 11; expected 10"),
        ({"seed": [1]}, "autotune: seed is no whole number; got [1]"),
        ({"seed": "a"}, "autotune: seed is no whole number; got 'a'"),
        ({"seconds": True}, "autotune: seconds is no positive number; got True"),
        ({"progress": "x"}, "autotune: progress is no way to show it; got 'x'; expected True, False, None or a fun"),
        ({"training": "x"}, "autotune: training is no bool; got 'x'; expected True, False or None"),
        ({"options": Options(tile={"q": 2})}, "'mm' has no axis 'q'; expected one of ['k', 'm', 'n']"),
        ({"options": ["conv", Options(tile={"q": 2})], "training": True}, "has no axis 'q'; expected one of"),
        ({"cache": 5}, "cache= is no name of a file; got 5; expected text or a Path, as 'conv.tc'"),
        ({"cache": b"x"}, "cache= is no name of a file; got b'x'; expected text or a Path, as 'conv.tc'"),
        ({"cache": ""}, "cache= names no file; got ''; expected the name of a file, as 'conv.tc'"),
        ({"cache": "/options"}, "cache= names no file; got '/options'"),
    ],
)
def test_a_wrong_setting_is_refused_before_the_search(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.OptionsError, match=re.escape(message)):
        define(MATMUL).autotune(*SIZES, **settings)


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("text", "inputs", "message"),
    [
        (MATMUL, ((0, 4), (4, 5)), "the sizes of input 'A' of 'mm' are no whole numbers above 0; got (0, 4). Tune at"),
        (MATMUL, ((3, 4), (4, -5)), "the sizes of input 'B' of 'mm' are no whole numbers above 0; got (4, -5)"),
        (MATMUL, ((2.5, 4), (4, 5)), "the sizes of input 'A' of 'mm' are no whole numbers above 0; got (2.5, 4)"),
        (MATMUL, (torch.empty(3, 0), torch.empty(0, 5)), "input 'A' of 'mm' has no elements, so that there is nothin"),
        (GATHER, ((0,), (4,)), "the sizes of input 'A' of 'g' are no whole numbers above 0; got (0,)"),
        (GATHER, (torch.rand(4), torch.empty(0, dtype=torch.int32)), "input 'I' of 'g' has no elements"),
        (MATMUL, (torch.empty(3, 4, device="meta"),) * 2, "input 'A' of 'mm' is no plain tensor"),
    ],
)
def test_sizes_at_which_there_is_nothing_to_time_are_refused(text: str, inputs: Any, message: str) -> None:
    with pytest.raises(errors.ComprehensionInputError, match=re.escape(message)):
        define(text).autotune(*inputs, **QUICK)


@pytest.mark.usefixtures("no_search")
def test_fake_tensors_are_not_timed() -> None:
    message = r"autotune: input 'A' of 'mm' is no plain tensor, .*; got FakeTensor\. Tune on real tensors"
    with FakeTensorMode(), pytest.raises(errors.ComprehensionInputError, match=message):
        define(MATMUL).autotune(*SIZES, **QUICK)


@pytest.mark.usefixtures("no_search")
def test_the_backwards_file_is_checked_before_the_forwards_search(tmp_path: Path) -> None:
    (tmp_path / "mm.tc_backward.options").mkdir()
    with pytest.raises(errors.OptionsError, match=r"mm.tc_backward.options: the cache file cannot be written: a folde"):
        define(MATMUL).autotune(*SIZES, cache=f"{tmp_path}/mm.tc", training=True, **QUICK)


def test_a_path_and_the_users_folder_name_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    a, b = torch.randn(6, 5), torch.randn(5, 7)
    best = define(MATMUL).autotune(a, b, cache=tmp_path / "mm.tc", **QUICK)
    define(MATMUL).autotune(a, b, cache="~/home.tc", **QUICK)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["home.tc.options", "mm.tc.options"]
    fresh = define(MATMUL)
    torch.testing.assert_close(fresh(a, b, cache=Path("mm.tc")), a @ b, rtol=1e-4, atol=1e-4)
    assert fresh.plan([a, b], None, Path("mm.tc")).options.forward == best


def test_a_name_that_no_file_can_have_has_no_options() -> None:
    a, b = torch.randn(6, 5), torch.randn(5, 7)
    with pytest.warns(ComprehensionWarning, match="a file of another version was ignored|has no options for 'mm'"):
        found = define(MATMUL)(a, b, cache="x" * 300)
    torch.testing.assert_close(found, a @ b, rtol=1e-4, atol=1e-4)


def test_what_was_found_is_used_where_the_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    layer = define(MATMUL)
    monkeypatch.setattr("tracepack.ops.comprehension.tune.cache.json.dump", full)
    text = (
        r"mm.tc.options' cannot be written \(No space left on device\): the options found are kept in this layer only"
    )
    with pytest.warns(ComprehensionWarning, match=text):
        best = layer.autotune(*SIZES, cache=tmp_path / "mm.tc", **QUICK)
    assert layer.tuned == {"6x5,5x7": [best]}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("training", [False, True])
def test_an_error_of_the_users_function_comes_out_and_loses_nothing(training: bool, tmp_path: Path) -> None:
    lines: list[str] = []

    def fails(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            raise ZeroDivisionError("of the user")

    layer = define(MATMUL)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        layer.autotune(*SIZES, cache=tmp_path / "mm.tc", progress=fails, training=training, **QUICK)
    assert len(lines) == 2
    assert list(layer.tuned) == ["6x5,5x7"]
    (entry,) = json.loads((tmp_path / "mm.tc.options").read_text(encoding="utf-8"))["entries"]
    assert 1 <= len(entry["best"]) <= 2
    assert Options.from_plain(entry["best"][0]["options"]) == layer.tuned["6x5,5x7"][0]


def test_an_interrupt_before_anything_was_timed_writes_nothing(tmp_path: Path) -> None:
    file = TuningCache(tmp_path / "mm.tc")
    file.store("key", [(2, 3)], [(math.inf, Options())])
    assert not list(tmp_path.iterdir())
