"""Linear layers of `quantize_dynamic`: bit for bit as torch's own, in a file that needs no trust."""

from __future__ import annotations

import io
import warnings

import pytest
import torch

import tracepack

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")


def quantized(model, *kinds, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(model.eval(), set(kinds or (torch.nn.Linear,)), **options)


def loaded(model, *example):
    op = tracepack.script(model)
    file = io.BytesIO()
    tracepack.trace(lambda x: op(x), *example).save(file)
    return tracepack.load(file.getvalue())


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def network():
    return torch.nn.Sequential(torch.nn.Linear(4, 33), torch.nn.ReLU(), torch.nn.Linear(33, 2, bias=False)).eval()


def test_every_bit_is_that_of_torch():
    model = quantized(network())
    mod = loaded(model, torch.rand(3, 4))
    ranges = [torch.randn(n % 9 + 1, 4) * 10.0 ** (n % 12 - 6) for n in range(60)]
    ends = [torch.zeros(2, 4), torch.rand(2, 4), -torch.rand(2, 4), torch.full((1, 4), 1e-38), torch.rand(3, 4) * 1e-5]
    for x in (*ranges, *ends):
        assert torch.equal(mod(x), model(x)), x


def test_a_scale_for_each_row_of_weights():
    options = {"qconfig_spec": {torch.nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.ao.quantization.quantize_dynamic(network().eval(), **options)
    mod = loaded(model, torch.rand(3, 4))
    assert all(torch.equal(mod(x), model(x)) for x in (torch.randn(n, 4) * n for n in range(1, 9)))


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = torch.nn.LSTM(4, 8, batch_first=True), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


def test_layers_beside_others_and_of_three_dimensions():
    model = quantized(Classifier())
    mod = loaded(model, torch.rand(2, 5, 4))
    for size in ((3, 7, 4), (1, 1, 4)):
        x = torch.rand(size)
        assert torch.equal(mod(x), model(x))


@pytest.mark.parametrize("names", [{"0"}, {"2"}, {"0", "2"}])
def test_a_batch_of_one_and_an_empty_one(names):
    model = quantized(network(), *names)
    mod = loaded(model, torch.rand(3, 4))
    assert mod.signature == "(x: f32[N,4]) -> f32[N,2]"
    for size in (1, 0, 5):
        x = torch.rand(size, 4)
        assert torch.equal(mod(x), model(x))


def test_an_empty_batch_of_three_dimensions():
    model = quantized(network())
    mod = loaded(model, torch.rand(2, 5, 4))
    for size in ((0, 5, 4), (2, 0, 4), (1, 1, 4)):
        x = torch.rand(size)
        assert torch.equal(mod(x), model(x))


def test_one_layer_by_itself():
    model = quantized(torch.nn.Sequential(torch.nn.Linear(4, 3)))[0]
    x = torch.randn(5, 4)
    assert torch.equal(loaded(model, torch.rand(2, 4))(x), model(x))


def test_weights_that_were_set_anew():
    model, other = quantized(network()), quantized(network())
    op, x = tracepack.script(model), torch.randn(5, 4)
    op(x)
    model.load_state_dict(other.state_dict())
    assert torch.equal(tracepack.trace(lambda x: tracepack.script(model)(x), x)(x), other(x))


@pytest.mark.parametrize(("kinds", "options"), [([torch.nn.LSTM], {}), ([torch.nn.Linear], {"dtype": torch.float16})])
def test_other_layers_are_refused_with_what_does(kinds, options):
    op = tracepack.script(quantized(Classifier(), *kinds, **options), name="classify")
    with pytest.raises(tracepack.LoweringError, match="op 'classify': this dynamically quantized layer") as raised:
        tracepack.trace(lambda x: op(x), torch.rand(2, 5, 4))
    assert "quantize_dynamic(model, {torch.nn.Linear})" in str(raised.value)


def test_a_model_that_is_no_op_is_refused_with_what_does():
    model = quantized(network())
    with pytest.raises(
        tracepack.RecordError, match=r"before the function, and call that: model = tracepack.script\(model\)"
    ):
        tracepack.trace(lambda x: model(x), torch.rand(2, 4))


def test_layers_of_torchao():
    torchao = pytest.importorskip("torchao.quantization", reason="torchao is not installed")
    model = network()
    torchao.quantize_(model, torchao.Int8DynamicActivationInt8WeightConfig())
    kinds = {name: type(weight) for name, weight in model.named_parameters()}
    op, file = tracepack.script(model), io.BytesIO()
    tracepack.trace(lambda x: op(x), torch.rand(3, 4)).save(file)
    mod = tracepack.load(file.getvalue(), packages=["torchao"])
    assert all(torch.equal(mod(x), model(x)) for x in (torch.randn(n, 4) * n for n in range(1, 9)))
    assert {name: type(weight) for name, weight in model.named_parameters()} == kinds
