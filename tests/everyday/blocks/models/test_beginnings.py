"""Greedy decoding begins with a list of the ids, however that is made."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

END = 3


class Words(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = torch.nn.Embedding(12, 8), torch.nn.Linear(8, 12)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(ids).cumsum(1))


model = tracepack.script(Words().eval())


def of_tensor(ids):
    out = ids.tolist()
    for _ in range(8):
        token = int(model(torch.tensor([out]))[0, -1].argmax())
        if token == END:
            break
        out.append(token)
    return out


def of_list(ids):
    out = ids[:]
    for _ in range(8):
        token = int(model(torch.tensor([out]))[0, -1].argmax())
        if token == END:
            break
        out.append(token)
    return out, ids


def of_first_row(ids):
    out = ids.tolist()[0]
    while len(out) < 9:
        token = int(model(torch.tensor([out]))[0, -1].argmax())
        if token == END:
            break
        out.append(token)
    return out


def of_rows_tensor(ids):
    out = ids[0].tolist()
    begun = len(out)
    for _ in range(8):
        token = int(model(torch.tensor([out]))[0, -1].argmax())
        if token == END:
            break
        out.append(token)
    return out[begun:]


ROWS = [[torch.tensor([row])] for row in ([4], [5, 6, 7], [11, 0, 3, 8])]
CASES = [
    Case(of_tensor, [torch.tensor([1, 2])], [[row[0][0]] for row in ROWS]),
    Case(of_list, [[1, 2]], [[row[0][0].tolist()] for row in ROWS]),
    Case(of_first_row, [torch.tensor([[1, 2]])], ROWS),
    Case(of_rows_tensor, [torch.tensor([[1, 2]])], ROWS),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.process.__name__)
def test_a_list_that_a_loop_by_a_model_extends(case):
    check(case)
