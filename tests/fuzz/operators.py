"""Hostile calls of every operator that a file may name: none may end the process, hang it, or show foreign memory.

A call goes the way of one from a file: its node is checked as `load` checks it, then what `resolve` gives is called. It
is made twice over differently poisoned memory; where the results differ in any bit, they show memory that nobody wrote.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import torch

from tests.fuzz.children import Loss, survive
from tests.fuzz.edges import Edges
from tests.fuzz.hostile import Hostile
from tracepack.ops.graph.device import CPU
from tracepack.ops.graph.graph import Literal, Node, Operator, Value
from tracepack.ops.graph.operators.names import OF_ARRAYS
from tracepack.ops.graph.traverse import leaves, map_leaves
from tracepack.ops.graph.types import ARRAY
from tracepack.ops.runtime.primitives.callables import resolve
from tracepack.ops.runtime.safety.arguments import check_arguments
from tracepack.ops.runtime.source import torch_object

POISON = (0xA5, 0x3B)
AT_EDGES = 1 << 30
"""The number of the first call with arguments at the edges of their types: those before are mostly plain ones."""
_SOURCE = Path(__file__).parent / "poison.c"


def try_operator(name: str, calls: int, first: int = 0) -> list[Loss]:
    """Makes hostile calls of an operator in children.

    Args:
        name: of the operator.
        calls: how many.
        first: the number of the first; equal numbers are equal calls.

    Returns:
        The calls that went wrong, five at most.
    """
    return [
        Loss(loss.index + first, loss.outcome) for loss in survive(calls, lambda index: attempt(name, first + index))
    ]


def attempt(name: str, index: int) -> str:
    """One hostile call, twice over poisoned memory; returns what is wrong with its results, or nothing."""
    results = []
    for byte in POISON if poisoned() is not None else POISON[:1]:
        results.append(_call(name, index, byte))
        if results[-1] is None:
            return ""
    if len(results) == 2 and results[0] != results[1]:
        return "uninitialised"
    return ""


def _call(name: str, index: int, byte: int) -> list[bytes] | None:
    source = (Hostile if index < AT_EDGES else Edges)(f"{name}/{index}")
    args, kwargs = arguments(name, source)
    node = Node(Operator(name), tuple(args), kwargs)
    torch.manual_seed(0)
    try:
        check_arguments(node)
        function = resolve(name)
        live = map_leaves(lambda leaf: _live(leaf, source), (node.args, node.kwargs))
        with watched(byte):
            result = function(*live[0], **live[1])
        return [bytes_of(leaf) for leaf in leaves(result)]
    except Exception:
        return None


def _live(leaf: Any, source: Hostile) -> Any:
    if isinstance(leaf, Value):
        return source.tensors[id(leaf)]
    return torch_object(leaf, CPU) if isinstance(leaf, Literal) else leaf


def bytes_of(leaf: Any) -> bytes:
    """The content of a result; of large ones the beginning."""
    if isinstance(leaf, torch.Tensor):
        if leaf.layout is not torch.strided or leaf.numel() > 1 << 22:
            return b""
        leaf = leaf.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        return bytes(leaf.view(torch.uint8).numpy().tobytes()) if leaf.numel() else b""
    if isinstance(leaf, numpy.ndarray | numpy.generic):
        return leaf.tobytes() if leaf.nbytes < 1 << 22 and not leaf.dtype.hasobject else b""
    return repr(leaf).encode()[:1000] if isinstance(leaf, int | float | complex | str) else b""


# -- arguments -------------------------------------------------------------------------------------------------


def arguments(name: str, source: Hostile) -> tuple[list[Any], dict[str, Any]]:
    """Hostile arguments for an operator, from a schema where there is one."""
    if name.startswith(OF_ARRAYS):
        return _of_numpy(name, source)
    schemas = _schemas(name)
    if not schemas or (not name.startswith("aten.") and source.random.random() < 0.2):
        return _of_signature(name, source)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for kind, argument, keyword, optional in source.random.choice(schemas):
        named = keyword
        if optional and source.random.random() < 0.4:
            named = True
            if source.random.random() < 0.6:
                continue
        if named or kwargs:
            kwargs[argument] = source.of(kind, argument)
        else:
            args.append(source.of(kind, argument))
    return args, kwargs


@cache
def _schemas(name: str) -> list[list[tuple[str, str, bool, bool]]]:
    """The schemas that a name may mean: its own, or those of the ATen operators of the same name."""
    if name.startswith("aten."):
        base, which = name.removeprefix("aten.").rsplit(".", 1)
        found = [torch._C._get_schema(f"aten::{base}", "" if which == "default" else which)]
    elif name.startswith("torch."):
        found = torch._C._jit_get_schemas_for_operator(f"aten::{name.rsplit('.', maxsplit=1)[-1]}")
    else:
        found = []
    return [
        [(str(a.real_type), a.name, a.kwarg_only, a.has_default_value()) for a in schema.arguments]
        for schema in found
        if not any(a.is_out for a in schema.arguments)
    ]


def _of_signature(name: str, source: Hostile) -> tuple[list[Any], dict[str, Any]]:
    """As many arguments as a Python function takes, or a few."""
    if name.startswith("py."):
        count = source.random.choice((1, 1, 2, 2, 2, 3))
        kinds = ("int", "int", "float", "Tensor", "str", "List[int]", "bool", "number")
        return [source.of(source.random.choice(kinds)) for _ in range(count)], {}
    try:
        parameters = list(inspect.signature(resolve(name)).parameters.values())
    except (ValueError, TypeError):
        return [source.anything() for _ in range(source.random.choice((1, 2, 2, 3, 3, 4)))], {}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.default is not parameter.empty and source.random.random() < 0.5:
            continue
        kind = _guess(parameter)
        made = source.of(kind, parameter.name) if kind else source.anything()
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty:
            kwargs[parameter.name] = made
        elif parameter.kind is not parameter.VAR_KEYWORD:
            args.append(made)
    return args, kwargs


def _guess(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if type(default) in (bool, int, float, str):
        return type(default).__name__
    words = str(parameter.annotation)
    if "Tensor" in words and "list" not in words.lower():
        return "Tensor"
    return ""


def _of_numpy(name: str, source: Hostile) -> tuple[list[Any], dict[str, Any]]:
    count = source.random.choice((1, 1, 2, 2, 2, 3, 3, 4))
    args = [_for_numpy(source, first=index == 0) for index in range(count)]
    kwargs: dict[str, Any] = {}
    if source.random.random() < 0.3:
        key = source.random.choice(("axis", "dtype", "out", "where", "keepdims", "mode", "order", "axes", "copy"))
        kwargs[key] = source.integer() if key in ("axis", "axes") else _for_numpy(source, first=False)
    return args, kwargs


def _for_numpy(source: Hostile, *, first: bool) -> Any:
    if first or source.random.random() < 0.4:
        array = source.tensor()
        if array.dtype in (torch.bfloat16, torch.complex32) or "float8" in str(array.dtype):
            array = array.to(torch.complex64 if array.dtype.is_complex else torch.float32)
        made = source.value(array.numpy())
        made.type = ARRAY
        return made
    kinds = ("int", "int", "float", "bool", "str", "List[int]", "number")
    if source.random.random() < 0.1:
        names = ("float32", "int64", "bool", "complex128", "uint8", "object", "V8", "U10", "O")
        return Literal("numpy.dtype", source.random.choice(names))
    if source.random.random() < 0.1:
        return [_for_numpy(source, first=True) for _ in range(source.random.choice((1, 2, 3)))]
    return source.of(source.random.choice(kinds))


# -- poisoned memory -------------------------------------------------------------------------------------------


@cache
def poisoned() -> Any:
    """The byte that the allocator fills memory with (-1: none), or None where the process has no such allocator."""
    if "TRACEPACK_POISON" not in os.environ:
        return None
    library = ctypes.CDLL(os.environ["TRACEPACK_POISON"])
    return ctypes.c_int.in_dll(library, "poison_byte")


@contextmanager
def watched(byte: int) -> Iterator[Callable[[], bool]]:
    """While it is entered, new memory is poisoned; gives whether anything was written past the end of some."""
    lever = poisoned()
    if lever is None:
        yield lambda: False
        return
    library = ctypes.CDLL(os.environ["TRACEPACK_POISON"])
    broken = ctypes.c_int.in_dll(library, "poison_broken")
    broken.value, lever.value = 0, byte
    try:
        yield lambda: bool(broken.value)
    finally:
        lever.value = -1
        library.poison_look()


def with_poison(command: Sequence[str]) -> int:
    """Runs a command under the poisoning allocator, where a C compiler can be found; else as it is."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "poison.so")
        environment = dict(os.environ)
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, str(_SOURCE), "-ldl"], check=True)
            environment |= {"LD_PRELOAD": library, "TRACEPACK_POISON": library}
        except (OSError, subprocess.CalledProcessError):
            print("no C compiler: memory that nobody wrote is not looked for", file=sys.stderr)
        return subprocess.run(command, env=environment, check=False).returncode


# -- journal ---------------------------------------------------------------------------------------------------


def run(names: Iterable[str], calls: int, journal: Path, first: int = 0) -> dict[str, Any]:
    """Tries operators and appends a line of JSON for each to a journal, which a later run goes on from."""
    kind = "hostile" if first < AT_EDGES else "edges"
    return journaled(names, calls, journal, lambda name: try_operator(name, calls, first), kind)


def journaled(
    names: Iterable[str], calls: int, journal: Path, attempt: Callable[[str], Sequence[Any]], kind: str = "hostile"
) -> dict[str, Any]:
    """What a journal says of operators, after those that it lacks were tried and a line of JSON appended for each."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known: dict[str, Any] = {}
    if journal.exists():
        known = {row["name"]: row for row in map(json.loads, journal.read_text(encoding="utf-8").splitlines())}
    with journal.open("a") as file:
        for name in names:
            if name in known and known[name]["calls"] >= calls:
                continue
            began = time.perf_counter()
            losses = attempt(name)
            known[name] = {
                "name": name,
                "kind": kind,
                "calls": calls,
                "losses": [[loss.index, loss.outcome] for loss in losses],
                "seconds": round(time.perf_counter() - began, 2),
            }
            file.write(json.dumps(known[name]) + "\n")
            file.flush()
    return known
