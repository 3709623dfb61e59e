"""Engines in an archive: used where the file is trusted and the machine is alike, and never where they are not."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
import zipfile
from dataclasses import replace
from importlib import metadata

import msgpack
import pytest
import torch

import tracepack
from tests.engines.fakes import Mirror
from tracepack.ops.engines.engine import _version, file_of
from tracepack.ops.engines.rescue import Engaged, Reference
from tracepack.serialization.container.archive import Archive


@pytest.fixture
def data(mirror: type[Mirror]) -> bytes:
    """An archive whose engine is the mirror."""
    return saved()


def saved() -> bytes:
    torch.manual_seed(0)
    layer = tracepack.script(torch.nn.Linear(4, 2), name="layer")
    mod = tracepack.trace(lambda x: layer(x).tanh(), torch.rand(3, 4))
    mod.optimize([FEED], engines=["mirror"])
    assert mod.engines == {"pipeline": "mirror"}
    file = io.BytesIO()
    mod.save(file, examples=[FEED])
    return file.getvalue()


FEED = {"x": torch.arange(12.0).reshape(3, 4) / 12}


def forged(data: bytes, **fields: object) -> bytes:
    """The archive with other fields in the row of its engine."""
    source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    manifest = msgpack.unpackb(source.read("manifest.msgpack"))
    manifest["engines"][0] |= fields
    with zipfile.ZipFile(target, "w") as copy:
        for info in source.infolist():
            manifested = info.filename == "manifest.msgpack"
            copy.writestr(info, msgpack.packb(manifest) if manifested else source.read(info))
    return target.getvalue()


def test_a_trusted_file_runs_on_its_engine(data, mirror) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.load(data, trust=True)
    assert mod.engines == {"pipeline": "mirror"}
    mirror.calls.clear()
    torch.testing.assert_close(mod.run(FEED), tracepack.load(data, grad=True).run(FEED).detach())
    assert mirror.calls == ["pipeline"]


def test_a_file_that_is_not_trusted_runs_on_the_flat_function_and_says_so(data, mirror) -> None:
    mirror.calls.clear()
    with pytest.warns(UserWarning, match="bytes: runs on aten in place of mirror: its engines need trust=True"):
        mod = tracepack.load(data)
    assert mod.engines == {"pipeline": "aten"}
    assert mod.run(FEED).shape == (3, 2)
    assert mirror.calls == []


def test_a_signature_that_the_caller_names_stands_for_trust(data, mirror, tmp_path) -> None:
    cryptography = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from tracepack.serialization.container.signatures import sign

    key, path = cryptography.Ed25519PrivateKey.generate(), tmp_path / "signed.tpk"
    path.write_bytes(data)
    sign(path, key)
    assert tracepack.load(path, signed_by=key.public_key()).engines == {"pipeline": "mirror"}


def test_golden_examples_are_replayed_against_the_engine(data, mirror, monkeypatch) -> None:
    tracepack.load(data, trust=True, verify="golden")
    monkeypatch.setattr(mirror, "change", staticmethod(lambda t: t + 1))
    with pytest.raises(tracepack.GoldenMismatchError, match="out differs by up to 1"):
        tracepack.load(data, trust=True, verify="golden")


def test_a_damaged_artefact_is_refused(data, mirror) -> None:
    damaged = data.replace(b"a mirror", b"a mirage")
    with pytest.raises(tracepack.ArchiveError):
        tracepack.load(damaged, trust=True).run(FEED)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"engine": "turbo"}, "turbo on pipeline: unknown engine 'turbo'"),
        ({"processor": {"machine": "riscv64"}}, "mirror on pipeline: it was measured on riscv64, and this is"),
        ({"package": "torch 1.0"}, "mirror on pipeline: its artefact is of torch 1.0, and torch"),
    ],
)
def test_where_an_engine_cannot_run_the_flat_function_does(data, mirror, fields, reason) -> None:
    with pytest.warns(UserWarning, match="runs on aten where its engines cannot") as found:
        mod = tracepack.load(forged(data, **fields), trust=True)
    assert reason in str(found[0].message)
    assert mod.engines == {"pipeline": "aten"}
    assert mod.run(FEED).shape == (3, 2)


def test_a_file_that_an_engine_lacks_is_named(data, mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "open", lambda self, artefact, region, device: file_of(artefact, "model.onnx"))
    mod = tracepack.load(data, trust=True)
    said = "the engine 'mirror' fails on pipeline .*: Declined: the archive holds no 'model.onnx' for it, only 'note'"
    with pytest.warns(UserWarning, match=said):
        assert mod.run(FEED).shape == (3, 2)
    with pytest.raises(tracepack.ArchiveError, match="member 'engines/0/7': a member is missing"):
        tracepack.load(forged(data, assets={"note": "engines/0/7"}), trust=True)


@pytest.mark.parametrize(
    "fields",
    [
        {"body": 9, "nodes": None}, {"nodes": [0, 99]}, {"nodes": [1]}, {"body": "x"}, {"constants": {"w0": 99}},
        {"assets": {"note": "nowhere"}}, {"engine": 1}, {"processor": {"machine": 1}}, {"nodes": None, "body": None},
    ],
)  # fmt: skip
def test_a_malformed_row_is_refused(data, mirror, fields) -> None:
    with pytest.raises(tracepack.TracepackError):
        tracepack.load(forged(data, **fields), trust=True)


def test_gradients_and_budgets_are_those_of_the_flat_function(data, mirror) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tracepack.load(data, trust=True, grad=True).engines == {"pipeline": "aten"}
    with pytest.warns(UserWarning, match="its engines keep to no budget"):
        mod = tracepack.load(data, trust=True, budget={"seconds": 5.0})
    assert mod.engines == {"pipeline": "aten"}
    with pytest.raises(tracepack.SignatureError, match="keeps to the flat function"):
        mod.optimize([FEED])


def test_weights_are_stored_once_and_files_are_equal(mirror) -> None:
    first, second = saved(), saved()
    assert first == second
    archive = Archive(first)
    assert archive.manifest["engines"][0]["constants"] == {"w0": 0, "w1": 1}
    assert sorted(name for name in archive.names() if name.startswith("engines/")) == ["engines/0/0"]


def test_a_file_goes_through_load_and_save(data, mirror) -> None:
    mod, file = tracepack.load(data, trust=True), io.BytesIO()
    mod.save(file)
    assert file.getvalue() == data


def test_golden_examples_are_of_the_flat_function_and_hold_on_both_within_the_tolerance(mirror, monkeypatch) -> None:
    monkeypatch.setattr(mirror, "change", staticmethod(lambda tensor: tensor + 0.01))
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    wanted = model(FEED["x"]).detach().tanh()
    layer = tracepack.script(model, name="layer")
    mod = tracepack.trace(lambda x: layer(x).tanh(), torch.rand(3, 4))
    mod.optimize([FEED], engines=["mirror"], tolerance=0.02)
    file = io.BytesIO()
    mod.save(file, examples=[FEED])
    with pytest.warns(UserWarning, match="runs on aten"):
        plain = tracepack.load(file.getvalue(), verify="golden")
    torch.testing.assert_close(plain.run(FEED), wanted, rtol=0, atol=1e-6)
    fast = tracepack.load(file.getvalue(), trust=True, verify="golden")
    torch.testing.assert_close(fast.run(FEED), wanted + 0.01, rtol=0, atol=1e-6)
    monkeypatch.setattr(mirror, "change", staticmethod(lambda tensor: tensor + 0.1))
    with pytest.raises(tracepack.GoldenMismatchError, match=r"differs by up to 0\.1 \(tolerance 0\.02\)"):
        tracepack.load(file.getvalue(), trust=True, verify="golden")


@pytest.mark.parametrize("wrong", [-1.0, float("inf"), 1, "0.1"])
def test_a_tolerance_that_is_none_is_refused(data, wrong) -> None:
    with pytest.raises(tracepack.ArchiveError, match=r"engines\[0\]\.tolerance"):
        tracepack.load(forged(data, tolerance=wrong), trust=True)


IMPORTS = """
import sys, torch, tracepack
tracepack.load(sys.argv[1], trust=True)(torch.ones(3, 4))
late = ("torch._dynamo", "torch._inductor", "torch.onnx", "sympy")
print([name for name in late if name in sys.modules])
"""


def test_a_file_with_an_engine_is_loaded_without_torchs_exporters(tmp_path) -> None:
    """Which take seconds to import."""
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    op = tracepack.script(torch.nn.Linear(4, 2).eval(), example=torch.ones(2, 4), engine="onnxruntime")
    path = tmp_path / "a.tpk"
    tracepack.trace(lambda x: op(x), torch.ones(2, 4)).save(path)
    ended = subprocess.run([sys.executable, "-c", IMPORTS, path], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr


def test_sizes_of_a_search_are_not_compared_again_after_a_load(mirror) -> None:
    """And others are; so are all where the package is another one."""
    mod = tracepack.trace(lambda x: x * 3, torch.rand(4))
    mod.optimize([{"x": torch.rand(4)}], engines=["mirror"])
    file = io.BytesIO()
    mod.save(file)
    for version, sizes, compared in [("", 4, False), ("", 1009, True), ("torch 1.0", 4, True)]:
        loaded = tracepack.load(file.getvalue(), trust=True)
        engaged = loaded._engaged[0]
        artefact = replace(engaged.artefact, package=version or engaged.artefact.package)
        again = Engaged(engaged.engine, artefact, engaged.region, Counting(engaged.region))
        again.function()(torch.rand(sizes))
        assert again.reference.calls == int(compared)


class Counting(Reference):
    calls = 0

    def __call__(self, *values):
        self.calls += 1
        return super().__call__(*values)


@pytest.mark.parametrize("package", ["torch", "numpy", "msgpack", "onnxruntime", "openvino"])
def test_the_version_of_an_engine_is_that_of_its_package(package: str) -> None:
    pytest.importorskip(package)
    assert _version.__wrapped__(package) == metadata.version(package)


def test_what_a_package_says_of_its_version_counts_only_where_its_description_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(msgpack, "__version__", "99.0")
    assert _version.__wrapped__("msgpack") == metadata.version("msgpack")
