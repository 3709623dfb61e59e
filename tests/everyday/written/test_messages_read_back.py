"""What a function prints, warns or logs, and reads itself: a side or a round that tells it is not left out."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings

import pytest

import tracepack
from tests.everyday.case import loaded

EXAMPLE = ([1, 2], "2024-01-05")
OTHERS = [([400], "2024-02-29"), ([3, 400, 1], "2024-02-29"), ([], "2023-01-01"), ([1, 2], "x-02-29"), ([400, 2], "y")]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def say():
    print("x")
    return 1


def warn():
    warnings.warn("x", stacklevel=2)
    return 1


def printed(xs, when):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if when[5:] == "02-29":
            print("leap")
    return out.getvalue()


def printed_by_a_helper(xs, when):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        found = say() if when[5:] == "02-29" else 0
    return found, out.getvalue()


def printed_in_rounds(xs, when):
    out = io.StringIO()
    for item in xs:
        if item * 7 + 3 == 2803:
            print("a", file=out)
    return out.getvalue()


def printed_in_redirected_rounds(xs, when):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for item in xs:
            if item * 7 + 3 == 2803:
                print("a")
    return len(out.getvalue())


def printed_as_an_error(xs, when):
    out = io.StringIO()
    with contextlib.redirect_stderr(out):
        if when[5:] == "02-29":
            print("k", file=sys.stderr)
    return len(out.getvalue())


def warned(xs, when):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        if when[5:] == "02-29":
            warnings.warn("leap", stacklevel=1)
    return len(found)


def warned_by_a_helper(xs, when):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        number = warn() if when[5:] == "02-29" else 0
    return number, len(found)


def shown(xs, when):
    found, before = [], warnings.showwarning
    warnings.showwarning = lambda *_args, **_named: found.append(1)
    try:
        if when[5:] == "02-29":
            warnings.warn("leap", stacklevel=1)
    finally:
        warnings.showwarning = before
    return len(found)


def logged(xs, when):
    out, logger = io.StringIO(), logging.getLogger("of this test")
    handler = logging.StreamHandler(out)
    logger.addHandler(handler)
    logger.propagate = False
    if when[5:] == "02-29":
        logger.warning("leap")
    logger.removeHandler(handler)
    return out.getvalue()


class Kept(logging.Handler):
    """Keeps what it hears where functions may read it."""

    last = ""

    def __init__(self):
        super().__init__()
        self.seen = []

    def emit(self, record):
        Kept.last = record.getMessage()
        self.seen.append(Kept.last)
        TEXTS.append(Kept.last)


class Filtered(logging.Filter):
    def filter(self, record):
        TEXTS.append(record.msg)
        return True


def logger_with(name, handler=None, heard=None):
    made = logging.getLogger(name)
    made.propagate = False
    made.addHandler(handler or logging.NullHandler())
    if heard is not None:
        made.addFilter(heard)
    return made


TEXTS: list[str] = []
OUT = io.StringIO()
HANDLER = Kept()
TO_LIST = logger_with("to a list", HANDLER)
TO_STREAM = logger_with("to a stream", logging.StreamHandler(OUT))
TO_FILTER = logger_with("to a filter", heard=Filtered())
UNREAD = logger_with("to nobody", Kept())


def heard(xs, when):
    HANDLER.seen.clear()
    if when[5:] == "02-29":
        TO_LIST.warning("leap")
    return len(HANDLER.seen)


def heard_by_a_helper(xs, when):
    TEXTS.clear()
    tell_leap(TO_LIST, when)
    return len(TEXTS)


def tell_leap(logger, when):
    if when[5:] == "02-29":
        logger.warning("leap")


def heard_last(xs, when):
    Kept.last = ""
    if when[5:] == "02-29":
        TO_LIST.warning("leap")
    return Kept.last


def heard_in_rounds(xs, when):
    TEXTS.clear()
    for item in xs:
        if item * 7 + 3 == 2803:
            TO_LIST.warning("a")
    return len(TEXTS)


def written(xs, when):
    OUT.seek(0)
    OUT.truncate()
    if when[5:] == "02-29":
        TO_STREAM.warning("leap")
    return OUT.getvalue()


def filtered(xs, when):
    TEXTS.clear()
    if when[5:] == "02-29":
        TO_FILTER.warning("leap")
    return [*TEXTS]


PROCESSES = [
    printed, printed_by_a_helper, printed_in_rounds, printed_in_redirected_rounds, printed_as_an_error, warned,
    warned_by_a_helper, shown, logged, heard, heard_by_a_helper, heard_last, heard_in_rounds, written, filtered,
]  # fmt: skip


@pytest.mark.parametrize("process", PROCESSES)
def test_what_is_told_and_read_decides_as_in_python(process) -> None:
    try:
        mod = loaded(process, *EXAMPLE)
    except tracepack.RecordError:
        return
    assert mod(*EXAMPLE) == process(*EXAMPLE)
    for given in OTHERS:
        try:
            found = mod(*given)
        except tracepack.TracepackError:
            continue
        assert found == process(*given), given


def test_an_error_of_a_warning_is_no_answer() -> None:
    def process(when):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if when[5:] == "02-29":
                warnings.warn("leap", stacklevel=1)
        return 1

    with pytest.raises(tracepack.RecordError, match="warnings that are raised as errors decide here"):
        loaded(process, "2024-01-05")


def test_a_log_that_the_function_does_not_read_is_left_out() -> None:
    def process(when):
        if when[5:] == "02-29":
            UNREAD.warning("leap")
        return when + "!"

    mod = loaded(process, "2024-01-05")
    assert mod("2024-02-29") == "2024-02-29!"


def test_what_shows_warnings_and_is_read_decides_as_in_python(monkeypatch) -> None:
    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda *_args, **_named: shown.append(1))

    def process(when):
        shown.clear()
        if when[5:] == "02-29":
            warnings.warn("leap", stacklevel=1)
        return len(shown)

    mod = loaded(process, "2024-01-05")
    assert mod("2024-01-06") == 0
    with pytest.raises(tracepack.GuardError, match="a branch was taken on it"):
        mod("2024-02-29")


def test_what_is_heard_among_many_handlers_decides_as_in_python() -> None:
    made = [logging.StreamHandler(io.StringIO()) for _ in range(300)]
    crowd = logger_with("to many")
    for each in made:
        crowd.addHandler(each)
    try:
        test_what_is_told_and_read_decides_as_in_python(written)
        test_what_is_told_and_read_decides_as_in_python(heard)
    finally:
        for each in made:
            crowd.removeHandler(each)


def test_handlers_are_found_that_logging_has_no_list_of(monkeypatch) -> None:
    monkeypatch.setattr(logging, "_handlerList", [])  # as `logging.config.dictConfig` leaves it
    for process in (written, heard, filtered):
        test_what_is_told_and_read_decides_as_in_python(process)
