"""SlangModule: a Slang source whose functions are attributes, and the ways to load one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ..graph.errors import DeviceError
from .compile.program import Program, program_of
from .function import SlangFunction
from .kernel import publish
from .language.errors import SlangCompileError, UnknownFunctionError
from .language.loop_texts import rounds_by_sizes
from .language.sources import Source, read_source
from .language.specialization import Specialization
from .language.types import FunctionType
from .launch import slangpy_device as devices
from .launch.operation import Operation
from .scopes import BuiltinType, SlangNamespace, SlangStruct

_BUILTIN = re.compile(r"(?:bool|half|float|double|u?int(?:(?:8|16|32|64)_t)?)(?:[234](?:x[234])?)?$")
_FORMS = "None, 'cpu', 'cuda', 'cuda:1', 'vulkan' or a device of SlangPy"
Member = SlangFunction | SlangStruct | SlangNamespace | BuiltinType


class SlangModule:
    """A Slang module whose functions take torch tensors; its types and namespaces are attributes, too.

    Args:
        program: the source and what was compiled from it.
        target: `""` for the device of the tensors, or `vulkan`.
        slangpy_device: the device for SlangPy's own tensors, if one was given.

    Example:
        >>> from tracepack.ops.slang import load
        >>> module = load("float add(float a, float b) { return a + b; }")
        >>> module.add(1.0, 2.0)
        3.0
        >>> dir(module)
        ['add']
    """

    def __init__(self, program: Program, target: str = "", slangpy_device: Any = None) -> None:
        self.program, self._target, self._device = program, target, slangpy_device
        self._operations: dict[Specialization, Operation] = {}
        # Attributes are made once: a look-up costs no Python call, and torch.compile sees the same function each time.
        self.__dict__.update({name: SlangFunction(self, name, own) for name, own in program.functions.items()})

    def __repr__(self) -> str:
        return f"<SlangModule {self.program.source.name}: {', '.join(dir(self)) or 'no functions'}>"

    def __dir__(self) -> list[str]:
        declared = [name for name, kind in self.program.members.items() if kind in ("struct", "namespace")]
        return sorted({*self.program.functions, *(name for name in declared if "::" not in name)})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._member(name)
        if found is None:
            raise UnknownFunctionError(
                f"no function {name!r} in the Slang module {self.program.source.name!r}",
                expected=f"one of {dir(self)}",
            )
        return self.__dict__.setdefault(name, found)

    def _member(self, name: str) -> Member | None:
        """The function, type or namespace of a full name, `n::f`, `Box<float>`, `f<8, 5>`; None where there is none."""
        plain, _, generic = name.partition("<")
        kind = self.program.members.get(plain.strip(), "")
        if kind == "namespace" and not generic:
            return SlangNamespace(self, name)
        builtin = _BUILTIN.match(name)
        if builtin or kind == "struct" or (kind == "generic" and plain not in self.program.functions):
            type_ = self.program.type_named(name) if builtin or kind == "struct" or generic else None
            if type_ is not None:
                return BuiltinType(name, type_) if builtin else SlangStruct(self, name, type_)
        signatures = self._signatures(name)
        return SlangFunction(self, name, signatures) if signatures else None

    def _signatures(self, name: str) -> tuple[FunctionType, ...]:
        """The overloads of a function; of `f<8, 5>` the one with these generic arguments."""
        if name in self.program.functions:
            return self.program.functions[name]
        first = name.partition("<")[0].partition("::")[0].strip()
        return self.program.find(name) if first in self.program.members else ()

    def __getitem__(self, name: str) -> Any:
        """A function, type or namespace by its name, or a generic one with its arguments: `module["f<8, 5>"]`."""
        return getattr(self, str(name).replace(".", "::"))

    def __deepcopy__(self, memo: dict[int, Any]) -> SlangModule:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the source; a device of SlangPy is left out."""
        return _module_again, (self.program.source, self._target)

    def operation(self, spec: Specialization) -> Operation:
        """The operation of a specialization, one for each."""
        found = self._operations.get(spec)
        if found is None:
            made = Operation(self.program, spec, self._target, publish)
            found = self._operations.setdefault(spec, made)
        return found

    def slangpy_module(self, device: Any = None, *, backward: bool = False, sizes: Sequence[int] = ()) -> Any:
        """SlangPy's own module of this source.

        Args:
            device: one of SlangPy's; by default the one given to `load`, else a CPU device.
            backward: for backward calls, see `Source.to_differentiate`.
            sizes: of the tensors of a backward call, over which its loops run.

        Raises:
            MissingExtraError: slangpy is not installed.
            SlangCompileError: SlangPy refused the source.
        """
        device = device or self._device or devices.shared_device(self._target or "cpu")
        source = self.program.source
        with self.program.compile_errors():
            if backward:
                source = source.to_differentiate().with_right_derivatives()
                source = source.with_rounds(rounds_by_sizes(sizes)) if source.limits_loops and sizes else source
            return devices.module_on(device, source)


def _module_again(source: Source, target: str) -> SlangModule:
    return SlangModule(program_of(source), target)


def load(
    path_or_text: str | Path,
    device: Any = None,
    *,
    include_paths: str | Path | Sequence[str | Path] = (),
    bounds: bool = True,
) -> SlangModule:
    """Loads a Slang module.

    Args:
        path_or_text: the path of a `.slang` file, or Slang code.
        device: None or `cpu` where tensors say where to run; `cuda`, a `torch.device`, or `vulkan`; or a device of
            SlangPy, for SlangPy's own tensors.
        include_paths: a further directory for imports, or several; the file's own is always looked into.
        bounds: whether an index outside of a whole tensor, a vector or a matrix is an error. On a GPU such a read or
            write of a tensor goes to index 0 instead. False leaves the check out, for code that is known to be right.

    Returns:
        The module; its functions are its attributes.

    Raises:
        DeviceError: there is no such device.
        SlangError: there is no such file, or directory of `include_paths`.
        SlangCompileError: the code does not compile; with the compiler's message, file and line.
        MissingExtraError: slangpy is not installed.

    Example:
        >>> import torch
        >>> from tracepack.ops.slang import load
        >>> module = load("float twice(float x) { return 2 * x; }")
        >>> module.twice(torch.ones(3))
        tensor([2., 2., 2.])
    """
    source = replace(read_source(path_or_text, include_paths), bounds=bounds)
    return _module_of(source, device)


def _module_of(source: Source, device: Any) -> SlangModule:
    """Makes a module and compiles it now, so that errors are raised here."""
    program = program_of(source)
    try:
        _ = program.functions
    except SlangCompileError as error:
        if "MaxIters" not in error.what:
            raise
        program = program_of(source.with_bounded_loops())
        _ = program.functions
    target, slangpy_device = _target_of(device)
    return SlangModule(program, target, slangpy_device)


def _target_of(device: Any) -> tuple[str, Any]:
    if device is None:
        return "", None
    if (type(device).__module__ or "").startswith("slangpy"):
        return ("vulkan" if device.info.type.name == "vulkan" else ""), device
    try:
        named = torch.device(device)
    except (RuntimeError, TypeError):
        raise DeviceError("no such device for Slang", got=repr(device), expected=_FORMS) from None
    if named.type not in devices.KINDS:
        raise DeviceError(f"no Slang kernels on {device}", expected=_FORMS)
    if named.type == "cuda" and not torch.cuda.is_available():
        raise DeviceError(
            "this machine has no CUDA device for Slang",
            got=repr(device),
            fix="Leave device out: the functions then run where their tensors are.",
        )
    devices.check_index(named.type, named.index or 0)
    return ("vulkan" if named.type == "vulkan" else ""), None


class TorchModule:
    """The name under which SlangPy's documentation loads a module for torch; see `load`."""

    @staticmethod
    def load_from_file(device: Any, path: str | Path) -> SlangModule:
        """Loads a Slang file.

        Args:
            device: as for `load`, and any device of SlangPy.
            path: of the `.slang` file.

        Raises:
            SlangError: there is no such file.
            SlangCompileError: the code does not compile.
        """
        return load(Path(path), device)

    @staticmethod
    def load_from_source(device: Any, name: str, source: str) -> SlangModule:
        """Loads Slang code.

        Args:
            device: as for `load`, and any device of SlangPy.
            name: the name of the module in messages.
            source: the code.

        Raises:
            SlangCompileError: the code does not compile.
        """
        read = read_source(source + "\n")
        return _module_of(Source(name, read.text, read.imports, name, read.includes), device)
