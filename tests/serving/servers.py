"""Servers on real sockets for the tests, and pipelines to serve."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

import tracepack
from tracepack.serving import app

pytest.importorskip("starlette", reason="the extra serve is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra serve is not installed")


@contextmanager
def serving(models: dict[str, Any], **settings: Any) -> Iterator[str]:
    """A server in a thread; gives its host and port."""
    config = uvicorn.Config(app(models, **settings), port=0, log_level="warning", ws="none", lifespan="off")
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    socket.listen(100)  # connections wait from here on
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    try:
        yield f"127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def cell() -> tracepack.Pipeline:
    """Two outputs in a dict, of tensors that share their first size."""
    op = tracepack.script(torch.nn.GRUCell(4, 3))

    def process(x, h):
        h = op(x, h)
        return {"state": h, "scores": h.softmax(-1)}

    return tracepack.trace(process, torch.rand(2, 4), torch.rand(2, 3))


def everything(dtype: torch.dtype) -> tracepack.Pipeline:
    """Gives a tensor of a dtype back, its rows the other way round."""
    return tracepack.trace(lambda x: x.flip(0), torch.ones(3, 2).to(dtype))
