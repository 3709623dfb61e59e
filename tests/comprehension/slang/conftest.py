"""The devices of the Slang emitter: Slang's CPU target, and Vulkan where a driver is (llvmpipe will do)."""

from __future__ import annotations

import pytest

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
from tracepack.ops.graph.errors import DeviceError
from tracepack.ops.slang.launch.slangpy_device import shared_device


@pytest.fixture
def vulkan() -> None:
    try:
        shared_device("vulkan")
    except DeviceError as error:
        pytest.skip(f"no Vulkan driver on this machine: {error.got}")


@pytest.fixture(params=["cpu", "vulkan"])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "vulkan":
        request.getfixturevalue("vulkan")
    return request.param
