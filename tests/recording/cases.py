"""The inputs that the tests of the recorder share, and the check that a function is packed right at other sizes."""

from __future__ import annotations

import torch

from tests.campaigns.check import Check
from tests.campaigns.tally import RIGHT

X = torch.arange(6.0).reshape(3, 2) + 0.5
OTHER = torch.tensor([[4.0, -1.0], [0.25, 3.0], [2.0, 8.0]])
TALL = torch.linspace(-2, 3, 10).reshape(5, 2)


def right(process, *example, others=()):
    """Traced, saved and loaded, it answers as Python does on the example and on every other input."""
    found = Check(process, example).run(others)
    assert (found.outcome, found.reason) == (RIGHT, "")
