"""The table of DESIGN.md: the forms in which a device is given."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tracepack.ops.graph.device import CPU, Device, parse_device

GPU0, GPU1 = Device("cuda", 0), Device("cuda", 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (-1, CPU), (0, GPU0), (1, GPU1), ("cpu", CPU), ("cpu:0", CPU), ("cuda", GPU0), ("cuda:1", GPU1),
        ("gpu:1", GPU1), ("gpu", GPU0), (torch.device("cpu"), CPU), (torch.device("cuda:1"), GPU1),
        (torch.device("cuda"), GPU0), (GPU1, GPU1), ("xpu:1", Device("xpu", 1)),
    ],
)  # fmt: skip
def test_device_forms(given, expected):
    assert parse_device(given) == expected


def test_gpu_means_the_machines_kind_of_accelerator():
    assert parse_device("gpu:1", "xpu") == Device("xpu", 1)
    assert parse_device(0, "mps") == Device("mps", 0)


@pytest.mark.parametrize(
    "given", [True, False, 0.0, 1.5, -2, "", "cpu:", "cuda:-1", "cuda:1 ", "tpu", b"cpu", [], object()]
)
def test_anything_else_is_refused(given):
    with pytest.raises(tracepack.DeviceError, match="not a device; got .*; expected None, an int"):
        parse_device(given)
