from __future__ import annotations

import io

import pytest
import torch

import tracepack

GPU = torch.accelerator.is_available()


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "gpu" in item.keywords and not GPU:
            item.add_marker(pytest.mark.skip(reason="needs an accelerator, and this machine has none"))


@pytest.fixture(autouse=True)
def _seeded():
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
