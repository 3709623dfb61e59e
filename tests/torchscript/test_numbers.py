"""Numbers that a ScriptModule reads from tensors stay numbers of the run, in full precision, lowered or opaque."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import tracepack

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*is kept as TorchScript:tracepack.OpaqueOpWarning"),
]


def doubles(*sizes: int) -> torch.Tensor:
    return torch.rand(*sizes, dtype=torch.float64)


def large(*sizes: int) -> torch.Tensor:
    return torch.randint(2**33, 2**34, sizes)


BRANCH = "    return x * 2\nreturn x * 3"
# name -> the body of `forward(self, x)`, what makes the example and other inputs, and whether it is lowered
CASES: dict[str, tuple[str, Callable[..., torch.Tensor], bool]] = {
    "int of a tensor": ("n = int(x.sum())\nreturn x * n", torch.rand, True),
    "a large int": ("n = int(x.sum())\nreturn x + n", large, True),
    "int of a number": ("n = int(x.sum().item())\nreturn x * n", torch.rand, True),
    "float of a tensor": ("n = float(x.sum())\nreturn x * n", torch.rand, True),
    "float of doubles": ("n = float(x.sum())\nreturn x * n", doubles, True),
    "float of a number": ("n = float(x.sum().item())\nreturn x * n", torch.rand, True),
    "float of an int": ("n = int(x.sum().item())\nreturn x * float(n)", torch.rand, True),
    "float of a size": ("n = float(x.shape[0])\nreturn x * n / 2", torch.rand, True),
    "a tensor of an int": ("n = int(x.sum().item())\nreturn x + torch.tensor(n)", torch.rand, True),
    "a size": ("n = int(x.sum().item())\nreturn torch.zeros(n) + x.mean()", torch.rand, True),
    "rounds": ("n = int(x.sum())\nfor i in range(n):\n    x = x + i\nreturn x", torch.rand, True),
    "rounds of a remainder": (
        "n = int(x.sum().item())\nfor i in range(n % 3):\n    x = x + i\nreturn x", torch.rand, False
    ),
    "a remainder": ("n = int(x.sum().item())\nreturn x * (n % 3)", torch.rand, False),
    "a maximum": ("n = int(x.sum().item())\nreturn x * max(n, 3)", torch.rand, False),
    "a branch on an int": (f"n = int(x.sum().item())\nif n > 3:\n{BRANCH}", torch.rand, False),
    "a branch on a float": (f"n = x.sum().item()\nif n > 3:\n{BRANCH}", torch.rand, False),
    "a choice": ("n = int(x.sum().item())\nreturn x * (1 if n > 3 else 2)", torch.rand, False),
}  # fmt: skip


def made(body: str, folder: Path) -> torch.nn.Module:
    """A module with this `forward`; TorchScript reads its source from a file."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    path = folder / "made.py"
    path.write_text(f"import torch\nclass Made(torch.nn.Module):\n    def forward(self, x):\n{lines}")
    spec = importlib.util.spec_from_file_location("made", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: torch.nn.Module = module.Made()
    return found


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("name", CASES)
def test_a_number_that_data_decides_is_that_of_the_run(name, seed, tmp_path) -> None:
    body, make, lowered = CASES[name]
    torch.manual_seed(seed)
    eager = made(body, tmp_path)
    op = tracepack.script(torch.jit.script(eager), name="op")
    mod = tracepack.trace(lambda x: op(x), make(2, 4))
    assert list(mod.placement) == (["op"] if lowered else [])
    for x in (make(2, 4), make(3, 4) * 3, make(8, 8), make(2, 2), make(2, 4) * 2):
        got, wanted = mod(x), eager(x)
        assert got.dtype is wanted.dtype
        assert torch.equal(got, wanted)


KEPT = "names: list[int] = []\nfor i in range(int(x.max().item() * 3)):\n    names.append(i)\n"


@pytest.mark.parametrize("contiguous", [True, False])
def test_outputs_of_an_opaque_op_are_contiguous_or_refused(contiguous, tmp_path) -> None:
    eager = made(KEPT + "return (x + len(names)).t()", tmp_path)
    op, x = tracepack.script(torch.jit.script(eager), name="op", contiguous=contiguous), torch.rand(2, 3)
    if contiguous:
        mod = tracepack.trace(lambda x: op(x), x)
        for given in (x, x * 2, torch.rand(4, 5)):
            assert mod(given).is_contiguous()
            assert torch.equal(mod(given), eager(given))
    else:
        with pytest.raises(tracepack.NonContiguousOutputError, match="op 'op': output 0 is not contiguous; got shape"):
            tracepack.trace(lambda x: op(x), x)


def test_an_opaque_op_takes_tensors_as_they_lie_in_a_pipeline_and_alone(tmp_path) -> None:
    eager = made(KEPT + "return x + len(names)", tmp_path)
    op, x = tracepack.script(torch.jit.script(eager), name="op"), torch.rand(2, 3)
    mod = tracepack.trace(lambda x: op(x), x)
    spread, turned = torch.rand(4, 6)[:, ::2], torch.rand(3, 2).t()
    for run in (op, mod):
        assert torch.equal(run(spread), eager(spread))
        with pytest.raises(tracepack.NonContiguousOutputError, match="op 'op': output 0 is not contiguous; got shape"):
            run(turned)


@pytest.mark.parametrize("values", [[1.0, float("nan")], [float("inf"), 1.0], [1.0, -1e30]])
def test_a_number_that_no_int_holds_is_an_error(values, tmp_path) -> None:
    eager = made("n = int(x.sum())\nreturn x + n", tmp_path)
    op = tracepack.script(torch.jit.script(eager))
    mod = tracepack.trace(lambda x: op(x), torch.rand(2))
    with pytest.raises(tracepack.GuardError, match="does not fit into int64"):
        mod(torch.tensor(values))
