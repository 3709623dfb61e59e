"""`docs/from_matx.md` runs as printed, and each statement of matx's page on PyTorch holds, with and without a card."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack as tp
from tests.card import stand_in
from tests.models import MyCell

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "from_matx.md").read_text(encoding="utf-8")
AS_PRINTED, IN_OUR_WORDS, BRANCH = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

pytestmark = [pytest.mark.card, pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")]


@pytest.fixture
def card(tmp_path: Path) -> Iterator[None]:
    """A machine with a card: this one, or one that passes for it."""
    if torch.cuda.is_available():
        yield
        return
    with stand_in(tmp_path):
        yield


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, *programs: str) -> dict[str, Any]:
    """Runs programs one after the other in one namespace, from files, so that errors can quote them."""
    names: dict[str, Any] = {"__name__": "program"}
    for number, program in enumerate(programs):
        path = folder / f"program{number}.py"
        path.write_text(program)
        exec(compile(program, str(path), "exec"), names)
    return names


def cell_of(names: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """What the eager model says to the inputs of the page's program."""
    with torch.no_grad():
        return names["my_cell"](names["x"].to("cuda"), names["h"].to("cuda"))


@pytest.mark.usefixtures("card")
def test_the_page_s_program_runs_as_printed(here: Path) -> None:
    names = run(here, AS_PRINTED)
    torch.testing.assert_close(names["r"], cell_of(names))
    assert names["r"][0].device == torch.device("cuda", 0)
    assert repr(names["infer_op"]) == "<InferenceOp 'MyCell' on cuda:0>"


@pytest.mark.usefixtures("card")
def test_the_same_in_our_words(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(here, AS_PRINTED, IN_OUR_WORDS)
    torch.testing.assert_close(names["r"], cell_of(names))
    assert capsys.readouterr().out.endswith("{'MyCell': 'cuda:0'}\n")


def test_the_page_s_program_runs_on_the_cpu(here: Path) -> None:
    names = run(here, AS_PRINTED.replace("cuda:0", "cpu").replace("device=0", "device=-1"))
    with torch.no_grad():
        expected = names["my_cell"](names["x"], names["h"])
    assert all(map(torch.equal, names["r"], expected))


def test_a_branch_is_recorded_and_not_frozen(here: Path) -> None:
    names = run(here, "import torch\nimport tracepack as tp\n" + BRANCH)
    assert names["found"].tolist() == [-1, -1]


# -- the statements of matx's page -----------------------------------------------------------------------------------


def cell() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    return MyCell().eval(), torch.rand(3, 4), torch.rand(3, 4)


KINDS = {
    "an nn.Module": lambda module, x, h: module,
    "a traced ScriptModule": lambda module, x, h: torch.jit.trace(module, (x, h)),
    "a scripted ScriptModule": lambda module, x, h: torch.jit.script(module),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_op_takes_the_inputs_of_its_model_and_is_called_in_a_pipeline(kind: str, here: Path) -> None:
    module, x, h = cell()
    infer_op = tp.script(KINDS[kind](module, x, h))
    with torch.no_grad():
        expected = module(x, h)
    assert all(map(torch.equal, infer_op(x, h), expected))

    def process(x, h):
        return infer_op(x, h)

    mod = tp.trace(process, x, h)
    mod.save(here / "cell.tpk")
    for pipeline in (mod, tp.load(here / "cell.tpk")):
        for result in (pipeline.run({"x": x, "h": h}), pipeline(x=x, h=h), pipeline(x, h)):
            assert type(result) is tuple
            assert all(map(torch.equal, result, expected))
        assert pipeline(torch.rand(7, 4), torch.rand(7, 4))[0].shape == (7, 4)


def test_arrays_of_numpy_are_taken_wherever_matx_takes_ndarrays() -> None:
    module, x, h = cell()
    infer_op = tp.script(module)
    with torch.no_grad():
        expected = module(x, h)[0]
    mod = tp.trace(lambda x, h: infer_op(x, h), x, h)
    assert torch.equal(infer_op(x.numpy(), h.numpy())[0], expected)
    assert torch.equal(mod.run({"x": x.numpy(), "h": h.numpy()})[0], expected)
    made = np.random.default_rng(0).random((3, 4)).astype(np.float32)
    assert mod.run({"x": made, "h": made})[0].shape == (3, 4)
    with pytest.raises(tp.SignatureError, match=r"input 'x': not a tensor; got list; expected f32\[N,4\]"):
        mod.run({"x": x.tolist(), "h": h})


def test_a_script_function_a_path_and_a_callable_are_scripted(here: Path) -> None:
    class Times:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor

    module, x, h = cell()
    torch.jit.script(module).save(here / "cell.pt")
    with torch.no_grad():
        assert torch.equal(tp.script(here / "cell.pt")(x, h)[0], module(x, h)[0])
    assert torch.equal(tp.script(torch.jit.script(add))(x, h), x + h)
    assert torch.equal(tp.script(Times(3))(x), x * 3)
    with pytest.raises(tp.ScriptError, match="a class was given; got Times; expected an instance of it"):
        tp.script(Times)


def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b


def test_an_op_is_scripted_once() -> None:
    infer_op = tp.script(MyCell())
    assert tp.script(infer_op) is infer_op


@pytest.mark.parametrize("device", [None, 0, "cuda:0", -1, "cpu"])
def test_an_op_for_the_cpu_ignores_the_device_given_to_load(device: Any, here: Path, card: None) -> None:
    module, x, h = cell()
    infer_op = tp.script(module, device="cpu")
    tp.trace(lambda x, h: infer_op(x, h), x, h).save(here / "cell.tpk")
    moves_nothing = pytest.warns(UserWarning, match="nothing runs on cuda:0")
    says: Any = nullcontext() if device in (None, -1, "cpu") else moves_nothing
    with says:
        assert tp.load(here / "cell.tpk", device=device).placement == {"MyCell": "cpu"}


@pytest.mark.parametrize("device", [None, 0, "cuda:0", torch.device("cuda:0")])
def test_an_op_for_a_gpu_runs_on_the_gpu_given_to_load(device: Any, here: Path, card: None) -> None:
    module, x, h = cell()
    infer_op = tp.script(module.to("cuda"), device=0)
    tp.trace(lambda x, h: infer_op(x, h), x, h).save(here / "cell.tpk")
    loaded = tp.load(here / "cell.tpk", device=device)
    assert loaded.placement == {"MyCell": "cuda:0"}
    result = loaded(x, h)[0]
    assert result.device == torch.device("cuda", 0)
    with torch.no_grad():
        torch.testing.assert_close(result, module(x.to("cuda"), h.to("cuda"))[0])


def test_an_op_for_a_gpu_is_refused_on_the_cpu_and_moved_on_request(here: Path, card: None) -> None:
    module, x, h = cell()
    infer_op = tp.script(module, device=0)
    tp.trace(lambda x, h: infer_op(x, h), x, h).save(here / "cell.tpk")
    for device in (-1, "cpu"):
        with pytest.raises(tp.PlacementError, match="'MyCell': it was scripted for cuda:0 and cannot run on the CPU"):
            tp.load(here / "cell.tpk", device=device)
    assert tp.load(here / "cell.tpk", gpu_ops="cpu").placement == {"MyCell": "cpu"}


def test_an_output_is_contiguous_or_refused_and_the_page_s_remedy_works() -> None:
    class Transposed(torch.nn.Module):
        def forward(self, x):
            return x.t()

    class Contiguous(torch.nn.Module):
        def forward(self, x):
            return x.t().contiguous()

    x = torch.rand(3, 4)
    with pytest.raises(tp.NonContiguousOutputError, match="op 'Transposed': output 0 is not contiguous"):
        tp.script(Transposed())(x)
    for infer_op in (tp.script(Contiguous()), tp.script(Transposed(), contiguous=True)):
        result = tp.trace(lambda x, op=infer_op: op(x), x)(x)
        assert torch.equal(result, x.t())
        assert result.is_contiguous()


def test_a_key_too_many_and_one_too_few_name_the_input() -> None:
    module, x, h = cell()
    infer_op = tp.script(module)
    mod = tp.trace(lambda x, h: infer_op(x, h), x, h)
    with pytest.raises(tp.SignatureError, match="input 'more': unknown input"):
        mod.run({"x": x, "h": h, "more": x})
    with pytest.raises(tp.SignatureError, match="input 'h': missing input"):
        mod.run({"x": x})
