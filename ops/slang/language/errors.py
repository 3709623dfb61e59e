"""The errors of Slang code, one class each; all of them are `TracepackError`s.

A message holds the compiler's own text, with its file and line, and never a stack of C++.
"""

from __future__ import annotations

import re

from ...graph.errors import TracepackError

_LOCATION = re.compile(r"^\s*-+>\s*(?P<file>.+):(?P<line>\d+):(?P<column>\d+)\s*$", re.MULTILINE)
_ERROR = re.compile(r"^(?:\(\d+\): )?(?:fatal )?error(?:\[\w+\])?:?\s*(?P<text>.+)$", re.MULTILINE)


_LABEL = re.compile(r"^\s*\|\s*\^+\s+(?P<text>\S.*)$", re.MULTILINE)
_END = re.compile(r"^-+'", re.MULTILINE)


class SlangError(TracepackError):
    """The base of the errors of Slang code."""


class SlangCompileError(SlangError):
    """The Slang compiler refused a source.

    Attributes:
        file: the source file that the compiler names, or "".
        line: the line in that file, counted from 1, or 0.
        log: the whole output of the compiler.
    """

    def __init__(self, what: str, *, file: str = "", line: int = 0, log: str = "", fix: str = "") -> None:
        where = f"{file}:{line}" if file else ""
        super().__init__(what, where=where, fix=fix)
        self.file, self.line, self.log = file, line, log


class UnknownFunctionError(SlangError, AttributeError):
    """A module has no function of this name; the message lists those that it has."""


class SlangArgumentError(SlangError):
    """A call does not fit the Slang signature: a parameter is missing, unknown, or of another structure."""


class SlangDtypeError(SlangArgumentError):
    """A tensor's dtype is not the one that the Slang parameter takes."""


class SlangShapeError(SlangArgumentError):
    """A tensor's sizes do not fit the Slang parameter, or do not broadcast with the others."""


class NotDifferentiableError(SlangError):
    """A gradient was asked of a function without `[Differentiable]`."""


class SlangIndexError(SlangError, IndexError):
    """A kernel used an index outside of a tensor or an array, or a loop ran longer than its `[MaxIters]`.

    Attributes:
        in_array: whether it was an array, such as one in which a gradient keeps what the rounds of a loop computed.
    """

    in_array = False


class SlangGradientError(SlangError):
    """A gradient that Slang computed does not agree with the function's values, or is not known to."""


class CompilerNotFoundError(SlangError):
    """The machine has no C++ compiler that could build the kernel."""


def _with_names(text: str, log: str, error: re.Match[str] | None) -> str:
    """An error's text with the label under the code, which holds the names: "undefined identifier 'x'"."""
    if error is None:
        return text
    end = _END.search(log, error.end())
    label = _LABEL.search(log, error.end(), end.start() if end else len(log))
    said = label["text"].strip().rstrip(".") if label else ""
    if not said or said in text:
        return text
    return said if text in said else f"{text}: {said}"


def compile_error(log: str) -> SlangCompileError:
    """Makes the typed error from a compiler log: its first error, with file and line.

    Args:
        log: the diagnostics, as Slang writes them.
    """
    error = _ERROR.search(log)
    place = _LOCATION.search(log, error.end() if error else 0)
    text = error["text"].strip() if error else log.strip().splitlines()[0] if log.strip() else "no message"
    return SlangCompileError(
        f"Slang does not compile: {_with_names(text.rstrip('.'), log, error)}",
        file=place["file"].strip() if place else "",
        line=int(place["line"]) if place else 0,
        log=log,
        fix="The compiler's full message is in `.log`.",
    )
