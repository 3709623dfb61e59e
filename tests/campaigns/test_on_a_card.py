"""Every operator of torch's database on a card: the recorder's graphs answer there as eager does."""

from __future__ import annotations

from itertools import islice

import pytest
import torch

from tests.campaigns.check import Unusable
from tests.campaigns.limit import limited
from tests.campaigns.operators import check_recorded
from tests.campaigns.samples import entries, samples
from tests.campaigns.tally import ERROR, WRONG

PARTS = 24
SAMPLES = 1
DTYPES = (torch.float32, torch.int64)

pytestmark = [
    pytest.mark.gpu,
    # Of numba, and of torch for functions that its database has.
    pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning", "ignore:.*(torch.qr|Sparse CSR)"),
]


@pytest.mark.parametrize("part", range(PARTS))
def test_operators_on_a_card(part: int) -> None:
    wrong, tried = [], 0
    for entry in entries()[part::PARTS]:
        supported = entry.info.supported_dtypes("cuda")
        for dtype in (each for each in DTYPES if each in supported):
            for sample in islice(samples(entry, dtype, "cuda"), SAMPLES):
                try:
                    with limited():
                        found = check_recorded(entry, sample)
                except Unusable:
                    continue
                tried += 1
                if found.outcome in (WRONG, ERROR):
                    wrong.append(f"{entry.name}: {sample.label}: {found.reason}")
    assert not wrong, "\n".join(wrong)
    assert tried
