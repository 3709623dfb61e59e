"""Explains a recording that failed: by the function's own error, or by the line that a graph cannot hold."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from pathlib import PurePath
from types import FunctionType
from typing import Any

import torch

from ..ops.graph.errors import GuardError, RecordError, TracepackError, add_place
from ..ops.runtime.user_code import attribute, codes_in, first_line, library_lines, own_line, raising_line
from ..ops.tracing_hook import plainly
from .examples import Examples
from .patches.print import muted
from .proxies.sets import UNORDERED
from .recheck.mismatch import UNSEEN
from .recheck.reach.written.written_codes import code_as_written
from .recording.guards import ON_ARRAYS
from .recording.recorder import Recorder
from .recording.rollback import Undo
from .rules.advice.before_calls import OP_BEFORE, before_call, shuffled
from .rules.advice.flag_forms import chosen_call
from .rules.advice.instead import in_package, instead
from .rules.advice.loop_forms import of_set
from .rules.advice.plain_models import (
    GENERATES,
    LOOP_OF_TOKENS,
    OF_PACKAGE,
    OP_OF_TOKENIZER,
    form_for_model,
    is_within_generate,
)
from .rules.custom_operators import GENERAL
from .rules.torch_functions import TRANSFORMS
from .signature.handlers import form_for

_TEXT_OPTION = "Leave it to a default of your function, or branch on it: if reduce == 'sum': ..."
_PLAIN_TEXT = (
    "Use methods of str, f-strings, re with a constant pattern, or tracepack.lookup(table, text); or do it before, and "
    "pass what it gives as an argument."
)
_PLAIN_BYTES = (
    "Take numpy.frombuffer(data, dtype=numpy.uint8), torch.frombuffer or data.decode(), or do it before, and pass what "
    "it gives as an argument."
)
_GIVEN_TEXT = r"TracedStr|must be str|^(eval|exec|compile)\(\) arg 1 must be a string|bad argument type for built-in"
"""What Python says where a text of the recording is no text to it."""
_GIVEN_TOKENIZER = r"(TextInput|TextEncodeInput|InputSequence)\w* must be "  # as tokenizers.Tokenizer says it
_FLAG = "Leave it to a default of your function, or branch on it: "
_OF_SUM = "x.sum(0, keepdim=True) if keep else x.sum(0)"


def _of_transformers(error: Exception) -> bool:
    """Whether a model of transformers raised an error."""
    modules = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(str(name).startswith("transformers.models.") for name in modules)


def advice_on(what: str, numbers: bool, user: Any) -> str:
    """What to do where graph and function answer otherwise.

    Args:
        what: differs.
        numbers: whether an argument is a number of numpy.
        user: the function.
    """
    if numbers:
        return (
            "An argument is a number of numpy, which a pipeline takes as a plain one: pass int(n) or float(n), or an "
            "array."
        )
    if what.startswith("a bool instead of a tensor"):
        return "Write (a < x) & (x < b) of tensors, or bool(a < x < b)."
    if "instead of a set" in what:
        return "Return sorted(items) for a set."
    if what.startswith(_OF_KERNELS) and (name := _raw_model(user)):
        return (
            f"The model {name} runs other kernels while it is recorded. {OP_BEFORE}"
            f"{name} = tracepack.script({name}, contiguous=True)."
        )
    return UNSEEN


_CHANGED_LIST = "an item of a list of any length cannot be changed"
_OF_KERNELS = ("other values of", "strides ")


def _raw_model(user: Any) -> str:
    """How a function calls a model that is no op; empty where it names none."""
    return next((name for name, _ in _raw_models(user)), "")


def _raw_models(user: Any) -> list[tuple[str, torch.nn.Module]]:
    """The models that are no ops in a function, with how it calls them."""
    owner, function = attribute(user, "__self__", None), attribute(user, "__func__", user)
    if not isinstance(function, FunctionType):
        owner, function = user, attribute(type(user), "__call__", None)
    if not isinstance(function, FunctionType):
        return []
    code = code_as_written(function)
    known = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    names = sorted({name for inner in codes_in(code) for name in (*inner.co_names, *inner.co_freevars)})
    found = [(name, known.get(name)) for name in names]
    found += [(f"self.{name}", attribute(owner, name, None)) for name in names]
    return [(name, each) for name, each in found if isinstance(each, torch.nn.Module)]


def blamed(error: Exception, process: Callable[..., Any], examples: Examples) -> Exception:
    """The error that the function raises unrecorded too; otherwise a RecordError with the line that failed."""
    args, kwargs = examples.call(examples.alike(examples.leaves))
    try:
        undo = Undo(None)
        with torch.no_grad(), undo.restored(), undo, muted(), plainly():  # what models leave behind counts
            process(*args, **kwargs)
    except Exception as own:
        return own if isinstance(own, TracepackError) else _without_card(own) or with_line_noted(own)
    line, mine = str(raising_line(error.__traceback__) or ""), own_line(error.__traceback__)
    line = line if mine is None or str(mine) == line else f"{line}, called by {mine}"
    if is_within_generate(error.__traceback__):
        return RecordError(GENERATES, where=line, fix=LOOP_OF_TOKENS)
    if re.search(_GIVEN_TOKENIZER, str(error)):
        return RecordError("a tokenizer was given a text of the recording", where=line, fix=OP_OF_TOKENIZER)
    if re.search(_GIVEN_TEXT, str(error)):
        first = str(error).splitlines()[0].replace(", not TracedStr", "")
        ours = "(): argument '" in first  # as torch's parser of arguments says it
        kind = "of torch" if ours else "that takes plain texts"
        return RecordError(
            f"a function {kind} was given a text that is decided at run time",
            where=line,
            got=first,
            fix=_TEXT_OPTION if ours else instead(raising_line(error.__traceback__)) or _PLAIN_TEXT,
        )
    if "TracedBytes" in str(error):
        return RecordError(
            "code that takes plain bytes was given bytes that are decided at run time",
            where=line,
            got=str(error).splitlines()[0].replace("TracedBytes", "bytes of the recording"),
            fix=instead(raising_line(error.__traceback__)) or _PLAIN_BYTES,
        )
    if "__bool__ should return bool" in str(error):
        return RecordError(
            "a branch on an object, whose __bool__ gives what is decided at run time",
            where=line,
            fix="Write item.__bool__() for item, as in `if item.__bool__():`.",
        )
    if "TracedBool" in str(error):
        said = str(error).splitlines()[0].replace(", not TracedBool", "").replace("TracedBool", "bool")
        form = chosen_call(raising_line(error.__traceback__), said) or _OF_SUM
        return RecordError(
            "a function that takes plain flags was given one that is decided at run time",
            where=line,
            got=said,
            fix=OF_PACKAGE.format(_raw_model(process) or "model") if _of_transformers(error) else f"{_FLAG}{form}.",
        )
    if "_functorch" in "".join(frame.filename for frame in traceback.extract_tb(error.__traceback__)):
        return RecordError(TRANSFORMS.what, where=line, fix=TRANSFORMS.fix)
    found = RecordError(
        "code that takes plain numbers failed on a number that is decided at run time",
        where=line,
        got=f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}",
        fix=_of_session(error)
        or instead(raising_line(error.__traceback__))
        or "Keep it in arithmetic and torch functions, or do it before, and pass what it gives as an argument.",
    )
    found.__cause__ = error
    return found


def _of_session(error: Exception) -> str:
    """What stands for a session of ONNX Runtime that the function runs; empty for any other error."""
    session = any(
        "onnxruntime" in PurePath(frame.filename).parts for frame in traceback.extract_tb(error.__traceback__)
    )
    form = 'Make an op of the file before the function: op = tracepack.script("model.onnx"), and call op(x).'
    return form if session else ""


def _without_card(error: Exception) -> RecordError | None:
    """The error of a function that names a card which this machine lacks; None for any other."""
    if torch.cuda.is_available() or not re.search(r"compiled with CUDA|NVIDIA driver|CUDA driver", str(error)):
        return None
    found = RecordError(
        "the function names a GPU, and this machine has none",
        where=str(own_line(error.__traceback__) or ""),
        got=str(error).splitlines()[0],
        fix="Leave the device out: each op moves its inputs to its own, tracepack.script(model, device=0), and the "
        "one for torch code is chosen at load.",
    )
    found.__cause__ = error
    return found


def with_own_line(error: TracepackError, later: Exception | None = None, function: Any = None) -> TracepackError:
    """An error that names the line of the function, too, where it names an op, or a line of a library or a model only.

    Args:
        error: the error.
        later: what a library raised in its place, which has come through the function.
        function: whose first line stands for an error of its result.
    """
    trace = (later or error).__traceback__
    own = own_line(trace)
    if error.what.startswith(UNORDERED) and (form := of_set(own)):
        error.fix = error.fix.replace("sorted(…)", form)
        add_place(error, "")
    if isinstance(error, GuardError) and (form := before_call(own)):  # of what a library does with a recorded value
        error.fix = f"{form}."
        add_place(error, "")
    if isinstance(error, RecordError) and error.what.startswith(_CHANGED_LIST) and (form := shuffled(own)):
        error.fix = f"{form}."
        add_place(error, "")
    if isinstance(error, RecordError) and is_within_generate(trace):
        error.what, error.fix, error.got = GENERATES, LOOP_OF_TOKENS, None
        add_place(error, "")
    if isinstance(error, RecordError) and (form := form_for_model(error, trace, _raw_models(function))):
        error.fix = form
        add_place(error, "")
    if own is None and not error.where:
        add_place(error, str(first_line(function) or ""))
    if own is not None and f"{own.file}:" not in error.where:
        package = next(iter(library_lines(trace)), "").partition("/")[0]
        general = ("", GENERAL) if package == "numpy" else ("", GENERAL, ON_ARRAYS)  # no user changes a package's lines
        if isinstance(error, RecordError) and package and error.fix in general:
            error.fix = in_package(package, own)
        if re.search(r":\d+ in ", error.where):
            add_place(error, f"called by {own}")
        else:  # it names an op, an argument or nothing
            add_place(error, str(own), before=True)
    return error


def with_line_noted(error: Exception) -> Exception:
    """An error of the function's own, with a note of the user's line and of the library's.

    Its message may name neither; it stays as it is, and so does the class, since the user's code may ask for them.
    """
    own, below = own_line(error.__traceback__), library_lines(error.__traceback__)
    if own is not None:
        note = f"traced at {own}" + (f"; raised in {below[-1]}" if below else "")
        notes = attribute(error, "__notes__", [])
        if note not in notes:
            error.__notes__ = [*notes, note]  # as `add_note` of Python 3.11 does
    return error


def refuse_swallowed(recorder: Recorder) -> None:
    """Refuses a function that caught an error of torch: other inputs may not raise it."""
    if recorder.failed is not None:
        error, line = recorder.failed
        raise RecordError(
            "the function caught an error of torch, so which branch it takes depends on the inputs",
            where=str(line or ""),
            got=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
            fix=f"Write {form}."
            if (form := form_for(error, line))
            else "Test for the condition before: with sizes, dtypes, or the methods of a text.",
        )


def name_of(process: Callable[..., Any]) -> str:
    """The name of a function as its pipeline has it."""
    return "pipeline" if (name := attribute(process, "__name__", type(process).__name__)) == "<lambda>" else str(name)
