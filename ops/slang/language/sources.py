"""A Slang program as text: the main file and every file that it imports, SlangPy's own modules left out.

The imports are found by reading the text, not by compiling: a warm start must not load the compiler, and an
archive must carry the same files on every machine. Names are those of the import statements, relative to the
directory that holds the importing file or to an include directory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from .errors import SlangError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_IMPORT = re.compile(
    r'^\s*(?:__exported\s+)?(?:import|__include|\#include)\s+(?:"(?P<quoted>[^"]+)"|(?P<bare>[\w.]+))', re.MULTILINE
)

_INCOMING = re.compile(r"\._grad_in\b")

# Not after a colon: there it is what a type conforms to.
_INTERFACE = re.compile(r"(?<!:)(?<!: )\bI((?:RW|W)?DiffTensor<)")


@dataclass(frozen=True)
class Source:
    """The text of a module and of what it imports.

    Attributes:
        name: a short name, the stem of the file.
        text: the main file.
        imports: the text of each imported file by the relative path under which it is found.
        origin: what compile errors call the main file.
        includes: where the imported files are on this machine; empty once they come from an archive.
    """

    name: str
    text: str
    imports: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    includes: tuple[Path, ...] = ()

    @property
    def key(self) -> str:
        """A hash of all the text."""
        digest = hashlib.sha256()
        for part in (self.name, self.text, *(piece for item in sorted(self.imports.items()) for piece in item)):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part.encode())
        return digest.hexdigest()[:24]

    @property
    def uses_slangpy(self) -> bool:
        """Whether any file imports SlangPy's own module."""
        return any(name == "slangpy" for text in (self.text, *self.imports.values()) for name in _imported(text))

    @property
    def reads_gradients(self) -> bool:
        """Whether some function reads the gradient that comes in for a tensor by itself, not through a store."""
        return any(_INCOMING.search(text) for text in (self.text, *self.imports.values()))

    def with_concrete_tensors(self) -> Source:
        """The same module with `DiffTensor` for `IDiffTensor` parameters, and so on for the writable ones.

        Slang 2026.12 never comes back, or crashes, when it differentiates a loop in a function whose parameters are
        tensor interfaces; with the concrete types, which are what a backward call passes anyway, it works.
        """
        imports = {name: _INTERFACE.sub(r"\1", text) for name, text in self.imports.items()}
        return Source(self.name, _INTERFACE.sub(r"\1", self.text), imports, self.origin, self.includes)

    def write_imports(self, directory: Path) -> None:
        """Writes the imported files under a directory of the cache."""
        for name, text in self.imports.items():
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def read_source(path_or_text: str | Path, includes: Sequence[str | Path] = ()) -> Source:
    """Reads a module and its imports.

    Args:
        path_or_text: a `Path`, a string that ends in `.slang`, or Slang code.
        includes: further directories in which imports are looked for.

    Raises:
        SlangError: the file does not exist.
    """
    directories = tuple(Path(include).resolve() for include in includes)
    if isinstance(path_or_text, str) and not path_or_text.rstrip().endswith(".slang"):
        return Source("module", path_or_text, _collect(path_or_text, directories), "<text>", directories)
    path = Path(str(path_or_text).rstrip())
    if not path.is_file():
        raise SlangError(f"no Slang file at {path}", fix="Give the path of a .slang file, or Slang code as text.")
    text = path.read_text(encoding="utf-8")
    directories = (path.resolve().parent, *directories)
    name = re.sub(r"\W", "_", path.stem)
    return Source(name, text, _collect(text, directories), str(path), directories)


def _imported(text: str) -> Iterator[str]:
    for match in _IMPORT.finditer(_COMMENT.sub(" ", text)):
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
                return str(relative), path.read_text(encoding="utf-8")
    return None
