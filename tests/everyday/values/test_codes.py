"""Codes of bytes, and what is read of bytes: the file answers as the function, and fails where it fails."""

from __future__ import annotations

from base64 import b64decode

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.values import codes


@pytest.mark.parametrize("name", codes.CASES)
def test_codes_of_bytes(name) -> None:
    check(codes.CASES[name])


@pytest.mark.parametrize("name", codes.FAILING)
def test_what_is_no_code_or_too_short_fails(name) -> None:
    process, example, other, words = codes.FAILING[name]
    mod = loaded(process, example)
    with pytest.raises(ValueError):  # noqa: PT011  # each function of Python has words of its own
        process(other)
    with pytest.raises(tracepack.TracepackError, match=words):
        mod(other)


def test_a_size_that_a_text_decides_is_no_number_in_the_signature() -> None:
    mod = loaded(lambda s: torch.frombuffer(bytearray(b64decode(s)), dtype=torch.float32) * 2, codes.written(1, 2))
    assert [field.shape for field in mod.outputs] == [(None,)]


def test_a_separator_of_hexadecimal_digits_is_refused() -> None:
    with pytest.raises(tracepack.RecordError, match=r"bytes.hex was given a separator. Write data.hex\(\) alone"):
        tracepack.trace(lambda data: data.hex("-"), b"abc")


def test_letters_of_base64_that_an_argument_decides_are_refused() -> None:
    with pytest.raises(tracepack.RecordError, match="the letters of base64 are not constant"):
        tracepack.trace(lambda s, letters: b64decode(s, letters).hex(), "YWJj", "-_")


def _searched(data):
    return [b"ab" in data, b"" in data, 97 in data, b"b" not in data, bytearray(b"a") in data, data[:1] in data]


def _helped(data):
    return [part == data for part in (b"ab", bytearray(b"ab"))]


COMPARED = {
    "searched": _searched,
    "a bytearray": lambda data: [
        data == bytearray(b"ab"),
        bytearray(b"ab") == data,
        bytearray(data) != bytearray(b"ab"),
    ],
    "in a comprehension": _helped,
}


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("example", [b"zz", b"ab"])
def test_bytes_are_searched_and_compared_as_in_python(name, example) -> None:
    check(Case(COMPARED[name], (example,), [(b"ab",), (b"",), (b"b",), (b"\xff\x00ab",), (b"cab",)]))


def test_bytes_that_are_compared_with_another_buffer_are_refused() -> None:
    # Python would take them for different, as it falls back on identity
    with pytest.raises(tracepack.RecordError, match="bytes are compared with a memoryview. Compare with bytes"):
        tracepack.trace(lambda data: data == memoryview(b"ab"), b"zz")
