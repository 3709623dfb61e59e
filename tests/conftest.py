"""What all tests share: one cache of compiled code, one order of random numbers, and a few pipelines.

Tests run in a random order (pytest-randomly prints its seed, and `make test SEED=...` sets it) and in several processes
(pytest-xdist), which share what the compilers make.
"""

from __future__ import annotations

import gc
import io
import os
import random
import threading
import traceback
from collections.abc import Iterator

import numpy as np
import pytest
import torch

import tracepack
from tracepack.ops.kernels.toolchain import has_toolchain

GPU = torch.accelerator.is_available()
COMPILER = has_toolchain()


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: "long" not in item.keywords)  # else all but one process would wait for the last of them
    for item in items:
        if "gpu" in item.keywords and not GPU:
            item.add_marker(pytest.mark.skip(reason="needs an accelerator, and this machine has none"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported lives as long as the tests: collections of garbage need not look through it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Skips a test whose fixtures need a C++ compiler where there is none."""
    return (yield from _skipping())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skips a test that needs a C++ compiler where there is none."""
    return (yield from _skipping())


@pytest.fixture
def no_blocks(monkeypatch) -> None:
    """What is recorded, and said, where no block of plain Python can stand: as where the code has tensors in it."""
    monkeypatch.setattr("tracepack.pipeline.rewriting.blocks.MOST_BLOCKS", 0)


def _skipping() -> Iterator[None]:
    """What ended with the message that this machine has no compiler is skipped, if indeed it has none."""
    try:
        return (yield)
    except Exception as error:
        if not COMPILER and "no C++ compiler was found" in "".join(traceback.format_exception(error)):
            pytest.skip("needs a C++ compiler, and this machine has none")
        raise


def pytest_configure(config: pytest.Config) -> None:
    """Beside other workers each has one thread, and so have the processes that its tests start."""
    if hasattr(config.option, "randomly_reset_seed"):  # the order is random, the numbers are not: see `_seeded`
        config.option.randomly_reset_seed = False
    if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
        torch.set_num_threads(1)
        os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled code lies in a folder of this run, which its workers share, and never in the user's own."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "TRACEPACK_CACHE", str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled")
        )
        yield


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """The same random numbers for a test in whatever order it runs."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def reloaded():
    """Saves a pipeline and loads it again."""

    def reload(pipeline: tracepack.Pipeline, **options) -> tracepack.Pipeline:
        file = io.BytesIO()
        pipeline.save(file)
        return tracepack.load(file.getvalue(), **options)

    return reload


@pytest.fixture
def cell_file(tmp_path):
    """The seed cell in a file, with a golden example; and its module and inputs."""
    from tests.models import MyCell

    module, x, h = MyCell().eval(), torch.rand(3, 4), torch.rand(3, 4)
    op = tracepack.script(module)
    path = tmp_path / "cell.tpk"
    tracepack.trace(lambda x, h: op(x, h), x, h).save(path, examples=[{"x": x, "h": h}])
    return path, module, x, h


@pytest.fixture
def another_thread() -> Iterator[None]:
    """Another thread runs meanwhile."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()
