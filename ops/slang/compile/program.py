"""A Slang source with all that was compiled from it: signatures, specializations, entries.

One `Program` exists for each source text in a process; what it compiles is kept in the cache on disk.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...kernels import cache as disk
from ..language.derivative_texts import slope_of
from ..language.errors import (
    NotDifferentiableError,
    SlangCompileError,
    SlangError,
    SlangGradientError,
    compile_error,
)
from ..language.sources import Source
from ..language.specialization import Specialization
from ..language.types import FunctionType, SlangType
from .client import TOO_LONG, ask
from .codegen import Variant, generate
from .cpp.finish import check_globals
from .native_entry import NativeEntry, word_types
from .native_library import check_stack, native_library
from .reflection import ANCHOR
from .slangc import arguments_for, arguments_in_session, version
from .slangpy_tensors import module_name, tensor_module

_GENERATED = "tracepack-generated.slang"
_ANCHOR = f"void {ANCHOR}() {{}}\n"
_OF_GROUPS = re.compile(r"\b(?:groupshared|Wave\w+|Quad\w+|subgroup\w+|\w*[bB]arrier\w*|dd[xy](?:_\w+)?|fwidth)\b")
"""The words for what the threads of a group share or do together."""
_USED = re.compile(r"^note: see using of '(?P<name>\w+)'\n\s*--> (?P<file>.+):(?P<line>\d+):\d+$", re.MULTILINE)
_MISMATCH = re.compile(r"expected an expression of type '(\w+)', got '(\w+)'")
_BARE_TENSOR = re.compile(r"generic type '(I?(?:RW|W)?(?:Diff)?Tensor)' used without argument")


class Program:
    """A source with its compiled entries; made by `program_of`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._entries: dict[tuple[Specialization, Variant], NativeEntry] = {}
        self._lock = threading.RLock()

    @cached_property
    def _types(self) -> dict[str, Any]:
        return self._reflected(do="describe")

    def _reflected(self, **request: Any) -> dict[str, Any]:
        """The compiler's answer to a question about the module's types, kept on the disk."""
        path = disk.place("slang", "types", f"{disk.key(self.source.key, version(), request)}.json")
        found = disk.read_json(path)
        if found is None:
            found = self._ask(_ANCHOR, **request)
            disk.write_json(path, found)
        return dict(found)

    @cached_property
    def functions(self) -> dict[str, tuple[FunctionType, ...]]:
        """The overloads of each function of the module, by name.

        Raises:
            SlangCompileError: the source does not compile.
        """
        given = self.source.given_derivatives
        found = {name: tuple(map(FunctionType.of_plain, each)) for name, each in self._types["functions"].items()}
        for name in given & found.keys():
            found[name] = tuple(replace(each, differentiable=True) for each in found[name])
        return found

    @property
    def members(self) -> dict[str, str]:
        """What the module declares, by its full name, `n::P::f`: `function`, `generic`, `struct` or `namespace`."""
        return dict(self._types["members"])

    def specialize(self, name: str, argument_types: Sequence[str]) -> FunctionType | None:
        """The concrete signature of a generic function for these types, or None where Slang finds none."""
        found = self._reflected(do="concrete", name=name, types=list(argument_types))
        return FunctionType.of_plain(found) if found else None

    def find(self, name: str) -> tuple[FunctionType, ...]:
        """The overloads of a function that Slang finds by its name, `f<8, 5>`, `n::f`, `P::f`; none if it does not.

        A method has its struct as first parameter, `this`. `P::__init` is the constructor of `P`.
        """
        return tuple(map(FunctionType.of_plain, self._reflected(do="find", name=name)["overloads"]))

    def type_named(self, name: str) -> SlangType | None:
        """A type as Slang code writes it, `P`, `n::P`, `Box<float>`, or None where Slang knows none."""
        found = self._reflected(do="type", name=name)
        return SlangType.of_plain(found) if found else None

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
            text = self._code(spec, variant)
            check_stack(text, str(spec.function), backward=variant.needs is not None)
            return text

        tensors = module_name(one_thread=True, bounds=self.source.bounds) if self.source.uses_slangpy else ""
        source = self.source if variant.needs is None else differentiable_source(self.source, variant)
        key = (source.key, spec.plain(), variant, tensors)
        library = native_library(key, variant.entry, code, self.source.bounds)
        words, backward = word_types(spec, variant), variant.needs is not None
        return NativeEntry(library, words, spec.is_pointwise, str(spec.function), backward=backward)

    def check_shared(self, spec: Specialization, variant: Variant) -> None:
        """Refuses a GPU kernel that uses what the elements of a call would share: global parameters, groups of threads.

        A gradient is compiled in the compiler's own process first: in this one a crash of the compiler would end it.

        Raises:
            NotDifferentiableError: the function can be differentiated forward only.
            SlangCompileError: it does, or the compiler crashes on it.
        """
        if any(re.search(r"\btype_param\b", text) for text in self.source.texts):  # it ends the process
            raise SlangCompileError("type_param does not compile for a GPU", fix="Write a generic function, f<T>(...).")
        if variant.needs is not None or self._types["globals"] or any(map(_OF_GROUPS.search, self.source.texts)):
            self._code(spec, replace(variant, target="cpu"))

    def check_gradient(self, spec: Specialization) -> None:
        """Has the compiler's own process differentiate a function that SlangPy will: in this one a crash would end it.

        What the compiler says beside is left to SlangPy. An answer is kept on the disk.

        Raises:
            NotDifferentiableError: the function can be differentiated forward only.
            SlangCompileError: the compiler crashes on it, or does not return.
        """
        path = disk.place("slang", "types", f"{disk.key(self.source.key, version(), spec.plain(), 'gradient')}.json")
        if disk.read_json(path) is not None:
            return
        variant = Variant("f" * len(spec.slots), spec.differentiable_slots)
        try:
            self._code(spec, variant)
        except NotDifferentiableError:
            raise
        except SlangCompileError as error:
            if "crashed" in error.what or error.what.startswith(TOO_LONG):
                raise
        disk.write_json(path, {})

    def _code(self, spec: Specialization, variant: Variant) -> str:
        """The C++ of an entry; it uses nothing but its arguments."""
        source = self.source if variant.needs is None else differentiable_source(self.source, variant)
        try:
            text = str(self._ask(generate(spec, variant), source=source, entry=variant.entry, do="code")["code"])
        except SlangCompileError as error:
            if variant.needs is not None and "crashed" in error.what and source.has_forward_derivatives:
                raise NotDifferentiableError(
                    f"{spec.function.name!r} can be differentiated forward only, or calls what can",
                    where=str(spec.function),
                    fix="Write [Differentiable], or give it a [BackwardDerivative(...)] too.",
                ) from None
            raise
        check_globals(text, str(spec.function))
        return text

    def _ask(self, addition: str, *, source: Source | None = None, entry: str = "", **request: Any) -> dict[str, Any]:
        """Compiles the module's text with an addition at its end."""
        source = source or self.source
        directory = disk.folder("slang", "sources", source.key)
        source.write_imports(directory)
        text = with_lines(source, addition)
        unit = directory / f"tracepack-{disk.key(text)}.slang"
        disk.write(unit, text.encode())
        modules = tensor_module(one_thread=True, bounds=self.source.bounds) if self.source.uses_slangpy else None
        if modules is not None and source.is_slangpy_alone:
            try:
                return ask(arguments=arguments_in_session(unit, entry=entry), session=str(modules), **request)
            except SlangCompileError as error:
                if error.what.startswith(TOO_LONG):
                    raise
                # What the compiler says of the module alone holds, whatever it has compiled before.
        includes = [directory, *([modules] if modules is not None else [])]
        try:
            return ask(arguments=arguments_for(unit, includes, entry=entry), **request)
        except SlangCompileError as error:
            if addition == _ANCHOR and error.file.endswith(_GENERATED):  # the compiler reports the end of the text
                last, fix = source.text.count("\n") + 1, "The text ends too early: is a bracket still open?"
                error = SlangCompileError(error.what, file=source.origin, line=last, log=error.log, fix=fix)
            raise self._in_users_words(error, directory) from None

    @contextmanager
    def compile_errors(self) -> Iterator[None]:
        """A context that turns errors of SlangPy's compiler into ours."""
        try:
            yield
        except RuntimeError as error:
            found = compile_error(str(error))
            raise self._in_users_words(found, disk.folder("slang", "sources", self.source.key)) from None

    def _in_users_words(self, error: SlangCompileError, directory: Path) -> SlangError:
        """The error with the user's directory in place of that of the cache."""
        if name := slope_of(error.what):
            return SlangGradientError(
                f"the module names a function {name!r}, and may call Slang's own, whose slope is not right everywhere",
                where=self.source.origin,
                fix=f"Give the module's function another name; then tracepack writes the slope of Slang's {name}.",
            )
        file = error.file
        if file.startswith(str(directory)) and self.source.includes:
            relative = Path(file).relative_to(directory)
            file = next((str(base / relative) for base in self.source.includes if (base / relative).exists()), file)
        bare = _BARE_TENSOR.search(error.what)
        fix = f"Write its elements and its number of axes, {bare[1]}<float, 1>." if bare else error.fix
        used = _USED.search(error.log) if "not available in" in error.what else None
        if used:
            what = f"{used['name']!r} has no meaning in a function of one element"
            fix = "What the threads of a group share or do together is left out: take a whole tensor, and index it."
            return SlangCompileError(what, file=used["file"].strip(), line=int(used["line"]), log=error.log, fix=fix)
        mismatch = _MISMATCH.search(error.what)
        if file.endswith(_GENERATED) and mismatch:
            wanted, got = mismatch.groups()
            fix = f"The function takes {wanted}, which the struct {got} is not: write `struct {got} : {wanted}`."
        elif file.endswith(_GENERATED):
            fix = "The kernel that tracepack wrote around the function is at fault: is a type not supported?"
        return SlangCompileError(error.what, file=file, line=error.line, log=error.log, fix=fix)


def differentiable_source(source: Source, variant: Variant) -> Source:
    """The source from which a backward kernel is compiled."""
    found = source.to_differentiate()
    if "stripped" in variant.repair:
        found = found.without_own_derivatives()
    found = found.with_right_derivatives()
    if variant.rounds:
        found = found.with_rounds(variant.rounds)
    return found.inlined() if "inlined" in variant.repair else found


def with_lines(source: Source, addition: str = "") -> str:
    """The module's text and an addition, with line directives for the names that messages show."""
    origin = source.origin.replace("\\", "/").replace('"', "")
    text = f'#line 1 "{origin}"\n{source.text}\n'
    return f'{text}#line 1 "{_GENERATED}"\n{addition}' if addition else text


_programs: dict[str, Program] = {}


def program_of(source: Source) -> Program:
    """The program of a source, the same one for the same text."""
    return _programs.setdefault(source.key, Program(source))
