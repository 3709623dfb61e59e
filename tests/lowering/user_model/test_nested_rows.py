"""`nn.TransformerEncoder` makes nested tensors of rows that are padded on the right: a way that no export has."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tracepack


class Encodes(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.embed = nn.Embedding(9, 8)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, **options)

    def forward(self, ids):
        return self.encoder(self.embed(ids), src_key_padding_mask=ids == 0).mean(1)


def keeps_to_one_way():
    model = Encodes().eval()
    model.encoder.use_nested_tensor = False
    return model


FULL, PADDED = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[1, 2, 3], [4, 0, 0]])


@pytest.mark.parametrize("example", [FULL, FULL.flip(1), torch.tensor([[0, 2, 3], [4, 5, 6]])])
def test_an_example_without_padding_on_the_right_is_refused(example):
    op = tracepack.script(Encodes().eval())
    said = r"op 'Encodes'.*where all padding is on the right.*Set `encoder\.use_nested_tensor = False`"
    with pytest.raises(tracepack.TracepackError, match=said):
        tracepack.trace(lambda ids: op(ids), example)


@pytest.mark.parametrize("make", [keeps_to_one_way, lambda: Encodes(enable_nested_tensor=False).eval()])
@pytest.mark.parametrize("example", [FULL, PADDED])
def test_the_form_that_is_shown_answers_for_all_padding(make, example):
    model = make()
    op = tracepack.script(model)
    mod = tracepack.trace(lambda ids: op(ids), example)
    with torch.no_grad():
        for ids in (FULL, PADDED, PADDED.flip(1), torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])):
            torch.testing.assert_close(mod(ids), model(ids))
