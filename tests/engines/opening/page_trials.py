"""What is asserted of huge pages, each in a process of its own: in another, memory of earlier tests is used again."""

from __future__ import annotations

import ctypes
import mmap
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch

import tracepack
from tests.engines.fakes import Mirror
from tracepack.ops.engines import catalogue, huge_pages
from tracepack.ops.engines.huge_pages import NewMemory
from tracepack.ops.engines.region import Region
from tracepack.ops.graph.device import Device
from tracepack.ops.graph.program import Artefact

NUMBERS = 4 << 20  # of 4 bytes: 16 MiB, of which at least 7 pages of 2 MiB are whole
LEAST = 7


def collapses() -> bool:
    """Whether Linux exchanges pages here; where it always gives huge ones, there is nothing to see."""
    huge = huge_pages._huge_size()
    if not huge or "[always]" in (huge_pages._SETTINGS / "enabled").read_text():
        return False
    memory = mmap.mmap(-1, 4 * huge, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(bytes(4 * huge))
    at = -(-ctypes.addressof(ctypes.c_char.from_buffer(memory)) // huge) * huge
    return huge_pages._libc().madvise(ctypes.c_void_p(at), ctypes.c_size_t(huge), huge_pages._COLLAPSE) == 0


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


def new_memory_is_put_into_huge_pages_and_keeps_its_contents() -> None:
    memory = NewMemory()
    numbers = torch.arange(NUMBERS, dtype=torch.int32)
    assert huge_bytes(numbers) == 0
    assert memory.gather() >= LEAST
    assert huge_bytes(numbers) >= LEAST * huge_pages._huge_size()
    assert torch.equal(numbers, torch.arange(NUMBERS, dtype=torch.int32))
    assert memory.gather() == 0  # once


def memory_of_before_and_memory_that_nothing_was_written_to_stay() -> None:
    old = torch.ones(NUMBERS)
    memory = NewMemory()
    unwritten = torch.empty(NUMBERS)
    memory.gather()
    # A page at an end may be shared with memory that is new, and be gathered with it.
    assert max(huge_bytes(old), huge_bytes(unwritten)) < LEAST * huge_pages._huge_size()


def nothing_is_done_where_the_system_wants_no_huge_pages(settings: str) -> None:
    huge_pages._SETTINGS = Path(settings)
    memory = NewMemory()
    numbers = torch.ones(NUMBERS)
    memory.gather_soon()
    assert (memory.gather(), huge_bytes(numbers)) == (0, 0)


class Packing(Mirror):
    """Takes memory for itself when it is opened, as runtimes do for packed weights."""

    name: ClassVar[str] = "packing"
    packed: ClassVar[list[torch.Tensor]] = []

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        self.packed.append(torch.ones(NUMBERS))
        return super().open(artefact, region, device)


def the_memory_of_an_engine_follows_soon_after_its_first_answer() -> None:
    catalogue.register("packing", lambda: Packing)
    op: Any = tracepack.script(torch.nn.Linear(4, 3), name="layer", engine="packing")
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 4))
    mod.run({"x": torch.rand(2, 4)})
    until = time.monotonic() + 30
    while not huge_bytes(Packing.packed[-1]) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)  # the first page is seen before the last one
    assert huge_bytes(Packing.packed[-1]) >= LEAST * huge_pages._huge_size()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
