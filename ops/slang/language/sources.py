"""A Slang program as text: the main file and every file that it imports, SlangPy's own modules left out.

The imports are found by reading the text, not by compiling: a warm start must not load the compiler, and an
archive must carry the same files on every machine. Names are those of the import statements, relative to the
directory that holds the importing file or to an include directory.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from ...kernels import cache as disk
from .derivative_texts import declared_names, with_derivatives
from .errors import SlangError
from .loop_texts import LIMIT, ROUNDS, bounded, with_for
from .types import split_name

_BYTE_ORDER_MARK = "\ufeff"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_IMPORT = re.compile(
    r'(?:^|[;{}])\s*(?:__exported\s+)?(?:import|__include|\#include)\s+(?:"(?P<quoted>[^"]+)"|(?P<bare>[\w.]+))',
    re.MULTILINE,
)

_INCOMING = re.compile(r"\._grad_in\b")

# Not after a colon: there it is what a type conforms to.
_INTERFACE = re.compile(r"(?<!:)(?<!: )\bI((?:RW|W)?DiffTensor<)")


_OWN_DERIVATIVE = re.compile(r"\[\s*BackwardDerivative\s*\([^)]*\)\s*\]")
_DERIVATIVE_OF = re.compile(r"\[\s*BackwardDerivativeOf\s*\((?P<of>[^)]*)\)\s*\]")
_FORWARD = re.compile(r"\[\s*ForwardD")
_CONSTRUCTOR = re.compile(r"\b__init\s*[(<]")
_DETACH = re.compile(r"\bdetach\s*\(")
_ATTRIBUTES = re.compile(r"(?:\[[^][]*\]\s*)+")
_DIFFERENTIABLE = re.compile(r"\[\s*(?:Backward)?Differentiable\s*\]")


def _inlined(text: str) -> str:
    """With an attribute on each function that has no derivative of its own, where the line of its first one ends."""

    def marked(match: re.Match[str]) -> str:
        found = _DIFFERENTIABLE.search(match[0])
        if found is None or "Derivative" in match[0]:
            return match[0]
        return match[0].replace(found[0], found[0] + "[__unsafeForceInlineEarly]", 1)

    return _ATTRIBUTES.sub(marked, text)


def _without_comments(text: str) -> str:
    return _COMMENT.sub(" ", text)


def _body(text: str, start: int) -> str:
    """The text in braces, after the opening one."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start:end]


@dataclass(frozen=True)
class Source:
    """The text of a module and of what it imports.

    Attributes:
        name: a short name, the stem of the file.
        text: the main file.
        imports: the text of each imported file by the relative path under which it is found.
        origin: the name of the main file in messages.
        includes: the directories of the imported files on this machine; empty for a source from an archive.
        bounds: whether the indices into whole tensors are checked.
    """

    name: str
    text: str
    imports: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    includes: tuple[Path, ...] = ()
    bounds: bool = True

    @property
    def key(self) -> str:
        """A hash of all the text."""
        digest = hashlib.sha256()
        for part in (self.name, self.text, *(piece for item in sorted(self.imports.items()) for piece in item)):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part.encode())
        if not self.bounds:
            digest.update(b"unchecked")
        return digest.hexdigest()[:24]

    @property
    def uses_slangpy(self) -> bool:
        """Whether any file imports SlangPy's own module."""
        return any(name == "slangpy" for text in (self.text, *self.imports.values()) for name in _imported(text))

    @property
    def is_slangpy_alone(self) -> bool:
        """Whether it is a single file without a module's name that imports SlangPy's module and reads no other file."""
        words = re.compile(r"\b(?:\w*include|module|implementing)\b")
        return not self.imports and not words.search(self.text) and set(_imported(self.text)) == {"slangpy"}

    @property
    def reads_gradients(self) -> bool:
        """Whether some function reads the gradient that comes in for a tensor by itself, not through a store."""
        return any(_INCOMING.search(text) for text in (self.text, *self.imports.values()))

    def to_differentiate(self) -> Source:
        """The same module as Slang differentiates it rightly: `for` in the place of `while`, and concrete tensors.

        `DiffTensor` stands for `IDiffTensor` parameters, and so on for the writable ones. Slang 2026.12 never comes
        back, or crashes, when it differentiates a loop in a function whose parameters are tensor interfaces; with the
        concrete types, which are what a backward call passes anyway, it works.
        """
        return self._changed(lambda text: with_for(_INTERFACE.sub(r"\1", text)))

    @property
    def texts(self) -> tuple[str, ...]:
        """The main file and every imported one."""
        return (self.text, *self.imports.values())

    @property
    def has_own_derivatives(self) -> bool:
        """Whether some function's gradient is not that of its values on purpose."""
        own = any(_OWN_DERIVATIVE.search(text) or _DETACH.search(text) for text in self.texts)
        return own or self.has_derivatives_elsewhere

    @property
    def has_derivatives_elsewhere(self) -> bool:
        """Whether some function's derivative names it, and not the function its derivative."""
        return any(_DERIVATIVE_OF.search(text) for text in self.texts)

    @property
    def given_derivatives(self) -> frozenset[str]:
        """The functions whose derivative is written elsewhere, and names them."""
        return frozenset(found["of"].strip() for text in self.texts for found in _DERIVATIVE_OF.finditer(text))

    @property
    def has_forward_derivatives(self) -> bool:
        """Whether some function may have a forward derivative and no backward one."""
        return any(_FORWARD.search(text) for text in self.texts)

    def declares_constructor(self, struct: str) -> bool:
        """Whether a struct has a constructor of its own, `__init`, beside the one that takes its fields."""
        name = re.escape(split_name(struct)[1].partition("<")[0])
        heads = re.compile(rf"\b(?:struct|extension)\s+{name}\b[^;{{]*{{")
        bodies = (
            _body(text, head.end()) for text in map(_without_comments, self.texts) for head in heads.finditer(text)
        )
        return any(_CONSTRUCTOR.search(body) for body in bodies)

    def with_bounded_loops(self) -> Source:
        """The same module with a limit on each loop that has none, which Slang wants where it differentiates one."""
        return self._changed(bounded)

    @property
    def limits_loops(self) -> bool:
        """Whether some loop has its limit from `with_bounded_loops`."""
        return any(LIMIT.format(ROUNDS) in text for text in self.texts)

    def with_rounds(self, rounds: int) -> Source:
        """The same module with another limit on the loops that `with_bounded_loops` gave one."""
        return self._changed(lambda text: text.replace(LIMIT.format(ROUNDS), LIMIT.format(rounds)))

    def without_own_derivatives(self) -> Source:
        """The same module with the derivatives that Slang would find by itself."""

        def stripped(text: str) -> str:
            return _DETACH.sub("(", _DERIVATIVE_OF.sub("", _OWN_DERIVATIVE.sub("[Differentiable]", text)))

        return self._changed(stripped)

    def with_right_derivatives(self) -> Source:
        """The same module with the right derivatives of Slang's own functions."""
        own = frozenset(name for text in self.texts for name in declared_names(text))
        return self._changed(lambda text: with_derivatives(text, own))

    def inlined(self) -> Source:
        """The same module with its differentiable functions inlined before Slang differentiates them."""
        return self._changed(_inlined)

    def _changed(self, change: Callable[[str], str]) -> Source:
        imports = {name: change(text) for name, text in self.imports.items()}
        return replace(self, text=change(self.text), imports=imports)

    def write_imports(self, directory: Path) -> None:
        """Writes the imported files under a directory of the cache."""
        for name, text in self.imports.items():
            target = directory / name
            with disk.writing(directory):
                target.parent.mkdir(parents=True, exist_ok=True)
            disk.write(target, text.encode())


def _directory(include: str | Path) -> Path:
    found = Path(include).resolve()
    if not found.is_dir():
        raise SlangError(
            "a directory of include_paths does not exist", got=str(include), fix="Give the directory of the imports."
        )
    return found


def read_source(path_or_text: str | Path, includes: str | Path | Sequence[str | Path] = ()) -> Source:
    """Reads a module and its imports.

    Args:
        path_or_text: a `Path`, a string that ends in `.slang`, or Slang code.
        includes: a further directory in which imports are looked for, or several.

    Raises:
        SlangError: the file or a directory does not exist.
    """
    directories = tuple(map(_directory, [includes] if isinstance(includes, str | os.PathLike) else includes))
    if isinstance(path_or_text, str) and not path_or_text.rstrip().endswith(".slang"):
        path_or_text = path_or_text.removeprefix(_BYTE_ORDER_MARK)
        _check_text(path_or_text, "<text>")
        return Source("module", path_or_text, _collect(path_or_text, directories), "<text>", directories)
    path = Path(str(path_or_text).rstrip())
    if not path.is_file():
        raise SlangError(f"no Slang file at {path}", fix="Give the path of a .slang file, or Slang code as text.")
    text = _text_of(path)
    _check_text(text, str(path))
    directories = (path.resolve().parent, *directories)
    name = re.sub(r"\W", "_", path.stem)
    return Source(name, text, _collect(text, directories), str(path), directories)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise SlangError("a Slang file is not UTF-8", where=f"{path}:{line}", fix="Save it as UTF-8.") from None


def _check_text(text: str, where: str) -> None:
    """Refuses text that the compiler would read only in part."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise SlangError("a character with the code 0 in the source", where=f"{where}:{line}", fix="Remove it.")


def _imported(text: str) -> Iterator[str]:
    for match in _IMPORT.finditer(_without_comments(text)):
        yield match["quoted"] or match["bare"]


def _candidates(name: str) -> list[str]:
    """The file names that Slang tries: dots are directories, an underscore may stand for a dash."""
    if name.endswith((".slang", ".slangh", ".h")):
        return [name]
    path = name.replace(".", "/") + ".slang"
    return [path, path.replace("_", "-")]


def _collect(text: str, directories: tuple[Path, ...]) -> dict[str, str]:
    """The files that a text imports, directly or not; unknown names are left to the compiler to report."""
    found: dict[str, str] = {}
    pending = [(text, PurePosixPath())]
    while pending:
        current, folder = pending.pop()
        for name in _imported(current):
            for candidate in _candidates(name):
                located = _locate(candidate, folder, directories)
                if located is not None and located[0] not in found:
                    relative, content = located
                    found[relative] = content
                    pending.append((content, PurePosixPath(relative).parent))
    return found


def _locate(candidate: str, folder: PurePosixPath, directories: tuple[Path, ...]) -> tuple[str, str] | None:
    for directory in directories:
        for relative in ((folder / candidate), PurePosixPath(candidate)):
            path = directory / relative
            if ".." not in relative.parts and not relative.is_absolute() and path.is_file():
                return str(relative), _text_of(path)
    return None
