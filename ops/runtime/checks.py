"""The checks of the inputs and outputs of ops and pipelines.

A flat replay of operators without these checks answers wrongly where a model specialised on a size, so they are part
of correctness. They run once for each new input signature (see `plan`), so they favour clarity over speed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any

import torch

from ..graph.errors import GuardError, NonContiguousOutputError, SignatureError
from ..graph.graph import Body, Facts
from ..graph.guards import FUNCTIONS, Expression
from ..graph.types import ListType, ScalarType, TensorType, Type

Check = Callable[[Sequence[Any]], None]
MOST_PASSED = 4096  # forms of inputs that a check remembers: where sizes depend on data it is asked in every run


def tensor_check(
    where: str,
    names: Sequence[str],
    types: Sequence[Type],
    facts: Facts,
    *,
    letters: bool = True,
    pins: Mapping[tuple[int, int], str] = MappingProxyType({}),
) -> Check:
    """Makes the function that checks flat inputs against their types and the facts about their sizes.

    Args:
        where: the op or pipeline of the inputs, such as ``"op 'cell'"``, at the beginning of every message.
        names: a name for each input.
        types: a type for each input; a symbol's first place defines it.
        facts: the symbols and the guards over them.
        letters: whether messages use the symbols, as a pipeline's signature does, or name inputs and dimensions.
        pins: the reason for a fixed size, by input and dimension.

    Returns:
        A function of the flat inputs that raises SignatureError, naming the input, where they do not fit.
    """
    compiled = [(guard, guard.compile(facts.symbols)) for guard in facts.guards]
    passed: set[Any] = set()

    def check(values: Sequence[Any]) -> None:
        key = _key(values)
        if key is not None and key in passed:
            return
        sizes: dict[str, int] = {}
        for name, kind, value in zip(names, types, values, strict=True):
            if isinstance(kind, TensorType):
                _check_tensor(f"{where}, input {name!r}", kind, value)
            else:
                _check_scalar(f"{where}, input {name!r}", kind, value)
        for symbol, (index, dim) in facts.symbols.items():
            sizes[symbol] = size_of(values[index], dim)
        for index, (name, kind, value) in enumerate(zip(names, types, values, strict=True)):
            if isinstance(kind, TensorType):
                blame = {dim: pins[index, dim] for dim in range(len(kind.shape)) if (index, dim) in pins}
                _check_sizes(f"{where}, input {name!r}", kind, value, sizes, facts, names, blame)
        for guard, holds in compiled:
            if not _holds(holds, sizes):
                raise _guard_error(where, guard, sizes, facts, names, types, letters)
        if key is not None and len(passed) < MOST_PASSED:
            passed.add(key)

    return check


_FITS = """\
def fits({names}):
    try:
        {shapes}
        return bool({all})
    except (ArithmeticError, ValueError, TypeError):
        return False
"""  # one function, since each that runs is read from memory anew; see `_holds`


def sizes_check(types: Sequence[TensorType], facts: Facts) -> Callable[..., bool]:
    """Makes the function that tells at once whether plain tensors fit, and says nothing of what does not.

    Args:
        types: a type for each input.
        facts: the symbols and the guards over them.

    Returns:
        A function of the flat inputs, of the dtypes of their types, that is true where they are contiguous and
        `tensor_check` raises nothing.
    """
    numbered = range(len(types))
    conditions = [f"len(s{index}) == {len(types[index].shape)} and x{index}.is_contiguous()" for index in numbered]
    for index, kind in enumerate(types):
        for dim, size in enumerate(kind.shape):
            first = facts.symbols[size] if isinstance(size, str) else None
            if first != (index, dim):
                # The numbers of a file are written as such only: what follows becomes code.
                wanted = format(size, "d") if first is None else "s{:d}[{:d}]".format(*first)
                conditions.append(f"s{index}[{dim}] == {wanted}")
    places = {symbol: f"s{index:d}[{dim:d}]" for symbol, (index, dim) in facts.symbols.items()}
    # A guard is an expression of the grammar, in which only symbols are names.
    conditions += [f"({guard.shown(places)})" if guard.symbols <= places.keys() else "False" for guard in facts.guards]
    names = ", ".join(f"x{index}" for index in numbered)
    shapes = "; ".join(f"s{index} = x{index}.shape" for index in numbered)
    namespace: dict[str, Any] = {**FUNCTIONS}
    source = _FITS.format(names=names, shapes=shapes, all=" and ".join(conditions))
    exec(compile(source, "<tracepack sizes>", "exec"), namespace)
    fits: Callable[..., bool] = namespace["fits"]
    return fits


def _key(values: Sequence[Any]) -> Any:
    """All that a check asks of plain tensors; None for other values, and where torch follows what is asked."""
    if torch.compiler.is_dynamo_compiling() or torch._C._is_tracing():
        return None
    found = []
    for value in values:
        if type(value) is not torch.Tensor or value.layout is not torch.strided or value.is_nested:
            return None
        found += [value.dtype, value.shape]
    return tuple(found)


_NO_FACTS = Facts({}, ())


def check_item(where: str, kind: Type, value: Any) -> None:
    """Checks an item of a list against its type.

    Raises:
        SignatureError: it is of another kind, dtype or rank, or of another size than ops need.
    """
    if isinstance(kind, TensorType):
        _check_tensor(where, kind, value)
        _check_sizes(where, kind, value, {}, _NO_FACTS, (), {})
    else:
        _check_scalar(where, kind, value)


def not_a_tensor(where: str, kind: TensorType, value: Any) -> SignatureError:
    """The error of what should be a tensor, with what to give for one that is missing."""
    fix = _in_place_of_none(kind) if value is None else ""
    if fix and where.endswith("'") and where.count("'") == 2:  # a parameter, no part of one
        fix = f"{fix} Or give the parameter the default None, and trace anew: calls may then leave it out."
    return SignatureError("not a tensor", where=where, got=type(value).__name__, expected=str(kind), fix=fix)


def wrong_keys(given: Any, wanted: Collection[Any]) -> str:
    """What is wrong with the keys of a dict: one that is unknown before one that is missing, as of the inputs."""
    if not isinstance(given, Mapping):
        return "another structure"
    for unknown in sorted(repr(key) for key in given if key not in wanted):
        return f"unknown key {unknown}"
    for missing in sorted(repr(key) for key in wanted if key not in given):
        return f"missing key {missing}"
    return "the keys are in another order"


def _in_place_of_none(kind: TensorType) -> str:
    """What to give for a tensor that is missing; empty where no tensor of the kind is empty."""
    sizes = [size if isinstance(size, int) else 0 for size in kind.shape]
    if 0 not in sizes:
        return ""
    options = "" if kind.dtype == "float32" else f", dtype=torch.{kind.dtype}"
    made = f"torch.empty({', '.join(map(str, sizes))}{options})"
    return f"Pass an empty tensor that stands for None, {made}, for which the function asks: `if mask.numel():`."


def _check_tensor(where: str, kind: TensorType, value: Any) -> None:
    if not isinstance(value, torch.Tensor):
        raise not_a_tensor(where, kind, value)
    if value.is_nested or str(value.layout) != "torch.strided":
        found = "nested" if value.is_nested else str(value.layout).removeprefix("torch.")
        raise SignatureError("not a plain tensor", where=where, got=f"a {found} tensor", expected=str(kind))
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype != kind.dtype:
        raise SignatureError(
            "wrong dtype", where=where, got=dtype, expected=kind.dtype,
            fix=f"Pass .to(torch.{kind.dtype}) of a tensor, .astype('{kind.dtype}') of an array.",
        )  # fmt: skip
    if value.dim() != len(kind.shape):
        raise SignatureError(
            "wrong rank",
            where=where,
            got=f"shape {tuple(value.shape)}",
            expected=f"{len(kind.shape)} dimensions, {kind}",
        )


def _check_scalar(where: str, kind: ScalarType | ListType, value: Any) -> None:
    expected: dict[str, tuple[type, ...]] = {
        "int": (int,), "float": (float, int), "bool": (bool,), "complex": (complex,), "str": (str,), "strings": (list,),
    }  # fmt: skip
    wanted = expected.get(kind.kind)
    if wanted is None:
        return
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        fix = _FOR_NONE.get(kind.kind, "") if value is None else ""
        fix = "Pass str(device)." if isinstance(value, torch.device) and str in wanted else fix
        raise SignatureError("wrong type", where=where, got=type(value).__name__, expected=kind.kind, fix=fix)
    items: Any = value if wanted == (list,) else (value,)
    for item in items:
        if type(item) not in _PLAIN:  # some print or compare otherwise than their values
            member = isinstance(item, Enum)
            found = f"a member of {type(item).__name__}" if member else f"a {type(item).__name__}, a subclass"
            of = next(plain.__name__ for plain in _PLAIN if isinstance(item, plain))
            fix = "Pass its value." if member else f"Pass {of}(value)."
            raise SignatureError("wrong type", where=where, got=found, expected=kind.kind, fix=fix)


_PLAIN = (bool, int, float, complex, str)
_FOR_NONE = {
    "int": "Pass a number that stands for None, such as -1, for which the function asks.",
    "float": "Pass float('nan') for None, and ask for it by math.isnan.",
    "str": "Pass a text that stands for None, such as '', for which the function asks.",
}
"""Kinds of inputs -> what to do where a value may be missing."""


def _check_sizes(
    where: str,
    kind: TensorType,
    value: Any,
    sizes: dict[str, int],
    facts: Facts,
    names: Sequence[str],
    blame: Mapping[int, str],
) -> None:
    for dim, wanted in enumerate(kind.shape):
        size = value.size(dim)
        if isinstance(wanted, int) and size != wanted:
            raise SignatureError(
                f"dimension {dim} has a wrong size",
                where=where,
                got=f"{size} in shape {tuple(value.shape)}",
                expected=wanted,
                fix=blame.get(dim, ""),
            )
        if isinstance(wanted, str) and wanted in sizes and size != sizes[wanted]:
            index, other = facts.symbols[wanted]
            raise SignatureError(
                f"dimension {dim} must equal dimension {other} of {names[index]!r}",
                where=where,
                got=f"{size} in shape {tuple(value.shape)}",
                expected=sizes[wanted],
            )


def _holds(condition: Callable[..., Any], sizes: dict[str, int]) -> bool:
    try:
        return bool(condition(*sizes.values()))
    except (ArithmeticError, ValueError, TypeError):  # a power gave a complex number
        return False


def _guard_error(
    where: str,
    guard: Expression,
    sizes: dict[str, int],
    facts: Facts,
    names: Sequence[str],
    types: Sequence[Type],
    letters: bool,
) -> SignatureError:
    used = {symbol: place for symbol, place in facts.symbols.items() if symbol in guard.symbols}
    text = guard.plain
    if letters:
        found = [f"{s} = {sizes[s]} ({_place(names[i], dim, types[i])})" for s, (i, dim) in used.items()]
    else:
        shown = {symbol: _reading(names[i], dim, types[i]) for symbol, (i, dim) in used.items()}
        text = guard.shown(shown)
        found = [f"{shown[symbol]} = {sizes[symbol]}" for symbol in used]
    return SignatureError(f"the sizes do not satisfy {text}", where=where, got=", ".join(found))


def _reading(name: str, dim: int, kind: Type) -> str:
    return f"{name}.size({dim})" if isinstance(kind, TensorType) else name


def size_of(value: Any, dim: int) -> int:
    """The value of a symbol: a size of a tensor, or the number that is the input."""
    size: int = value.size(dim) if hasattr(value, "size") else value  # symbolic where torch traces the caller
    return size


def _place(name: str, dim: int, kind: Type) -> str:
    return f"dimension {dim} of {name!r}" if isinstance(kind, TensorType) else repr(name)


def input_check(body: Body) -> Callable[..., None]:
    """The check of an op's inputs, as a function of them."""
    types = [value.type for value in body.graph.inputs]
    check = tensor_check(f"op {body.name!r}", body.inputs, types, body.facts, letters=False)

    def check_inputs(*values: Any) -> None:
        check(values)

    return check_inputs


def output_check(name: str) -> Callable[..., None]:
    """The check that the outputs of an op of this name are contiguous, as a function of them."""

    def check_outputs(*outputs: Any) -> None:
        require_contiguous(name, outputs)

    return check_outputs


def require_contiguous(op: str, outputs: Sequence[Any]) -> None:
    """Checks the rule that every output of an op is contiguous.

    Raises:
        NonContiguousOutputError: one is not; the message says which.
    """
    for index, tensor in enumerate(outputs):
        if not tensor.is_contiguous():
            raise NonContiguousOutputError(
                f"output {index} is not contiguous",
                where=f"op {op!r}",
                got=f"shape {tuple(tensor.shape)} with strides {tuple(tensor.stride())}",
                fix="Pass contiguous=True to script(), or call .contiguous() on it in the model.",
            )


def fail_guard(expected: Any, reason: str, line: Any) -> Callable[[Any], None]:
    """Makes the function that a failed guard calls with the value that it found."""

    def fail(found: Any) -> None:
        raise GuardError(reason, where=str(line or ""), got=repr(found), expected=repr(expected))

    return fail
