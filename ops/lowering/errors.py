"""Errors of torch.export as the user reads them: the line of the model, the cause, and what to do."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

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
    operator = _without_fake(error)
    calls = _Calls(operator)
    try:
        with calls:
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
    if operator is not None:
        form = _fake_kernel(operator, calls.seen)
        return LoweringError(
            f"the operator {operator.name()} has no fake kernel, which tells torch.export the shape of what it gives",
            where=where,
            fix=f"Register one beside the operator, with the shape that it gives: {form}.",
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


def _without_fake(error: Exception) -> Any:
    """The operator of a package, the lack of whose fake kernel an error is about; None for another error."""
    if type(error).__name__ == "UnsupportedOperatorException":
        found: Any = getattr(error, "func", None)
        return None if found is None or found.namespace in _OF_TORCH else found
    said = _NO_FAKE.search(str(error))
    return None if said is None else getattr(getattr(torch.ops, said[1]), said[2]).default


_OF_TORCH = ("aten", "prim", "prims")
_NO_FAKE = re.compile(r"no fake impl registered for <CustomOpDef\((\w+)::(\w+)\)>")
"""What torch says where an operator of `torch.library.custom_op` has none."""


class _Calls(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Notes what an operator is given and gives in a plain run.

    Args:
        operator: the operator; None for none.

    Attributes:
        seen: the arguments by their names, and the results, of its last call.
    """

    def __init__(self, operator: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.operator = operator
        self.seen: tuple[dict[str, Any], list[Any]] | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs any operator."""
        found = func(*args, **(kwargs or {}))
        if func is self.operator:
            names = [each.name for each in func._schema.arguments]
            results = [found] if len(func._schema.returns) == 1 else list(found or ())
            self.seen = (dict(zip(names, args, strict=False)) | (kwargs or {}), results)
        return found


_DYNAMIC = "torch.library.get_ctx().new_dynamic_size()"


def _fake_kernel(operator: Any, seen: Any) -> str:
    """Code that registers a fake kernel for an operator: each size is one of an argument, or one that data decides.

    Args:
        operator: the operator.
        seen: what it was given and gave; None where that is not known.
    """
    given, made = operator._schema.arguments, operator._schema.returns
    tensors = [(each.name, str(each.type)) for each in given if "Tensor" in str(each.type)]
    first, kind = tensors[0] if tensors else ("", "")
    like = f"{first}[0]" if "[" in kind else first
    one = f"{like}.new_empty({like}.shape)" if first else "torch.empty(())"
    results = [f"[{one}]" if str(each.type).startswith("List") else one for each in made]
    if seen is not None:
        results = [_made_like(each, dict(_named_tensors(seen[0])), seen[0]) for each in seen[1]]
    body = (results[0] if len(results) == 1 else f"({', '.join(results)})") if made else "None"
    names = list[str]()
    for each in given:
        names += ["*"] if each.kwarg_only and "*" not in names else []
        names.append(f"{each.name}={_default(each.default_value)}" if each.has_default_value() else each.name)
    return f"torch.library.register_fake({operator.name()!r}, lambda {', '.join(names)}: {body})"


def _named_tensors(given: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors among arguments, as code writes them."""
    for name, value in given.items():
        for place, each in enumerate(value) if isinstance(value, list | tuple) else ((None, value),):
            if isinstance(each, torch.Tensor):
                yield (name if place is None else f"{name}[{place}]"), each


def _made_like(result: Any, tensors: Mapping[str, torch.Tensor], given: Mapping[str, Any]) -> str:
    """Code that makes a result of the same dtype and shape."""
    if isinstance(result, list | tuple):
        return f"[{', '.join(_made_like(each, tensors, given) for each in result)}]"
    if not isinstance(result, torch.Tensor):
        return _DYNAMIC if type(result) is int else repr(result)
    alike = [name for name, each in tensors.items() if each.shape == result.shape]
    base = next((name for name in alike if tensors[name].dtype == result.dtype), next(iter([*alike, *tensors]), ""))
    dtype = "" if base and tensors[base].dtype == result.dtype else f", dtype={result.dtype}"
    if alike:
        return f"{base}.new_empty({base}.shape{dtype})"
    known = {size: f"{name}.shape[{dim}]" for name, each in tensors.items() for dim, size in enumerate(each.shape)}
    known |= {value: name for name, value in given.items() if type(value) is int}
    sizes = [
        next((f"{n}.shape[{dim}]" for n, each in tensors.items() if each.shape[dim : dim + 1] == (size,)), "")
        or known.get(size, _DYNAMIC)
        for dim, size in enumerate(result.shape)
    ]
    return f"{base + '.new' if base else 'torch.'}{'_' * bool(base)}empty([{', '.join(sizes)}]{dtype})"


def _default(value: Any) -> str:
    """A default as code writes it: a fake kernel asks for none that is no number, flag or text."""
    return repr(value) if isinstance(value, bool | int | float | str) else "None"


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
