"""The arguments that a function is traced with: each with its name, its kind and its default."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.program import REQUIRED
from ...ops.graph.traverse import leaves
from ...ops.runtime.user_code import attribute, first_line, signature_of

_PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, range)


@dataclass(frozen=True)
class Given:
    """One argument of a call.

    Attributes:
        name: of the parameter.
        kind: ``"positional"``, ``"keyword"``, or ``"variadic"`` for ``*args``.
        value: the example; of a parameter that was left to its default, that default.
        default: the plain value that the function gives it, None for an example of None where it gives none;
            `REQUIRED` where it has none.
        given: whether it is an example, and not a parameter that was left to its default.
        collected: whether it is one of ``**kwargs``.
        lost: the default of the function where it is no plain value, which no signature holds; `REQUIRED` for others.
        own: whether it was left to a list or a dict that the function keeps: no call of the function is given it.
    """

    name: str
    kind: str
    value: Any
    default: Any = REQUIRED
    given: bool = True
    collected: bool = False
    lost: Any = REQUIRED
    own: bool = False


MOST_SHOWN = 64
"""Values in a default that a signature shows; more, such as a vocabulary, belong to the function unseen."""


def arguments(process: Callable[..., Any], examples: tuple[Any, ...], named: dict[str, Any]) -> list[Given]:
    """The arguments of a call, in the order of the function's parameters.

    Parameters that were left to a plain default (None, a number, a string, a dtype, a tuple of these) are among them:
    the recording holds for this value. So are those left to a list or a dict of plain values, which the function may
    change, so that it goes on with its own. Any other default belongs to the function, as what it captures does.

    Raises:
        RecordError: the examples do not fit the function, it has no signature, or a call of it only begins to run it.
    """
    _require_result(process)
    signature, given = _bound(process, examples, named)
    found: list[Given] = []
    skipped = False  # a parameter before was left out, so that later ones must be passed by keyword
    for name, parameter in signature.parameters.items():
        held = is_data(parameter.default) if name in given else is_plain(parameter.default)
        default = parameter.default if held else REQUIRED
        if parameter.default is inspect.Parameter.empty and given.get(name, REQUIRED) is None:
            default = None  # a None need not be given
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            collected = _named_twice(given, name).items()
            found += [Given(key, "keyword", v, None if v is None else REQUIRED, collected=True) for key, v in collected]
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            found += [Given(name, "variadic", given[name])] if name in given else []
        elif name in given or default is not REQUIRED:
            keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY or skipped
            kind = "keyword" if keyword else "positional"
            lost = REQUIRED if held or parameter.default is inspect.Parameter.empty else parameter.default
            found.append(Given(name, kind, given.get(name, default), default, name in given, lost=lost))
        elif _is_shown(parameter.default):
            kind = "keyword" if parameter.kind is inspect.Parameter.KEYWORD_ONLY or skipped else "positional"
            found.append(Given(name, kind, parameter.default, parameter.default, given=False, own=True))
        else:
            skipped = True
    return found


def _require_result(process: Callable[..., Any]) -> None:
    """Checks that a call of a function gives its result.

    Raises:
        RecordError: it gives a coroutine or a generator.
    """
    called = process.forward if isinstance(process, torch.nn.Module) else process
    asked = (_innermost(called), attribute(type(called), "__call__", None))
    functions = [each for each in asked if isinstance(each, FunctionType | MethodType)]
    where = str(first_line(process) or "")
    if any(is_one(each) for each in functions for is_one in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)):
        raise RecordError(
            "trace takes a plain function", where=where, got="one with async", expected="def without async and await",
            fix="Trace what stands between the awaits, as a function of what they give, and call the pipeline there.",
        )  # fmt: skip
    if any(map(inspect.isgeneratorfunction, functions)):
        raise RecordError(
            "trace takes a function that returns its result", where=where, got="a generator, which yields",
            fix="Trace one that returns a list: def process(...): return list(generate(...)).",
        )  # fmt: skip


def _innermost(process: Any) -> Any:
    """The function of a `functools.partial`."""
    while type(process) is partial:
        process = process.func
    return process


def is_data(value: Any) -> bool:
    """Whether a value is plain, or a list, a dict or a namedtuple of such."""
    if isinstance(value, tuple) or type(value) is list:
        return all(map(is_data, value))
    if type(value) is dict:
        return all(type(key) in (str, int, float, bool) and is_data(item) for key, item in value.items())
    return is_plain(value)


def is_plain(value: Any) -> bool:
    """Whether a value is one that a signature can hold and nobody can change."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    if type(value) is slice:
        return is_plain((value.start, value.stop, value.step))
    return type(value) in _PLAIN or issubclass(type(value), Enum)


def _is_shown(default: Any) -> bool:
    """Whether a default is a list or a dict that a signature shows: an empty one is where a function keeps things."""
    return type(default) in (list, dict) and is_data(default) and 0 < len(list(leaves(default))) <= MOST_SHOWN


def _bound(
    process: Callable[..., Any], examples: tuple[Any, ...], named: dict[str, Any]
) -> tuple[inspect.Signature, dict[str, Any]]:
    try:
        if isinstance(process, np.ufunc):
            raise ValueError("its signature has arguments that exclude each other")
        # nn.Module.__call__ takes any arguments; the signature is that of its forward.
        signature = signature_of(process.forward if isinstance(process, torch.nn.Module) else process)
        return signature, dict(signature.bind(*examples, **named).arguments)
    except TypeError as error:
        raise RecordError(f"the examples do not fit the function: {error}") from None
    except ValueError:
        raise RecordError("the function has no signature", fix="Wrap it in a lambda.") from None


def parameters_of(process: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function."""
    return [*signature_of(process.forward if isinstance(process, torch.nn.Module) else process).parameters.values()]


def keywords_name(process: Callable[..., Any]) -> str | None:
    """How a function calls the arguments that it takes by any name; None where it takes none so."""
    return next((each.name for each in parameters_of(process) if each.kind is inspect.Parameter.VAR_KEYWORD), None)


def _named_twice(given: dict[str, Any], name: str) -> dict[str, Any]:
    """The arguments that ``**kwargs`` takes.

    Raises:
        RecordError: one of them is called like a positional-only parameter.
    """
    named: dict[str, Any] = given.get(name, {})
    if twice := sorted((given.keys() - {name}) & named.keys()):
        raise RecordError(f"two arguments are called {twice[0]!r}, which the keys of run() cannot tell apart")
    return named
