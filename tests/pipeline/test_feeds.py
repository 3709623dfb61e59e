"""Inputs of `run`: nested, by name, arrays that share memory, and errors that name the input."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tracepack
from tests.pipeline.cases import same


def test_nested_inputs_by_name(cell, reloaded):
    def process(batch, extra):
        x, [h, k] = batch["x"], extra
        return cell(x, h)[0] + k["more"][0]

    x = torch.rand(3, 4)
    feed = {"batch": {"x": x}, "extra": [x, {"more": (x,)}]}
    mod = tracepack.trace(process, **feed)
    assert mod.input_names == ["batch", "extra"]
    assert mod.program.parameters.names == ("batch['x']", "extra[0]", "extra[1]['more'][0]")
    for pipeline in (mod, reloaded(mod)):
        same(pipeline.run(feed), process(**feed))
        with pytest.raises(tracepack.SignatureError, match=r"input 'batch': unknown key 'y'; got keys \['y'\]"):
            pipeline.run({**feed, "batch": {"y": x}})
        with pytest.raises(
            tracepack.SignatureError, match=r"input 'extra': another structure; got list of 1; expected list of 2"
        ):
            pipeline.run({**feed, "extra": [x]})


WRONG_KEYS = {
    "unknown before missing": ({"ids": 1, "msk": 2}, r"input 'batch': unknown key 'msk'; got keys \['ids', 'msk'\]; e"),
    "one too many": ({"ids": 1, "mask": 2, "x": 3}, "input 'batch': unknown key 'x'; got keys"),
    "missing": ({"mask": 2}, r"input 'batch': missing key 'ids'; got keys \['mask'\]; expected a dict with keys"),
    "no dict": (3, "input 'batch': another structure; got int; expected a dict"),
}


@pytest.mark.parametrize("name", WRONG_KEYS)
def test_a_wrong_key_of_a_dict_is_named_at_every_depth(name):
    given, words = WRONG_KEYS[name]
    flat = tracepack.trace(lambda batch: batch["ids"] + batch["mask"], {"ids": 1, "mask": 2})
    nested = tracepack.trace(lambda q: q["batch"]["ids"] + q["batch"]["mask"], {"batch": {"ids": 1, "mask": 2}})
    listed = tracepack.trace(lambda q: [each["ids"] + each["mask"] for each in q], [{"ids": 1, "mask": 2}] * 2)
    with pytest.raises(tracepack.SignatureError, match=words):
        flat(given)
    with pytest.raises(tracepack.SignatureError, match=words.replace("'batch'", r""".q\['batch'\].""", 1)):
        nested({"batch": given})
    with pytest.raises(tracepack.SignatureError, match=words.replace("'batch'", r".q\[0\].", 1).partition("; exp")[0]):
        listed([given])


def test_a_device_may_be_given_by_its_name(reloaded):
    mod = reloaded(tracepack.trace(lambda x, where: x.to(where) * 2, torch.ones(2), torch.device("cpu")))
    assert mod(torch.ones(3), "cpu").tolist() == mod(torch.ones(3), torch.device("cpu")).tolist() == [2.0] * 3
    for wrong in ("cuda", "cpu:0", "nowhere"):
        with pytest.raises(tracepack.SignatureError, match=f"input 'where': a fixed value differs; got '{wrong}'"):
            mod(torch.ones(3), wrong)
    words = r"wrong type; got device; expected str. Pass str\(device\)"
    with pytest.warns(UserWarning, match="a text is fixed to 'cpu', because it names a device"):
        mod = reloaded(tracepack.trace(lambda x, where: x.to(where) * 2, torch.ones(2), "cpu"))
    with pytest.raises(tracepack.SignatureError, match=words):
        mod(torch.ones(3), torch.device("cpu"))


def test_numbers_and_strings_are_inputs(reloaded, no_blocks):
    def process(x, scale, count, flag, mode):
        y = x * scale + count
        return y.sum() if flag and mode == "sum" else y

    x = torch.rand(3)
    mod = reloaded(tracepack.trace(process, x, 2.0, 3, True, "sum"))
    same(mod(x, 0.5, 7, True, "sum"), process(x, 0.5, 7, True, "sum"))
    with pytest.raises(tracepack.GuardError, match=r"test_feeds.py:\d+ in process: .* got False; expected True"):
        mod(x, 2.0, 3, False, "sum")
    with pytest.raises(tracepack.GuardError, match="got 'mean'; expected 'sum'"):
        mod(x, 2.0, 3, True, "mean")
    with pytest.raises(tracepack.SignatureError, match="input 'count': wrong type; got str; expected int"):
        mod(x, 2.0, "3", True, "sum")


BAD_FEEDS = {
    "missing": ({"x": (3, 4)}, r"input 'h': missing input; got \['x'\]; expected x: f32\[N,4\], h: f32\[N,4\]"),
    "unknown": ({"x": (3, 4), "h": (3, 4), "z": (1,)}, r"input 'z': unknown input; expected x: f32\[N,4\]"),
    "rank": ({"x": (3, 4), "h": (3,)}, r"input 'h': wrong rank; got shape \(3,\); expected 2 dimensions"),
    "size": (
        {"x": (3, 4), "h": (3, 5)},
        r"input 'h': dimension 1 has a wrong size; got 5 in shape \(3, 5\); expected 4",
    ),
    "batch": ({"x": (3, 4), "h": (2, 4)}, r"input 'h': dimension 0 must equal dimension 0 of 'x'; got 2 .* expected 3"),
}


@pytest.mark.parametrize("name", BAD_FEEDS)
def test_bad_feeds_name_the_input(name, cell, reloaded):
    shapes, text = BAD_FEEDS[name]
    mod = reloaded(tracepack.trace(lambda x, h: cell(x, h), torch.rand(3, 4), torch.rand(3, 4)))
    mod(torch.rand(2, 4), torch.rand(2, 4))  # the fast way is warm
    with pytest.raises(tracepack.SignatureError, match=text):
        mod.run({key: torch.rand(shape) for key, shape in shapes.items()})


def test_bad_values_name_the_input(cell):
    x = torch.rand(3, 4)
    mod = tracepack.trace(lambda x, h: cell(x, h), x, x)
    for value, text in [
        (x.double(), "input 'h': wrong dtype; got float64; expected float32. Pass .to"),
        ("text", r"input 'h': not a tensor; got str; expected f32\[N,4\]"),
        (None, "input 'h': not a tensor; got NoneType"),
        (np.zeros((3, 4), "U1"), "torch has no dtype for the array; got numpy <U1. Pass its texts as a list"),
    ]:
        with pytest.raises(tracepack.SignatureError, match=text):
            mod.run({"x": x, "h": value})
    with pytest.raises(tracepack.SignatureError, match="run takes one dict of inputs; got list"):
        mod.run([x, x])
    with pytest.raises(tracepack.SignatureError, match="too many arguments; got 3"):
        mod(x, x, x)
    with pytest.raises(tracepack.SignatureError, match="input 'x': an argument is given twice"):
        mod(x, x=x)


def test_arrays_and_dlpack_share_their_memory():
    seen = []
    mod = tracepack.trace(lambda x: x.add_(1), torch.zeros(4))
    array = np.zeros(4, np.float32)
    result = mod.run({"x": array})
    assert np.array_equal(array, np.ones(4))
    assert result.data_ptr() == array.__array_interface__["data"][0]

    class Foreign:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **options):
            seen.append(True)
            return self.tensor.__dlpack__()

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    tensor = torch.zeros(4)
    mod.run({"x": Foreign(tensor)})
    assert seen
    assert torch.equal(tensor, torch.ones(4))


@pytest.mark.parametrize("make", [lambda a: a[::-1], lambda a: a.T.copy().T, lambda a: np.broadcast_to(a[0], a.shape)])
def test_odd_arrays_are_right(make):
    mod = tracepack.trace(lambda x: x * 2, torch.rand(3, 4))
    array = make(np.random.default_rng(0).random((3, 4), np.float32))
    assert np.array_equal(mod.run({"x": array}).numpy(), array * 2)


def test_gradients_of_inputs_play_no_part(cell):
    x = torch.rand(3, 4, requires_grad=True)
    mod = tracepack.trace(lambda x: cell(x, x)[0], x)
    result = mod(x)
    assert not result.requires_grad
    assert torch.is_grad_enabled()
    assert mod(torch.nn.Parameter(torch.rand(3, 4))).grad_fn is None


def test_a_run_that_is_called_as_the_function_shows_both_forms() -> None:
    mod = tracepack.trace(lambda x, y=None: x * 2, torch.ones(3))
    for call, got in (
        (lambda: mod.run(x=torch.ones(2)), r"run\(x=…\)"),
        (lambda: mod.run(torch.ones(2)), "Tensor; expected .*"),
        (lambda: mod.run(torch.ones(2), 1), r"run\(Tensor, int\)"),
        (lambda: mod.run(), r"run\(\)"),
        (lambda: mod.run(self=1), r"run\(self=…\)"),
    ):
        form = r'Write mod.run\(\{"x": x\}\), or mod\(x=x\)'
        with pytest.raises(
            tracepack.SignatureError, match=f"run takes one dict of inputs; got {got}. {form}"
        ) as caught:
            call()
        assert isinstance(caught.value, TypeError)
