"""Runs many risky calls in forked children: one that dies or hangs costs that call; the next goes on after it.

A child writes a byte for every call that it begins; the parent watches, kills a child that stands still, and notes the
call at which a child was lost.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

MEMORY = 1536 << 20  # bytes of address space beyond what the parent has
STILL = 20.0  # seconds of processor time without a new call: it hangs; filling all the memory it may have takes two
ASLEEP = 120.0  # seconds without any processor time: it waits for what never comes
SLOW = 10.0  # seconds for one call


@dataclass(frozen=True)
class Loss:
    """A call that a child did not survive, or whose result said something.

    Attributes:
        index: of the call.
        outcome: ``"signal 11"``, ``"hang"``, ``"slow"``, or what the call itself reported.
    """

    index: int
    outcome: str


def survive(
    count: int,
    call: Callable[[int], str],
    *,
    still: float = STILL,
    slow: float = SLOW,
    most: int = 5,
    memory: int = MEMORY,
) -> Iterator[Loss]:
    """Makes calls 0 to count - 1, each in a child, and yields those that went wrong.

    Args:
        count: how many.
        call: makes one; returns "" or what is wrong with its result. Exceptions are its own business.
        still: seconds after which a call hangs.
        slow: seconds after which a call is lost, though it ended.
        most: stops after so many losses.
        memory: bytes of address space that a child may have beyond what the parent has.
    """
    start, lost = 0, 0
    while start < count and lost < most:
        loss = _child(start, count, call, still, slow, memory)
        if loss is None:
            return
        yield loss
        lost += 1
        start = loss.index + 1


def _child(start: int, count: int, call: Callable[[int], str], still: float, slow: float, memory: int) -> Loss | None:
    read, write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _work(start, count, call, write, slow, memory)
    os.close(write)
    at, said, since = start - 1, "", 0.0
    spent, awake = 0.0, time.monotonic()
    try:
        while True:
            ready, _, _ = select.select([read], [], [], 1.0)
            if _spent(pid) != spent:
                spent, awake = _spent(pid), time.monotonic()
            if not ready and spent - since < still and time.monotonic() - awake < ASLEEP:
                continue
            since = spent
            if not ready:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return Loss(max(at, start), "hang")
            data = os.read(read, 65536)
            if not data:
                break
            at += data.count(b".")
            said += data.replace(b".", b"").decode(errors="replace")
    finally:
        os.close(read)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return Loss(max(at, start), f"signal {os.WTERMSIG(status)}")
    if os.WEXITSTATUS(status):
        return Loss(max(at, start), said or f"exit {os.WEXITSTATUS(status)}")
    return None


def _spent(pid: int) -> float:
    """Seconds of processor time of a child: a busy machine is no reason to call it hanging."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def _work(start: int, count: int, call: Callable[[int], str], write: int, slow: float, memory: int) -> None:
    """The child: never returns."""
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        torch.set_num_threads(1)  # the threads of torch's pool stayed with the parent, which it would wait for
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limit = _size() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for index in range(start, count):
            os.write(write, b".")
            began = time.process_time()
            said = call(index)
            if not said and time.process_time() - began > slow:
                said = "slow"
            if said:
                os.write(write, said.replace(".", " ").encode()[:200])
                os._exit(3)
        code = 0
    finally:
        os._exit(code)


def _size() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
