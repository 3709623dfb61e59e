"""Rejections: a request that is answered with an error, and the status that an error of the catalogue becomes."""

from __future__ import annotations

from ...ops.graph.errors import BudgetError, GuardError, NodeError, SignatureError, TracepackError

BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TOO_SLOW, TOO_LARGE = 400, 401, 403, 404, 408, 413
UNPROCESSABLE, TOO_MANY, HEAD_TOO_LARGE = 422, 429, 431
INTERNAL, UNAVAILABLE, TIMED_OUT = 500, 503, 504

INTERNAL_TEXT = "internal error; the log of the server has it"


class RejectedError(TracepackError):
    """A request that the server does not perform.

    Args:
        status: the HTTP status of the answer; gRPC has one for each.
        what, where, got, expected, fix: as of every `TracepackError`.
    """

    def __init__(
        self, status: int, what: str, *, where: str = "", got: object = None, expected: object = None, fix: str = ""
    ) -> None:
        super().__init__(what, where=where, got=got, expected=expected, fix=fix)
        self.status = status


def status_of(error: BaseException) -> int:
    """The HTTP status for an error.

    An operator that fails on the data of a request would fail again: that is no 5xx, which clients and proxies repeat.

    Example:
        >>> status_of(SignatureError("missing input", where="input 'x'"))
        400
        >>> status_of(ZeroDivisionError())
        500
    """
    match error:
        case RejectedError():
            return error.status
        case SignatureError() | GuardError():
            return BAD_REQUEST
        case BudgetError():
            return TIMED_OUT if "longer" in error.what else UNPROCESSABLE
        case NodeError():
            return UNPROCESSABLE
        case MemoryError():
            return UNAVAILABLE
    return INTERNAL


def text_of(error: BaseException) -> str:
    """What a client is told of an error: the message of an error of ours, and nothing of any other.

    Example:
        >>> text_of(SignatureError("missing input", where="input 'x'"))
        "input 'x': missing input"
        >>> text_of(ValueError("/etc/secret"))
        'internal error; the log of the server has it'
    """
    if isinstance(error, TracepackError):
        return str(error)
    return "there is not enough memory for the request" if isinstance(error, MemoryError) else INTERNAL_TEXT
