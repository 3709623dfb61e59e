"""Golden examples: inputs that travel with the outputs that they gave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.archive.files import corrupt, rewritten
from tracepack.pipeline.comparing import golden
from tracepack.pipeline.opening import verify_golden
from tracepack.serialization.container.archive import Archive


def test_golden_examples_find_skew(cell_file, tmp_path):
    path, module, x, h = cell_file
    tracepack.load(path, verify="golden")
    with torch.no_grad():
        module.linear.bias[2] += 0.25
    op = tracepack.script(module)
    other = tracepack.trace(lambda x, h: op(x, h), x, h)
    other.save(tmp_path / "other.tpk", examples=[{"x": x, "h": h}])

    # The examples of one file over the weights of another: what an environment that computes otherwise would show.
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


def replayed(path, example, process, **saving):
    """The report of a pipeline that is held to the examples of another one, saved with a constant of 0."""
    tracepack.trace(process(0.0), *example).save(path, examples=[dict(zip("xy", example, strict=False))], **saving)
    return lambda shift: verify_golden(tracepack.trace(process(shift), *example), Archive(str(path)))


def test_the_tolerance_follows_the_lowest_precision_on_the_way(tmp_path):
    """A double that was computed from floats differs between processors as floats do."""
    x, y = torch.rand(3), torch.rand(3, dtype=torch.float64)
    process = lambda shift: lambda x, y: (x.double() + shift, y + shift, y.half().double() + shift)  # noqa: E731
    report = replayed(tmp_path / "a.tpk", (x, y), process)(1.4e-8)
    assert [o.tolerance for o in report.outputs] == [1e-4, 1e-10, 2e-2]
    assert [o.passed for o in report.outputs] == [True, False, True]
    assert [o.equal for o in report.outputs] == [False] * 3
    assert report.outputs[0].largest == pytest.approx(1.4e-8, rel=1e-6)
    message = r"golden examples give other outputs here: out\[1\] differs by up to 1.4e-08 \(tolerance 1e-10\). Compare"
    with pytest.raises(tracepack.GoldenMismatchError, match=message):
        report.require()


@pytest.mark.parametrize(("tolerance", "passed"), [(None, False), (1e-6, False), (1e-2, True), (0, False)])
def test_a_tolerance_may_be_given(tmp_path, tolerance, passed):
    shifted = replayed(tmp_path / "a.tpk", (torch.rand(3),), lambda shift: lambda x: x + shift, tolerance=tolerance)
    assert shifted(1e-3).passed is passed
    assert shifted(0.0).passed


def test_a_tolerance_is_for_integers_only_where_it_is_given_and_never_for_booleans(tmp_path):
    def process(shift):
        return lambda x: ((x * 100 + shift).to(torch.uint8), x * 100 + shift > 50)

    example = (torch.tensor([0.1001, 0.5001]),)
    by_one = replayed(tmp_path / "a.tpk", example, process)(-0.02)
    assert [(o.largest, o.passed) for o in by_one.outputs] == [(1.0, False), (1.0, False)]
    by_one = replayed(tmp_path / "b.tpk", example, process, tolerance=1.0)(-0.02)
    assert [(o.tolerance, o.passed) for o in by_one.outputs] == [(1.0, True), (0.0, False)]


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), float("inf"), "1e-3", True])
def test_what_is_no_tolerance_is_refused(tmp_path, tolerance):
    mod, x = tracepack.trace(lambda x: x + 1, torch.ones(1)), torch.ones(1)
    with pytest.raises(tracepack.SignatureError, match="not a tolerance; got .*; expected a number of at least 0"):
        mod.save(tmp_path / "a.tpk", examples=[{"x": x}], tolerance=tolerance)
    with pytest.raises(tracepack.SignatureError, match=r"a tolerance needs golden examples; got .* Pass examples="):
        mod.save(tmp_path / "a.tpk", tolerance=tolerance)
    assert not (tmp_path / "a.tpk").exists()


def test_another_processor_is_reported_and_what_lies_beyond_the_tolerance_refused(tmp_path, monkeypatch):
    def process(shift):
        return lambda x: (x + shift, (x + shift > 0.5), torch.arange(3) + int(shift > 1))

    shifted = replayed(tmp_path / "a.tpk", (torch.tensor([0.5, 0.7, 0.9]),), process)
    assert not shifted(1e-6).passed  # a boolean that floats decided, on the processor that wrote it
    here = golden.processor([])
    monkeypatch.setattr(golden, "processor", lambda devices: {**here, "capability": "OTHER"})
    with pytest.warns(
        UserWarning, match=r"golden examples give other bits here: out\[0\] differs by up to .*e-0. \(tol.*, out"
    ):
        shifted(1e-6).require()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shifted(0.0).require()
    for shift, name in ((1e-3, r"out\[0\]"), (2.0, r".* out\[2\]")):  # an integer that no floats decided is exact
        with pytest.raises(tracepack.GoldenMismatchError, match=rf"written on .*replayed on .*OTHER.*: {name} differs"):
            shifted(shift).require()


def test_on_another_processor_a_last_bit_may_decide_a_rounding(tmp_path, monkeypatch):
    def process(shift):
        return lambda x: (torch.round(x + shift) * 0.5, torch.where(x + shift > 0.5, x * 3, x), x + shift)

    shifted = replayed(tmp_path / "a.tpk", (torch.tensor([0.5, 0.7, 0.9]),), process)
    assert not shifted(1e-6).passed  # on the processor that wrote it
    here = golden.processor([])
    monkeypatch.setattr(golden, "processor", lambda devices: {**here, "capability": "OTHER"})
    assert [output.largest > 0.4 for output in shifted(1e-6).outputs] == [True, True, False]
    with pytest.warns(UserWarning, match=r"golden examples give other bits here: out\[0\] differs by up to 0.5"):
        shifted(1e-6).require()
    with pytest.raises(tracepack.GoldenMismatchError, match=r"give other outputs here: out\[2\] differs"):
        shifted(1e-3).require()


def test_on_a_processor_of_another_make_texts_and_what_cancels_may_differ(tmp_path, monkeypatch):
    def process(shift):
        return lambda x: (f"{(x + shift).sum().item():.6f}", x + shift, (x - 2).sqrt() + shift / 2)

    shifted = replayed(tmp_path / "a.tpk", (torch.tensor([1e4, 1e-3, 3.0]),), process)
    assert [output.passed for output in shifted(1e-2).outputs] == [False, False, False]
    here = golden.processor([])
    assert not golden.moved({name: text for name, text in here.items() if name != "model"}, here)  # an older file
    monkeypatch.setattr(golden, "processor", lambda devices: {**here, "model": "OTHER"})
    report = shifted(1e-2)
    with pytest.warns(UserWarning, match=r"other bits here: .*out\[1\] differs by up to 0.01.*replayed on .* OTHER"):
        report.require()
    assert [output.within for output in report.outputs] == [False, False, False]
    assert report.outputs[2].largest < 0.1  # where both are no numbers, they do not differ
    with pytest.raises(tracepack.GoldenMismatchError, match=r"give other outputs here: out\[1\] differs"):
        shifted(10.0).require()


def test_a_file_loads_under_another_capability_of_the_processor(tmp_path):
    """Written with the kernels of this process, replayed with ATen's plainest, which sum in another order."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.LayerNorm(200), torch.nn.Softmax(-1))
    op, x, path = tracepack.script(model), torch.rand(7, 300), tmp_path / "a.tpk"
    tracepack.trace(lambda x: op(x).double().std(-1), x).save(path, examples=[{"x": x}])
    command = [sys.executable, "-m", "tracepack", "verify", "--json", str(path)]
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["outputs"][0]["tolerance"] == 1e-4
    assert report["processor"]["here"]["capability"] == "DEFAULT"
    assert report["processor"]["recorded"]["capability"] == torch.backends.cpu.get_cpu_capability()
    assert report["processor"]["differs"] == (torch.backends.cpu.get_cpu_capability() != "DEFAULT")


def test_what_a_file_says_of_its_comparison_is_checked(tmp_path):
    path = tmp_path / "a.tpk"
    tracepack.trace(lambda x: x + 1, torch.ones(1)).save(path, examples=[{"x": torch.ones(1)}])
    for field, value, text in (
        ("tolerance", -1.0, "tolerance: malformed; got -1.0; expected nil, or a float of at least 0"),
        (
            "precisions",
            {"out": "int8"},
            r"precisions\['out'\]: malformed; got 'int8'; expected one of float64, float32",
        ),
        ("processor", {"machine": 3}, r"processor\['machine'\]: malformed; got 3; expected a string"),
        ("processor", [], "golden: malformed"),
    ):
        data = rewritten(path, lambda m, f=field, v=value: m["golden"].update({f: v}))
        with pytest.raises(tracepack.ArchiveError, match=text):
            tracepack.load(data, verify="golden")


def test_a_golden_example_with_an_int_of_too_many_digits_is_refused_with_the_limit(tmp_path):
    module = tracepack.trace(lambda xs: [value**99 for value in xs], [1, 2])
    with pytest.raises(tracepack.ArchiveError, match=r"got 'an int of \d+ digits'; expected 99 at most"):
        module.save(tmp_path / "long.tpk", examples=[{"xs": [2**40, 3]}])
    module.save(tmp_path / "short.tpk", examples=[{"xs": [2, 3]}])


@pytest.mark.parametrize(
    ("process", "example"),
    [
        (lambda x: x.add_(1) if x.dim() else x, torch.zeros(1, 2).expand(3, 2)),
        (lambda x: (x.storage_offset(), x), torch.arange(12.0)[4:].view(4, 2)),
    ],
)
def test_a_golden_example_is_computed_as_its_file_keeps_it(process, example, tmp_path):
    module, before = tracepack.trace(process, torch.rand(3, 2)), example.clone()
    module.save(tmp_path / "kept.tpk", examples=[{"x": example}])
    assert torch.equal(example, before)
    tracepack.load(tmp_path / "kept.tpk", verify="golden")
