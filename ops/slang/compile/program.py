"""A Slang source with everything that was compiled from it: signatures, specializations, entries.

One `Program` exists for each source text in a process; what it compiles is kept in the cache on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from ...kernels import cache as disk
from ..language.errors import SlangCompileError, compile_error
from ..language.sources import Source
from ..language.specialization import Specialization
from ..language.types import FunctionType
from .client import ask
from .codegen import Variant, generate
from .native_entry import NativeEntry, word_types
from .native_library import native_library
from .reflection import ANCHOR
from .slangc import arguments_for, version
from .slangpy_tensors import tensor_module

_GENERATED = "tracepack-generated.slang"
_ANCHOR = f"void {ANCHOR}() {{}}\n"


class Program:
    """See the module's docstring; made by `program_of`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._entries: dict[tuple[Specialization, Variant], NativeEntry] = {}
        self._lock = threading.RLock()

    @cached_property
    def _types(self) -> dict[str, Any]:
        path = disk.folder("slang", "types") / f"{disk.key(self.source.key, version())}.json"
        found = disk.read_json(path)
        if found is None:
            found = self._ask(_ANCHOR, do="describe")
            disk.write_json(path, found)
        return dict(found)

    @cached_property
    def functions(self) -> dict[str, tuple[FunctionType, ...]]:
        """The overloads of each function of the module, by name.

        Raises:
            SlangCompileError: the source does not compile.
        """
        return {
            name: tuple(FunctionType.of_plain(overload) for overload in overloads)
            for name, overloads in self._types["functions"].items()
        }

    @property
    def structs(self) -> list[str]:
        """The names of the module's structs."""
        return list(self._types["structs"])

    def specialize(self, name: str, argument_types: Sequence[str]) -> FunctionType | None:
        """The concrete signature of a generic function for these types, or None where Slang finds none."""
        path = disk.folder("slang", "types") / f"{disk.key(self.source.key, version(), name, *argument_types)}.json"
        found = disk.read_json(path)
        if found is None:
            found = self._ask(_ANCHOR, do="specialize", name=name, types=list(argument_types))
            disk.write_json(path, found)
        return FunctionType.of_plain(found) if found else None

    def instance(self, name: str) -> FunctionType | None:
        """The signature of a generic function with its arguments by name, `f<8, 5>`, or None where Slang finds none."""
        path = disk.folder("slang", "types") / f"{disk.key(self.source.key, version(), name)}.json"
        found = disk.read_json(path)
        if found is None:
            found = self._ask(_ANCHOR, do="instance", name=name)
            disk.write_json(path, found)
        return FunctionType.of_plain(found) if found else None

    def entry(self, spec: Specialization, variant: Variant) -> NativeEntry:
        """The compiled CPU entry, from memory, from the disk, or compiled now.

        Raises:
            SlangCompileError: Slang or the C++ compiler refused it.
            CompilerNotFoundError: the machine has no C++ compiler.
        """
        found = self._entries.get((spec, variant))
        if found is None:
            with self._lock:
                found = self._entries.get((spec, variant)) or self._load(spec, variant)
                self._entries[spec, variant] = found
        return found

    def _load(self, spec: Specialization, variant: Variant) -> NativeEntry:
        def code() -> str:
            source = self.source if variant.needs is None else self.source.with_concrete_tensors()
            return str(self._ask(generate(spec, variant), source=source, entry=variant.entry, do="code")["code"])

        library = native_library((self.source.key, spec.plain(), variant), variant.entry, code)
        return NativeEntry(library, word_types(spec, variant), spec.is_pointwise)

    def _ask(self, addition: str, *, source: Source | None = None, entry: str = "", **request: Any) -> dict[str, Any]:
        """Has the module's text compiled with an addition at its end."""
        source = source or self.source
        directory = disk.folder("slang", "sources", source.key)
        source.write_imports(directory)
        text = with_lines(source, addition)
        unit = directory / f"tracepack-{disk.key(text)}.slang"
        disk.write(unit, text.encode())
        includes = [directory, *([tensor_module(one_thread=True)] if self.source.uses_slangpy else [])]
        try:
            return ask(arguments=arguments_for(unit, includes, entry=entry), **request)
        except SlangCompileError as error:
            raise self._in_users_words(error, directory) from None

    @contextmanager
    def compile_errors(self) -> Iterator[None]:
        """Around SlangPy's compiler, whose errors become ours."""
        try:
            yield
        except RuntimeError as error:
            found = compile_error(str(error))
            raise self._in_users_words(found, disk.folder("slang", "sources", self.source.key)) from None

    def _in_users_words(self, error: SlangCompileError, directory: Path) -> SlangCompileError:
        """The error with the user's own directory in place of the cache's."""
        file = error.file
        if file.startswith(str(directory)) and self.source.includes:
            relative = Path(file).relative_to(directory)
            file = next((str(base / relative) for base in self.source.includes if (base / relative).exists()), file)
        fix = error.fix
        if file.endswith(_GENERATED):
            fix = "The kernel that tracepack wrote around the function is at fault: is a type not supported?"
        return SlangCompileError(error.what, file=file, line=error.line, log=error.log, fix=fix)


def with_lines(source: Source, addition: str) -> str:
    """The module's text and an addition, each under the name that errors shall show."""
    origin = source.origin.replace("\\", "/").replace('"', "")
    return f'#line 1 "{origin}"\n{source.text}\n#line 1 "{_GENERATED}"\n{addition}'


_programs: dict[str, Program] = {}


def program_of(source: Source) -> Program:
    """The program of a source, the same one for the same text."""
    return _programs.setdefault(source.key, Program(source))
