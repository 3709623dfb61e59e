"""Codes of bytes, and what is read of bytes: the file answers as the function, and fails where it fails."""

from __future__ import annotations

from base64 import b64decode

import pytest
import torch

import tracepack
from tests.everyday.case import check, loaded
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
