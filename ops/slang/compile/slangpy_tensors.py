"""SlangPy's own Slang module, copied from the installed package with the changes that kernels on torch's memory need.

The changes are made at run time; a text that they do not find is an error, for it means another SlangPy.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ...kernels import cache as disk
from ..language.errors import SlangCompileError
from .client import ask
from .slangc import module_arguments, package_directory, version

# A store takes its part of the gradient away: what the function leaves is the gradient of the old content.
_CONSUMED = {
    "public Tensor<T.Differential, D> _grad_in;": "public RWTensor<T.Differential, D> _grad_in;",
    "grad = diffPair(grad.p, _grad_in.load(idx));": (
        "grad = diffPair(grad.p, _grad_in.load(idx)); _grad_in.store(idx, T.dzero());"
    ),
    "return _grad_in._read_each(expand each idx);": (
        "T.Differential found = _grad_in._read_each(expand each idx); "
        "_grad_in._write_each(T.dzero(), expand each idx); return found;"
    ),
}

# SlangPy leaves double out, because no graphics interface adds to it atomically in a buffer; pointers can.
_DOUBLE = """
public extension double : IAtomicAddable
{
    public static void atomicAdd(RWByteAddressBuffer buf, uint addr, double value)
    {
        buf.Store<double>(addr, buf.Load<double>(addr) + value);
    }
}
"""


@cache
def tensor_module(*, one_thread: bool) -> Path:
    """The directory of the changed module, compiled once: from its source each import costs 1.5 s.

    Args:
        one_thread: whether a kernel runs on one thread, so that additions need not be atomic; Slang's C++ has none.

    Raises:
        SlangCompileError: this release of slangpy has another text.
    """
    name = f"slangpy-{disk.key(version(), one_thread)}"
    directory = disk.folder("slang", name)
    compiled = directory / "slangpy.slang-module"
    if compiled.exists():
        return directory
    sources = disk.folder("slang", name, "source")
    _write(sources, one_thread)
    made = sources / "made.slang-module"
    ask(arguments=module_arguments(sources / "slangpy.slang", one_thread=one_thread), do="module", target=str(made))
    made.replace(compiled)
    return directory


def _write(directory: Path, one_thread: bool) -> None:
    for path in (package_directory() / "slang").glob("*.slang"):
        text = path.read_text(encoding="utf-8")
        if path.name == "difftensor.slang":
            text = _replaced(text, path)
        if path.name == "atomics.slang":
            text += _DOUBLE
        disk.write(directory / path.name, (without_atomics(text) if one_thread else text).encode())


def _replaced(text: str, path: Path) -> str:
    for old, new in _CONSUMED.items():
        if old not in text:
            raise SlangCompileError(
                f"slangpy {version()} has a {path.name} that tracepack does not know: no {old!r}",
                fix="Install a release of slangpy that tracepack knows: pip install 'slangpy>=0.43'.",
            )
        text = text.replace(old, new)
    return text


def without_atomics(text: str) -> str:
    """SlangPy's `atomics.slang` with plain additions on the CPU, whose dispatch runs on one thread."""
    text = re.sub(r"InterlockedAdd\((buf\[element\]), value\);", r"\1 = \1 + value;", text)
    return re.sub(
        r"buf\.InterlockedAddF32\(addr, value\);",
        "buf.Store<float>(addr, buf.Load<float>(addr) + value);",
        text,
    )
