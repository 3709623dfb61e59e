"""Strings and lists of strings: inputs that are guarded where the function reads them."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.recording.cases import X


def test_the_signature_says_what_numbers_and_strings_must_be(reloaded) -> None:
    with pytest.warns(UserWarning, match="is fixed to"):
        mod = tracepack.trace(lambda x, n, where: x.to(where) * len((0,) * n), X, 1, "cpu")
    assert reloaded(mod).signature.endswith(" where where == 'cpu' and n == 1")


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


@pytest.mark.parametrize("example", ["sum", "none"])
def test_the_rank_of_a_loss_hangs_on_its_reduction(reloaded, example: str) -> None:
    def process(x, reduction):
        return torch.nn.functional.mse_loss(x, x * 2, reduction=reduction)

    mod = reloaded(tracepack.trace(process, X, example))
    assert mod.signature == "(x: f32[N,M], reduction: str) -> any"
    for reduction in ("none", "mean", "sum"):
        assert torch.equal(mod(X, reduction), process(X, reduction))
    mod = reloaded(tracepack.trace(lambda x, r: len(process(x, r).shape), X, example))
    assert mod(X, example) == process(X, example).dim()
    with pytest.raises(tracepack.GuardError, match="the function asked for the ndim of a tensor"):
        mod(X, "none" if example == "sum" else "sum")


EXTREMES = {
    "the least letter": lambda text: min(text),
    "the last one by a key": lambda text: max(text, key=lambda letter: -ord(letter)),
    "the most frequent one": lambda text: max(text, key=text.count),
    "or a default": lambda text: min(text.strip(), default="~"),
    "or a default for the largest": lambda text: max(text, default=""),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.filterwarnings("error::UserWarning")
def test_the_least_and_the_largest_letter_of_a_text_of_any_length(reloaded, name) -> None:
    mod = reloaded(tracepack.trace(EXTREMES[name], "abc"))
    for text in ("abc", "xay", "zzyyy", *([""] if "default" in name else [])):
        assert mod(text) == EXTREMES[name](text), text
