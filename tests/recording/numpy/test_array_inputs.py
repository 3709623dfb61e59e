"""Arrays as arguments of processing functions and of ops, and in golden examples."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.recording.numpy.cases import X

pytestmark = pytest.mark.filterwarnings("ignore:__array(_wrap__)?.* must (accept|implement).*:DeprecationWarning")


def test_golden_examples_of_arrays(tmp_path) -> None:
    mod = tracepack.trace(lambda x: {"a": x.numpy() * 2, "n": x.numpy().sum()}, X)
    mod.save(tmp_path / "a.tpk", examples=[{"x": X}])
    loaded = tracepack.load(tmp_path / "a.tpk", verify="golden")
    assert difference(mod(X), loaded(X)) == ""


def test_a_read_only_array_is_not_written_as_in_numpy(reloaded) -> None:
    def process(x):
        a = x.numpy()
        a += 1
        return a * 1

    frozen = np.ones(3, dtype=np.float32)
    frozen.flags.writeable = False
    for mod in (tracepack.trace(process, torch.ones(3)), reloaded(tracepack.trace(process, torch.ones(3)))):
        with pytest.raises(tracepack.SignatureError, match="writes into this array, which is read-only"):
            mod(frozen)
        assert (frozen == 1).all()


IMAGES = [np.random.default_rng(n).integers(0, 255, (4 + n, 5, 3), np.uint8) for n in range(3)]
TAKES_AN_ARRAY = {
    "methods of arrays": lambda x: float(x.std()) + len(x.nonzero()),
    "an image": lambda x: torch.from_numpy((x.astype(np.float32) / 255).transpose(2, 0, 1)[None].copy()),
    "negative steps": lambda x: x[::-1].copy(),
    "what it is": lambda x: x * (3 if isinstance(x, np.ndarray) and x.dtype == np.uint8 else 2),
    "repeat": lambda x: x.repeat(2),
}


@pytest.mark.parametrize("name", TAKES_AN_ARRAY)
def test_an_argument_that_was_an_array_is_one_in_the_function(name):
    process, file = TAKES_AN_ARRAY[name], io.BytesIO()
    tracepack.trace(process, IMAGES[0]).save(file)
    loaded = tracepack.load(file.getvalue())
    for image in IMAGES:
        wanted = process(image.copy())
        for given in (image, torch.from_numpy(image)):
            found = loaded.run({"x": given})
            assert type(found) is type(wanted)
            assert np.array_equal(found, wanted)


def test_an_op_takes_arrays_for_tensors():
    op, rows = tracepack.script(torch.nn.Linear(2, 3), name="layer"), np.ones((4, 2), np.float32)
    mod = tracepack.trace(lambda x: op(x), rows)
    wanted = op(torch.from_numpy(rows))
    assert torch.equal(op(rows), wanted)
    assert torch.equal(mod.run({"x": rows}), wanted)
