"""The catalogue of errors: every failure that a user can meet, one class each, under `TracepackError`.

A message is one short text that says what went wrong, where, what was got, what was expected and what to do
next. It is built by `_compose`, so that all of them read alike. Nothing here may import torch: the command line
prints these errors without it.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with characters that are not shown (control, direction, invisible ones) written as escapes.

    Names in a file come from strangers: they must not move the cursor, nor turn the text around them.

    Example:
        >>> printable("a\x1b[31mb\u202ec")
        'a\\x1b[31mb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    r"""The text on one line, so that a name or a value of a file cannot look like another line.

    Example:
        >>> one_line("a\ntrust  signed")
        'a\\ntrust  signed'
    """
    return printable(text).replace("\n", "\\n")


_LONGEST = 1000  # characters of a part of a message, which may be a name in a file


def _compose(what: str, *, where: str = "", got: object = None, expected: object = None, fix: str = "") -> str:
    """Joins the parts of a message in their fixed order, leaving out those that are empty."""
    text = f"{_cut(where.rstrip(':'))}: {_cut(what)}" if where else _cut(what)  # a line of code may end with a colon
    if got is not None:
        text += f"; got {_cut(str(got))}"
    if expected is not None:
        text += f"; expected {_cut(str(expected))}"
    return one_line(f"{text}. {fix}" if fix else text)


def shown(text: str) -> str:
    """The text of a warning that quotes a file: on one line, and no longer than a part of an error may be."""
    return one_line(_cut(text))


def _cut(part: str) -> str:
    return part if len(part) <= _LONGEST else f"{part[: _LONGEST - 1]}…"


class TracepackError(Exception):
    """The base of every error that tracepack raises on purpose.

    Args:
        what: what went wrong, in a few words, without a full stop.
        where: the op, the input, the file member, or the user's own line.
        got: what was found.
        expected: what would have been right.
        fix: one sentence that says what to do next.
    """

    def __init__(
        self, what: str, *, where: str = "", got: object = None, expected: object = None, fix: str = ""
    ) -> None:
        super().__init__(_compose(what, where=where, got=got, expected=expected, fix=fix))
        self.what, self.where, self.got, self.expected, self.fix = what, where, got, expected, fix


def add_place(error: TracepackError, place: str, before: bool = False) -> None:
    """Adds to where an error was raised a place besides, such as the line that called a library.

    Args:
        error: the error.
        place: stands after the one that is there.
        before: whether it stands before that one instead.
    """
    places = [each for each in (error.where.rstrip(":"), place) if each]
    error.where = ", ".join(reversed(places) if before else places)
    text = _compose(error.what, where=error.where, got=error.got, expected=error.expected, fix=error.fix)
    error.args = (text, *error.args[1:])


class DeviceError(TracepackError):
    """A device that is not written in one of the accepted forms, or that this machine lacks."""


class PlacementError(TracepackError):
    """An op cannot run on the device that `load` was asked for."""


class OpaqueOpWarning(UserWarning):
    """A ScriptModule could not be lowered and stays TorchScript; its archive needs `trust=True`."""


class ScriptError(TracepackError):
    """`script` was given something that cannot become an op."""


class LoweringError(TracepackError):
    """A module could not be lowered to a graph."""


class RecordError(TracepackError):
    """The processing function did something that a graph cannot hold."""


class SignatureError(TracepackError):
    """An input is missing, unknown, or has another dtype, rank, size or structure than was recorded."""


class GuardError(TracepackError):
    """A fact that the recording relied on does not hold for these inputs."""


class OutsideError(GuardError):
    """A view would reach memory outside of its tensor."""


class MissingEntryError(GuardError):
    """A table has no entry for a key."""


class NonContiguousOutputError(TracepackError):
    """An op returned a tensor that is not contiguous."""


class NodeError(TracepackError):
    """A node of a running pipeline failed; the original exception is the cause."""


class GraphError(TracepackError):
    """A graph is not well formed."""


class ArchiveError(TracepackError):
    """An archive cannot be read or written: missing, truncated, altered, foreign, or newer than this reader."""


class TrustError(TracepackError):
    """An archive holds something that runs code, and `trust=True` was not given."""


class UnknownOperatorError(TracepackError):
    """A graph names an operator that is not allowed, or that this torch lacks."""


class BudgetError(TracepackError):
    """A run takes longer, or more memory, than the budget that `load` was given for it."""


class BatchError(TracepackError):
    """A job over a table cannot run: its source cannot be read, or its target belongs to another job."""


class GoldenMismatchError(TracepackError):
    """An archive's golden examples no longer give the outputs that were stored with them."""


class MissingExtraError(TracepackError):
    """A package of an extra is not installed."""
