"""Operators of other packages: named in the file, found in a fresh process, and refused where nobody named them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import tracepack

from .written import Run, write

MINE = '''
import torch

@torch.library.custom_op("mylib_t::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float, shift: int = 1) -> torch.Tensor:
    """Three lines that torch does not know."""
    return x * factor + shift

@scaled.register_fake
def _(x, factor, shift=1):
    return torch.empty_like(x)

@torch.library.custom_op("mylib_t::halves", mutates_args=())
def halves(x: torch.Tensor) -> list[torch.Tensor]:
    return [x[: len(x) // 2].clone(), x[len(x) // 2 :].clone()]

@torch.library.custom_op("mylib_t::best", mutates_args=())
def best(xs: list[torch.Tensor], n: int) -> list[torch.Tensor]:
    return [x.topk(n).values for x in xs]

@torch.library.custom_op("mylib_t::rows", mutates_args=())
def rows(x: torch.Tensor) -> list[torch.Tensor]:
    return [row.clone() for row in x]

def raised(x):
    return [row + 1 for row in rows(x)]

@torch.library.custom_op("mylib_t::fill", mutates_args=("x",))
def fill(x: torch.Tensor) -> None:
    x.fill_(7)
'''

PACK = """
import mypkg_t

def process(x):
    return mypkg_t.scaled(x, 2.5) + torch.ops.mylib_t.scaled(x.exp(), 0.5, shift=x.shape[0])

tracepack.trace(process, torch.rand(2, 3)).save("a.tpk", examples=[{"x": torch.rand(4, 3)}])
"""
LOAD = """
import sys
try:
    mod = tracepack.load("a.tpk", packages=["mypkg_t"], verify="golden")
    x = torch.linspace(-1, 1, 15).reshape(5, 3)
    assert torch.equal(mod(x), x * 2.5 + 1 + (x.exp() * 0.5 + 5))
    print("right", mod.signature)
except tracepack.TracepackError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def packed(tmp_path: Path, run: Run) -> Path:
    write(tmp_path, "mypkg_t", MINE, "1.2")
    run(PACK)
    return tmp_path / "a.tpk"


def test_a_fresh_process_finds_it_by_the_package(packed: Path, run: Run) -> None:
    assert run(LOAD) == "right (x: f32[N,M]) -> f32[?,?]\n"


def test_a_package_that_is_not_named_is_not_imported(packed: Path, run: Run) -> None:
    """Nor with trust; nor where it was imported before; nor by the name of another one."""
    code = """
import sys
for before in (False, True):
    for options in ({}, {"trust": True}, *({"packages": [name]} for name in ("json", "mypkg", "mypkg_t.inner"))):
        try:
            tracepack.load("a.tpk", **options)
        except tracepack.TrustError as error:
            assert ("mypkg_t" in sys.modules) == before
            print(error)
    import mypkg_t
"""
    message = (
        "the operator mylib_t::scaled is code of the package 'mypkg_t' 1.2, which load was not given. "
        "Pass packages=['mypkg_t'] if you trust that package with what this file calls it with."
    )
    assert run(code) == f"{message}\n" * 10


def test_the_command_line_takes_packages(packed: Path, run: Run, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "tracepack", "verify", str(packed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode != 0, "Pass packages=['mypkg_t']" in done.stderr) == (True, True)
    done = subprocess.run(
        [*command, "--packages", "mypkg_t"], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*command[:3], "inspect", str(packed)], capture_output=True, text=True, check=True)
    assert "mypkg_t 1.2" in done.stdout
    assert "--packages" in done.stdout


def test_a_package_that_is_missing(packed: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "mypkg_t").rename(tmp_path / "elsewhere")
    assert run(LOAD) == (
        "MissingExtraError the operator mylib_t::scaled needs the package 'mypkg_t' 1.2, which is not installed. "
        "Install it.\n"
    )


def test_another_version_is_warned_of(packed: Path, run: Run, tmp_path: Path) -> None:
    write(tmp_path, "mypkg_t", MINE, "2.0")
    inner = LOAD.replace("\n", "\n    ")
    code = "import warnings\nwith warnings.catch_warnings(record=True) as met:\n    warnings.simplefilter('always')"
    code += f"{inner}\nprint(*(each.message for each in met))"
    assert run(code) == (
        "right (x: f32[N,M]) -> f32[?,?]\n"
        "the operator mylib_t::scaled was packed with mypkg_t 1.2; here is 2.0, which may answer otherwise\n"
    )


def test_an_operator_that_the_package_does_not_register(packed: Path, run: Run, tmp_path: Path) -> None:
    write(tmp_path, "mypkg_t", "")
    assert run(LOAD) == (
        "UnknownOperatorError operator mylib_t::scaled: the import of 'mypkg_t' registers no such operator; "
        "expected one of 'mypkg_t'. Pass packages=['mypkg_t'], or install the version that was packed, 1.2.\n"
    )


def test_another_schema_is_refused(packed: Path, run: Run, tmp_path: Path) -> None:
    write(tmp_path, "mypkg_t", MINE.replace("shift: int = 1", "shift: int = 2"))
    assert run(LOAD) == (
        "UnknownOperatorError operator mylib_t::scaled: the operator has another schema than when it was packed; "
        "got mylib_t::scaled(Tensor x, float factor, SymInt shift=2) -> Tensor; "
        "expected mylib_t::scaled(Tensor x, float factor, SymInt shift=1) -> Tensor. "
        "Install the version of 'mypkg_t' that was packed, 1.2, or pack again.\n"
    )


def test_another_schema_of_a_module_names_the_package(tmp_path: Path, run: Run) -> None:
    write(tmp_path, "mypkg_t", "from . import inner as inner")
    (tmp_path / "mypkg_t" / "inner.py").write_text(MINE)
    run(PACK.replace("import mypkg_t", "import mypkg_t.inner as mypkg_t"))
    (tmp_path / "mypkg_t" / "inner.py").write_text(MINE.replace("shift: int = 1", "shift: int = 22"))
    shutil.rmtree(tmp_path / "mypkg_t" / "__pycache__", ignore_errors=True)
    assert run(LOAD).endswith(". Install the version of 'mypkg_t' that was packed, or pack again.\n")


def test_an_import_that_fails(packed: Path, run: Run, tmp_path: Path) -> None:
    write(tmp_path, "mypkg_t", "import package_that_is_not_there")
    assert run(LOAD) == (
        "UnknownOperatorError operator mylib_t::scaled: the import of 'mypkg_t' fails; "
        "got No module named 'package_that_is_not_there'\n"
    )
    write(tmp_path, "mypkg_t", "1 / 0")
    assert run(LOAD) == (
        "UnknownOperatorError operator mylib_t::scaled: the import of 'mypkg_t' fails; "
        "got ZeroDivisionError: division by zero\n"
    )


def test_an_operator_of_a_module_inside_of_the_package(tmp_path: Path, run: Run) -> None:
    """Only what was named is imported: the package, or the module itself."""
    write(tmp_path, "mypkg_t", "")
    (tmp_path / "mypkg_t" / "inner.py").write_text(MINE)
    run(PACK.replace("import mypkg_t", "import mypkg_t.inner as mypkg_t"))
    assert run(LOAD) == (
        "UnknownOperatorError operator mylib_t::scaled: the import of 'mypkg_t' registers no such operator; "
        "expected one of 'mypkg_t.inner'. Pass packages=['mypkg_t.inner'], or install the version that was packed.\n"
    )
    assert run(LOAD.replace('["mypkg_t"]', '["mypkg_t.inner"]')).startswith("right")


def test_several_results_and_an_operator_that_writes(tmp_path: Path, run: Run) -> None:
    write(tmp_path, "mypkg_t", MINE)
    found = run("""
import mypkg_t
mod = tracepack.trace(lambda x: mypkg_t.halves(x)[1] + 1, torch.rand(4))
mod.save("a.tpk")
print(tracepack.load("a.tpk", packages=["mypkg_t"])(torch.arange(6.0)).tolist())

def writes(x):
    y = x * 1
    mypkg_t.fill(y)
    return y

try:
    tracepack.trace(writes, torch.rand(4))
except tracepack.RecordError as error:
    print(error)
""")
    right, refused = found.splitlines()
    assert right == "[4.0, 5.0, 6.0]"
    assert "mylib_t.fill.default cannot be recorded: it writes to its arguments" in refused


def test_a_list_of_results_has_any_length(tmp_path: Path, run: Run) -> None:
    write(tmp_path, "mypkg_t", MINE)
    found = run("""
import warnings
import mypkg_t
warnings.simplefilter("error")

def unpacked(xs):
    one, other = mypkg_t.best(xs, 2)
    return one + other

X = [torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 6.0, 5.0, 7.0])]
tracepack.trace(lambda xs: mypkg_t.best(xs, 1), X).save("a.tpk")
mod = tracepack.load("a.tpk", packages=["mypkg_t"])
print(mod.signature)
print([[each.tolist() for each in mod(given)] for given in (X, X[:1], X * 2, [])])
mod = tracepack.trace(mypkg_t.raised, torch.rand(2, 1))
print([[row.tolist() for row in mod(torch.zeros(count, 1))] for count in (1, 3, 0)])
mod = tracepack.trace(unpacked, X)
try:
    mod(X[:1])
except tracepack.GuardError as error:
    print(error.what, error.got)
""")
    signature, lists, rows, refused = found.splitlines()
    assert signature == "(xs: list[f32[?]]) -> list[f32[?]]"
    assert lists == "[[[3.0], [7.0]], [[3.0]], [[3.0], [7.0], [3.0], [7.0]], []]"
    assert rows == "[[[1.0]], [[1.0], [1.0], [1.0]], []]"
    assert refused == "the function unpacks it into 2 values 1"


def test_an_operator_that_no_module_registers() -> None:
    library = torch.library.Library("nobody_t", "DEF")
    library.define("f(Tensor x) -> Tensor")
    exec("library.impl('f', lambda x: x + 1, 'CPU')", {"library": library})
    scope: dict[str, object] = {"torch": torch}
    exec(compile("library = torch.library.Library('nowhere_t', 'DEF')", "a cell of a notebook", "exec"), scope)
    scope["library"].define("g(Tensor x) -> Tensor")  # type: ignore[attr-defined]  # a name of executed code
    scope["library"].impl("g", lambda x: x + 1, "CPU")  # type: ignore[attr-defined]  # as above
    with pytest.raises(tracepack.RecordError) as got:
        tracepack.trace(lambda x: torch.ops.nowhere_t.g(x), torch.ones(2))
    assert "cannot be recorded: no module that another process could import registers it; " in str(got.value)
    assert "tracepack.ops.kernels.providers.register_namespace('nowhere_t', …) says which" in str(got.value)
    mod = tracepack.trace(lambda x: torch.ops.nobody_t.f(x), torch.ones(2))  # registered by this very file
    assert mod(torch.ones(3)).tolist() == [2.0] * 3


def test_packages_is_a_list() -> None:
    with pytest.raises(
        tracepack.ArchiveError, match="packages is no list of names; got 'torchvision'; expected a list"
    ):
        tracepack.load(b"", packages="torchvision")
