"""SlangPy's own Slang module, copied from the installed package with the changes that kernels on torch's memory need.

The changes are made at run time; a text that is not found is an error, since it means another release of SlangPy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ...kernels import cache as disk
from ..language.errors import SlangCompileError
from .client import ask
from .slangc import module_arguments, package_directory, version

# A store clears the gradient of its element: the rest is the gradient of the old content.
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
# Every access goes through these two functions, which compare the index with the sizes and end the kernel outside.
_PLACES = {
    "_idx(idx, _strides, _offset)": "_inside(idx, _shape, _strides, _offset)",
    "_idx_each(expand each idx, _strides, _offset)": "_inside_each(expand each idx, _shape, _strides, _offset)",
}
_INSIDE = """
public uint _outside(int64_t index, uint size)
{
    __target_switch
    {
    case cpp: __intrinsic_asm "tracepack_outside($0, $1)";
    default: return 0;
    }
}
public uint _at<I : __BuiltinIntegerType>(I index, uint size)
{
    uint at = index.toUInt();
    if (at >= size || (sizeof(I) > 4 && index.toUInt64() >= uint64_t(size))) at = _outside(index.toInt64(), size);
    return at;
}
public int _inside<I : __BuiltinIntegerType, let N : int>(I[N] indices, uint shape[N], uint stride[N], uint offset)
{
    int idx = 0;
    [ForceUnroll]
    for (int i = 0; i < N; i++) idx += _at(indices[i], shape[i]) * stride[i];
    return idx + offset;
}
public int _inside<I : __BuiltinIntegerType, let N : int>(
    vector<I, N> indices, uint shape[N], uint stride[N], uint offset)
{
    int idx = 0;
    int end = N - 1;
    [ForceUnroll]
    for (int i = 0; i < N; i++) idx += _at(indices[end - i], shape[i]) * stride[i];
    return idx + offset;
}
public void _inside_helper<let D : int, I : __BuiltinIntegerType>(
    I value, inout uint dest, inout uint dim, uint shape[D], uint stride[D])
{
    uint at = _at(value, shape[dim]);
    dest += at * stride[dim++];
}
public int _inside_each<let D : int, each I : __BuiltinIntegerType>(
    expand each I idx, uint shape[D], uint stride[D], uint offset)
{
    static_assert(countof(I) == D, "Mismatch between index count and tensor dimension");
    uint res = 0;
    uint dim = 0;
    expand _inside_helper(each idx, res, dim, shape, stride);
    return res + offset;
}
"""

_DOUBLE = """
public extension double : IAtomicAddable
{
    public static void atomicAdd(RWByteAddressBuffer buf, uint addr, double value)
    {
        buf.Store<double>(addr, buf.Load<double>(addr) + value);
    }
}
"""


def module_name(*, one_thread: bool, bounds: bool) -> str:
    """The name of the changed module, another one for each change; a part of the key of what is compiled with it."""
    return f"slangpy-{disk.key(version(), one_thread, bounds, _INSIDE)}"


def tensor_module(*, one_thread: bool, bounds: bool = True) -> Path:
    """The directory of the changed module, compiled once: from its source each import costs 1.5 s.

    Args:
        one_thread: whether a kernel runs on one thread, so that additions need not be atomic; Slang's C++ has none.
        bounds: whether an index outside of a tensor ends the kernel on the CPU, and stands for 0 elsewhere.

    Raises:
        SlangCompileError: this release of slangpy has another text.
    """
    name = module_name(one_thread=one_thread, bounds=bounds)
    compiled = disk.place("slang", name, "slangpy.slang-module")
    if disk.holds(compiled):
        return compiled.parent
    sources = disk.folder("slang", name, "source")
    _write(sources, one_thread, bounds)
    made = sources / "made.slang-module"
    ask(arguments=module_arguments(sources / "slangpy.slang", one_thread=one_thread), do="module", target=str(made))
    disk.keep(made, compiled)
    return compiled.parent


def _write(directory: Path, one_thread: bool, bounds: bool) -> None:
    for path in (package_directory() / "slang").glob("*.slang"):
        text = path.read_text(encoding="utf-8")
        if path.name == "difftensor.slang":
            text = _replaced(text, path, _CONSUMED)
        if bounds and path.name in ("tensor.slang", "primaltensor.slang"):
            text = _replaced(text, path, _PLACES)
        if bounds and path.name == "tensorcommon.slang":
            text += _INSIDE
        if path.name == "atomics.slang":
            text += _DOUBLE
        disk.write(directory / path.name, (without_atomics(text) if one_thread else text).encode())


def _replaced(text: str, path: Path, changes: Mapping[str, str]) -> str:
    for old, new in changes.items():
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
