"""What cannot be recorded is refused with the user's line and the reason."""

from __future__ import annotations

import builtins as own
import pathlib
import random
import re
from itertools import starmap
from math import lgamma

import pytest
import torch

import tracepack
from tests.recording.cases import X


def helper(x):
    return next(starmap(float, [(x.sum(),)]))


def shrunk(number):
    return next(starmap(lgamma, [(number,)]))


def swallow(x):
    try:
        return x.view(7)
    except RuntimeError:
        return x


def swallow_branch(x):
    try:
        return x if x.sum() > 0 else -x
    except Exception:
        return x


MORE_THAN_ZERO = [[(0).__lt__]]  # looked up where nothing is recorded, and kept where nothing looks


def swallow_unanswered(x):
    try:
        return x if any(map(MORE_THAN_ZERO[0][0], x.shape)) else -x
    except Exception:
        return x


NUMBER = "a tensor's value cannot leave the graph as a plain number"
BRANCH = "a branch on a tensor cannot be recorded: only one side of it ran"
DATA = "a value that data decides cannot leave the graph: "
ADDRESS = "a text shows the address of an object, which is another one in each process"
REFUSED = {
    "a text of an object": (lambda x: {"x": x, "by": str(swallow)}, ADDRESS),
    "a text of a new object": (lambda x: f"{object()} of {x.shape[0]}", ADDRESS),
    "complex": (lambda x: x * complex(x.sum()), NUMBER),
    "range over data": (lambda x: [x for _ in range(x.sum().int())], NUMBER),
    "if": (lambda x: x if x.sum() > 0 else x.sum(), BRANCH),
    "and": (lambda x: x.any() and x.sum(), BRANCH),
    "in": (lambda x: x if 0.5 in x else -x, BRANCH),
    "float that starmap calls": (lambda x: x * helper(x), NUMBER),
    "an own float": (lambda x: x * own.float(x.sum()), NUMBER),
    "math that starmap calls": (lambda x: x * shrunk(x.sum().item()), DATA + "it was taken as a plain float, as math"),
    "no answer": (swallow_unanswered, "a branch was taken on NotImplemented"),
    "branch on an item": (lambda x: x if x.sum().item() > 0 else x.sum(), DATA + "a branch was taken on it"),
    "max of two types": (lambda x: max(0, x.min().item()), r"max of an int and a float: .*Write .*: max\(0.0, x\)"),
    "a tuple as often as an item": (lambda x: (x,) * x.argmax().item(), DATA + "it was used as a plain integer"),
    "text of a tensor": (lambda x: {repr(x): x}, "a tensor's values cannot leave the graph as text"),
    "random": (lambda x: x * random.random(), "a second recording on other data differs"),
    "swallowed error": (swallow, "the function caught an error of torch, so which branch it takes depends"),
    "swallowed refusal": (swallow_branch, BRANCH),
    "memory": (lambda x: x.data_ptr(), "torch.Tensor.data_ptr: a tensor's memory cannot be reached in a recording"),
    "resize": (lambda x: x.clone().resize_(2), "torch.Tensor.resize_: a tensor's memory cannot be reached"),
    "sparse": (lambda x: x.to_sparse(), "torch.Tensor.to_sparse cannot be recorded: archives hold dense tensors only"),
    "unchecked indices": (
        lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([len(x)])),
        "torch.segment_reduce cannot be recorded: it does not check its indices, so that a file could reach outside",
    ),
    "an object": (lambda x: object(), "the function returns a builtins.object, which an archive cannot hold"),
    "an option object": (
        lambda x: torch.nn.functional.grid_sample(x, x, mode=pathlib.Path("a")),
        "torch.nn.functional.grid_sample has an argument that cannot be recorded; got pathlib",
    ),
    "torch's own randomness": (lambda x: x + torch.randn(2), "torch.randn draws random numbers from torch's global"),
    "dropout": (lambda x: torch.nn.functional.dropout(x), "torch.nn.functional.dropout draws random numbers"),
}  # fmt: skip


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_line_and_the_reason(name) -> None:
    process, words = REFUSED[name]
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(process, X)
    assert words in str(caught.value)
    if name != "an object":
        assert "test_refusals.py:" in str(caught.value)


@pytest.mark.usefixtures("no_blocks")
def test_a_refusal_in_a_loop_over_pairs_says_why() -> None:
    def process(xs, words):
        count, most = 0, 1.0
        for word, x in zip(words, xs, strict=True):
            if x[0] > 0.5:
                count = count + len(word)
            else:
                most = max(most, count)  # an integer or a float: the data decides
        return count, most

    with pytest.raises(tracepack.RecordError, match="any length turns a float into a int. Start with a int"):
        tracepack.trace(process, [torch.tensor([v]) for v in (0.9, 0.1, 0.2)], ["a", "bb", "c"])


def test_an_error_of_the_function_itself_stays_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        tracepack.trace(lambda x: x * (1 // 0), X)
    with pytest.raises(RuntimeError, match="shape '\\[7\\]' is invalid"):
        tracepack.trace(lambda x: x.view(7), X)


def test_tensors_exchanged_behind_their_names_are_refused() -> None:
    def process(x):
        a, b = x.clone(), x * 2
        torch.utils.swap_tensors(a, b)
        return a

    with pytest.raises(tracepack.RecordError, match="was exchanged for another one behind its name"):
        tracepack.trace(process, X)


@pytest.mark.parametrize("transform", [torch.vmap(torch.sum), torch.func.grad(torch.sum)])
def test_transforms_of_torch_func_are_refused_by_name(transform) -> None:
    with pytest.raises(tracepack.RecordError, match="torch.vmap and the other transforms of torch.func cannot be rec"):
        tracepack.trace(lambda x: transform(x), X)


@pytest.mark.parametrize(
    ("process", "form"),
    [
        (
            lambda x, b: x.sum(0, keepdim=b),
            "x.sum(0, keepdim=True) if b else x.sum(0, keepdim=False)",
        ),
        (
            lambda x, b: x.topk(1, largest=b),
            "x.topk(1, largest=True) if b else x.topk(1, largest=False)",
        ),
        (
            lambda x, b: x.sort(descending=b).values,
            "(x.sort(descending=True) if b else x.sort(descending=False))",
        ),
        (
            lambda x, b: torch.linalg.svd(x, b)[1],
            "(torch.linalg.svd(x, True) if b else torch.linalg.svd(x, False))",
        ),
    ],
)
def test_a_flag_for_a_function_that_takes_plain_ones_is_refused_with_what_to_write(process, form) -> None:
    words = rf"takes plain flags was given one that is decided at run time.*or branch on it: {re.escape(form)}\."
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, torch.rand(2, 3), True)


@pytest.mark.parametrize(
    "process",
    [
        lambda x, b: x.sum(0, keepdim=True) if b else x.sum(0, keepdim=False),
        lambda x, b: (x.sort(descending=True) if b else x.sort(descending=False)).values,
        lambda x, b: (torch.linalg.svd(x, True) if b else torch.linalg.svd(x, False))[1],
    ],
)
@pytest.mark.parametrize("example", [True, False])
def test_a_branch_on_a_flag_is_what_the_refusal_advises(process, example) -> None:
    mod = tracepack.trace(process, torch.rand(2, 3), example)
    for flag in (True, False):
        assert torch.equal(mod(x := torch.rand(4, 3), flag), process(x, flag))


class Holder:
    def __init__(self, x):
        self.x = x


def test_an_object_as_a_result_shows_what_makes_a_dict_of_it():
    form = r"test_refusals.py:\d+ in .*Holder, which an archive cannot hold. Return vars\(record\): records are dicts"
    with pytest.raises(tracepack.RecordError, match=form):
        tracepack.trace(lambda x: Holder(x), X)
    mod = tracepack.trace(lambda x: vars(Holder(x)), X)
    assert torch.equal(mod(X)["x"], X)


SHOWN = "<Some object at 0x7f0123456789>"
MARKS = {"other": ["<Other object at 0x7f0123456789>"]}


def marked(text, mark="<Third object at 0x7f0123456789>"):
    return f"{text.replace(SHOWN, '')} <Fourth object at 0x7f0123456789> {MARKS['other'][0]} {mark}"


def test_a_text_that_only_looks_like_an_address():
    """A text of the source, or of a table that stood before the trace, is a constant like any other."""
    mod = tracepack.trace(marked, f"a {SHOWN}")
    assert mod(f"b {SHOWN}") == marked(f"b {SHOWN}")
    with pytest.raises(tracepack.RecordError, match=ADDRESS):
        tracepack.trace(lambda text: text.replace(str(object()), SHOWN), f"a {SHOWN}")


class Lazy:
    model = None

    def __call__(self, x):
        if self.model is None:
            self.model = tracepack.script(torch.nn.Linear(3, 2))
        return self.model(x)


def test_a_model_that_is_made_when_it_is_needed_is_refused_with_a_form() -> None:
    words = r"in __call__: self.model = tracepack.script\(torch.nn.Linear\(3, 2\)\): a model is made inside of the"
    with pytest.raises(tracepack.RecordError, match=f"{words} function. Make it before tracepack.trace, and an op of"):
        tracepack.trace(Lazy(), torch.rand(2, 3))
    with pytest.raises(tracepack.RecordError, match="torch.nn.init.uniform_ cannot be recorded"):
        tracepack.trace(lambda x: torch.nn.init.uniform_(x * 1), torch.rand(2, 3))
    made = Lazy()
    made.model = tracepack.script(torch.nn.Linear(3, 2))
    assert tracepack.trace(made, torch.rand(2, 3))(torch.rand(4, 3)).shape == (4, 2)


MODEL = torch.nn.Linear(2, 3).eval()
MOVED = {
    "to a card": lambda x: MODEL.to("cuda")(x),
    "to a card by its method": lambda x: MODEL.cuda()(x),
    "to half": lambda x: MODEL.half()(x.half()),
    "to another dtype": lambda x: MODEL.to(torch.float64)(x.double()),
    "to double": lambda x: MODEL.double()(x.double()),
    "to a type": lambda x: MODEL.type(torch.float64)(x.double()),
}


@pytest.mark.parametrize("name", MOVED)
def test_a_model_that_is_moved_or_converted_shows_the_op_to_make_of_it(name) -> None:
    with pytest.raises(tracepack.RecordError) as error:
        tracepack.trace(MOVED[name], X)
    assert (
        "a model is moved or converted in the function, which changes its weights. Make an op of it before the "
        "function, as it is to be: op = tracepack.script(model.half()), or tracepack.script(model, device=0), which "
        "moves its inputs itself."
    ) in str(error.value)
    assert (MODEL.weight.dtype, MODEL.weight.device.type) == (torch.float32, "cpu")


@pytest.mark.parametrize(
    "process",
    [lambda x: MODEL.cpu()(x), lambda x: MODEL.eval().to(x.device).float()(x), lambda x: MODEL.to("cpu")(x)],
)
def test_a_model_that_is_where_it_is_moved_to_is_recorded(process) -> None:
    mod = tracepack.trace(process, X)
    torch.testing.assert_close(mod(X[:1]), process(X[:1]))
