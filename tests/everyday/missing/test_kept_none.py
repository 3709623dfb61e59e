"""A default of None beside an example is kept: the file answers without the argument as the function does."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded

X = torch.tensor([[0.25, 1.5, 0.75], [2.0, 0.5, 1.0]])
NAMES = ["cat", "dog", "fox"]
WEIGHT = torch.rand(4000)


class _Masked(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 1000)

    def forward(self, x, mask=None):
        y = self.layer(x)
        return y if mask is None else y.masked_fill(~mask[:, None], 0.0)


MODEL = tracepack.script(_Masked())


def _scaled(x, mask=None):
    if mask is None:
        return x.sum(-1) * 3
    return x @ mask


def _top(x, limit=None):
    best = x.mean(0).argsort(descending=True)
    return [NAMES[j] for j in (best if limit is None else best[:limit]).tolist()]


def _hits(x, threshold=None):
    threshold = 0.5 if threshold is None else threshold
    return [row.sum() for row in x if row.max() > threshold]


def _listed(texts, names=None):
    if names is None:
        return [text.upper() for text in texts]
    return [f"{name}: {text}" for name, text in zip(names, texts, strict=False)]


def _prefixed(text, prefix=None, *, suffix=None):
    return f"{prefix or 'none'} {text}" + (suffix if suffix is not None else "!")


def _several(x, weight=None, bias=None, k=None):
    y = x if weight is None else x * weight
    y = y if bias is None else y + bias
    return y if k is None else y.topk(k).values


def _boxed(x, options=None):
    if options is None:
        return x * 2
    return x * options["scale"] + options["shift"][0]


def _array(x, other=None):
    return np.abs(x) if other is None else np.maximum(x, other)


def _called(x, mask=None):
    return MODEL(x) if mask is None else MODEL(x, mask).relu()


def _held(x, mask=None):
    y = x * WEIGHT[: len(x), None]
    return y if mask is None else y * mask


def _widths(x, w=None):
    return x[:, :2] * torch.ones(2) if w is None else x * w


def _flag(x, double=None):
    return x * (2 if double else 1) if double is not None else -x


MASK = torch.tensor([True, False])
CALLS = [
    (_scaled, (X, X[0]), [(X,), (X[:1], X[1]), (X[:1], None), (torch.rand(4, 5),)]),
    (_top, (X, 2), [(X,), (X, 1), (X, 0), (torch.rand(5, 3), None)]),
    (_hits, (X, 1.25), [(X,), (X, 1.75), (torch.rand(5, 3), None), (torch.rand(5, 3), 0.2)]),
    (_listed, (["a", "b"], ["x", "y"]), [(["a", "b", "c"],), ([],), (["q"], ["w", "e"]), (["q"], []), (["z"], None)]),
    (_prefixed, ("a", "b"), [("x",), ("x", "y"), ("x", ""), ("x", None)]),
    (
        _several,
        (X, X[0], 2.5, 2),
        [(X,), (X, X[1]), (X, None, 0.5), (X, None, None, 1), (X, X[1], None, 3), (X, None, 1.5, 2), (X, X[1], 0.5, 1)],
    ),
    (_boxed, (X, {"scale": 2.0, "shift": [1.0, 3.0]}), [(X,), (X, {"scale": 0.5, "shift": [2.0, 5.0]})]),
    (_array, (X.numpy(), X.numpy()), [(X.numpy(),), (-X.numpy(), X.numpy()), (-X[:1].numpy(), None)]),
    (_called, (X, MASK), [(X,), (X, ~MASK), (torch.rand(5, 3),), (torch.rand(1, 3), None)]),
    (_held, (X, X), [(X,), (X[:1], X[:1]), (torch.rand(9, 2),)]),
    (_widths, (X, X[0]), [(X,), (torch.rand(4, 5),), (torch.rand(4, 5), torch.rand(5))]),
    (_flag, (X, True), [(X,), (X, True), (X, None)]),
]


@pytest.mark.parametrize(("process", "example", "calls"), CALLS, ids=[each[0].__name__ for each in CALLS])
def test_a_call_without_the_argument_answers_as_the_function(
    process: Callable[..., Any], example: tuple[Any, ...], calls: list[tuple[Any, ...]]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        pipeline = loaded(process, *example)
    for call in [example, *calls, *calls]:
        assert difference(process(*call), pipeline(*call)) == "", call
        names = dict(zip(pipeline.input_names, call, strict=False))
        assert difference(process(*call), pipeline.run(names)) == "", call


def test_keyword_only_arguments_may_be_left_out() -> None:
    pipeline = tracepack.trace(_prefixed, "a", "b", suffix="?")
    for given in ({}, {"prefix": "y"}, {"suffix": "."}, {"prefix": "y", "suffix": ""}):
        assert pipeline("x", **given) == _prefixed("x", **given)


def test_the_signature_says_what_is_otherwise_without_it() -> None:
    assert loaded(_scaled, X, X[0]).signature == "(x: f32[N,M], mask: f32[M] = None) -> f32[N]"
    boxed = loaded(_boxed, X, {"scale": 2.0, "shift": [1.0, 3.0]})
    assert "options['scale']: float = None, options['shift']: list[float] = None)" in boxed.signature
    rank = loaded(_ranks, X, 2.0)
    assert [(field.name, field.kind) for field in rank.outputs] == [("out", "any")]
    assert "; without k: (x: f32[N,M]) -> f32[N]" in rank.signature


def _ranks(x, k=None):
    return x.sum(-1) if k is None else x * k


def _fixed_width(x, w=None):
    return x @ torch.ones(3, 2) if w is None else x @ w


def test_a_size_that_one_way_fixes_is_no_number() -> None:
    pipeline = loaded(_fixed_width, X, torch.rand(3, 2))
    shapes = {field.name: field.shape for field in [*pipeline.inputs, *pipeline.outputs]}
    assert shapes == {"x": ("N", None), "w": ("M", "K"), "out": ("N", None)}
    assert difference(_fixed_width(X), pipeline(X)) == ""
    wide = torch.rand(2, 7), torch.rand(7, 4)
    assert difference(_fixed_width(*wide), pipeline(*wide)) == ""
    with pytest.raises(tracepack.SignatureError, match="input 'x'"):
        pipeline(wide[0])


def test_the_schema_takes_none_and_both_results() -> None:
    schema = loaded(_ranks, X, 2.0).json_schema()["properties"]
    assert schema["inputs"]["required"] == ["x"]
    assert schema["inputs"]["properties"]["k"] == {"anyOf": [{"type": "number"}, {"const": None}], "default": None}
    assert len(schema["outputs"]["anyOf"]) == 2


def test_golden_examples_sessions_and_pickles_have_all_ways() -> None:
    file = io.BytesIO()
    traced = tracepack.trace(_called, X, MASK)
    traced.save(file, examples=[{"x": X}, {"x": X, "mask": MASK}, {"x": X[:1], "mask": None}])
    pipeline = tracepack.load(file.getvalue(), verify="golden")
    for each in (traced, pipeline, pipeline.session(), pickle.loads(pickle.dumps(pipeline))):
        assert difference(_called(X), each(X)) == ""
        assert difference(_called(X, MASK), each(X, MASK)) == ""


@pytest.mark.parametrize(("process", "given", "count"), [(_held, X, 4000), (_called, MASK, 4000)])
def test_weights_are_in_the_file_once(process: Callable[..., Any], given: torch.Tensor, count: int) -> None:
    file = io.BytesIO()
    tracepack.trace(process, X, given).save(file)
    assert len(file.getvalue()) < 1.5 * 4 * count


def test_a_pipeline_that_calls_another_one_takes_its_ways() -> None:
    inner = loaded(_scaled, X, X[0])

    def outer(x, y):
        return inner(x) + inner(x, y) + inner(x, None)

    pipeline = loaded(outer, X, X[0])
    x, y = torch.rand(4, 2), torch.rand(2)
    assert difference(outer(x, y), pipeline(x, y)) == ""


def test_inputs_are_converted_on_each_way() -> None:
    file = io.BytesIO()
    tracepack.trace(_scaled, X, X[0]).save(file)
    pipeline = tracepack.load(file.getvalue(), convert=True)
    assert pipeline([[1, 2.5]]).tolist() == [10.5]
    assert pipeline([[1, 2.5]], [2, 4]).tolist() == [12.0]


def _either(x, a=None, b=None):
    if a is None and b is None:
        raise ValueError("a or b")
    return x * (1 if a is None else a) + (0 if b is None else b)


def test_arguments_of_which_one_is_needed() -> None:
    with pytest.warns(UserWarning, match="no call may leave out 'a' and 'b' together: the function fails.*: a or b"):
        pipeline = loaded(_either, X, 1.5, 2)
    for given in ({"a": 0.5}, {"b": 3}, {"a": 0.5, "b": 3}):
        assert difference(_either(X, **given), pipeline(X, **given)) == ""
    with pytest.raises(tracepack.SignatureError, match=r"without these inputs together; got \['a', 'b'\]. Give one"):
        pipeline(X)


def test_engines_are_tried_on_calls_that_give_every_input() -> None:
    pipeline = loaded(_scaled, X, X[0])
    with pytest.raises(tracepack.SignatureError, match="engines run calls that give every input"):
        pipeline.optimize([{"x": X}], engines=[])
    pipeline.optimize([{"x": X}, {"x": X, "mask": X[0]}], engines=[], seconds=1.0)
    assert pipeline.profile({"x": X}).steps
    assert pipeline.profile({"x": X, "mask": X[0]}).steps
    assert difference(_scaled(X), pipeline(X)) == ""


@pytest.mark.parametrize(
    ("feed", "said"), [({"x": X, "msk": X[0]}, "'msk': unknown"), ({"scale": X}, "'scale': unknown")]
)
def test_an_unknown_name_is_answered_with_all_inputs(feed, said) -> None:
    pipeline = loaded(_scaled, X, X[0])
    with pytest.raises(tracepack.SignatureError, match=rf"{said} input; expected x: f32\[N,M\], mask: f32\[M\] = None"):
        pipeline.run(feed)


def _without_words(text, stop=None, lower=None):
    words = text.split()
    if lower:
        words = [word.lower() for word in words]
    if stop:
        words = [word for word in words if word not in stop]
    return words


def test_a_list_of_texts_with_and_without_a_list_of_texts() -> None:
    pipeline = loaded(_without_words, "A b C", ["b"], True)
    for given in ({}, {"stop": ["C"]}, {"lower": True}, {"stop": [], "lower": False}, {"stop": ["c"], "lower": True}):
        assert pipeline("b C c", **given) == _without_words("b C c", **given)
