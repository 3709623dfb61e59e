"""Output files of `run` and `show`: every output under its own name, and what is no file is written into."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.cli.commands import answer, refused, run
from tracepack.cli import exit_codes as exits

X = torch.tensor([1.0, 2.0])
GIVEN = ["--value", "x=[1, 2]"]


def saved(folder: Path, function: Any, *examples: Any) -> str:
    path = str(folder / "made.tpk")
    tracepack.trace(function, *(examples or (X,))).save(path)
    return path


def written(folder: Path, function: Any, kind: str) -> dict[str, Any]:
    """What `run --output` wrote of a function of [1, 2]."""
    from tracepack.cli import main

    target = folder / f"out{kind}"
    assert main(["run", saved(folder, function), *GIVEN, "--output", str(target)]) == 0
    if kind == ".json":
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return found
    with np.load(target) as content:
        return {name: content[name].tolist() for name in content.files}


NAMES = [
    "file", "allow_pickle", "args", "self", "kwds", "arr_0", "", "a/b", "../a", "a\nb", "\x1b[31m", "ü✓", "out",
    "a.npy", "x" * 300, "out[0]", "'", '"',
]  # fmt: skip


@pytest.mark.parametrize("kind", [".npz", ".json"])
def test_every_output_has_its_own_name(tmp_path: Path, kind: str) -> None:
    found = written(tmp_path, lambda x: {name: x * index for index, name in enumerate(NAMES)}, kind)
    assert found == {name: [index, 2 * index] for index, name in enumerate(NAMES)}


@pytest.mark.parametrize("name", ["a\0b", "x" * 70000])
def test_a_name_that_a_file_cannot_have(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    path, target = saved(tmp_path, lambda x: {name: x}), tmp_path / "out.npz"
    err = refused(capsys, exits.USAGE, "run", path, *GIVEN, "--output", str(target))
    assert "a .npz file has no such name. Write a .json file." in err
    assert not target.exists()


@pytest.mark.parametrize("to_file", [True, False])
def test_two_outputs_of_one_name(capsys: pytest.CaptureFixture[str], tmp_path: Path, to_file: bool) -> None:
    path = saved(tmp_path, lambda x: {"a[0]": x * 2, "a": [x]})
    options = ["--output", str(tmp_path / "out.json")] if to_file else []
    err = refused(capsys, exits.USAGE, "run", path, *GIVEN, *options)
    assert "output 'a[0]': two outputs have one name; got out['a[0]'] and out['a'][0]." in err
    assert not (tmp_path / "out.json").exists()


def test_two_outputs_that_numpy_reads_as_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = saved(tmp_path, lambda x: {"a": x, "a.npy": x * 2})
    err = refused(capsys, exits.USAGE, "run", path, *GIVEN, "--output", str(tmp_path / "out.npz"))
    assert "numpy reads two outputs of a .npz file as one; got 'a' and 'a.npy'" in err


def test_what_is_empty_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        return {"a": [], "b": (), "c": {}, "d": x, "e": {"f": [[], x]}}

    wanted = {"a": [], "b": [], "c": {}, "d": [1.0, 2.0], "e['f'][0]": [], "e['f'][1]": [1.0, 2.0]}
    assert written(tmp_path, function, ".json") == wanted
    assert written(tmp_path, function, ".npz") == {**wanted, "c": []}
    capsys.readouterr()
    found = answer(capsys, "run", saved(tmp_path, function), *GIVEN)
    assert {each["name"]: each["value"] for each in found["outputs"]} == wanted


def test_a_list_of_texts_that_is_empty(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = saved(tmp_path, lambda t: [word for word in t.split() if word], "a b")
    for text, words in (("a b", ["a", "b"]), ("", [])):
        given = ["run", path, "--value", f"t={json.dumps(text)}"]
        assert [(each["name"], each["value"]) for each in answer(capsys, *given)["outputs"]] == [("out", words)]
        for kind in (".npy", ".json"):
            assert run(capsys, *given, "--output", f"{tmp_path}/o{kind}")[0] == 0
        assert np.load(tmp_path / "o.npy").tolist() == words
        assert json.loads((tmp_path / "o.json").read_text(encoding="utf-8")) == {"out": words}


@pytest.mark.parametrize(
    ("function", "example", "value", "wanted", "text"),
    [
        (lambda x: {"n": None, "x": x}, X, "[1]", {"n": None, "x": [1.0]}, "'n': no array holds the value; got None"),
        (lambda x: x * x, 3, "9999999999", {"out": 9999999999**2}, "got an integer of more than 64 bits"),
        (lambda x: x + "!\0", "a", '"hi"', {"out": "hi!\0"}, "got a text that ends in NUL"),
        (lambda x: {"d": x.dtype, "x": x}, X, "[1]", {"d": "float32", "x": [1.0]}, "'d': no array holds the value"),
    ],
    ids=["none", "large", "nul", "dtype"],
)  # fmt: skip
def test_what_no_array_holds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, function: Any, example: Any, value: str, wanted: Any, text: str
) -> None:
    given = ["run", saved(tmp_path, function, example), "--value", f"x={value}"]
    err = refused(capsys, exits.USAGE, *given, "--output", f"{tmp_path}/o.npz")
    assert text in err
    assert err.endswith("Write a .json file.\n")
    assert run(capsys, *given, "--output", f"{tmp_path}/o.json")[0] == 0
    assert json.loads((tmp_path / "o.json").read_text(encoding="utf-8")) == wanted
    assert {each["name"]: each["value"] for each in answer(capsys, *given)["outputs"]} == wanted
    if len(wanted) == 1:
        assert text in refused(capsys, exits.USAGE, *given, "--output", f"{tmp_path}/o.npy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.tpk", "o.json"]


def test_an_integer_that_is_too_long(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["run", saved(tmp_path, lambda n: n * n, 3), "--value", "n=" + "9" * 4000]
    bits = (int("9" * 4000) ** 2).bit_length()
    for options in ([], ["--json"], ["--output", f"{tmp_path}/o.json"]):
        err = refused(capsys, exits.USAGE, *given, *options)
        assert err == f"tracepack: an integer is too long to be written; got {bits} bits\n"


def test_a_text_that_no_encoding_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["run", saved(tmp_path, lambda t: t + "!", "a"), "--value", 't="\\ud800"']
    err = refused(capsys, exits.USAGE, *given, "--output", f"{tmp_path}/o.json")
    assert "output 'out': a text that no encoding has; got '\\ud800'" in err
    assert answer(capsys, *given)["outputs"][0]["value"] == "\ud800!"


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex32, torch.bfloat16, torch.float8_e4m3fn, torch.uint16])
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_dtypes(tmp_path: Path, dtype: torch.dtype) -> None:
    def function(x: Any) -> Any:
        return {"y": x.to(dtype) * 1j if dtype.is_complex else x.to(dtype)}

    factor = 1j if dtype.is_complex else 1
    assert written(tmp_path, function, ".npz") == {"y": [1 * factor, 2 * factor]}
    assert written(tmp_path, function, ".json") == {"y": [[0, 1], [0, 2]] if dtype.is_complex else [1, 2]}


# -- where it is written -----------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def devices_are_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that these tests are there to find must not replace a device of the machine."""
    replace = os.replace

    def checked(source: str, target: str) -> None:
        assert not os.path.abspath(target).startswith(("/dev/", "/proc/"))
        replace(source, target)

    monkeypatch.setattr(os, "replace", checked)


def commands(file: str, made: str, target: str) -> list[list[str]]:
    return [["show", file, "--svg", target], ["run", made, *GIVEN, "--output", target]]


@pytest.fixture
def made(tmp_path: Path) -> str:
    return saved(tmp_path, lambda x: {"y": x * 2})


def test_a_link_is_followed_and_a_mode_is_kept(
    capsys: pytest.CaptureFixture[str], file: str, made: str, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for command in commands(file, made, str(tmp_path / "link.json")):
        real = folder / "real.json"
        real.write_text("old")
        real.chmod(0o640)
        (tmp_path / "link.json").unlink(missing_ok=True)
        (tmp_path / "link.json").symlink_to(real)
        assert run(capsys, *command)[0] == 0
        assert (tmp_path / "link.json").is_symlink()
        assert real.read_text(encoding="utf-8") != "old"
        assert real.stat().st_mode & 0o777 == 0o640
        assert [each.name for each in folder.iterdir()] == ["real.json"]


def test_a_long_name(capsys: pytest.CaptureFixture[str], file: str, made: str, tmp_path: Path) -> None:
    for command in commands(file, made, str(tmp_path / ("n" * 250 + ".json"))):
        assert run(capsys, *command)[0] == 0
        (tmp_path / ("n" * 250 + ".json")).unlink()


@pytest.mark.parametrize("name", ["pipe", "pipe.json"])
def test_a_pipe_is_written_into(
    capsys: pytest.CaptureFixture[str], file: str, made: str, tmp_path: Path, name: str
) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    got: list[str] = []
    for command in commands(file, made, str(pipe)):
        reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True)
        reader.start()
        assert run(capsys, *command)[0] == 0
        reader.join(30)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert got[0].startswith("<svg ")
    assert json.loads(got[1]) == {"y": [2.0, 4.0]}


def test_a_descriptor_is_written_into(capsys: pytest.CaptureFixture[str], file: str, made: str, tmp_path: Path) -> None:
    with open(tmp_path / "held", "w+b") as held:
        for command in commands(file, made, f"/dev/fd/{held.fileno()}"):
            assert run(capsys, *command)[0] == 0
        held.seek(0)
        picture, _, outputs = held.read().decode().rpartition("</svg>\n")
        assert os.fstat(held.fileno()).st_nlink == 1
    assert picture.startswith("<svg ")
    assert json.loads(outputs) == {"y": [2.0, 4.0]}


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_written_into(capfd: pytest.CaptureFixture[str], file: str, made: str, path: str) -> None:
    from tracepack.cli import main

    if not os.path.exists(path):
        pytest.skip("the system has no such path")
    for command in commands(file, made, path):
        assert main(command) == 0
        out, err = capfd.readouterr()
        assert err == ""
        assert out.startswith("<svg ") if command[0] == "show" else json.loads(out) == {"y": [2.0, 4.0]}
        assert out.endswith("</svg>\n") or command[0] == "run"


def test_devices_stay(capsys: pytest.CaptureFixture[str], file: str, made: str) -> None:
    before = os.stat("/dev/null")
    for command in commands(file, made, "/dev/null"):
        assert run(capsys, *command)[0] == 0
    assert os.path.samestat(before, os.stat("/dev/null"))


def test_a_full_device(capsys: pytest.CaptureFixture[str], file: str, made: str) -> None:
    if not (os.path.exists("/dev/full") and stat.S_ISCHR(os.stat("/dev/full").st_mode)):
        pytest.skip("no /dev/full here")
    for command in commands(file, made, "/dev/full"):
        err = refused(capsys, exits.USAGE, *command)
        assert err == "tracepack: '/dev/full': cannot write the file; got No space left on device\n"
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_file_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], file: str, made: str, tmp_path: Path
) -> None:
    (tmp_path / "folder.json").mkdir()
    for name, got in (("none/o.json", "No such file"), ("folder.json", "Is a directory"), ("new/", "Is a directory")):
        for command in commands(file, made, f"{tmp_path}/{name}")[: 1 if name == "new/" else 2]:
            err = refused(capsys, exits.USAGE, *command)
            assert f"tracepack: '{tmp_path}/{name}': cannot write the file; got {got}" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.json", "made.tpk"]
