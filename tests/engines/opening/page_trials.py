"""What is asserted of memory, each in a process of its own: in another, memory of earlier tests is used again."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch

import tracepack
from tests.engines.fakes import Mirror
from tracepack.ops.engines import catalogue
from tracepack.ops.engines.memory import huge_pages
from tracepack.ops.engines.memory.file_pages import release
from tracepack.ops.engines.memory.huge_pages import NewMemory
from tracepack.ops.engines.memory.libc import advise
from tracepack.ops.engines.region import Region
from tracepack.ops.graph.device import Device
from tracepack.ops.graph.program import Artefact
from tracepack.ops.graph.traverse import constants

NUMBERS = 4 << 20  # of 4 bytes: 16 MiB, of which at least 7 pages of 2 MiB are whole
LEAST = 7
ROOT = Path(__file__).parents[3]
SIDE = 1536  # of a layer


def collapses() -> bool:
    """Whether Linux exchanges pages here; where it always gives huge ones, there is nothing to see."""
    huge = huge_pages._huge_size()
    if not huge or "[always]" in (huge_pages._SETTINGS / "enabled").read_text():
        return False
    memory = mmap.mmap(-1, 4 * huge, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(bytes(4 * huge))
    at = -(-ctypes.addressof(ctypes.c_char.from_buffer(memory)) // huge) * huge
    return advise(at, huge, huge_pages._COLLAPSE)


def counted(tensor: torch.Tensor, what: str) -> int:
    """A count of bytes of the mapping in which a tensor lies, as the system gives it."""
    within = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split()[0]
        if not first.endswith(":"):
            start, _, end = first.partition("-")
            within = int(start, 16) <= tensor.data_ptr() < int(end, 16)
        elif within and first == f"{what}:":
            return int(line.split()[1]) * 1024
    raise AssertionError("the tensor lies nowhere")


def huge_bytes(tensor: torch.Tensor) -> int:
    """Of the mapping in which a tensor lies, the bytes in huge pages."""
    return counted(tensor, "AnonHugePages")


def new_memory_is_put_into_huge_pages_and_keeps_its_contents() -> None:
    memory = NewMemory(4 * NUMBERS)
    numbers = torch.arange(NUMBERS, dtype=torch.int32)
    assert huge_bytes(numbers) == 0
    assert memory.gather() >= LEAST
    assert huge_bytes(numbers) >= LEAST * huge_pages._huge_size()
    assert torch.equal(numbers, torch.arange(NUMBERS, dtype=torch.int32))
    assert memory.gather() == 0  # once


def memory_of_before_and_memory_that_nothing_was_written_to_stay() -> None:
    old = torch.ones(NUMBERS)
    memory = NewMemory(4 * NUMBERS)
    unwritten = torch.empty(NUMBERS)
    memory.gather()
    # A page at an end may be shared with memory that is new, and be gathered with it.
    assert max(huge_bytes(old), huge_bytes(unwritten)) < LEAST * huge_pages._huge_size()


def nothing_is_done_where_the_system_wants_no_huge_pages(settings: str) -> None:
    huge_pages._SETTINGS = Path(settings)
    memory = NewMemory(4 * NUMBERS)
    numbers = torch.ones(NUMBERS)
    memory.gather_soon()
    assert (memory.gather(), huge_bytes(numbers)) == (0, 0)


class Packing(Mirror):
    """Takes memory for itself when it is opened, as runtimes do for packed weights, and computes a layer from there."""

    name: ClassVar[str] = "packing"
    packed: ClassVar[list[torch.Tensor]] = []

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        self.packed.append(torch.ones(NUMBERS))
        bias, weight = sorted((held.tensor.detach().clone() for held in artefact.constants.values()), key=torch.numel)
        return lambda x: [torch.nn.functional.linear(x, weight, bias)]


def require(trial: str, *given: object) -> None:
    """Runs a trial in a process of its own."""
    command = [sys.executable, "-m", __name__, trial, *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr


def packing() -> tracepack.Pipeline:
    """A pipeline with a layer of 9 MiB, which the engine runs."""
    catalogue.register("packing", lambda: Packing)
    op: Any = tracepack.script(torch.nn.Linear(SIDE, SIDE), name="layer", engine="packing")
    return tracepack.trace(lambda x: op(x), torch.rand(2, SIDE))


def the_memory_of_an_engine_follows_soon_after_its_first_answer() -> None:
    packing().run({"x": torch.rand(2, SIDE)})
    until = time.monotonic() + 30
    while not huge_bytes(Packing.packed[-1]) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)  # the first page is seen before the last one
    assert huge_bytes(Packing.packed[-1]) >= LEAST * huge_pages._huge_size()


def pages_of_a_file_go_but_those_that_were_written_stay(folder: str) -> None:
    path = Path(folder, "numbers")
    path.write_bytes(torch.arange(NUMBERS, dtype=torch.int32).numpy().tobytes())
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    numbers, own = torch.frombuffer(mapped, dtype=torch.int32), torch.arange(NUMBERS, dtype=torch.int32)
    pages = mmap.PAGESIZE // 4
    numbers[5 * pages : 8 * pages] = -1
    numbers[-1] = -2
    expected = numbers.clone()
    assert counted(numbers, "Rss") == numbers.nbytes
    assert release([numbers, own, torch.ones(3)]) == numbers.nbytes - 4 * mmap.PAGESIZE
    assert counted(numbers, "Rss") == 4 * mmap.PAGESIZE
    assert torch.equal(numbers, expected)
    assert torch.equal(own, torch.arange(NUMBERS, dtype=torch.int32))


def a_file_with_an_engine_keeps_no_pages_of_its_weights(folder: str) -> None:
    path = Path(folder, "layer.tpk")
    packing().save(path)
    loaded = tracepack.load(path, trust=True)
    weight = max((held.tensor for held in constants(loaded.graph)), key=torch.Tensor.numel)
    x = torch.rand(2, SIDE)
    before = weight.sum()
    assert counted(weight, "Rss") > weight.nbytes
    loaded.run({"x": x})
    assert loaded.engines == {"op 'layer'": "packing", "other nodes": "aten"}
    assert counted(weight, "Rss") < 1 << 20
    assert torch.equal(weight.sum(), before)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
