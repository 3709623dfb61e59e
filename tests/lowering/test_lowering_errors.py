"""What a user reads where a model cannot be lowered, or takes other sizes: its own line, the cause in plain words."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import tracepack
from tests.models import Branching


class Decides(nn.Module):
    def forward(self, x):
        n = int(x.sum().item())
        return torch.zeros(n) if n > 3 else x


class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Decides()

    def forward(self, x):
        return self.inner(x) + 1


class TooWide(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 4)

    def forward(self, x):
        return self.linear(x)


class ThroughNumpy(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy() * 2)


HERE = r"test_lowering_errors.py:\d+ in forward"
CASES = {
    Decides: rf"^op 'Decides', {HERE}: n = int\(x.sum\(\).item\(\)\): Python needs a value here that only the data "
    r"of a run decides. Use torch.where or tracepack.cond\(pred, true_fn, false_fn, \*args\) there, or",
    Inside: rf"^op 'Inside', {HERE}: n = int\(x.sum\(\).item\(\)\): Python needs a value here",
    TooWide: rf"^op 'TooWide', {HERE}: return self.linear\(x\): the model itself fails on this example; got "
    r"RuntimeError: mat1 and mat2 shapes cannot be multiplied \(3x4 and 5x4\). Give it inputs that it takes.$",
    ThroughNumpy: rf"^op 'ThroughNumpy', {HERE}: return torch.from_numpy\(x.numpy\(\) \* 2\): torch.export cannot",
}


@pytest.mark.parametrize("model", CASES, ids=lambda model: model.__name__)
def test_the_models_line_and_nothing_on_the_side(model, capfd):
    op = tracepack.script(model())
    with pytest.raises(tracepack.LoweringError, match=CASES[model]) as caught:
        tracepack.trace(lambda x: op(x), torch.rand(3, 4))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    print("seen")
    assert capfd.readouterr().out == "seen\n"


LIBRARY = torch.library.Library("unfaked_t", "DEF")
LIBRARY.define("scaled(Tensor x, float by, *, int more=1) -> Tensor")
LIBRARY.impl("scaled", lambda x, by, more=1: x * by + more, "CPU")
LIBRARY.define("halves(Tensor[] xs) -> (Tensor, Tensor[])")
LIBRARY.impl("halves", lambda xs: (xs[0] / 2, [xs[0] * 2]), "CPU")


@torch.library.custom_op("unfaked_t::doubled", mutates_args=())
def doubled(x: torch.Tensor, times: int = 1) -> torch.Tensor:
    return x * 2**times


@torch.library.custom_op("unfaked_t::kept", mutates_args=())
def kept(boxes: torch.Tensor, scores: torch.Tensor, least: float) -> torch.Tensor:
    return scores.sigmoid().gt(least).nonzero()[:, 0]


@torch.library.custom_op("unfaked_t::foremost", mutates_args=())
def foremost(x: torch.Tensor, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    found = x.topk(most, 0)
    return found.values.clone(), found.indices.clone()


@torch.library.custom_op("unfaked_t::marked", mutates_args=())
def marked(x: torch.Tensor, other: torch.Tensor | None = None) -> torch.Tensor:
    return x > 0.5


EXAMPLE = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.9, 0.8, 0.7, 0.6], [0.5, 0.5, 0.2, 0.9]])
SIZE = "torch.library.get_ctx().new_dynamic_size()"


UNFAKED = {
    "kept": (
        lambda x: x[kept(x, x.sum(1) - 4, 0.5)],
        f"lambda boxes, scores, least: boxes.new_empty([{SIZE}], dtype=torch.int64))",
    ),
    "foremost": (
        lambda x: foremost(x, 2)[1] + 1,
        "lambda x, most: (x.new_empty([most, x.shape[1]]), x.new_empty([most, x.shape[1]], dtype=torch.int64)))",
    ),
    "marked": (lambda x: marked(x) & True, "lambda x, other=None: x.new_empty(x.shape, dtype=torch.bool))"),
    "scaled": (
        lambda x: torch.ops.unfaked_t.scaled(x, 2.0, more=3), "lambda x, by, *, more=1: x.new_empty(x.shape))"
    ),
    "halves": (
        lambda x: torch.ops.unfaked_t.halves([x])[1][0] + 1,
        "lambda xs: (xs[0].new_empty(xs[0].shape), [xs[0].new_empty(xs[0].shape)]))",
    ),
    "doubled": (lambda x: doubled(x, 2) + 1, "lambda x, times=1: x.new_empty(x.shape))"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFAKED)
def test_an_operator_without_a_fake_kernel_shows_one_that_runs(name):
    class Calls(nn.Module):
        def forward(self, x):
            return UNFAKED[name][0](x * 2)

    form = f"torch.library.register_fake('unfaked_t::{name}', {UNFAKED[name][1]}"
    text = f"the operator unfaked_t::{name} has no fake kernel, which tells torch.export the shape of what it gives. "
    with pytest.raises(tracepack.LoweringError, match="^op 'Calls', .*" + re.escape(text)) as caught:
        tracepack.trace(tracepack.script(Calls()), EXAMPLE)
    assert str(caught.value).endswith(f"with the shape that it gives: {form}.")
    eval(form)
    mod = tracepack.trace(tracepack.script(Calls()), EXAMPLE)
    for x in (torch.rand(3, 4), torch.rand(5, 2)):
        assert torch.equal(mod(x), Calls()(x))


def test_torchs_names_for_sizes_are_left_out():
    from tracepack.ops.lowering.errors import first_sentence

    error = RuntimeError("cannot join [s39, 4] and [2*s7]. See https://pytorch.org for more\nStack ...")
    assert first_sentence(error) == "RuntimeError: cannot join [?, 4] and [2*?]"


def test_a_layer_of_torch_that_is_not_contiguous_names_the_option():
    op = tracepack.script(nn.LSTM(4, 3, batch_first=True))
    with pytest.raises(
        tracepack.NonContiguousOutputError,
        match=r"op 'LSTM': output 0 is not contiguous; got shape \(2, 5, 3\) with strides .*\. "
        r"Pass contiguous=True to script\(\), or call \.contiguous\(\) on it in the model\.",
    ):
        tracepack.trace(lambda x: op(x)[0], torch.rand(2, 5, 4))
    op = tracepack.script(nn.LSTM(4, 3, batch_first=True), contiguous=True)
    assert tracepack.trace(lambda x: op(x)[0], torch.rand(2, 5, 4))(torch.rand(3, 5, 4)).shape == (3, 5, 3)


class Halves(nn.Module):
    def forward(self, q):
        return q.reshape(2, -1, q.shape[1]).contiguous()


def test_an_ops_guard_names_dimensions_and_a_pipelines_its_letters():
    op = tracepack.script(Halves())
    direct = tracepack.trace(lambda a, b: (a * 2, op(b)), torch.rand(5, 3), torch.rand(4, 6))
    assert "b: f32[K,L]" in direct.signature
    assert " and K % 2 == 0 and " in direct.signature
    text = r"^pipeline .* do not satisfy L \* K % \(2 \* L\) == 0; got K = 3 \(dimension 0 of 'b'\), L = 6"
    with pytest.raises(tracepack.SignatureError, match=text):
        direct(torch.rand(5, 3), torch.rand(3, 6))
    hidden = tracepack.trace(lambda a, b: (a * 2, op(b.abs())), torch.rand(5, 3), torch.rand(4, 6))
    with pytest.raises(
        tracepack.SignatureError, match=r"^op 'Halves': the sizes do not satisfy [^NMKL]*q\.size\(0\)[^NMKL]*; got "
    ):
        hidden(torch.rand(5, 3), torch.rand(3, 6))


def test_inner_sizes_are_written_in_the_ops_letters():
    from tracepack.ops.graph.text import graph_text

    op = tracepack.script(nn.Conv1d(4, 8, 3, stride=2, padding=1), name="conv")
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 4, 10))
    text = graph_text(mod.graph, bodies=True)
    assert "f32[N,8,(M - 1) // 2 + 1] = aten.conv1d.default" in text


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_scripted_branch_takes_a_batch_of_one(rows):
    """torch asserts that sizes are 2 or more; the guards of the body know better."""
    model = torch.jit.script(Branching().eval())
    mod = tracepack.trace(tracepack.script(model), torch.rand(rows, 4))
    for x in (torch.rand(1, 4) * 9, -torch.rand(1, 4) * 9, torch.rand(5, 4)):
        with torch.no_grad():
            assert torch.equal(mod(x), model(x))


def test_a_torch_that_keeps_its_conditions_to_itself_is_refused():
    """torch 2.6 does, and a body lowered there would answer wrongly at sizes that take another branch."""
    from types import SimpleNamespace

    from tracepack.ops.lowering.convert.body import _sizes

    text = (
        r"^op 'm': this torch does not report the sizes for which an export holds; got torch 2.*\. "
        "Script models with a newer"
    )
    with pytest.raises(tracepack.LoweringError, match=text):
        _sizes(SimpleNamespace(range_constraints={}), [], [], "m")


def test_an_encoder_that_answers_otherwise_for_nested_tensors_is_refused() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    op, x, padding = tracepack.script(nn.TransformerEncoder(layer, 1)), torch.rand(2, 3, 8), torch.zeros(2, 3) > 0
    padding[1, 2] = True
    with pytest.raises(tracepack.LoweringError, match="other results than the model; got output 0 .*The export may"):
        tracepack.trace(lambda x, padding: op(x, src_key_padding_mask=padding), x, padding)


class _GivesItsBuffer(nn.Module):
    def __init__(self, copies: bool):
        super().__init__()
        self.copies = copies
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        self.total += x
        return self.total.clone() if self.copies else self.total


def test_a_buffer_that_is_written_and_returned_is_refused_with_the_form():
    x, op = torch.ones(2), tracepack.script(_GivesItsBuffer(copies=False))
    with pytest.raises(tracepack.TracepackError, match=r"Return a copy of a buffer .* buffer\.clone\(\)"):
        tracepack.trace(lambda x: op(x), x)
    copied = tracepack.script(_GivesItsBuffer(copies=True))
    module = tracepack.trace(lambda x: copied(x), x)
    assert [module(x).tolist() for _ in range(2)] == [[1, 1], [2, 2]]
