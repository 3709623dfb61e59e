"""The Slang compiler, called through the C interface of the library that the slangpy package carries.

The CPU path needs the compiler and its reflection, not a graphics device: no driver, no shader model, and 20 ms
instead of 700 ms for a device. Slang's C interface (`slang-deprecated.h` in the package's `include`) does both.
It crashes on some sources, never returns on others, and cannot be used after an error. So this runs in
`worker.py`'s process only, see `service.py` for the other end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_bool,
    c_char_p,
    c_int,
    c_size_t,
    c_ssize_t,
    c_uint,
    c_void_p,
    pointer,
    sizeof,
)
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

from ...graph.errors import MissingExtraError
from ..language.errors import SlangCompileError, compile_error

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    # name: result, arguments
    "spCreateSession": (c_void_p, c_char_p),
    "spCreateCompileRequest": (c_void_p, c_void_p),
    "spProcessCommandLineArguments": (c_int, c_void_p, POINTER(c_char_p), c_int),
    "spCompile": (c_int, c_void_p),
    "spGetDiagnosticOutput": (c_char_p, c_void_p),
    "spGetEntryPointCode": (c_void_p, c_void_p, c_int, POINTER(c_size_t)),
    "spGetContainerCode": (c_int, c_void_p, POINTER(c_void_p)),
    "spGetReflection": (c_void_p, c_void_p),
    "spReflection_FindFunctionByName": (c_void_p, c_void_p, c_char_p),
    "spReflection_FindFunctionByNameInType": (c_void_p, c_void_p, c_void_p, c_char_p),
    "spReflection_FindTypeByName": (c_void_p, c_void_p, c_char_p),
    "spReflection_GetParameterCount": (c_uint, c_void_p),
    "spReflection_GetParameterByIndex": (c_void_p, c_void_p, c_uint),
    "spReflection_GetTypeLayout": (c_void_p, c_void_p, c_void_p, c_uint),
    "spReflection_isSubType": (c_bool, c_void_p, c_void_p, c_void_p),
    "spReflectionDecl_getParent": (c_void_p, c_void_p),
    "spReflectionDecl_getChildrenCount": (c_uint, c_void_p),
    "spReflectionDecl_getChild": (c_void_p, c_void_p, c_uint),
    "spReflectionDecl_getName": (c_char_p, c_void_p),
    "spReflectionDecl_getKind": (c_uint, c_void_p),
    "spReflectionDecl_castToFunction": (c_void_p, c_void_p),
    "spReflectionFunction_asDecl": (c_void_p, c_void_p),
    "spReflectionFunction_GetParameterCount": (c_uint, c_void_p),
    "spReflectionFunction_GetParameter": (c_void_p, c_void_p, c_uint),
    "spReflectionFunction_GetResultType": (c_void_p, c_void_p),
    "spReflectionFunction_FindModifier": (c_void_p, c_void_p, c_uint),
    "spReflectionFunction_GetGenericContainer": (c_void_p, c_void_p),
    "spReflectionFunction_isOverloaded": (c_bool, c_void_p),
    "spReflectionFunction_getOverloadCount": (c_uint, c_void_p),
    "spReflectionFunction_getOverload": (c_void_p, c_void_p, c_uint),
    "spReflectionFunction_specializeWithArgTypes": (c_void_p, c_void_p, c_ssize_t, POINTER(c_void_p)),
    "spReflectionVariable_HasDefaultValue": (c_bool, c_void_p),
    "spReflectionVariable_GetName": (c_char_p, c_void_p),
    "spReflectionVariable_GetType": (c_void_p, c_void_p),
    "spReflectionVariable_FindModifier": (c_void_p, c_void_p, c_uint),
    "spReflectionVariableLayout_GetVariable": (c_void_p, c_void_p),
    "spReflectionTypeLayout_GetFieldCount": (c_uint, c_void_p),
    "spReflectionType_GetKind": (c_uint, c_void_p),
    "spReflectionType_GetName": (c_char_p, c_void_p),
    "spReflectionType_GetFullName": (c_int, c_void_p, POINTER(c_void_p)),
    "spReflectionType_GetScalarType": (c_uint, c_void_p),
    "spReflectionType_GetElementType": (c_void_p, c_void_p),
    "spReflectionType_GetElementCount": (c_size_t, c_void_p),
    "spReflectionType_GetRowCount": (c_uint, c_void_p),
    "spReflectionType_GetColumnCount": (c_uint, c_void_p),
    "spReflectionType_GetFieldCount": (c_uint, c_void_p),
    "spReflectionType_GetFieldByIndex": (c_void_p, c_void_p, c_uint),
}


def package_directory() -> Path:
    """Where slangpy is installed, found without importing it.

    Raises:
        MissingExtraError: slangpy is not installed.
    """
    spec = util.find_spec("slangpy")
    if spec is None or spec.origin is None:
        raise MissingExtraError(
            "Slang needs the package slangpy, which is not installed",
            where="tracepack.slang",
            fix="Install the extra: pip install 'tracepack[slang]'.",
        )
    return Path(spec.origin).parent


@cache
def version() -> str:
    """The version of slangpy, which fixes the version of its compiler."""
    package_directory()
    return metadata.version("slangpy")


@cache
def library() -> Any:
    """The compiler's library with the types of its functions set."""
    found = sorted(package_directory().glob("libslang-compiler.so*")) + sorted(
        package_directory().glob("*slang-compiler.d*")
    )
    if not found:
        raise SlangCompileError(
            f"slangpy {version()} carries no Slang compiler library",
            fix="Install a release of slangpy that tracepack knows: pip install 'slangpy>=0.43'.",
        )
    lib = ctypes.CDLL(str(found[0]))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


@cache
def _session() -> int:
    """Slang's global session; making it loads the core module, 190 ms, so there is one per process."""
    return int(library().spCreateSession(None))


def blob_bytes(blob: c_void_p) -> bytes:
    """The content of an `ISlangBlob`: slots 3 and 4 of its table are the pointer and the size."""
    table = ctypes.cast(ctypes.cast(blob, POINTER(c_void_p))[0], POINTER(c_void_p))
    start = ctypes.CFUNCTYPE(c_void_p, c_void_p)(table[3])(blob)
    size = ctypes.CFUNCTYPE(c_size_t, c_void_p)(table[4])(blob)
    return ctypes.string_at(start, size)


class _TargetDesc(Structure):
    """`slang::TargetDesc`."""

    _fields_ = (
        ("structure_size", c_size_t), ("format", c_int), ("profile", c_uint), ("flags", c_uint), ("float_mode", c_uint),
        ("line_directives", c_uint), ("force_layout", c_bool), ("options", c_void_p), ("option_count", c_uint),
    )  # fmt: skip


class _Macro(Structure):
    """`slang::PreprocessorMacroDesc`."""

    _fields_ = (("name", c_char_p), ("value", c_char_p))


class _SessionDesc(Structure):
    """`slang::SessionDesc`."""

    _fields_ = (
        ("structure_size", c_size_t), ("targets", POINTER(_TargetDesc)), ("target_count", c_ssize_t), ("flags", c_uint),
        ("matrix_layout", c_uint), ("paths", POINTER(c_char_p)), ("path_count", c_ssize_t), ("macros", POINTER(_Macro)),
        ("macro_count", c_ssize_t), ("file_system", c_void_p), ("effect_annotations", c_bool), ("glsl_syntax", c_bool),
        ("options", c_void_p), ("option_count", c_uint), ("skip_validation", c_bool),
    )  # fmt: skip


_CPP_SOURCE, _NO_LINES = 13, 1
_CREATE_SESSION, _CREATE_REQUEST = 3, 14
"""Places in the tables of `IGlobalSession` and `ISession`, to which releases add at the end only."""


@cache
def _session_with(folder: str) -> int:
    """A session that makes C++ and finds modules in a folder; it keeps those that it has loaded."""
    paths = (c_char_p * 1)(folder.encode())
    macros = (_Macro * len(_MACROS))(*(_Macro(name.encode(), b"1") for name in _MACROS))
    target = _TargetDesc(sizeof(_TargetDesc), format=_CPP_SOURCE, line_directives=_NO_LINES)
    description = _SessionDesc(
        sizeof(_SessionDesc), pointer(target), 1, paths=paths, path_count=1, macros=macros, macro_count=len(macros)
    )
    return _made(_session(), _CREATE_SESSION, byref(description))


def _made(owner: int, place: int, *arguments: Any) -> int:
    """What a method of a table makes; its last parameter is where the pointer goes."""
    table = ctypes.cast(ctypes.cast(owner, POINTER(c_void_p))[0], POINTER(c_void_p))
    found = c_void_p()
    if ctypes.CFUNCTYPE(c_int, *[c_void_p] * (len(arguments) + 2))(table[place])(owner, *arguments, byref(found)) < 0:
        raise SlangCompileError("the Slang compiler makes no session")
    return int(found.value or 0)


class Request:
    """One compilation. It is never freed: the process that made it is short-lived.

    Args:
        arguments: as the command line tool `slangc` takes them.
        session: a folder of modules. The requests with the same folder share what was loaded from it: SlangPy's module
            takes .22 s and 80 MB. Such a request has the arguments of `arguments_in_session`.

    Raises:
        SlangCompileError: Slang refused the source.
    """

    def __init__(self, arguments: Sequence[str], session: str = "") -> None:
        lib = library()
        if session:
            self.pointer = _made(_session_with(session), _CREATE_REQUEST)
        else:
            self.pointer = lib.spCreateCompileRequest(_session())
        texts = [argument.encode() for argument in arguments]
        accepted = lib.spProcessCommandLineArguments(self.pointer, (c_char_p * len(texts))(*texts), len(texts))
        if accepted < 0 or lib.spCompile(self.pointer) < 0:
            raise compile_error(lib.spGetDiagnosticOutput(self.pointer).decode(errors="replace"))

    def code(self) -> str:
        """The text generated for the first entry point."""
        size = c_size_t()
        start = library().spGetEntryPointCode(self.pointer, 0, byref(size))
        return ctypes.string_at(start, size.value).decode()

    def container(self) -> bytes:
        """The compiled module, as Slang imports it in place of its source."""
        blob = c_void_p()
        library().spGetContainerCode(self.pointer, byref(blob))
        return blob_bytes(blob)


_MACROS = ("__TARGET_CUDA__", "__TARGET_CPU__")
_DEFINES = tuple(f"-D{name}=1" for name in _MACROS)


def module_arguments(source: Path, *, one_thread: bool) -> list[str]:
    """The arguments that turn a source into a module in Slang's own form, for the CPU or for others."""
    defines = _DEFINES if one_thread else _DEFINES[:1]
    return [str(source), "-o", str(source.with_suffix(".slang-module")), *defines]


def arguments_for(source: Path, includes: Iterable[Path], *, entry: str = "", target: str = "cpp") -> list[str]:
    """The arguments that turn a source into C++ (or CUDA's, `cuda`), with tensors as plain pointers.

    `__TARGET_CUDA__` is the macro under which slangpy's own tensor types hold pointers, not buffers.
    """
    arguments = [str(source), "-target", target, "-O3", "-line-directive-mode", "none"]
    if entry:
        arguments += ["-entry", entry, "-stage", "compute"]
    if target == "cuda":
        arguments += [
            "-o",
            str(source.with_suffix(".cu")),
        ]  # Slang writes code only with a file name; this file is not written
    for include in includes:
        arguments += ["-I", str(include)]
    return [*arguments, *_DEFINES]


def arguments_in_session(source: Path, *, entry: str = "") -> list[str]:
    """The arguments that do the same in a session for C++, which has the target, the macros and the folders."""
    return [str(source), "-O3", *(["-entry", entry, "-stage", "compute"] if entry else [])]
