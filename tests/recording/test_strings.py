"""Strings and lists of strings: inputs that are guarded where the function reads them."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.recording.cases import X


def test_the_signature_says_what_numbers_and_strings_must_be(reloaded) -> None:
    mod = tracepack.trace(lambda x, n, mode: x * n if mode == "times" and n > 1 else x.sum(), X, 2, "times")
    assert reloaded(mod).signature.endswith(" where mode == 'times' and n > 1")


def test_a_number_in_a_string_is_recorded(reloaded) -> None:
    mod = reloaded(tracepack.trace(lambda x, s: x * int(s), X, "3"))
    assert torch.equal(mod(X, "3"), X * 3)
    assert torch.equal(mod(X, "4"), X * 4)
    with pytest.raises(tracepack.NodeError, match="invalid literal for int"):
        mod(X, "four")


def test_strings_and_lists_of_strings_pass_and_are_guarded_where_they_are_read(reloaded, no_blocks) -> None:
    def process(x, mode, names):
        return {"mode": mode, "names": names, "both": [*names, mode], "x": x * 2 if mode == "double" else x.sum()}

    mod = reloaded(tracepack.trace(process, X, "double", ["a", "b"]))
    assert mod(X, "double", ["c", "d"])["both"] == ["c", "d", "double"]
    with pytest.raises(tracepack.GuardError, match="it was compared"):
        mod(X, "single", ["c", "d"])
    assert mod(X, "double", ["c"])["both"] == ["c", "double"]
    with pytest.raises(tracepack.SignatureError, match="input 'names'"):
        mod(X, "double", [1, 2])


def test_a_list_of_strings_names_an_output_after_loading_too(reloaded) -> None:
    mod = reloaded(tracepack.trace(lambda x, names: {f"{names}": x}, X, ["a", "b"]))
    assert list(mod(X, ["a", "b"])) == ["['a', 'b']"]
    assert list(mod(X, ["c"])) == ["['c']"]
