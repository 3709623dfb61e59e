"""Files of inputs and options that are wrong: exit 2, or the code of the table, and one line; files that are right."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.archive.files import rewritten
from tests.cli.commands import answer, refused
from tests.security.forge import archive_of, tensor
from tracepack.cli import exit_codes as exits
from tracepack.cli import main
from tracepack.ops.graph.graph import Graph


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # zipfile warns of a name that is there twice
        for name, data in members:
            file.writestr(name, data)
    return buffer.getvalue()


def flipped(data: bytes) -> bytes:
    at = data.find(b"NUMPY") + 130  # in the numbers
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


X = np.ones((3, 4), np.float32)


def claiming(shape: str) -> bytes:
    """A .npy file whose header tells another shape."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return np.lib.format.magic(1, 0) + len(header).to_bytes(2, "little") + header + b"\0" * 48


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("x.npz", npz(x=X)[:100], "cannot read the file; got File is not a zip file"),
        ("x.npz", b"PK\x03\x04" + b"x" * 100, "cannot read the file"),
        ("x.npz", flipped(npz(x=X)), "cannot read the file; got Bad CRC-32 for file 'x.npy'"),
        ("x.npz", npy(X), "not a .npz file; got one array"),
        ("x.npz", zipped(("x.npy", npy(X)), ("x.npy", npy(X))), "a name is there twice; got 'x'"),
        ("x.npz", zipped(("x", npy(X)), ("x.npy", npy(X))), "a name is there twice; got 'x'"),
        ("x.npz", zipped(("x.txt", b"hello")), "a member is no array; got 'x.txt'"),
        ("x.npy", npz(x=X), "not a .npy file; got a zip"),
        ("x.npy", claiming("(10000000000000, 4)"), "cannot read the file; got Unable to allocate"),
        ("x.npy", claiming("(4611686018427387904, 8)"), "cannot read the file"),
        pytest.param(
            "x.npy",
            claiming("(-1, 4)"),
            "cannot read the file",
            marks=pytest.mark.skipif(
                np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="this numpy takes -1 for all rows that there are"
            ),
        ),
        ("x.npy", b"", "cannot read the file"),
        ("x.json", b"[" * 100000 + b"]" * 100000, "not JSON; got too many levels"),
        ("x.json", b'{"x": [[1,2,3,4]], "x": [[5,6,7,8]]}', "a key is there twice; got 'x'"),
        ("x.json", b'[{"a": {"b": 1, "b": 2}}]', "a key is there twice; got 'b'"),
        ("x.json", '{"x": 1}'.encode("utf-16"), "cannot read the file"),
        ("x.json", b"", "not JSON"),
        ("x.txt", b"\xff\xfe\xfa", "cannot read the file"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_wrong_file(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path, name: str, data: bytes, text: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    err = refused(capsys, exits.USAGE, "run", file, "--input", f"x={path}")
    assert f"tracepack: {str(path)!r}: {text}" in err


@pytest.mark.parametrize("value", ["x=" + "[" * 100000, 'x={"a": 1, "a": 2}'])
def test_a_wrong_value(capsys: pytest.CaptureFixture[str], file: str, value: str) -> None:
    assert "tracepack: --value x: " in refused(capsys, exits.USAGE, "run", file, "--value", value)


def test_files_of_windows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "shout.tpk")
    tracepack.trace(lambda x, t: (x * 2, t + "!"), torch.ones(2), "a").save(path)
    (tmp_path / "x.json").write_bytes(b"\xef\xbb\xbf" + json.dumps({"x": [1, 2]}).encode())
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbfhello\r\n")
    found = answer(capsys, "run", path, "--input", f"{tmp_path}/x.json", "--input", f"t={tmp_path}/t.txt")
    assert [each["value"] for each in found["outputs"]] == [[2.0, 4.0], "hello!"]


@pytest.mark.parametrize("device", ["²", "--5", "-", "", "-2", "9" * 30, "cuda:²"])
def test_a_device_that_is_no_number(capsys: pytest.CaptureFixture[str], file: str, device: str) -> None:
    assert "not a device; got" in refused(capsys, exits.DEVICE, "verify", file, f"--device={device}")


@pytest.mark.parametrize("size", ["N=99999999999999", f"N={10**17}", "N=9999999999999"])
def test_a_size_that_no_memory_holds(capsys: pytest.CaptureFixture[str], file: str, size: str) -> None:
    err = refused(capsys, exits.USAGE, "bench", file, "--runs", "1", "--size", size)
    assert (
        f"no random inputs fit the signature; got inputs of these sizes cannot be made; got {size}; expected 1 GiB"
        in err
    )


LISTS: object = ["float32", [2]]
for _ in range(60):
    LISTS = ["list", LISTS]
OTHERS = ["float32", ["?"] * 20]
SIZES = {
    "4 GiB": (["float32", [1 << 30]], True), "bytes that are made as int64": (["uint8", [1 << 28]], True),
    "another of negative size": (["float32", [-(1 << 40)]], False), "a list of lists": (LISTS, False),
    "a list of tensors": (["list", OTHERS], False), "pairs": (["list", {"t": [OTHERS, OTHERS]}], False),
}  # fmt: skip


@pytest.mark.parametrize("command", ["bench", "profile", "optimize", "export"])
@pytest.mark.parametrize("name", SIZES)
def test_inputs_whose_size_a_file_states_are_bounded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, alone = SIZES[name]
    kinds = [kind, ["float32", [4]] if alone else ["float32", [1 << 30]]]
    path = str(tmp_path / "large.tpk")
    x, y = tensor(), tensor()
    Path(path).write_bytes(archive_of(Graph((x, y), (), x)))
    Path(path).write_bytes(rewritten(path, lambda manifest: manifest["parameters"].update(types=kinds)))

    def forbidden(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("memory was asked for")

    monkeypatch.setattr(torch, "rand", forbidden)
    out = {"optimize": ["--out", str(tmp_path / "out")], "export": [str(tmp_path / "out")]}.get(command, [])
    err = refused(capsys, exits.USAGE, command, path, *out)
    assert "inputs of these sizes cannot be made; got fixed ones; expected 1 GiB at most" in err
    assert "save the file with examples=[...]" in err


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--threads", "1025", "1025 is more than 1024"), ("--threads", "100000000", "is more than 1024"),
        ("--threads", "0", "not a positive whole number"), ("--threads", "²", "not a positive whole number"),
        ("--runs", "²", "not a positive whole number"), ("--size", "N=²", "is not NAME=NUMBER"),
        ("--size", "N=" + "9" * 30, "is not NAME=NUMBER"), ("--packages", "..", "is not the name of a module"),
        ("--packages", "a b", "is not the name of a module"), ("--packages", "", "is not the name of a module"),
    ],
)  # fmt: skip
def test_a_wrong_option(capsys: pytest.CaptureFixture[str], file: str, option: str, value: str, text: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", file, option, value])
    assert stopped.value.code == exits.USAGE
    assert text in capsys.readouterr().err


def test_as_many_threads_as_are_allowed(capsys: pytest.CaptureFixture[str], file: str) -> None:
    before = torch.get_num_threads()
    try:
        assert answer(capsys, "bench", file, "--runs", "1", "--threads", "2")["threads"] == 2
    finally:
        torch.set_num_threads(before)


def test_a_package_that_is_not_installed(capsys: pytest.CaptureFixture[str], file: str) -> None:
    err = refused(capsys, exits.MISSING, "verify", file, "--packages", "no_such_package.part")
    assert err == "tracepack: --packages no_such_package: the package is not installed\n"
    assert answer(capsys, "verify", file, "--packages", "json.decoder")["passed"]


def test_keys(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    text = tmp_path / "text.pem"
    text.write_text("hello")
    for key in ("none.pem", str(text), file, str(tmp_path)):
        for command in (["verify", file, "--signed-by", key], ["sign", file, "--key", key]):
            err = refused(capsys, exits.USAGE, *command)
            assert f"cannot read the key; got {key!r}"[:80] in err


@pytest.mark.parametrize("quick", [[], ["--hashes-only"]])
def test_verify_asks_for_the_signature(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path, quick: list[str]
) -> None:
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    public = {}
    for name in ("a", "b"):
        key = Ed25519PrivateKey.generate()
        (tmp_path / name).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public[name] = str(tmp_path / f"{name}.pub")
        Path(public[name]).write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    path = str(tmp_path / "cell.tpk")
    Path(path).write_bytes(Path(file).read_bytes())
    assert "bears no signature by the given key" in refused(
        capsys, exits.TRUST, "verify", path, *quick, "--signed-by", public["a"]
    )
    answer(capsys, "sign", path, "--key", str(tmp_path / "a"))
    assert answer(capsys, "verify", path, *quick, "--signed-by", public["a"])["passed"]
    assert answer(capsys, "verify", path, *quick, "--signed-by", public["b"], "--signed-by", public["a"])["passed"]
    refused(capsys, exits.TRUST, "verify", path, *quick, "--signed-by", public["b"])


def test_a_quick_verify_has_all_fields(capsys: pytest.CaptureFixture[str], file: str) -> None:
    quick, whole = answer(capsys, "verify", file, "--hashes-only"), answer(capsys, "verify", file)
    assert quick.keys() == whole.keys()
    assert quick["processor"] is None
    assert set(whole["processor"]) == {"recorded", "here", "differs"}
