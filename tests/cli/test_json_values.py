"""Values of JSON as inputs of `run`: each becomes the same number in the dtype of the input, or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.cli.commands import answer, refused
from tracepack.cli import exit_codes as exits


def saved(folder: Path, *examples: Any) -> str:
    path = str(folder / "same.tpk")
    tracepack.trace(lambda x: x, *examples).save(path)
    return path


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        ("[1.7,-2.9]", torch.int64, "input 'x': values are lost in the conversion from float64 to int64"),
        ('["3","4"]', torch.int64, "input 'x[0]': not a number; got '3'; expected i64["),
        ("[1,null]", torch.float32, "input 'x[1]': not a number; got None; expected f32["),
        ("null", torch.float32, "input 'x': not a tensor; got NoneType"),
        ('"text"', torch.float32, "input 'x': not a tensor; got str"),
        ("[1,{}]", torch.float32, "input 'x[1]': not a number; got {}"),
        ("[0.3,-7]", torch.bool, "input 'x': values are lost in the conversion from float64 to bool"),
        ('["x",""]', torch.bool, "input 'x[0]': not a number; got 'x'"),
        ("[2,0]", torch.bool, "from int64 to bool"),
        ("[1e6,70000.0]", torch.float16, "from float64 to float16"),
        ("[0.5,70000]", torch.float16, "from integers beyond 2**11 to float16"),
        ("[1e300]", torch.float32, "from float64 to float32"),
        ("[1e39]", torch.bfloat16, "from float64 to bfloat16"),
        ("[300]", torch.uint8, "from int64 to uint8"),
        ("[9007199254740993]", torch.float64, "from int64 to float64"),
    ],
)
def test_what_no_tensor_holds_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, value: str, dtype: torch.dtype, text: str
) -> None:
    path = saved(tmp_path, torch.ones(3, dtype=dtype))
    assert text in refused(capsys, exits.RUN, "run", path, "--value", f"x={value}")


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        ("[1, 2.0, -0.0]", torch.int64, [1, 2, 0]),
        ("[0.1, 2, true]", torch.float32, np.float32([0.1, 2, 1]).tolist()),
        ("[65519.0, 1e-9]", torch.float16, np.float16([65519, 1e-9]).tolist()),
        ("[Infinity, -Infinity]", torch.float16, [float("inf"), -float("inf")]),
        ("[1, 0, true, false]", torch.bool, [True, False, True, False]),
        ("[18446744073709551615]", torch.uint64, [2**64 - 1]),
        ("[]", torch.int64, []),
    ],
)
def test_numbers_of_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, value: str, dtype: torch.dtype, wanted: list[Any]
) -> None:
    found = answer(capsys, "run", saved(tmp_path, torch.ones(3, dtype=dtype)), "--value", f"x={value}")
    assert found["outputs"][0]["value"] == wanted


def test_a_field_of_a_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "records.tpk")
    example = [{"a": torch.tensor([1, 2])}, {"a": torch.tensor([3])}]
    tracepack.trace(lambda r: [each["a"] + 1 for each in r], example).save(path)
    found = answer(capsys, "run", path, "--value", 'r=[{"a":[1,2.0]}]')
    assert found["outputs"][0]["value"] == [2, 3]
    err = refused(capsys, exits.RUN, "run", path, "--value", 'r=[{"a":[1,2]},{"a":[1.9]}]')
    assert "values are lost in the conversion from float64 to int64" in err
    assert "r[1]['a']" in err


def test_numbers_that_are_no_tensors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "scaled.tpk")
    tracepack.trace(lambda x, n, f: (x * n, n, x * f), torch.ones(2), 3, 0.5).save(path)
    given = ["run", path, "--value", "x=[1,2]"]
    found = answer(capsys, *given, "--value", "n=2.0", "--value", "f=3")
    assert [each["value"] for each in found["outputs"]] == [[2.0, 4.0], 2, [3.0, 6.0]]
    for n, f in (("1.5", "1"), ("true", "1"), ("null", "1"), ('"3"', "1"), ("1", "9" * 400), ("1", "9007199254740993")):
        name = "n" if f == "1" else "f"
        err = refused(capsys, exits.RUN, *given, "--value", f"n={n}", "--value", f"f={f}")
        assert f"input '{name}'" in err


def test_what_the_signature_fixes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def function(x: Any, d: Any, k: int = 2, mask: Any = None, f: float = 2.0, size: Any = (1, 2)) -> Any:
        return x * k * f + d["m"] if mask is None else x

    path = str(tmp_path / "fixed.tpk")
    tracepack.trace(function, torch.ones(2), {"m": 1, "dt": torch.float32, "none": None}).save(path)
    given = ["run", path, "--value", "x=[1,2]"]
    whole = 'd={"m":1,"dt":"float32","none":null}'
    for value in ("k=2", "mask=null", "f=2.0", "f=2", "size=[1,2]"):
        found = answer(capsys, *given, "--value", whole, "--value", value)
        assert found["outputs"][0]["value"] == [5.0, 9.0]
    for value in ("k=3", "k=true", "k=2.0", "mask=[1]", "mask=5", "mask={}", "f=2.5", "size=[1,3]", "size=[1]"):
        err = refused(capsys, exits.RUN, *given, "--value", whole, "--value", value)
        assert f"input {value.partition('=')[0]!r}: a fixed value differs; got " in err
    for value in ('{"m":1,"dt":"int8","none":null}', '{"m":1,"dt":"float32","none":5}'):
        err = refused(capsys, exits.RUN, *given, "--value", f"d={value}")
        assert "a fixed value differs; got " in err


def test_an_array_is_rounded_to_a_dtype_that_numpy_lacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = saved(tmp_path, torch.ones(3, dtype=torch.bfloat16))
    np.save(tmp_path / "x.npy", np.float32([0.1, 3e38]))
    found = answer(capsys, "run", path, "--input", f"x={tmp_path}/x.npy")
    assert found["outputs"][0]["value"] == torch.tensor([0.1, 3e38], dtype=torch.bfloat16).tolist()
    np.save(tmp_path / "x.npy", np.float32([3.4028235e38]))
    err = refused(capsys, exits.RUN, "run", path, "--input", f"x={tmp_path}/x.npy")
    assert "values are lost in the conversion from float32 to bfloat16" in err


def _titled(text: str, count: int, names: list[str], label: str = "none") -> tuple[Any, ...]:
    return text.upper(), count + 1, [name.lower() for name in names], label


@pytest.fixture
def titled(tmp_path: Path) -> str:
    path = str(tmp_path / "titled.tpk")
    tracepack.trace(_titled, "a", 1, ["A"]).save(path)
    return path


@pytest.mark.parametrize("text", ["word", "two words", "123", "1.50", "true", "It's", "naïve", "", '"quoted"'])
def test_a_text_needs_no_quotes(capsys: pytest.CaptureFixture[str], titled: str, text: str) -> None:
    given = ["--value", f"text={text}", "--value", "count=2", "--value", 'names=["Q"]', "--value", "label=none"]
    found = [entry["value"] for entry in answer(capsys, "run", titled, *given)["outputs"]]
    assert found[:3] == [text.strip('"').upper(), 3, ["q"]]


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ("names=Ann Lee", exits.USAGE, """and quoted for the shell: --value 'names=["Ann"""),
        ("names=O'Hara", exits.USAGE, """for the shell: --value 'names=["O'"'"'Hara"]'."""),
        ("count=two", exits.USAGE, "--value count: not JSON; got Expecting value: line 1 column 1 (char 0); expected"),
        ('text="a', exits.USAGE, "--value text: not JSON; got Unterminated string"),
        ("count=", exits.USAGE, "--value count: not JSON; got Expecting value"),
        ("count=true", exits.RUN, "input 'count': wrong type; got bool; expected int"),
        ("text=null", exits.RUN, "input 'text': wrong type; got NoneType; expected str"),
        ("txt=a", exits.RUN, "input 'txt': unknown input; expected text: str"),
        ("label=cat", exits.RUN, "input 'label': a fixed value differs; got 'cat'; expected 'none'"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_refused_with_the_form_for_it(
    capsys: pytest.CaptureFixture[str], titled: str, value: str, code: int, said: str
) -> None:
    given = {"text": "a", "count": "1", "names": '["A"]'}
    given |= dict([value.split("=", 1)])
    values = [part for item in given.items() for part in ("--value", "=".join(item))]
    assert " ".join(said.split()) in refused(capsys, code, "run", titled, *values)
