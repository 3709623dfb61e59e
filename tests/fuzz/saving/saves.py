"""Saves that are ended at any moment, that run out of room, or that meet each other; and caches under any umask.

After each, the file at the path is one that a save wrote as a whole, and the next save leaves nothing beside it. What
the compilers keep can be written by nobody else, and is right where its maker was killed.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

import tracepack
from tests.fuzz.children import survive

_X = torch.ones(3)
_SLOWEST = 0.02  # seconds of a save, about
_UMASKS = (0, 0o022, 0o077, 0o027)


@cache
def pipelines() -> list[Any]:
    """Pipelines that answer 1, 2 and 3 for one, of files of very different sizes."""
    return [_adding(number, 1 << 8 * number) for number in range(3)]


def _adding(number: int, size: int) -> Any:
    weight = torch.full((size,), float(number))
    return tracepack.trace(lambda x: x + weight[:3].sum() / 3 if size > 2 else x + 0 * weight.sum(), _X)


@contextmanager
def child(work: Callable[[], None]) -> Iterator[int]:
    """The process that does some work, to its end or until it is killed."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        os.waitpid(pid, 0)


def _kill_soon(pid: int, random_: random.Random) -> None:
    time.sleep(random_.random() * _SLOWEST)
    os.kill(pid, signal.SIGKILL)


def _killed(path: Path, random_: random.Random) -> str:
    """A save that is killed at any moment."""
    mod = random_.choice(pipelines())
    with child(lambda: mod.save(path)) as pid:
        _kill_soon(pid, random_)
    return ""


def _no_room(path: Path, random_: random.Random) -> str:
    """A save on a disk that is full after some bytes; a limit on the size of files stands for it."""
    before, mod, said = path.read_bytes(), random_.choice(pipelines()), path.with_name("said")
    most = random_.choice((0, 1, 100, 1000, 5000, random_.randrange(1 << 18)))

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        try:
            mod.save(path)
        except tracepack.ArchiveError:
            said.touch()

    with child(work):
        pass
    refused = said.exists()
    said.unlink(missing_ok=True)
    if refused and path.read_bytes() != before:
        return "a save without room changed the file"
    left = [each.name for each in path.parent.iterdir() if each != path]
    return f"a save without room left {left}" if left else ""


def _together(path: Path, random_: random.Random) -> str:
    """Savers at one path at the same time, of which one may be killed; a reader meanwhile."""

    def work(mod: Any) -> Callable[[], None]:
        return lambda: [mod.save(path) for _ in range(5)] and None

    one, two = random_.sample(pipelines(), 2)
    with child(work(one)) as pid, child(work(two)):
        for _ in range(5):
            if said := _whole(path):
                return f"while others save: {said}"
        if random_.random() < 0.5:
            _kill_soon(pid, random_)
    return ""


def _whole(path: Path) -> str:
    """What is wrong with the file at a path; nothing where it is one that a save wrote."""
    try:
        found = tracepack.load(path, verify="all")(_X)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if found.tolist() in ([1.0] * 3, [2.0] * 3, [3.0] * 3) else f"it answers {found.tolist()}"


def attempt(index: int) -> str:
    """One save that goes wrong, and the next one; returns what is wrong with what is there, or nothing."""
    random_ = random.Random(index)
    with tempfile.TemporaryDirectory() as folder:
        path, umask = Path(folder) / "a.tpk", random_.choice(_UMASKS)
        before = os.umask(umask)
        try:
            pipelines()[0].save(path)
            mode = random_.choice((None, 0o600, 0o640))
            path.chmod(0o666 & ~umask if mode is None else mode)
            wanted = stat.S_IMODE(path.stat().st_mode)
            said = random_.choice((_killed, _killed, _no_room, _together))(path, random_) or _whole(path)
            pipelines()[1].save(path)
            left = sorted(each.name for each in path.parent.iterdir())
            if not said and (left != ["a.tpk"] or stat.S_IMODE(path.stat().st_mode) != wanted):
                said = f"after the next save: {left}, mode {path.stat().st_mode:o}"
            return said or _whole(path)
        finally:
            os.umask(before)


def _is_left_unseen(folder: Path) -> bool:
    """Whether a folder is that of a compilation which was killed, and which others cannot enter."""
    return folder.name.startswith("tmp") and not folder.stat().st_mode & 0o077


def attempt_cache(index: int) -> str:
    """A compilation under any umask whose process is killed, and one after it; returns what is wrong, or nothing."""
    random_ = random.Random(index)
    text = f"def f(float(N) A) -> (O) {{ O(i) = A(i) * {index % 1000}.0 + i }}"

    def work() -> None:
        os.umask(0)
        tracepack.comprehension.define(text)(_X, options="naive")

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRACEPACK_CACHE"] = str(Path(folder) / "cache")
        with child(work) as pid:
            time.sleep(random_.random() * 4)
            os.kill(pid, signal.SIGKILL)
        before = os.umask(0)
        try:
            found = tracepack.comprehension.define(text)(_X, options="naive")
        finally:
            os.umask(before)
        if not torch.equal(found, _X * (index % 1000) + torch.arange(3)):
            return f"another answer: {found.tolist()}"
        for each in Path(folder).rglob("*"):
            if each.stat().st_mode & 0o022 and not _is_left_unseen(each.parent):
                return f"others may write {each.relative_to(folder)}"
    return ""


def run(count: int, first: int = 0, what: Callable[[int], str] = attempt) -> int:
    """Makes so many attempts in children, and returns 1 if one was lost."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    pipelines()
    lost = list(survive(count, lambda index: what(first + index), most=20))
    for loss in lost:
        print(f"{what.__name__} {first + loss.index}: {loss.outcome}")
    print(f"{count} times {what.__name__}: {len(lost)} lost")
    return int(bool(lost))
