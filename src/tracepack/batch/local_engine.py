"""The engine `local`: one thread reads, the caller's runs the pipeline, and one writes, a few parts apart."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from .reading.parts import Part
from .setting import Plan, Progress

_AHEAD = 2  # parts that are read, and that wait to be written
_END = object()


def run_parts(plan: Plan, progress: Progress) -> int:
    """Computes and writes all parts that are not done, and returns how many rows they had.

    Raises:
        BatchError: a file cannot be read, a part cannot be written, or a row gives something else alone.
    """
    total, computed, errors, done = plan.source.total(), 0, 0, _Done(plan)
    pending: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1) as writer, _ReadAhead(plan, done) as reader:
        for part in reader.parts():
            rows, bad = plan.do(part)
            pending.append(writer.submit(plan.write, part, rows, bad))
            while len(pending) > _AHEAD:
                pending.popleft().result()
            computed += rows.num_rows + len(bad)
            errors += len(bad)
            progress(computed + done.rows, total, errors)
        plan.check_last()
        for each in pending:
            each.result()
    return computed


class _Done:
    """Whether parts are done, and how many rows those have that are skipped."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self.rows, self._seen = plan, 0, set[tuple[int, int]]()

    def __call__(self, file: int, number: int) -> bool:
        found = self._plan.target.is_done(file, number)
        if found and (file, number) not in self._seen:
            self._seen.add((file, number))
            self.rows += self._plan.part_rows
        return found


class _ReadAhead:
    """Reads parts ahead, in a thread."""

    def __init__(self, plan: Plan, done: _Done) -> None:
        self._plan, self._done, self._stopped = plan, done, False
        self._found: queue.Queue[Any] = queue.Queue(_AHEAD)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> _ReadAhead:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped = True
        while self._thread.is_alive():
            try:
                self._found.get(timeout=0.05)  # so that the thread is not held by a full queue
            except queue.Empty:
                continue

    def _read(self) -> None:
        try:
            for part in self._all():
                self._found.put(part)
                if self._stopped:
                    return
            self._found.put(_END)
        except BaseException as error:
            self._found.put(error)

    def _all(self) -> Iterator[Part]:
        plan = self._plan
        for file in range(len(plan.source.files)):
            yield from plan.parts(file, partial(self._done, file))

    def parts(self) -> Iterator[Part]:
        """The parts that are not done.

        Raises:
            BatchError: a file cannot be read.
        """
        while (found := self._found.get()) is not _END:
            if isinstance(found, BaseException):
                raise found
            yield found
