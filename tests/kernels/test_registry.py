"""Kinds of kernels by registration: our own, one of another package, and what is refused."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import tracepack as tp
from tracepack.ops.graph.kernel import Kernel
from tracepack.ops.kernels import registry
from tracepack.ops.kinds import kernel_class

SAMPLE = Path(__file__).parent.parent.parent / "samples" / "own_kernel"


class Scale(Kernel):
    kind: ClassVar[str] = "scale"

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @property
    def name(self) -> str:
        return "scale"

    def description(self) -> dict[str, Any]:
        return {"factor": self.factor}

    def assets(self) -> dict[str, bytes]:
        return {}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> Scale:
        return cls(description["factor"])

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class Turn(Scale):
    kind: ClassVar[str] = "turn"

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.factor).mT if x.shape[0] > 2 else x * self.factor


class Factor:
    """What a user has, of which `script` shall make a kernel."""

    def __init__(self, factor: float) -> None:
        self.factor = factor


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kinds that a test registers are forgotten after it."""
    monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    registry._entry_points.cache_clear()
    yield
    registry._entry_points.cache_clear()


def make(model: object) -> Scale | None:
    return Scale(model.factor) if isinstance(model, Factor) else None


def test_our_own_kinds_are_registered_and_imported_late() -> None:
    assert registry.known() == ["comprehension", "onnx", "operator", "slang", "tokenizer", "torchscript"]
    code = (
        "import sys, tracepack; tracepack.script, tracepack.load; print(*(n for n in sys.modules if 'tracepack' in n))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tracepack.ops.kernels.registry" in done.stdout.split()
    assert not re.search(r"tracepack\.ops\.(slang|comprehension|tokenizer|torchscript)\b", done.stdout)


def test_a_registered_kind_is_scripted_saved_and_loaded(reloaded) -> None:
    registry.register("scale", lambda: Scale, make=make)
    op = tp.script(Factor(3.0), name="triple")
    loaded = reloaded(tp.trace(lambda x: op(x) + 1, torch.ones(2)))
    assert loaded(torch.arange(4.0)).tolist() == [1.0, 4.0, 7.0, 10.0]
    assert tp.script(Scale(2.0))(torch.ones(1)).tolist() == [2.0]


def test_a_kernel_of_no_registered_kind_is_refused_at_script() -> None:
    with pytest.raises(tp.ScriptError) as got:
        tp.script(Scale(2.0))
    assert str(got.value) == (
        f"load could not build the kernel 'scale': its kind 'scale' is registered for no class; got {__name__}.Scale; "
        "expected one of ['comprehension', 'onnx', 'operator', 'slang', 'tokenizer', 'torchscript']. Call "
        "tracepack.ops.kernels.registry.register(...), here and where the file is loaded, best by an entry point of "
        "tracepack.kernels."
    )


def test_a_subclass_is_refused_since_load_would_build_its_base() -> None:
    registry.register("scale", lambda: Scale)

    class Doubled(Scale):
        def __call__(self, x):
            return 2 * super().__call__(x)

    with pytest.raises(tp.ScriptError, match=r"'scale' is registered for another class; got .*Doubled; expected Scale"):
        tp.script(Doubled(2.0))


def test_a_kernel_under_the_kind_of_another_class_is_refused() -> None:
    registry.register("scale", lambda: Scale)

    class Other(Scale):
        kind = "slang"

    with pytest.raises(
        tp.ScriptError, match="its kind 'slang' is registered for another class; .* expected SlangKernel"
    ):
        tp.script(Other(2.0))


def test_an_operator_of_an_unregistered_kernel_is_refused_when_it_is_lowered() -> None:
    library = torch.library.Library("registry_test", "FRAGMENT")
    library.define("scale(Tensor x) -> Tensor")
    library.impl("scale", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("registry_test::scale", torch.empty_like, lib=library)
    registry.register_operator("registry_test::scale", Scale(2.0))

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.registry_test.scale(x)

    with pytest.raises(tp.ScriptError, match="its kind 'scale' is registered for no class"):
        tp.script(Model(), example=torch.ones(2))
    with pytest.raises(tp.ScriptError, match="its kind 'scale' is registered for no class"):
        tp.trace(torch.ops.registry_test.scale.default, torch.ones(2))
    registry.register("scale", lambda: Scale)
    op = tp.script(Model(), example=torch.ones(2))
    assert tp.trace(lambda x: op(x), torch.ones(2))(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_registering_twice_is_an_error() -> None:
    registry.register("scale", lambda: Scale)
    with pytest.raises(
        tp.GraphError, match=r"the kind of kernels 'scale' is registered already\. Give it another name"
    ):
        registry.register("scale", lambda: Scale)
    with pytest.raises(tp.GraphError, match="'slang' is registered already"):
        registry.register("slang", lambda: Scale)


def test_a_file_with_an_unknown_kind_lists_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.register("scale", lambda: Scale)
    tp.trace(tp.script(Scale(2.0)), torch.ones(2)).save(tmp_path / "scale.tpk")
    monkeypatch.delitem(registry._kinds, "scale")
    with pytest.raises(
        tp.GraphError,
        match=r"unknown kind of kernel 'scale'; expected one of \['comprehension', 'onnx', 'operator', 'slang', "
        r"'tokenizer', 'torchscript'\]\. Install the package that offers it by an entry point of tracepack\.kernels\.",
    ):
        tp.load(tmp_path / "scale.tpk")


def test_a_missing_package_names_what_to_install() -> None:
    def load() -> type[Kernel]:
        import package_that_is_not_there  # type: ignore[import-not-found]

        return package_that_is_not_there.Kernel

    registry.register("far", load, requirement="far[away]")
    with pytest.raises(
        tp.MissingExtraError, match=r"kind 'far' need the package 'package_that_is_not_there', .* 'far\[away\]'"
    ):
        kernel_class("far")


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        (
            OSError("no libfoo.so"),
            r"kernels of kind 'far' cannot be loaded; got OSError: no libfoo\.so\. Ask the",
        ),
        (None, r"registered for the kind 'far' loads no kernel; got None; expected a subclass of .*Kernel"),
        (int, r"registered for the kind 'far' loads no kernel; got <class 'int'>; expected a subclass of .*Kernel"),
    ],
)
def test_a_registration_that_loads_no_kernel_says_so(loaded, message) -> None:
    def load() -> type[Kernel]:
        if isinstance(loaded, Exception):
            raise loaded
        return loaded

    registry.register("far", load)
    with pytest.raises(tp.GraphError, match=message):
        kernel_class("far")


def test_the_outputs_of_a_kernel_of_another_package_are_checked_in_every_run(reloaded) -> None:
    registry.register("turn", lambda: Turn)
    op = tp.script(Turn(2.0))
    mod = tp.trace(lambda x: op(x), torch.ones(2, 3))
    x, message = torch.ones(3, 4), r"op 'scale': output 0 is not contiguous; got shape \(4, 3\) with strides \(1, 4\)"
    for run in (op, mod, reloaded(mod)):
        for _ in range(2):  # the second run is the fast one
            assert torch.equal(run(torch.ones(2, 3)), torch.full((2, 3), 2.0))
        with pytest.raises(tp.NonContiguousOutputError, match=message):
            run(x)


class EntryPoint:
    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value, self._load = name, "package:function", value

    def load(self) -> Any:
        return self._load


def offer(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: entries if group == registry.GROUP else ())
    registry._entry_points.cache_clear()


def test_an_entry_point_is_loaded_when_its_kind_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("out of order")

    offer(
        monkeypatch, EntryPoint("scale", lambda: registry.register("scale", lambda: Scale)), EntryPoint("bad", broken)
    )
    assert registry.known() == [
        "bad",
        "comprehension",
        "onnx",
        "operator",
        "scale",
        "slang",
        "tokenizer",
        "torchscript",
    ]
    assert kernel_class("scale") is Scale
    with pytest.raises(
        tp.GraphError, match=r"'bad' of tracepack.kernels cannot be loaded; got RuntimeError: out of order"
    ):
        kernel_class("bad")
    with pytest.warns(
        UserWarning, match=r"the entry point 'bad' of tracepack\.kernels failed: RuntimeError: out of order"
    ):
        assert tp.script(lambda x: x + 1)(torch.ones(1)).tolist() == [2.0]  # others go on


def test_an_entry_point_that_registers_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, EntryPoint("empty", lambda: None))
    with pytest.raises(
        tp.GraphError, match=r"package:function: the entry point 'empty' .* registers no kind of this name"
    ):
        kernel_class("empty")


def test_the_sample_runs_once_its_package_is_installed(tmp_path: Path) -> None:
    """own_kernel/pack.py, as a newcomer runs it, with the package installed by pip into a folder."""
    shutil.copytree(SAMPLE, tmp_path / "package")
    options = ["--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check", "-q"]
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(tmp_path / "package")]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    environment = {**os.environ, "PYTHONPATH": ":".join([str(target), *filter(None, sys.path)])}
    command = [sys.executable, str(SAMPLE / "pack.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout == "a fresh process: [0.5, 3.0, 8.5]\n", done.stderr
