"""The compiler's process: after an interrupt no request gets the answer of another one."""

from __future__ import annotations

import json
import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack
from tests.campaigns.interrupts import presses
from tracepack.ops.slang.compile import client


def source(number: int) -> str:
    return f"float f(float x) {{ return x * {number}; }}"


def answers(number: int) -> bool:
    return tracepack.slang.load(source(number)).f(torch.tensor([2.0])).tolist() == [2.0 * number]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[client.Service]:
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    service = client.Service()
    monkeypatch.setattr(client, "_service", service)
    yield service
    service._stop()


def test_an_interrupt_between_request_and_answer(fresh: client.Service, monkeypatch: pytest.MonkeyPatch) -> None:
    receive, tries = fresh._receive, []

    def interrupted(process: Any) -> bytes:
        tries.append(process)
        if len(tries) == 3:
            raise KeyboardInterrupt
        return receive(process)

    monkeypatch.setattr(fresh, "_receive", interrupted)
    for number in range(101, 110):
        if len(tries) == 2:
            with pytest.raises(KeyboardInterrupt):
                answers(number)
            break
        assert answers(number)
    assert len(tries) == 3
    assert all(answers(number) for number in range(101, 104))


def test_an_answer_to_an_earlier_request_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    service, asked = client.Service(), []
    lines = [{"number": n, "last": False, "answer": {"code": text}} for n, text in enumerate(("old", "new"))]
    monkeypatch.setattr(service, "_running", lambda: None)
    monkeypatch.setattr(service, "_send", lambda process, request: asked.append(request))
    monkeypatch.setattr(service, "_receive", lambda process: json.dumps(lines.pop(0)).encode())
    assert service.ask(do="code") == {"code": "new"}
    assert asked == [{"number": 1, "do": "code"}]
    assert lines == []


# An interrupt between the making of a file or a folder and the `with` around it: only the collector ends that one.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <(_io|finalize):pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_random_times(fresh: client.Service) -> None:
    answers(300)
    landed = 0
    for number in range(301, 306):
        try:
            with presses.dropped(), presses.pressed_after(0.03 * (number % 5)):
                answers(number)
        except presses.Interrupted:
            landed += 1
        assert answers(number)
    assert landed > 0


def test_the_terminals_ctrl_c_does_not_reach_it(fresh: client.Service) -> None:
    assert answers(400)
    assert fresh._process is not None
    assert os.getpgid(fresh._process.pid) != os.getpgrp()


def test_threads_get_their_own_answers(fresh: client.Service) -> None:
    found: list[bool] = []
    threads = [threading.Thread(target=lambda n=n: found.append(answers(n))) for n in range(500, 503)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 100
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    assert found == [True] * 3


def test_a_process_with_many_open_files(fresh: client.Service) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("this process may not open 1024 files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    with ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1050):
            opened.enter_context(Path(os.devnull).open())
        assert answers(301)
