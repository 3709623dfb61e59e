"""Models that pack padded sequences: batches, lengths and numbers of steps stay free, and the answers are torch's."""

from __future__ import annotations

import io

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence

import tracepack


def loaded(process, *example):
    file = io.BytesIO()
    tracepack.trace(process, *example).save(file)
    return tracepack.load(file.getvalue())


class Layers(torch.nn.Module):
    """A recurrent layer over packed sequences."""

    def __init__(self, kind, first=True, **options):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.first = kind(4, 5, batch_first=first, **options), first

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=self.first, enforce_sorted=False)
        steps, last = self.layer(packed)
        out, lengths = pad_packed_sequence(steps, batch_first=self.first, padding_value=-1.0)
        return out, lengths, last[0] if isinstance(last, tuple) else last


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (torch.nn.LSTM, {"bidirectional": True, "num_layers": 2}),
        (torch.nn.LSTM, {"proj_size": 3}),
        (torch.nn.GRU, {"first": False}),
        (torch.nn.RNN, {"nonlinearity": "relu", "bidirectional": True}),
    ],
)
def test_layers(kind, options):
    model = Layers(kind, **options).eval()
    op = tracepack.script(model)
    example = torch.rand(3, 6, 4) if model.first else torch.rand(6, 3, 4)
    mod = loaded(lambda x, lengths: op(x, lengths), example, torch.tensor([6, 2, 4]))
    for lengths in ([3, 5], [1, 2, 3, 7], [4], [2, 2]):
        size = (len(lengths), max(lengths) + 1)
        x = torch.rand(*(size if model.first else size[::-1]), 4)
        with torch.no_grad():
            wanted = model(x, torch.tensor(lengths))
        found = mod(x, torch.tensor(lengths))
        assert all(map(torch.equal, wanted, found))


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_the_signature_shows_the_size_of_what_is_packed(kind):
    op = tracepack.script(Layers(kind).eval())
    mod = loaded(lambda x, lengths: op(x, lengths), torch.rand(3, 6, 4), torch.tensor([6, 2, 4]))
    assert mod.inputs[0].shape == ("N", "M", 4)
    assert mod.json_schema()["properties"]["inputs"]["properties"]["x"]["x-shape"] == ["N", "M", 4]
    with pytest.raises(tracepack.SignatureError, match="dimension 2 has a wrong size; got 3 in shape"):
        mod(torch.rand(3, 6, 3), torch.tensor([6, 2, 4]))


class Texts(torch.nn.Module):
    """A classifier of texts of any lengths, which come sorted and with a first state of the layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.layer, self.head = torch.nn.Embedding(10, 4), torch.nn.GRU(4, 5), torch.nn.Linear(5, 3)

    def forward(self, ids, lengths, first):
        packed = pack_padded_sequence(self.words(ids), lengths)
        return self.head(self.layer(packed, first)[1][-1])


def test_a_list_of_texts_as_it_is_padded_before_the_model():
    model = Texts().eval()
    op = tracepack.script(model)

    def classify(texts):
        lengths = torch.tensor([len(text) for text in texts])
        return op(pad_sequence(texts), lengths, torch.zeros(1, len(texts), 5)).softmax(-1)

    mod = loaded(classify, [torch.tensor([1, 2, 3]), torch.tensor([4])])
    for texts in ([torch.tensor([7])], [torch.tensor([1, 5, 2, 3]), torch.tensor([2, 3]), torch.tensor([9])]):
        with torch.no_grad():
            lengths = torch.tensor([len(text) for text in texts])
            wanted = model(pad_sequence(texts), lengths, torch.zeros(1, len(texts), 5)).softmax(-1)
        assert torch.equal(mod(texts), wanted)


def test_a_sequence_that_was_packed_outside_of_the_model_is_refused():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.GRU(4, 5)

        def forward(self, data, sizes):
            return self.layer(PackedSequence(data, sizes))[1]

    op = tracepack.script(Model())
    with pytest.raises(tracepack.LoweringError, match="the padded tensor and the lengths"):
        tracepack.trace(lambda data, sizes: op(data, sizes), torch.rand(5, 4), torch.tensor([3, 2]))


class ToOneLength(torch.nn.Module):
    """Pads to a length that the model knows, of lengths that come as a tensor, a list or an array."""

    def __init__(self, listed, length):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.listed, self.length = torch.nn.LSTM(4, 5, batch_first=True), listed, length

    def forward(self, x, lengths):
        if self.listed == "list":
            packed = pack_padded_sequence(x, lengths.tolist(), batch_first=True, enforce_sorted=False)
        elif self.listed == "array":
            packed = pack_padded_sequence(x, lengths.cpu().numpy(), batch_first=True, enforce_sorted=False)
        else:
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        total = x.shape[1] if self.length == 0 else self.length
        return pad_packed_sequence(self.layer(packed)[0], True, -2.0, total)


@pytest.mark.parametrize(
    ("listed", "length"), [("tensor", 0), ("list", 0), ("array", 0), ("list", 9), ("tensor", None)]
)
def test_sequences_are_padded_to_a_length_and_packed_by_a_list(listed, length):
    model = ToOneLength(listed, length).eval()
    op = tracepack.script(model)
    mod = loaded(lambda x, lengths: op(x, lengths), torch.rand(3, 6, 4), torch.tensor([6, 2, 4]))
    for lengths in ([3, 5], [1, 2, 3, 7], [4], [2, 2]):
        x, given = torch.rand(len(lengths), 7, 4), torch.tensor(lengths)
        with torch.no_grad():
            assert all(map(torch.equal, model(x, given), mod(x, given)))


def test_a_sequence_that_is_longer_than_the_length_is_refused():
    op = tracepack.script(ToOneLength("tensor", 3).eval())
    mod = loaded(lambda x, lengths: op(x, lengths), torch.rand(3, 6, 4), torch.tensor([3, 2, 1]))
    with pytest.raises(tracepack.TracepackError, match="outside of what the model was lowered for"):
        mod(torch.rand(2, 6, 4), torch.tensor([4, 2]))
