"""A model as ONNX Runtime has rewritten it lies beside the model: for the release that made it, where it is small."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import nn

import tracepack
from tests.engines.opening.test_archive import forged
from tests.engines.opening.test_early_start import altered
from tests.engines.opening.test_lent_tensors import on_onnxruntime
from tracepack.ops.engines import onnxruntime as engine
from tracepack.ops.engines.exporting import optimised_model
from tracepack.ops.engines.exporting.optimised_model import FOLDED, OPTIMISED, TAKEN

FEED = {"x": torch.arange(120.0).reshape(2, 10, 6) / 120}


class Sequences(nn.Module):
    """An LSTM, whose gates ONNX has in another order: a session folds them."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(6, 128, batch_first=True), nn.Linear(128, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def pipeline() -> tracepack.Pipeline:
    torch.manual_seed(0)
    return on_onnxruntime(lambda op: lambda x: op(x), Sequences().eval(), FEED)


def written(mod: tracepack.Pipeline) -> bytes:
    file = io.BytesIO()
    mod.save(file, examples=[FEED])
    return file.getvalue()


@pytest.fixture(scope="module")
def saved() -> bytes:
    return written(pipeline())


@pytest.fixture
def levels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How far each session that is made rewrites its model."""
    found, make = [], engine.onnxruntime.InferenceSession

    def noted(model: bytes, options: Any, **given: Any) -> Any:
        found.append(options.graph_optimization_level.name)
        return make(model, options, **given)

    monkeypatch.setattr(engine.onnxruntime, "InferenceSession", noted)
    return found


def answers(data: bytes) -> None:
    """That a file answers on its engine, alone, as its flat function, at its own sizes and at others."""
    mod, flat = tracepack.load(data, trust=True), tracepack.load(data, grad=True)
    for rows, steps in ((2, 10), (3, 7)):
        feed = {"x": torch.randn(rows, steps, 6)}
        torch.testing.assert_close(mod.run(feed), flat.run(feed).detach())
    assert mod.engines == {"pipeline": "onnxruntime"}


def test_a_session_takes_the_rewritten_model_as_it_is(saved, levels) -> None:
    answers(saved)
    assert levels == ["ORT_DISABLE_ALL"]
    assert tracepack.load(saved, trust=True, verify="golden").engines == {"pipeline": "onnxruntime"}


def test_its_weights_lie_among_those_of_the_file(saved) -> None:
    artefact = tracepack.load(saved, trust=True).program.engines[0].artefact
    noted = artefact.description[OPTIMISED]
    assert set(noted[FOLDED]) <= set(noted[TAKEN]) <= set(artefact.constants)
    folded = sum(artefact.constants[name].tensor.nbytes for name in noted[FOLDED])
    assert folded >= 4 * 128 * 128 * 4  # the gates
    assert len(artefact.files[OPTIMISED]) < folded


def test_another_release_takes_the_model_itself(saved, levels) -> None:
    answers(forged(saved, package="onnxruntime 1.17.0"))
    assert levels == ["ORT_ENABLE_ALL"]


def test_one_that_was_altered_is_refused(saved, levels) -> None:
    member = "engines/0/1"  # the second file by name
    with pytest.raises(tracepack.ArchiveError, match=f"member '{member}': a member was altered"):
        tracepack.load(altered(saved, member), trust=True)


@pytest.mark.parametrize("noted", [3, {TAKEN: [], FOLDED: []}, {TAKEN: 3}, {FOLDED: ["w"], TAKEN: [["a"]]}])
@pytest.mark.filterwarnings("ignore:the engine 'onnxruntime' fails")
def test_a_description_that_is_wrong_gives_the_answers_of_the_flat_function(saved, noted) -> None:
    description = dict(tracepack.load(saved, trust=True).program.engines[0].artefact.description)
    answers(forged(saved, description={**description, OPTIMISED: noted}))


def kept(mod: tracepack.Pipeline) -> bool:
    return OPTIMISED in mod.program.engines[0].artefact.files


def test_large_weights_that_are_folded_are_not_kept_twice(monkeypatch) -> None:
    assert kept(pipeline())
    monkeypatch.setattr(optimised_model, "_MOST_FOLDED", 1000)
    mod = pipeline()
    assert not kept(mod)
    answers(written(mod))
    monkeypatch.undo()
    monkeypatch.setattr(optimised_model, "_MOST", 1000)
    assert not kept(pipeline())


def test_what_fits_one_kind_of_processor_is_not_kept() -> None:
    """The blocks of convolutions are as wide as the processor's registers."""
    model = nn.Sequential(nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3)).eval()
    mod = on_onnxruntime(lambda op: lambda x: op(x), model, {"x": torch.rand(2, 16, 9, 9)})
    assert not kept(mod)
