"""Makes random inputs for a pipeline without golden examples."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ..ops.graph.errors import GuardError, NodeError, SignatureError
from ..ops.graph.guards import compile_expression
from ..ops.graph.traverse import bodies
from ..ops.graph.types import BOOL, FLOAT, INT, STR, STRINGS, ListType, TensorType, Type
from ..pipeline.pipeline import Pipeline
from ..pipeline.running.rebuild import rebuild
from .exit_codes import UsageError

_TRIED = (8, 4, 2, 3, 6, 12, 16, 1, 5, 7, 32, 64)
_MOST_TRIES = 400
_MOST_SECONDS = 60.0  # for all tries together, each of which runs the file
_MOST_BYTES = 1 << 30  # of the inputs of a try: a file may state any size
_BYTES_OF_ITEM = 100  # of a list, which may be a list itself


def random_feed(pipeline: Pipeline, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Inputs that fit a pipeline: floats in [0, 1), and integers 0 and 1, which are valid indices nearly everywhere.

    Sizes that are not given are found by trial runs, since only a run checks all conditions on them.

    Raises:
        UsageError: a size is unknown, the inputs would take more than 1 GiB, or no size tried fits.
    """
    facts = pipeline.program.facts
    unknown = set(sizes) - set(facts.symbols)
    if unknown:
        known = f"one of {', '.join(facts.symbols) or 'none: all sizes are fixed'}"
        raise UsageError(f"no size is named {min(unknown)!r}", expected=known)
    generator = torch.Generator().manual_seed(0)
    reason, end = "", time.monotonic() + _MOST_SECONDS
    for chosen in itertools.islice(_guesses(pipeline, sizes), _MOST_TRIES):
        try:
            flat = _flat(pipeline, chosen, generator)
            feed = {item.name: rebuild(item.tree, flat) for item in pipeline.program.parameters.items}
            pipeline.run(feed)
        except (SignatureError, GuardError, NodeError, _TooLargeError) as error:
            reason = reason or str(error)
            if time.monotonic() > end:
                break
            continue
        return feed
    raise UsageError(
        "no random inputs fit the signature",
        got=reason,
        fix="Give sizes with --size, as N=8, or save the file with examples=[...], which are taken instead.",
    )


class _TooLargeError(UsageError):
    """Inputs of some sizes take more memory than random ones may."""


def _flat(pipeline: Pipeline, sizes: Mapping[str, int], generator: torch.Generator) -> list[Any]:
    kinds = pipeline.program.parameters.types
    try:
        if sum(_bytes(kind, sizes) for kind in kinds) > _MOST_BYTES:
            raise MemoryError
        return [_random(kind, sizes, generator) for kind in kinds]
    except (RuntimeError, TypeError, ValueError, OverflowError, MemoryError) as error:
        got = ", ".join(f"{name}={size}" for name, size in sizes.items())
        most = f"{_MOST_BYTES >> 30} GiB at most"
        raise _TooLargeError("inputs of these sizes cannot be made", got=got or "fixed ones", expected=most) from error


def _guesses(pipeline: Pipeline, sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes to try: all free ones equal, then every combination of likely ones, those that ops take first."""
    names = list(pipeline.program.facts.symbols)
    free = [name for name in names if name not in sizes]

    def complete(chosen: Sequence[int]) -> dict[str, int]:
        return {name: {**dict(zip(free, chosen, strict=True)), **sizes}[name] for name in names}

    yield from (complete([size] * len(free)) for size in (*sizes.values(), *_TRIED))
    taken = [
        size
        for body in bodies(pipeline.graph)
        for value in body.graph.inputs
        if isinstance(value.type, TensorType)
        for size in value.type.shape
        if isinstance(size, int)
    ]
    likely = list(dict.fromkeys([*sizes.values(), *taken, *_TRIED]))[:7]
    yield from map(complete, itertools.product(likely, repeat=len(free)))


def _small(kind: Any) -> Any:
    """The type of a tensor in a list, whose sizes may be any but for those that ops need."""
    if not isinstance(kind, TensorType):
        return kind
    return TensorType(kind.dtype, tuple(size if isinstance(size, int) else 4 for size in kind.shape))


def _random_item(kind: Any, generator: torch.Generator) -> Any:
    if isinstance(kind, dict):
        return {key: _random_item(part, generator) for key, part in kind.items()}
    if isinstance(kind, tuple):
        return tuple(_random_item(part, generator) for part in kind)
    return _random(_small(kind), {}, generator)


def _random(kind: Type, sizes: Mapping[str, int], generator: torch.Generator) -> Any:
    if isinstance(kind, ListType):
        return [_random_item(kind.item, generator) for _ in range(2)]
    if not isinstance(kind, TensorType):
        return {INT: 1, FLOAT: 1.0, BOOL: True, STR: "text", STRINGS: ["some text", "more"]}.get(kind, 1)
    shape = [_size(dim, sizes) for dim in kind.shape]
    dtype = getattr(torch, kind.dtype)
    if dtype.is_floating_point or dtype.is_complex:
        real = torch.complex64 if dtype.is_complex else torch.float32
        return torch.rand(shape, generator=generator, dtype=real).to(dtype)
    return torch.randint(0, 2, shape, generator=generator).to(dtype)


def _bytes(kind: Any, sizes: Mapping[str, int] | None) -> int:
    """The bytes that random numbers for an input take while they are made, and cast to its dtype.

    Args:
        kind: the type of the input, or of an item of a list, which may have parts.
        sizes: those of the signature; None in a list.
    """
    if isinstance(kind, ListType):
        return 2 * (_BYTES_OF_ITEM + _bytes(kind.item, None))
    if isinstance(kind, dict | tuple):
        return sum(_bytes(part, sizes) for part in (kind.values() if isinstance(kind, dict) else kind))
    if not isinstance(kind, TensorType):
        return 0
    shape = _small(kind).shape if sizes is None else [max(_size(dim, sizes), 0) for dim in kind.shape]
    each: int = max(8, getattr(torch, kind.dtype).itemsize)
    return math.prod(shape) * each


def _size(dim: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    found: int = compile_expression(dim, sizes)(*sizes.values())
    return found
