"""Cache files that are broken: a layer warns, runs without them, and writes them anew."""

from __future__ import annotations

import copy
import json
import os
import random
import warnings

import pytest
import torch

from tests.fuzz.archives import _mutate
from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.loops.description import Schedule
from tracepack.ops.comprehension.tune.cache import TuningCache

SHAPES = [(4, 4), (4, 4)]
A, B = torch.rand(4, 4), torch.rand(4, 4)
TUNED = {**Options().to_plain(), "schedule": {"fuse": False, "nests": [Schedule("n", 2).to_plain()]}}
BEST = [(1.0, Options("torch")), (2.0, Options.from_plain(TUNED))]
BROKEN = (
    b"", b"{", b"null", b"[]", b"5", b"NaN", b"\xff\xfe", b"\0" * 99, b"[" * 100_000, b'{"version": 1}',
    b'{"version": 1, "entries": 5}', b'{"version": 1, "entries": [' + b"[" * 900 + b"]" * 900 + b"]}",
    b'{"version": ' + b"9" * 5000 + b', "entries": []}', b'{"version": 1e999, "entries": []}',
)  # fmt: skip


@pytest.fixture
def layer():
    return define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")


@pytest.fixture
def cache(layer, tmp_path):
    file = TuningCache(str(tmp_path / "mm.tc"))
    file.store(layer.key, SHAPES, BEST)
    return file


def answers(layer, cache) -> list[str]:
    """The warnings of a call with a cache, whose answer is right, and of a new entry, which is read again."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.testing.assert_close(layer(A, B, cache=str(cache.path).removesuffix(".options")), A @ B)
        cache.is_stale(layer.key, SHAPES)
        cache.store(layer.key, SHAPES, BEST)
    assert {each.category for each in said} <= {ComprehensionWarning}
    return [str(each.message) for each in said]


def test_a_sound_cache_says_nothing(layer, cache):
    assert answers(layer, cache) == []
    assert cache.all(layer.key, SHAPES) == BEST


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_cache_is_ignored_with_a_word(layer, cache, content):
    cache.path.write_bytes(content)
    said = answers(layer, cache)[0]
    assert "a file of another version was ignored" in said or "has no options for 'mm'" in said
    assert cache.all(layer.key, SHAPES) == BEST


def test_a_changed_cache_fails_no_call(layer, cache):
    sound = json.loads(cache.path.read_text())
    for number in range(150):
        source, changed = random.Random(number), copy.deepcopy(sound)
        for _ in range(source.choice((1, 1, 2, 4))):
            _mutate(changed, source)
        cache.path.write_bytes(json.dumps(changed, default=repr).encode("utf-8", "surrogatepass"))
        said = answers(layer, cache)
        assert all(text.isprintable() and len(text) < 1000 for text in said), number


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_a_pipe_and_a_folder_are_no_caches(layer, tmp_path):
    os.mkfifo(tmp_path / "pipe.tc.options")
    (tmp_path / "folder.tc.options").mkdir()
    for name in ("pipe", "folder"):
        with pytest.warns(ComprehensionWarning, match="a file of another version was ignored"):
            torch.testing.assert_close(layer(A, B, cache=str(tmp_path / f"{name}.tc")), A @ B)
