"""The sizes of a pipeline's inputs: which are fixed, which are equal, which are free.

They follow from the ops that take an input directly, and from guards on sizes of inputs. Sizes of inner values are
checked where they arise: by the ops that take these values, and by guards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ...ops.graph.graph import BodyCall, Facts, Graph, Guard, Node, Operator, Record, Value
from ...ops.graph.guards import Expression
from ...ops.graph.program import Parameter, Parameters
from ...ops.graph.traverse import leaves, subgraphs, uses
from ...ops.graph.types import ANY, STR, STRINGS, ListType, ScalarType, TensorType
from ...ops.lowering.sizes import dimension, equal_sizes, settle
from .kind_claims import forget_chosen_kinds, forget_reductions, is_of


def pipeline_facts(
    items: tuple[Parameter, ...], names: Sequence[str], graph: Graph, needed: Sequence[Expression] = ()
) -> tuple[Parameters, Facts]:
    """The calling convention with the types of the inputs, and the facts about their sizes.

    Args:
        items: the parameters.
        names: of the flat inputs.
        graph: whose inputs get types with symbols.
        needed: what sizes have to be behind other nodes, over the names of `dimension`.
    """
    place = {id(value): index for index, value in enumerate(graph.inputs)}
    shapes = [_free(index, value) for index, value in enumerate(graph.inputs)]
    asked = list(dict.fromkeys([*from_bodies(graph, place), *_from_guards(graph, place), *needed]))
    sizes = settle(shapes, {}, asked)
    for value, shape in zip(graph.inputs, sizes.shapes, strict=True):
        if isinstance(value.type, TensorType):
            value.type = TensorType(value.type.dtype, shape)
    return Parameters(items, tuple(names), tuple(value.type for value in graph.inputs)), sizes.facts


def _free(index: int, value: Value) -> tuple[object, ...]:
    return (
        tuple(f"x{index}_{dim}" for dim in range(len(value.type.shape))) if isinstance(value.type, TensorType) else ()
    )


def from_bodies(graph: Graph, place: dict[int, int]) -> Iterator[Expression]:
    """The sizes that ops fix in the inputs that they take, also in another dtype or kind, and their guards.

    Args:
        graph: whose nodes they are.
        place: of each of its values that is such an input, by its id.
    """
    written, place = _written_before(graph), _with_alike(graph, place)
    for node in graph.nodes:
        if not isinstance(node.target, BodyCall):
            continue
        body = node.target.body
        direct = {i: place[id(a)] for i, a in enumerate(node.args) if id(a) in place and id(a) not in written}
        kinds = [value.type for value in body.graph.inputs]
        direct = {i: outer for i, outer in direct.items() if isinstance(kinds[i], TensorType)}
        for index, outer in direct.items():
            shape = kinds[index].shape  # type: ignore[union-attr]  # the kind was checked just before
            for dim, size in enumerate(shape):
                if isinstance(size, int):
                    yield equal_sizes((outer, dim), size)
                elif (spot := body.facts.symbols.get(size)) and spot[0] in direct and spot != (index, dim):
                    yield equal_sizes((outer, dim), (direct[spot[0]], spot[1]))
        for guard in body.facts.guards:
            if (translated := _translated(guard, body.facts, direct)) is not None:
                yield translated


_ALIKE = frozenset(
    """torch.Tensor.numpy torch.from_numpy torch.tensor torch.as_tensor torch.Tensor.to torch.Tensor.float
    torch.Tensor.double torch.Tensor.half torch.Tensor.bfloat16 torch.Tensor.long torch.Tensor.int torch.Tensor.clone
    torch.Tensor.contiguous torch.Tensor.detach torch.Tensor.cpu numpy.ndarray.astype numpy.ndarray.copy numpy.asarray
    numpy.ascontiguousarray""".split()
)
"""Functions whose result has the sizes of what they take."""


def _with_alike(graph: Graph, place: dict[int, int]) -> dict[int, int]:
    """The inputs, and what has their sizes: an op that is given an array takes it as a tensor."""
    lists = {id(value) for value in graph.inputs if not isinstance(value.type, TensorType)}  # which have no sizes
    found = {each: index for each, index in place.items() if each not in lists}
    for node in graph.nodes:
        alike = isinstance(node.target, Operator) and node.target.name in _ALIKE and isinstance(node.output, Value)
        if alike and node.args and id(node.args[0]) in found:
            found[id(node.output)] = found[id(node.args[0])]
    changed = {found.get(each) for each in _written_before(graph)}
    return {each: index for each, index in found.items() if each in place or index not in changed}


def _written_before(graph: Graph) -> set[int]:
    """The inputs that an operator may have reshaped in place, whose sizes later nodes do not tell."""
    return {
        id(leaf)
        for node in graph.nodes
        if isinstance(node.target, Operator)
        and re.search(r"(squeeze_|unsqueeze_|transpose_|t_|swapaxes_|swapdims_)$", node.target.name)
        for leaf in uses(node)
    }


def _translated(guard: Expression, facts: Facts, direct: dict[int, int]) -> Expression | None:
    """A body's guard over the inputs of the pipeline; None where it holds other symbols."""
    used = {symbol: place for symbol, place in facts.symbols.items() if symbol in guard.symbols}
    if any(index not in direct for index, _ in used.values()):
        return None
    return guard.renamed({symbol: dimension(direct[index], dim) for symbol, (index, dim) in used.items()})


def _from_guards(graph: Graph, place: dict[int, int]) -> Iterator[Expression]:
    """The sizes of inputs that guards fix, also those read off an array of numpy over an input."""
    reads: dict[int, tuple[int, int]] = {}
    known = {
        id(value): (place[id(value)], len(value.type.shape))
        for value in graph.inputs
        if isinstance(value.type, TensorType)
    }
    for node in graph.nodes:
        name = node.target.name if isinstance(node.target, Operator) else ""
        if name == "torch.Tensor.numpy" and id(node.args[0]) in known:
            known[id(node.output)] = known[id(node.args[0])]
        elif name in ("py.size", "py.array_size") and id(node.args[0]) in known:
            if isinstance(node.args[1], int) and isinstance(node.output, Value):
                index, rank = known[id(node.args[0])]
                reads[id(node.output)] = (index, node.args[1] % rank)
        elif isinstance(node.target, Guard) and id(node.args[0]) in reads:
            assert isinstance(node.target.expected, int)
            yield equal_sizes(reads[id(node.args[0])], node.target.expected)


def name_sizes(graph: Graph, other: Graph | None, leaves_of_example: Sequence[Any] = ()) -> None:
    """Sets the sizes in the types of inner values, by comparing them with those of the second recording.

    A size that changed with the batch gets the symbol of the batch; one that did not change is shown as a number only
    where all other sizes of the inputs are fixed. These types are for readers: a run checks those of inputs only.

    Args:
        graph: of the first recording.
        other: of the second one, if there is one.
        leaves_of_example: the flat inputs of the first one; the second one may have been of the same sizes.
    """
    moved = other if other is not None and len(other.nodes) == len(graph.nodes) else graph
    letters = _moved_inputs(graph, moved) if _has_other_sizes(moved, leaves_of_example) else {}
    free = any(
        isinstance(size, str) and size not in letters.values()
        for value in graph.inputs
        if isinstance(value.type, TensorType)
        for size in value.type.shape
    )
    varying: set[int] = set()
    of_texts: set[int] = set()
    for a, b in zip(graph.nodes, moved.nodes, strict=True):
        exact = _body_shapes(a)
        varies = _decided_by_data(a, exact) or any(id(leaf) in varying for leaf in uses(a))
        of_text = _is_of_text(a) or any(id(leaf) in of_texts for leaf in uses(a))
        for index, (value, now) in enumerate(zip(leaves(a.output), leaves(b.output), strict=True)):
            if not isinstance(value, Value):
                continue
            varying |= {id(value)} if varies else set()
            of_texts |= {id(value)} if of_text else set()
            if not isinstance(value.type, TensorType):
                continue
            shape = _named(value.type.shape, now.type.shape, {} if varies else letters)
            fixed = exact[index] if index < len(exact) else ()
            if free or varies or of_text:
                shape = tuple("?" if _may_differ(a, s, fixed, free or of_text) else s for s in shape)
                shape = (*shape[:-1], value.type.shape[-1]) if shape and not free and _is_place(a) else shape
            value.type = TensorType(value.type.dtype, shape)


def _decided_by_data(node: Node, exact: list[tuple[Any, ...]]) -> bool:
    """Whether data, a choice or a list decides a node's sizes. torch.export names such sizes of an op u0, u1 …"""
    if any(True for _ in subgraphs(node)):  # no recording shows the other side: `prove_sizes` knows both
        return True
    if isinstance(node.target, BodyCall):
        return any(re.search(r"\bu\d", str(size)) for shape in exact for size in shape)
    kinds = [leaf.type for leaf in uses(node) if isinstance(leaf, Value)]
    return node.varying or any(kind in (ANY, STRINGS) or isinstance(kind, ListType) for kind in kinds)


def _is_of_text(node: Node) -> bool:
    """Whether a node makes a tensor of a text, as long as that is; where few texts are valid, no other run shows it."""
    kinds = [leaf.type for leaf in uses(node) if isinstance(leaf, Value)]
    return isinstance(node.target, Operator) and isinstance(node.output, Value) and STR in kinds


def _may_differ(node: Node, size: Any, fixed: tuple[Any, ...], free: bool) -> bool:
    """Whether a number among sizes that data or lists decide is one of the example only, as none and one often are."""
    if not isinstance(size, int) or size in fixed:
        return False
    of_list = isinstance(node.target, Operator) and node.target.name in ("torch.tensor", "torch.as_tensor")
    return free or of_list or size < 2


def _is_place(node: Node) -> bool:
    """Whether a node gives places in a tensor, whose last size is the tensor's rank."""
    return isinstance(node.target, Operator) and node.target.name.endswith((".nonzero", ".argwhere"))


def _body_shapes(node: Node) -> list[tuple[Any, ...]]:
    """The shapes of an op's outputs as torch.export found them: a number is a fixed size."""
    if not isinstance(node.target, BodyCall):
        return []
    kinds = [leaf.type if isinstance(leaf, Value) else None for leaf in leaves(node.target.body.graph.output)]
    return [kind.shape if isinstance(kind, TensorType) else () for kind in kinds]


def _has_other_sizes(graph: Graph, leaves_of_example: Sequence[Any]) -> bool:
    """Whether a graph was recorded with inputs of other sizes than those of an example."""
    pairs = zip(graph.inputs, leaves_of_example, strict=False)
    return any(
        isinstance(value.type, TensorType) and isinstance(leaf, torch.Tensor) and tuple(leaf.shape) != value.type.shape
        for value, leaf in pairs
    )


def _moved_inputs(graph: Graph, other: Graph) -> dict[tuple[Any, Any], str]:
    """(first size, second size) -> symbol, for the free first dimensions of inputs in the two recordings."""
    letters: dict[tuple[Any, Any], str] = {}
    for a, b in zip(graph.inputs, other.inputs, strict=True):
        if isinstance(a.type, TensorType) and isinstance(b.type, TensorType):
            name, now = (a.type.shape or (0,))[0], (b.type.shape or (0,))[0]
            if isinstance(name, str) and isinstance(now, int):
                letters.setdefault((now - 1, now), name)  # `varied` adds one row
    return letters


def _named(shape: tuple[Any, ...], moved: tuple[Any, ...], letters: dict[tuple[Any, Any], str]) -> tuple[Any, ...]:
    if len(shape) != len(moved):
        return shape
    return tuple(a if a == b else _letter(a, b, letters) for a, b in zip(shape, moved, strict=True))


def _letter(before: Any, after: Any, letters: dict[tuple[Any, Any], str]) -> str:
    """The symbol of a size that changed between the recordings, or a multiple of a symbol."""
    for (n, _), name in letters.items():
        factor = after - before
        if before == factor * n:
            return name if factor == 1 else f"{factor}*{name}"
    return "?"


def forget_sizes(graph: Graph, parameters: Parameters, runs: Sequence[tuple[Sequence[Any], Any]]) -> None:
    """Hides sizes and kinds in the types of results that some run contradicts: such a size is shown as unknown.

    Args:
        graph: of the pipeline; the types of its results are changed.
        parameters: how it is called.
        runs: pairs of flat inputs and their result.
    """
    forget_chosen_kinds(graph)
    forget_reductions(graph)
    letters_of = [_letters(parameters, flat) for flat, _ in runs]
    if letters_of and any(letters_of) and all(letters == letters_of[0] for letters in letters_of):
        _forget_numbers(graph.output)
    forget_contradicted(graph, parameters, runs)


def forget_contradicted(graph: Graph, parameters: Parameters, runs: Sequence[tuple[Sequence[Any], Any]]) -> None:
    """Hides what some run contradicts; the arguments are those of `forget_sizes`."""
    for flat, result in runs:
        letters = _letters(parameters, flat)
        for value, found in results(graph.output, result):
            if (
                isinstance(value.type, TensorType)
                and isinstance(found, torch.Tensor)
                and not _is_like(value.type, found)
            ):
                value.type = ANY  # torch.tensor of a list that came out empty: floats, of one dimension
            elif isinstance(value.type, TensorType) and getattr(found, "ndim", -1) == len(value.type.shape):
                pairs = zip(value.type.shape, found.shape, strict=True)
                shape = tuple(size if _says(size, letters) in (None, now) else "?" for size, now in pairs)
                value.type = TensorType(value.type.dtype, shape)
            elif isinstance(value.type, ScalarType) and not is_of(value.type, found):
                value.type = ANY


def forget_cut_numbers(graph: Graph, runs: Sequence[tuple[Sequence[Any], Any]]) -> None:
    """Hides numbers that a run contradicts, as of ``x[:, :2]`` with one column; letters stay: one is broadcast."""
    for _, result in runs:
        for value, found in results(graph.output, result):
            if isinstance(value.type, TensorType) and getattr(found, "ndim", -1) == len(value.type.shape):
                pairs = zip(value.type.shape, found.shape, strict=True)
                shape = tuple("?" if isinstance(size, int) and size != now else size for size, now in pairs)
                value.type = TensorType(value.type.dtype, shape)


def _letters(parameters: Parameters, flat: Sequence[Any]) -> dict[str, int]:
    """What the free sizes of the inputs are in a run."""
    return {
        size: int(tensor.shape[dim])
        for kind, tensor in zip(parameters.types, flat, strict=True)
        if isinstance(kind, TensorType) and tensor.dim() == len(kind.shape)
        for dim, size in enumerate(kind.shape)
        if isinstance(size, str)
    }


def _forget_numbers(output: Any) -> None:
    """Hides the sizes of results that are numbers: no run of other sizes has shown that they stay, as in long loops."""
    for value in leaves(output):
        if isinstance(value, Value) and isinstance(value.type, TensorType):
            shape = tuple("?" if isinstance(size, int) else size for size in value.type.shape)
            value.type = TensorType(value.type.dtype, shape)


def _is_like(kind: TensorType, found: torch.Tensor) -> bool:
    return str(found.dtype) == f"torch.{kind.dtype}" and found.dim() == len(kind.shape)


def has_other_dtypes(graph: Graph, runs: Sequence[tuple[Sequence[Any], Any]]) -> bool:
    """Whether a run gave a tensor of another dtype than its type says, as one with an int for a float may."""
    pairs = [(value.type, found) for _, result in runs for value, found in results(graph.output, result)]
    return any(
        isinstance(kind, TensorType) and str(found.dtype) != f"torch.{kind.dtype}"
        for kind, found in pairs
        if isinstance(found, torch.Tensor)
    )


def results(tree: Any, result: Any) -> Iterator[tuple[Value, Any]]:
    """The values of a result with what they were in a run."""
    match tree:
        case Value():
            yield tree, result
        case Record():
            yield from results(tuple(tree.items), tuple(result.values() if isinstance(result, dict) else result))
        case tuple() | list():
            for item, found in zip(tree, result, strict=True):
                yield from results(item, found)
        case dict():
            for item, found in zip(tree.values(), result.values(), strict=True):
                yield from results(item, found)


def _says(size: Any, letters: dict[str, int]) -> int | None:
    """The number that a size in a type has in a run; None where that is not known."""
    if isinstance(size, int):
        return size
    factor, _, name = size.rpartition("*")
    return int(factor or 1) * letters[name] if name in letters and (factor or "1").isdigit() else None
