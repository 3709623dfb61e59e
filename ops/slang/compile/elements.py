"""Slang text for values in torch's memory: the pointers of a kernel, and how it reads and writes one value.

A value of a scalar, vector, matrix or array type lies in memory as its scalars, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..language.specialization import Specialization
from ..language.types import SlangType

_UNROLLED = 64

# The concrete type that stands for each of SlangPy's tensor types, without and with gradients.
_PLAIN_VIEW = {"r": "Tensor", "w": "WTensor", "rw": "RWTensor"}
_PRIMAL_VIEW = {"r": "PrimalTensor", "w": "WPrimalTensor", "rw": "RWPrimalTensor"}
DIFF_VIEW = {"r": "DiffTensor", "w": "WDiffTensor", "rw": "RWDiffTensor"}


def pointers_after_slots(spec: Specialization, needs: tuple[int, ...] | None) -> list[tuple[str, SlangType]]:
    """The pointers that an entry takes after its slots, with what they point at, in order.

    Forward one for each output, `tp_o0`. Backward the content of the views that are written, `tp_o0`, the gradients
    that come in, `tp_g0`, and those that go out, `tp_ds0`, of `slots_with_gradients`.
    """
    outputs = [(f"tp_o{index}", output.type) for index, output in enumerate(spec.outputs)]
    if needs is None:
        return outputs
    views = [each for each in outputs if each[1].kind == "view"]
    incoming = [(f"tp_g{index}", spec.outputs[index].type) for index in spec.differentiable_outputs]
    return views + incoming + [(f"tp_ds{i}", spec.slots[i].type) for i in slots_with_gradients(spec, needs)]


def slots_with_gradients(spec: Specialization, needs: tuple[int, ...]) -> list[int]:
    """The slots for whose gradient the backward entry takes a pointer.

    A view always has somewhere to add its gradient. One that is only written has not: what the function leaves of the
    gradient that came in is the gradient of its old content.
    """
    return [
        index
        for index in spec.differentiable_slots
        if spec.slots[index].type.access != "w" and (index in needs or spec.slots[index].is_view)
    ]


def pointer_type(type_: SlangType) -> str:
    """The type behind a pointer to a tensor; a bool of torch is a byte, which it is not everywhere in Slang."""
    if type_.kind == "view":
        return type_.fields[0].type.name
    return "uint8_t" if type_.scalar == "bool" else type_.scalar


def value_type(type_: SlangType) -> str:
    """The type in which a Python number is passed; half has no C type, so it is passed as float."""
    return {"half": "float", "bool": "uint8_t"}.get(type_.scalar, type_.scalar)


def view_type(type_: SlangType, backward: bool) -> str:
    """The concrete tensor type that a view parameter is given."""
    element = f"<{type_.fields[0].type.name}, {type_.rank}>"
    if not type_.differentiable:
        return _PLAIN_VIEW[type_.access] + element
    concrete = not type_.name.rpartition(".")[2].startswith("I")
    return (DIFF_VIEW if backward or concrete else _PRIMAL_VIEW)[type_.access] + element


def _each_component(type_: SlangType) -> Iterator[tuple[list[str], str]]:
    """The indices and the offset of each scalar in a value; for a large array, of a loop's running one."""
    sizes = type_.shape
    if type_.numel > _UNROLLED:
        offset = "0"
        for axis, size in enumerate(sizes):
            offset = f"({offset} * {size} + tp_k{axis})"
        yield [f"tp_k{axis}" for axis in range(len(sizes))], offset
        return
    for number in range(type_.numel):
        rest, indices = number, []
        for size in reversed(sizes):
            rest, position = divmod(rest, size)
            indices.append(str(position))
        yield indices[::-1], str(number)


def _indexed(name: str, indices: list[str]) -> str:
    """A value's component: the indices go into the brackets of the name, `p[].x`, the rest of them behind it."""
    parts = name.split("[]")
    inner = len(parts) - 1
    filled = parts[0] + "".join(f"[{at}]{part}" for at, part in zip(indices[:inner], parts[1:], strict=True))
    return filled + "".join(f"[{at}]" for at in indices[inner:])


def _loops(type_: SlangType) -> str:
    if type_.numel <= _UNROLLED:
        return ""
    return "".join(f"for (int tp_k{a} = 0; tp_k{a} < {n}; tp_k{a}++) " for a, n in enumerate(type_.shape))


def _element(type_: SlangType, pointer: str, position: str, offset: str) -> str:
    if not position:
        return f"{pointer}[{offset}]"
    start = position if type_.numel == 1 else f"{position} * {type_.numel}ull"
    return f"{pointer}[{start}]" if offset == "0" and type_.numel == 1 else f"{pointer}[{start} + {offset}]"


def read(type_: SlangType, name: str, pointer: str, position: str) -> Iterator[str]:
    """The statements that fill a variable from an element of a tensor; "" is the position of the only one."""
    for indices, offset in _each_component(type_):
        value = _element(type_, pointer, position, offset)
        if type_.scalar == "bool":
            value = f"({value} != 0)"
        yield f"{_loops(type_)}{_indexed(name, indices)} = {value};"


def write(type_: SlangType, name: str, pointer: str) -> Iterator[str]:
    """The statements that store a variable as the element of the running call."""
    for indices, offset in _each_component(type_):
        value = _indexed(name, indices)
        if type_.scalar == "bool":
            value = f"uint8_t({value} ? 1 : 0)"
        yield f"{_loops(type_)}{_element(type_, pointer, 'tp_i', offset)} = {value};"
