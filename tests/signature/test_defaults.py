"""Defaults that are tuples, lists and dicts: an example makes inputs of them, and the default still counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded

X = torch.tensor([0.25, 1.5, 0.75])


class Span(NamedTuple):
    """What a default may be, too."""

    first: float
    last: float


def _weighed(x, w=(0.3, 0.7)):
    return x * w[0] + w[1]


def _summed(x, w=[0.3, 0.7, 2.0]):  # noqa: B006  # nobody changes it
    return sum([each * 2 for each in w]) * x


def _none_summed(x, w=[]):  # noqa: B006  # as above
    return sum([each * 2 for each in w]) * x


def _scaled(x, cfg={"by": 3.0, "name": "a", "sizes": [1, 2]}):  # noqa: B006  # as above
    return x * cfg["by"] + cfg["sizes"][0], cfg["name"].upper()


def _upper(x, texts=("a", "b")):
    return [text.upper() for text in texts], x


def _label(x, labels=["cat", "dog", "fox"]):  # noqa: B006  # as above
    return labels[int(x.argmax())]


def _cut(x, span=Span(0.5, 1.0)):  # noqa: B008  # nobody changes it
    return x.clamp(span.first, span.last)


def _mixed(x, w=(2.0, None, "mean")):
    y = x * w[0] if w[1] is None else x
    return y.mean() if w[2] == "mean" else y


@pytest.mark.parametrize(
    ("process", "example", "others", "signature"),
    [
        (_weighed, (0.5, 0.5), [(0.1, 4.0)], "(x: f32[N], w[0]: float = 0.3, w[1]: float = 0.7)"),
        (_summed, [0.5, 0.5], [[1.0], [1.0, 2.0, 3.0]], "(x: f32[N], w: list[float] = [0.3, 0.7, 2.0])"),
        (_none_summed, [0.5, 0.5], [[1.0, 2.0, 3.0]], "(x: f32[N], w: list[float] = [])"),
        (_upper, ["c"], [["d", "e", "f"]], "(x: f32[N], texts: strings = ('a', 'b'))"),
        (_label, ["u", "v", "w"], [["r", "s", "t", "q"]], "(x: f32[N], labels: strings = ['cat', 'dog', 'fox'])"),
        (_cut, Span(0.25, 0.5), [Span(0.0, 0.1)], "(x: f32[N], span.first: float = 0.5, span.last: float = 1.0)"),
    ],
)  # fmt: skip
def test_a_default_in_a_container_counts(
    process: Callable[..., Any], example: Any, others: list[Any], signature: str
) -> None:
    for pipeline in (tracepack.trace(process, X, example), loaded(process, X, example)):
        assert pipeline.signature.startswith(f"{signature} -> ")
        for x in (X, torch.tensor([3.0, 0.5, 0.1, 0.2])[:3]):
            assert difference(process(x), pipeline(x)) == difference(process(x), pipeline.run({"x": x})) == ""
            for other in [example, *others]:
                assert difference(process(x, other), pipeline(x, other)) == ""


def test_a_dict_has_a_default_for_each_of_its_inputs() -> None:
    pipeline = loaded(_scaled, X, {"by": 1.0, "name": "q", "sizes": [7, 8]})
    assert [(field.name, field.default, field.required) for field in pipeline.inputs[1:3]] == [
        ("cfg['by']", 3.0, False),
        ("cfg['name']", "a", False),
    ]
    schema = pipeline.json_schema()["properties"]["inputs"]
    assert schema["required"] == ["x"]
    assert schema["properties"]["cfg"]["default"] == {"by": 3.0, "name": "a", "sizes": [1, 2]}
    assert difference(_scaled(X), pipeline(X)) == ""


def test_a_tuple_may_hold_what_is_fixed() -> None:
    pipeline = loaded(_mixed, X, (3.0, None, "mean"))
    assert difference(_mixed(X), pipeline(X)) == ""
    assert difference(_mixed(X, (5.0, None, "mean")), pipeline(X, (5.0, None, "mean"))) == ""


def test_a_default_that_the_function_is_given_later_does_not_change() -> None:
    weights = [1.0, 2.0]

    def process(x, w=weights):
        return x * sum(w)

    pipeline = tracepack.trace(process, X, [3.0, 4.0])
    weights.append(5.0)
    assert torch.equal(pipeline(X), X * 3.0)


def _other(default: Any) -> Any:
    """A value of the form of another one that differs in a leaf."""
    if isinstance(default, dict):
        return {key: _other(item) for key, item in default.items()}
    return [*default[:-1], "u"]


@pytest.mark.parametrize(
    ("process", "signature", "default"),
    [
        (_summed, "(x: f32[N], w=[0.3, 0.7, 2.0]) -> f32[N]", [0.3, 0.7, 2.0]),
        (_label, "(x: f32[N], labels=['cat', 'dog', 'fox']) -> str", ["cat", "dog", "fox"]),
        (lambda x, cfg={"a": [2.0, 1]}, k=3: x * cfg["a"][0] + k, "(x: f32[N], cfg={'a': [2.0, 1]}, k=3) -> f32[N]",
         {"a": [2.0, 1]}),
    ],
)  # fmt: skip
def test_a_list_or_a_dict_that_is_left_out_is_shown(process: Callable[..., Any], signature: str, default: Any) -> None:
    for pipeline in (tracepack.trace(process, X), loaded(process, X)):
        assert pipeline.signature == signature
        assert pipeline.inputs[1].kind == "fixed"
        assert pipeline.inputs[1].default == default
        assert difference(process(X), pipeline(X)) == difference(process(X), pipeline(X, default)) == ""
        name = pipeline.inputs[1].name
        with pytest.raises(tracepack.SignatureError, match=f"Trace the function with an example of it, {name}={name}"):
            pipeline(X, _other(default))


def test_an_argument_behind_a_default_that_is_left_out_keeps_its_place() -> None:
    def process(x, w=[1.0, 2.0], k=3):  # noqa: B006  # nobody changes it
        return x * w[0] + k

    pipeline = tracepack.trace(process, X, k=4)
    assert pipeline.signature == "(x: f32[N], w=[1.0, 2.0], k: int = 3) -> f32[N]"
    assert torch.equal(pipeline(X, [1.0, 2.0], 7), process(X, k=7))
    assert torch.equal(pipeline(X, k=7), process(X, k=7))


def test_a_list_in_which_a_function_counts_is_state() -> None:
    def counted(x, count=[0]):  # noqa: B006  # it is the case
        count[0] += 1
        return x + count[0]

    with pytest.raises(tracepack.RecordError, match="the function keeps state in a default of counted"):
        tracepack.trace(counted, X)


@pytest.mark.parametrize(
    ("default", "held", "form"),
    [
        (torch.zeros(3), "a Tensor", "Trace with an example of it, w=w"),
        (np.zeros(3, np.float32), "a ndarray", "Trace with an example of it, w=w"),
        ([0.5] * 100, "100 values", "Trace with an example of it, w=w"),
        ({0.5, 1.0}, "a set", r"Let it take a list, and make the set in the function: set\(w\)"),
    ],
)
def test_trace_says_of_data_that_no_signature_shows_that_no_call_gives_another(
    default: Any, held: str, form: str
) -> None:
    def process(x, w=default):
        return x + len(w)

    with pytest.warns(UserWarning, match=f"the default of 'w' belongs to the pipeline, because no .* {held}: .*{form}"):
        pipeline = tracepack.trace(process, X)
    assert torch.equal(pipeline(X), process(X))


@pytest.mark.parametrize(
    ("process", "example"),
    [
        (lambda x, w=(1.0,): x * w[0], (1.0, 2.0)),
        (lambda x, cfg={"a": 1.0}: x * cfg["b"], {"b": 1.0}),  # it is the case
        (lambda x, w=2: x * w, 1.5),
        (lambda x, w=("a", 1.0): x * w[0], (1.5, 1.0)),
    ],
)
def test_trace_says_that_a_default_of_another_form_is_lost(process: Callable[..., Any], example: Any) -> None:
    with pytest.warns(UserWarning, match="the default of '(w|cfg)' does not count, because the example has another"):
        pipeline = tracepack.trace(process, X, example)
    assert torch.equal(pipeline(X, example), process(X, example))
    with pytest.raises(tracepack.SignatureError, match="missing input"):
        pipeline(X)


def test_nothing_is_said_of_a_default_that_counts() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracepack.trace(_weighed, X, (0.5, 0.5))
