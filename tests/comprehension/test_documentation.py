"""What docs/comprehension.md prints runs, and computes what torch does."""

import re
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import tracepack
from tracepack.ops.comprehension import Options, define

PAGE = (Path(__file__).parent.parent.parent / "docs" / "comprehension.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = EXAMPLES
    shortened = example.replace("seconds=60", "seconds=1, progress=False")
    assert shortened != example
    found: dict[str, Any] = {}
    exec(compile(shortened, "docs/comprehension.md", "exec"), found)
    images, kernel, bias = leaves = [found[name] for name in ("images", "kernel", "bias")]
    expected = F.conv2d(images, kernel, bias, stride=2).relu()
    torch.testing.assert_close(found["out"], expected, rtol=1e-4, atol=1e-4)
    gradients = torch.autograd.grad(expected.sum(), leaves)
    torch.testing.assert_close([t.grad for t in leaves], list(gradients), rtol=1e-4, atol=1e-4)
    assert isinstance(found["op"], tracepack.InferenceOp)
    assert (tmp_path / "conv.tc.options").exists()
    torch.testing.assert_close(found["op"](images, kernel, bias), expected, rtol=1e-4, atol=1e-4)


def test_the_options_that_it_names():
    named = re.findall(r"`(Options\([a-z].*?\))`", PAGE)
    assert len(named) >= 2
    for text in named:
        if "..." not in text:
            assert isinstance(eval(text, {"Options": Options}), Options)
    presets = re.search(r"Presets: (.*?)\. `Options", PAGE, re.DOTALL)
    assert presets is not None
    layer, a, b = (
        define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"),
        torch.randn(3, 4),
        torch.randn(4, 5),
    )
    for preset in re.findall(r"`(\w+)`", presets[1]):
        torch.testing.assert_close(layer(a, b, options=preset), a @ b)


def test_a_running_total_and_its_gradient():
    """As the table on ranges has it."""
    assert "`where j in 0:i+1`" in PAGE
    layer = define("def f(float(N) A) -> (O) { O(i) +=! A(j) where i in 0:N, j in 0:i+1 }")
    a = torch.rand(500, requires_grad=True)
    torch.testing.assert_close(layer(a), a.cumsum(0))
    torch.testing.assert_close(*(torch.autograd.grad(f.square().sum(), a)[0] for f in (layer(a), a.cumsum(0))))
