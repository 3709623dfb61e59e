"""Arguments: defaults and None are part of the signature, and need not be given; a run and a call agree."""

from __future__ import annotations

import io
from enum import Enum, IntEnum
from typing import Any

import pytest
import torch

import tracepack


def both(mod: tracepack.Pipeline) -> list[tracepack.Pipeline]:
    """The pipeline, and what comes out of its file."""
    file = io.BytesIO()
    mod.save(file)
    return [mod, tracepack.load(file.getvalue())]


def weigh(x, k=2, *, mode="mean", mask=None, dtype=torch.float32, eps=(1e-6, 2)):
    y = x.to(dtype).topk(k).values
    if mask is not None:
        y = y * mask
    return y.mean(-1) + eps[0] if mode == "mean" else y.sum(-1)


def test_what_was_left_to_its_default_is_fixed_and_need_not_be_given() -> None:
    mod = tracepack.trace(weigh, torch.rand(3, 4))
    x = torch.rand(5, 7)
    for pipeline in both(mod):
        assert pipeline.signature == (
            "(x: f32[N,M], k=2, mode='mean', mask=None, dtype=float32, eps=(1e-06, 2)) -> f32[N]"
        )
        assert pipeline.input_names == ["x", "k", "mode", "mask", "dtype", "eps"]
        for got in (
            pipeline(x),
            pipeline.run({"x": x}),
            pipeline(x, 2, mode="mean", mask=None, dtype=torch.float32, eps=(1e-6, 2)),
            pipeline.run({"x": x, "k": 2, "mask": None}),
        ):
            assert torch.equal(got, weigh(x))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"k": 3}, "input 'k': a fixed value differs; got 3; expected 2. Trace the function with an example of it, k="),
        ({"k": True}, "input 'k': a fixed value differs; got True; expected 2"),
        ({"mode": "sum"}, "input 'mode': a fixed value differs; got 'sum'; expected 'mean'"),
        ({"mask": torch.ones(5, 2)}, r"input 'mask': a fixed value differs; got a tensor of shape .5, 2.; expected N"),
        ({"dtype": torch.float64}, "input 'dtype': a fixed value differs; got torch.float64; expected float32"),
        ({"eps": (1e-6, 3)}, r"input 'eps\[1\]': a fixed value differs; got 3; expected 2"),
    ],
)  # fmt: skip
def test_another_value_of_a_fixed_parameter_is_refused(given: dict[str, Any], text: str) -> None:
    for pipeline in both(tracepack.trace(weigh, torch.rand(3, 4))):
        with pytest.raises(tracepack.SignatureError, match=text):
            pipeline(torch.rand(5, 4), **given)
        with pytest.raises(tracepack.SignatureError, match=text):
            pipeline.run({"x": torch.rand(5, 4), **given})


def _filled(record: dict[str, Any]) -> float:
    return float(record["age"]) + (record["income"] or 2.0)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"age": 3, "income": 2.0},
            r"got 2.0; expected None. Trace with an example that is no None; let float\('nan'\)",
        ),
        ({"age": None, "income": None}, "got NoneType; expected int. Pass a number that stands for None, such as -1"),
        ({"age": 3}, r"expected a dict with keys \['age', 'income'\]. Where the keys vary, let the function take two"),
    ],
)
def test_values_that_may_be_missing_and_keys_that_vary_have_a_form(given: dict[str, Any], text: str) -> None:
    for pipeline in both(tracepack.trace(_filled, {"age": 30, "income": None})):
        assert pipeline({"age": 4, "income": None}) == 6.0
        with pytest.raises(tracepack.SignatureError, match=text):
            pipeline(given)


def test_an_example_in_place_of_a_default_makes_an_input_that_keeps_the_default() -> None:
    mod = tracepack.trace(weigh, torch.rand(3, 4), 3, mask=torch.rand(3, 3))
    x = torch.rand(5, 6)
    for pipeline in both(mod):
        assert pipeline.signature.startswith(
            "(x: f32[N,M], k: int = 2, mode='mean', mask: f32[K,L] = None, dtype=float32"
        )
        for k in (1, 3, 5):
            mask = torch.rand(5, k)
            assert torch.equal(pipeline(x, k, mask=mask), weigh(x, k, mask=mask))
        mask = torch.rand(5, 2)
        assert torch.equal(pipeline(x, mask=mask), weigh(x, mask=mask))
        assert torch.equal(pipeline(x), weigh(x))
        assert torch.equal(pipeline.run({"x": x, "k": 1, "mask": None}), weigh(x, 1))


def test_a_default_of_another_type_than_the_example_is_none_of_the_signature() -> None:
    with pytest.warns(UserWarning, match="the default of 'scale' does not count"):
        mod = tracepack.trace(lambda x, scale=2: x * scale, torch.ones(3), 1.5)
    assert mod.signature == "(x: f32[N], scale: float) -> f32[N]"
    with pytest.raises(tracepack.SignatureError, match="input 'scale': missing input"):
        mod(torch.ones(3))


def test_none_that_was_given_need_not_be_given() -> None:
    mod = tracepack.trace(lambda x, mask: x if mask is None else x * mask, torch.ones(3), None)
    for pipeline in both(mod):
        assert pipeline.signature == "(x: f32[N], mask=None) -> f32[N]"
        assert pipeline(torch.ones(2)).tolist() == pipeline(torch.ones(2), None).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("process", "given", "signature"),
    [
        (lambda x, k=2: x if k is None else x * k, None, "k=None"),
        (lambda x, dtype=torch.float32: x.to(dtype), torch.float16, "dtype=float16"),
        (lambda x, w=torch.full((), 3.0): x if w is None else x * w, None, "w=None"),  # noqa: B008  # it is the case
    ],
    ids=["none", "dtype", "tensor"],
)
def test_a_fixed_example_beside_another_default_must_be_given(process, given, signature) -> None:
    mod, x = tracepack.trace(process, torch.ones(3), given), torch.rand(4)
    for pipeline in both(mod):
        assert f"{signature} (must be given)" in pipeline.signature
        assert [field.required for field in pipeline.inputs] == [True, True]
        assert pipeline.json_schema()["properties"]["inputs"]["required"] == ["x", signature.partition("=")[0]]
        for _ in range(2):  # also where the sizes were seen before
            assert torch.equal(pipeline(x, given), process(x, given))
            with pytest.raises(tracepack.SignatureError, match="missing input"):
                pipeline(x)


def test_dtypes_and_devices_are_fixed_arguments() -> None:
    def process(x, dtype, device):
        return torch.zeros(2, dtype=dtype, device=device) + x

    mod = tracepack.trace(process, torch.ones(()), torch.float64, torch.device("cpu"))
    for pipeline in both(mod):
        assert pipeline.signature == (
            "(x: f32[], dtype=float64 (must be given), device=device cpu (must be given)) -> f64[2]"
        )
        got = pipeline(torch.ones(()), torch.float64, torch.device("cpu"))
        assert (got.dtype, got.tolist()) == (torch.float64, [1, 1])
        with pytest.raises(tracepack.SignatureError, match="'dtype': a fixed value differs; got torch.float32"):
            pipeline(torch.ones(()), torch.float32, torch.device("cpu"))
        with pytest.raises(tracepack.SignatureError, match="missing input"):
            pipeline(torch.ones(()))


def test_a_default_that_can_be_changed_belongs_to_the_function() -> None:
    def shifted(x, table=torch.ones(3), names=("a",), cache={}):  # noqa: B006, B008  # such defaults are the case
        return x + table + len(cache)

    with pytest.warns(UserWarning, match="the default of 'table' belongs to the pipeline"):
        mod = tracepack.trace(shifted, torch.zeros(3))
    assert mod.signature == "(x: f32[N], names=('a',)) -> f32[3]"  # of three rows or one, which is broadcast
    with pytest.raises(tracepack.SignatureError, match="input 'table': unknown input; expected x: f32"):
        mod(torch.zeros(3), table=torch.zeros(3))


def test_how_to_give_a_value_that_was_left_to_its_default() -> None:
    mod = tracepack.trace(weigh, torch.rand(3, 4))
    with pytest.raises(tracepack.SignatureError, match="default None, and trace the function with an example of it"):
        mod(torch.rand(3, 4), mask=torch.ones(3, 2))
    mask = torch.ones(3, 2)
    made = tracepack.trace(weigh, torch.rand(3, 4), mask=mask)  # as the message shows
    x = torch.rand(5, 4)
    assert torch.equal(made(x, mask=torch.zeros(5, 2)), weigh(x, mask=torch.zeros(5, 2)))
    assert torch.equal(made(x), weigh(x))


def test_an_unknown_name_is_reported_before_a_missing_one() -> None:
    mod = tracepack.trace(lambda x, y: x + y, torch.ones(3), torch.ones(3))
    with pytest.raises(tracepack.SignatureError, match="^input 'z': unknown input; expected x: f32"):
        mod.run({"x": torch.ones(3), "z": torch.ones(3)})
    with pytest.raises(tracepack.SignatureError, match="^input 'y': missing input"):
        mod.run({"x": torch.ones(3)})


def test_golden_examples_may_leave_out_what_has_a_default_or_name_it() -> None:
    mod, file = tracepack.trace(weigh, torch.rand(3, 4)), io.BytesIO()
    mod.save(file, examples=[{"x": torch.rand(2, 4)}, {"x": torch.rand(2, 4), "k": 2, "dtype": torch.float32}])
    tracepack.load(file.getvalue(), verify="golden")


def test_a_feed_without_the_fixed_ones_takes_the_fast_way() -> None:
    mod = tracepack.trace(lambda x, k=2: x * k, torch.rand(3))
    x = torch.rand(4)
    mod.run({"x": x})
    slow: list[Any] = []
    runner = mod._runner
    runner.run_slowly = lambda feed: slow.append(feed)  # type: ignore[method-assign]
    runner.run = runner.entry()
    assert torch.equal(mod.run({"x": x}), x * 2)
    assert slow == []


class Mode(Enum):
    DOUBLE = "double"
    PLAIN = "plain"


class Place(IntEnum):
    FIRST = 0
    SECOND = 1


def test_members_of_enums_slices_and_ranges_are_part_of_the_signature(reloaded):
    def process(x, mode, place, part=slice(1, None), steps=range(2)):
        y = x * 2 if mode is Mode.DOUBLE else x
        return y[part].sum() + y[place] * len(steps)

    mod = tracepack.trace(process, torch.arange(3.0), Mode.DOUBLE, place=Place.SECOND, part=slice(0, 2))
    given = {"mode": Mode.DOUBLE, "place": Place.SECOND, "part": slice(0, 2)}
    for pipeline in (mod, reloaded(mod)):
        assert pipeline.signature == (
            "(x: f32[N], mode=Mode.DOUBLE (must be given), place=Place.SECOND (must be given), "
            "part=slice(0, 2, None) (must be given), steps=range(0, 2)) -> f32[]"
        )
        x = torch.arange(5.0) + 1
        assert torch.equal(pipeline(x, **given), process(x, **given))
        assert torch.equal(pipeline(x, **given, steps=range(2)), process(x, **given))
        for name, other, words in (
            (
                "mode",
                Mode.PLAIN,
                "input 'mode': a fixed value differs; got <Mode.PLAIN: 'plain'>; exp",
            ),
            ("mode", "double", "input 'mode': a fixed value differs; got 'double'; expected Mode.DOUBLE"),
            ("place", 1, "input 'place': a fixed value differs; got 1; expected Place.SECOND"),
            ("part", slice(0, 3), "input 'part': a fixed value differs"),
            ("steps", range(3), "input 'steps': a fixed value differs"),
        ):
            with pytest.raises(tracepack.SignatureError, match=words):
                pipeline(x, **{**given, name: other})


def test_kinds_that_no_signature_holds_say_what_to_pass():
    for value, words in ((bytearray(b"ab"), r"Pass bytes\(data\), or torch.frombuffer\(data, dtype=torch.uint8\)"),
                         ({1, 2}, "Pass a sorted list, and make the set in the function")):  # fmt: skip
        with pytest.raises(tracepack.SignatureError, match=words):
            tracepack.trace(lambda x: len(x), value)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def _in_dtype(x, dtype=torch.float32):
    return x.to(dtype)


def _with_none(x, dtype=None):
    return x if dtype is None else x.to(dtype)


CPU = torch.device("cpu")


def _on_device(x, device=CPU):
    return x.to(device)


def _coloured(x, colour=Colour.RED):
    return x if colour is Colour.RED else -x


def _cut(x, part=slice(0, 2)):
    return x[part]


def _walked(x, places=range(2)):
    return [x[place] for place in places]


@pytest.mark.parametrize(
    ("process", "other", "form"),
    [
        (_in_dtype, torch.float64, "once for each dtype, or let it take a bool or a text and choose by it"),
        (_with_none, torch.float64, "once for each dtype, or let it take a bool or a text and choose by it"),
        (_on_device, torch.device("meta"), r"Leave the device out of the function: load\(path, device=...\)"),
        (_coloured, Colour.BLUE, "Let the function take the value of the member, a number or a text"),
        (_cut, slice(0, 3), r"Let the function take the numbers, and write x\[start:stop\]"),
        (_walked, range(3), r"Let the function take the numbers, and write range\(start, stop\)"),
    ],
)
def test_what_a_signature_holds_by_name_shows_the_form_for_others(process, other, form):
    mod = tracepack.trace(process, torch.rand(4))
    with pytest.raises(tracepack.SignatureError, match=f"a fixed value differs.*{form}"):
        mod(torch.rand(4), other)


def _doubled(x, double):
    return x.double() if double else x.float()


def _of_value(x, colour):
    return x if colour == "red" else -x


@pytest.mark.parametrize(
    ("process", "example", "other"),
    [
        (_doubled, (False,), (True,)),
        (_of_value, ("red",), ("blue",)),
        (lambda x, start, stop: x[start:stop], (0, 2), (1, 4)),
        (lambda x, start, stop: sum(x[place] for place in range(start, stop)), (0, 2), (1, 4)),
    ],
)
def test_the_forms_that_are_shown_take_others(process, example, other):
    x = torch.rand(4)
    found, wanted = tracepack.trace(process, x, *example)(x, *other), process(x, *other)
    assert found.dtype == wanted.dtype
    assert torch.equal(found, wanted)


def test_an_argument_may_be_called_self() -> None:
    mod = tracepack.trace(lambda self, x: x * self, 2, torch.ones(3))
    assert torch.equal(mod(self=3, x=torch.ones(2)), torch.full((2,), 3.0))
