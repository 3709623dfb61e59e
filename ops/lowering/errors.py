"""Errors of torch.export as the user reads them: the line of the model, the cause, and what to do."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Collection, Iterable

from ..graph.errors import LoweringError
from ..graph.graph import SourceLine
from ..runtime.user_code import raising_line


def lowering_error(
    error: Exception, op: str, run: Callable[[], object], asked: Iterable[tuple[str, SourceLine]] = ()
) -> LoweringError:
    """The error to raise for one of torch.export.

    Args:
        error: the exception of torch.export.
        op: the op's name.
        run: runs the model on the example; if that fails too, its own error is reported.
        asked: what the model asks about its export, with the line of each question.
    """
    try:
        run()
    except Exception as own:
        return LoweringError(
            "the model itself fails on this example", where=_where(op, own), got=first_sentence(own),
            fix="Give it inputs that it takes.",
        )  # fmt: skip
    where = _where(op, error)
    if _comes_from("transformers.generation.utils", error):
        return LoweringError(
            "model.generate(...) is Python around the model, which cannot be lowered",
            where=where,
            fix="Script the model alone, and write the loop with tracepack.while_loop, as 'Text generation' in "
            "docs/guide.md and samples/generate.py do.",
        )
    if type(error).__name__ == "GuardOnDataDependentSymNode":
        if _comes_from("torch.distributions.", error, _CHECKS):
            return LoweringError(
                "a distribution of torch checks its data in a way that torch.export does not follow",
                where=where,
                fix="Give it validate_args=False.",
            )
        for question, line in asked:
            return LoweringError(
                f"Python needs a value here that only the data of a run decides: the model asks {question}, and goes "
                "the way of a plain run, as the file must",
                where=where,
                got=f"the question in {line}",
                fix="Check the data before or after the op, in the traced function, or go one way always.",
            )
        return LoweringError(
            "Python needs a value here that only the data of a run decides",
            where=where,
            fix="Use torch.where or tracepack.cond(pred, true_fn, false_fn, *args) there, or torch.jit.script it.",
        )
    return LoweringError(
        "torch.export cannot lower it",
        where=where,
        got=first_sentence(error),
        fix="Rewrite that part, or use torch.jit.script or tracepack.cond for branches on data.",
    )


def fixes_ones(name: str) -> LoweringError:
    """The error where torch.export fixed a size to the 2 that was tried in place of a size of 1 in the example."""
    return LoweringError(
        "torch.export fixes a size of the example that is 1 to another size",
        where=f"op {name!r}",
        fix="Trace with larger sizes.",
    )


def undecided(where: str) -> LoweringError:
    """The error where a later call of the model took another branch on data than the first."""
    return LoweringError(
        "data decides which branch the model takes, and only one branch was lowered",
        where=where,
        fix="Rewrite that part with torch.where or tracepack.cond, or use torch.jit.script.",
    )


_CHECKS = ("__init__", "check", "_validate_sample")
"""The functions of distributions that check what they are given."""


def _comes_from(module: str, error: Exception, functions: Collection[str] = ()) -> bool:
    """Whether an error came through a module, or some functions of it: the text generation of transformers.

    Args:
        module: how its name begins.
        error: the error.
        functions: their names; empty for any.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    inside = [each for each in frames if each.f_globals.get("__name__", "").startswith(module)]
    return bool(inside) and (not functions or inside[-1].f_code.co_name in functions)


def _where(op: str, error: Exception) -> str:
    line = raising_line(error.__traceback__)
    return f"op {op!r}, {line}" if line and line.code else f"op {op!r}"  # generated code has no file to read lines from


def first_sentence(error: BaseException) -> str:
    """The type of an error and the first sentence of its text, without torch's names for free sizes."""
    sentence = re.split(r"\n|\.\s", str(error).strip(), maxsplit=1)[0][:300]
    text = re.sub(r"\bs\d+\b", "?", sentence)
    return f"{type(error).__name__}: {text}".rstrip(". :")
