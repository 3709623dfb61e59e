"""The memory that an engine takes lies in huge pages, with the same contents; other memory is left as it is."""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import tracepack
from tests.engines.fakes import Mirror
from tracepack.ops.engines import catalogue, huge_pages
from tracepack.ops.engines.huge_pages import NewMemory
from tracepack.ops.engines.region import Region
from tracepack.ops.graph.device import Device
from tracepack.ops.graph.program import Artefact

NUMBERS = 4 << 20  # of 4 bytes: 16 MiB, of which at least 7 pages of 2 MiB are whole


def collapses() -> bool:
    """Whether Linux exchanges pages here."""
    if not huge_pages._huge_size():
        return False
    size = 4 * huge_pages._huge_size()
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(bytes(size))
    at = -(-ctypes.addressof(ctypes.c_char.from_buffer(memory)) // (size // 4)) * (size // 4)
    return huge_pages._libc().madvise(ctypes.c_void_p(at), ctypes.c_size_t(size // 4), huge_pages._COLLAPSE) == 0


pytestmark = pytest.mark.skipif(not collapses(), reason="this system has no huge pages that may be had later")


def huge_bytes(tensor: torch.Tensor) -> int:
    """Of the mapping in which a tensor lies, the bytes in huge pages, as the system counts them."""
    within = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split()[0]
        if not first.endswith(":"):
            start, _, end = first.partition("-")
            within = int(start, 16) <= tensor.data_ptr() < int(end, 16)
        elif within and first == "AnonHugePages:":
            return int(line.split()[1]) * 1024
    raise AssertionError("the tensor lies nowhere")


def test_new_memory_is_put_into_huge_pages_and_keeps_its_contents() -> None:
    memory = NewMemory()
    numbers = torch.arange(NUMBERS, dtype=torch.int32)
    assert huge_bytes(numbers) == 0
    assert memory.gather() >= 7
    assert huge_bytes(numbers) >= 7 * huge_pages._huge_size()
    assert torch.equal(numbers, torch.arange(NUMBERS, dtype=torch.int32))
    assert memory.gather() == 0  # once


def test_memory_of_before_and_memory_that_nothing_was_written_to_stay() -> None:
    old = torch.ones(NUMBERS)
    memory = NewMemory()
    unwritten = torch.empty(NUMBERS)
    memory.gather()
    assert huge_bytes(old) == huge_bytes(unwritten) == 0


@pytest.mark.parametrize("text", ["always madvise [never]", None])
def test_nothing_is_done_where_the_system_wants_no_huge_pages(tmp_path, monkeypatch, text) -> None:
    (tmp_path / "hpage_pmd_size").write_text("2097152")
    if text is not None:
        (tmp_path / "enabled").write_text(text)
    monkeypatch.setattr(huge_pages, "_SETTINGS", tmp_path)
    huge_pages._huge_size.cache_clear()
    try:
        memory = NewMemory()
        numbers = torch.ones(NUMBERS)
        memory.gather_soon()
        assert (memory.gather(), huge_bytes(numbers)) == (0, 0)
    finally:
        huge_pages._huge_size.cache_clear()


class Packing(Mirror):
    """Takes memory for itself when it is opened, as runtimes do for packed weights."""

    name: ClassVar[str] = "packing"
    packed: ClassVar[list[torch.Tensor]] = []

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        self.packed.append(torch.ones(NUMBERS))
        return super().open(artefact, region, device)


def test_the_memory_of_an_engine_follows_soon_after_its_first_answer(mirror, monkeypatch) -> None:
    catalogue.register("packing", lambda: Packing)
    monkeypatch.setattr(Packing, "packed", [])
    op: Any = tracepack.script(torch.nn.Linear(4, 3), name="layer", engine="packing")
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 4))
    mod.run({"x": torch.rand(2, 4)})
    until = time.monotonic() + 30
    while not huge_bytes(Packing.packed[-1]) and time.monotonic() < until:
        time.sleep(0.05)
    assert huge_bytes(Packing.packed[-1]) >= 7 * huge_pages._huge_size()
