"""What a file keeps through a load and a save: metadata, and golden examples with the outputs of today."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tracepack.cli import main
from tracepack.serialization.container.archive import Archive
from tracepack.serialization.golden import golden_examples


def saved(mod: tracepack.Pipeline, **options: Any) -> bytes:
    file = io.BytesIO()
    mod.save(file, **options)
    return file.getvalue()


def test_metadata_is_kept_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = {"author": "Ada", "run": 7, "loss": 0.25, "tags": ["a", None, True], "data": {"rows": 1000}}
    mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
    assert mod.metadata == {}
    path = tmp_path / "a.tpk"
    mod.save(path, metadata=data)
    loaded = tracepack.load(path)
    assert loaded.metadata == data
    loaded.metadata["author"] = "Bob"  # a copy
    assert tracepack.load(saved(loaded)).metadata == data
    assert tracepack.load(saved(loaded, metadata={"run": 8})).metadata == {"run": 8}
    assert tracepack.load(saved(loaded, metadata={})).metadata == {}
    assert main(["inspect", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"] == data
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "Ada" in out
    assert '{"rows": 1000}' in out


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([], "the metadata cannot be stored; got list; expected a dict with names of str"),
        ({1: 2}, "got a key that is no str"),
        ({"a": torch.ones(1)}, "got a value of Tensor"),
        ({"a": float("nan")}, "got nan"),
        ({"a": 1 << 64}, "got an integer of more than 64 bits"),
        ({"a": "x" * (1 << 20)}, "got more than 1048576 characters and items"),
    ],
)
def test_other_metadata_is_refused(data: Any, text: str) -> None:
    with pytest.raises(tracepack.SignatureError) as caught:
        saved(tracepack.trace(lambda x: x * 2, torch.ones(3)), metadata=data)
    assert text in str(caught.value)


def test_deep_metadata_is_refused() -> None:
    data: dict[str, Any] = {}
    for _ in range(30):
        data = {"a": data}
    with pytest.raises(tracepack.SignatureError, match="got more than 20 levels"):
        saved(tracepack.trace(lambda x: x * 2, torch.ones(3)), metadata=data)


def test_training_and_saving_again_keeps_the_examples_with_new_outputs() -> None:
    op = tracepack.script(torch.nn.Linear(4, 2), name="head")
    examples = [{"x": torch.rand(3, 4)}, {"x": torch.rand(5, 4)}]
    first = saved(
        tracepack.trace(lambda x: op(x), torch.rand(3, 4)), examples=examples, tolerance=1e-3, metadata={"run": 1}
    )
    mod = tracepack.load(first, grad=True)
    optimizer = torch.optim.SGD(mod.weights().values(), 0.1)
    mod(torch.rand(3, 4)).square().mean().backward()
    optimizer.step()
    second = saved(mod)
    trained = tracepack.load(second, verify="golden")
    assert trained.metadata == {"run": 1}
    pairs = golden_examples(Archive(second))
    weight, bias = (mod.weights()[f"head.{name}"].detach() for name in ("weight", "bias"))
    for (feed, output), example in zip(pairs, examples, strict=True):
        assert torch.equal(feed["x"], example["x"])
        torch.testing.assert_close(output, torch.nn.functional.linear(example["x"], weight, bias))
    assert not torch.equal(pairs[0][1], golden_examples(Archive(first))[0][1])
    assert Archive(second).manifest["golden"]["tolerance"] == 1e-3
    assert golden_examples(Archive(saved(mod, examples=[]))) == []


def test_golden_examples_take_what_a_run_takes() -> None:
    mod = tracepack.trace(lambda a, n, pair: (a * n + pair["b"], n), torch.ones(3), 2, {"b": torch.ones(())})
    feed = {"a": np.ones(4, np.float32), "n": np.int64(3), "pair": {"b": np.float32(2)}}
    again = tracepack.load(saved(mod, examples=[feed]), verify="golden")
    assert torch.equal(again.run(feed)[0], torch.full((4,), 5.0))
