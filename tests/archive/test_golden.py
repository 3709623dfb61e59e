"""Golden examples: inputs that travel with the outputs that they gave."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tracepack
from tests.archive.files import corrupt
from tracepack.serialization.archive import Archive


def test_golden_examples_find_skew(cell_file, tmp_path):
    path, module, x, h = cell_file
    tracepack.load(path, verify="golden")
    with torch.no_grad():
        module.linear.bias[2] += 0.25
    op = tracepack.script(module)
    other = tracepack.trace(lambda x, h: op(x, h), x, h)
    other.save(tmp_path / "other.tpk", examples=[{"x": x, "h": h}])

    # The examples of one file over the weights of another: what an environment that computes otherwise would show.
    from tracepack.pipeline.load import verify_golden

    report = verify_golden(other, Archive(str(path)))
    assert not report.passed
    assert [output.name for output in report.outputs] == ["out[0]", "out[1]"]
    with torch.no_grad():
        gap = (module(x, h)[0] - tracepack.load(path)(x, h)[0]).abs().max().item()
    assert report.outputs[0].largest == pytest.approx(gap, rel=1e-6)
    with pytest.raises(
        tracepack.GoldenMismatchError, match=r"golden examples give other outputs here: out\[0\] differs by up to 0"
    ):
        report.require()


def test_an_altered_example_is_found_by_verify_all(cell_file):
    data = corrupt(cell_file[0].read_bytes(), "examples.safetensors")
    tracepack.load(data)
    for verify in ("all", "golden"):
        with pytest.raises(tracepack.ArchiveError, match="member 'examples.safetensors': a member was altered"):
            tracepack.load(data, verify=verify)


def test_examples_that_are_no_feeds_are_refused(tmp_path):
    mod, x = tracepack.trace(lambda x: x + 1, torch.ones(1)), torch.ones(1)
    for examples in ({"x": x}, [(x,)], [x]):
        with pytest.raises(tracepack.SignatureError, match="examples are a list of dicts like run's; got"):
            mod.save(tmp_path / "a.tpk", examples=examples)
    assert not (tmp_path / "a.tpk").exists()


def test_without_golden_examples_golden_verification_says_so(tmp_path):
    path = tmp_path / "a.tpk"
    tracepack.trace(lambda x: x + 1, torch.ones(1)).save(path)
    with pytest.raises(tracepack.GoldenMismatchError, match="the archive has no golden examples. Save it with save"):
        tracepack.load(path, verify="golden")


def test_golden_examples_of_every_kind(tmp_path):
    def process(x, n, words):
        return {"y": x * n, "v": x.max(0), "n": n + 1, "nan": x / 0 * 0}

    mod = tracepack.trace(process, torch.rand(3, 4), 2, "text")
    path = tmp_path / "a.tpk"
    mod.save(path, examples=[{"x": np.ones((2, 4), np.float32), "n": 5, "words": "text"}])
    tracepack.load(path, verify="golden")
