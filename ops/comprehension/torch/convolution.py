"""Recognises convolutions, their input gradients and their weight gradients, for torch's own kernels.

A triple of accesses is a convolution when one of them, X, has dimensions indexed `s*h + d*k + offset`, and the
other two are indexed by plain variables: O holds the h, W the k. Which of the three is written says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from ..expr.ir import Access, Expr, Nest, Op, TensorType, Var
from ..program.affine import affine

Step = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]


@dataclass(frozen=True)
class Spatial:
    """One dimension of X: `stride * out + dilation * kernel + offset`."""

    dim: int
    out: str
    kernel: str
    stride: int
    dilation: int
    offset: int


@dataclass(frozen=True)
class Geometry:
    """The roles of all variables of a convolution."""

    batch: list[str]
    group: list[str]
    inner: list[str]
    outer: list[str]
    spatial: list[Spatial]
    plain: dict[str, int]
    extents: dict[str, int]

    def size(self, names: list[str]) -> int:
        """The product of the variables' extents."""
        count = 1
        for n in names:
            count *= self.extents[n]
        return count


def match_convolution(nest: Nest, tensors: Mapping[str, TensorType]) -> Step | None:
    """A function from the environment to the nest's values over its target's dimensions, or None."""
    value = nest.value
    if (
        nest.op != "+"
        or not isinstance(value, Op)
        or value.name != "*"
        or value.dtype.name not in ("float32", "float64")
    ):
        return None
    first, second = value.args
    if not (isinstance(first, Access) and isinstance(second, Access)) or first.dtype != second.dtype:
        return None
    for a, b in ((first, second), (second, first)):
        if not all(g == "inside" for g in (*a.guards, *b.guards)):
            return None
        if (geometry := _geometry(nest, a.indices, b.indices, nest.index, tensors[a.tensor])) is not None:
            return _forward(geometry, a, b, nest)
        if (geometry := _geometry(nest, a.indices, nest.index, b.indices, tensors[a.tensor])) is not None:
            return _weight_gradient(geometry, a, b, nest)
        if (geometry := _geometry(nest, nest.index, a.indices, b.indices, tensors[nest.target])) is not None:
            return _input_gradient(geometry, b, a, nest, tensors[nest.target].shape)
    return None


def _plain(indices: tuple[Expr, ...]) -> list[str] | None:
    names = [i.name for i in indices if isinstance(i, Var)]
    return names if len(names) == len(indices) == len(set(names)) else None


def _geometry(
    nest: Nest, x: tuple[Expr, ...], w: tuple[Expr, ...], o: tuple[Expr, ...], x_type: TensorType
) -> Geometry | None:
    """The roles of the variables in the three lists of indices; None where they are no convolution."""
    weights, outputs = _plain(w), _plain(o)
    if weights is None or outputs is None:
        return None
    plain: dict[str, int] = {}
    spatial: list[Spatial] = []
    for dim, index in enumerate(x):
        if isinstance(index, Var):
            plain[index.name] = dim
        elif (found := _spatial(dim, index, weights, outputs)) is not None:
            spatial.append(found)
        else:
            return None
    xs, ws, os = set(plain), set(weights), set(outputs)
    used = [s.out for s in spatial] + [s.kernel for s in spatial]
    extents = nest.extents
    fits = (
        1 <= len(spatial) <= 3
        and len(set(used)) == len(used)
        and not xs & set(used)
        and len(plain) + len(spatial) == len(x)
        and xs | ws | os | set(used) == set(extents)
        and not (ws & os - xs & set(used))
        and not (xs - ws - os)
        and not (ws - xs - os - {s.kernel for s in spatial})  # a sum over the weights alone
        and not (os - xs - ws - {s.out for s in spatial})
        and all(extents[v] == x_type.shape[d] for v, d in plain.items())
    )
    if not fits or {s.kernel for s in spatial} & os or {s.out for s in spatial} & ws:
        return None
    return Geometry(
        batch=[v for v in plain if v in os and v not in ws],
        group=[v for v in plain if v in os and v in ws],
        inner=[v for v in plain if v in ws and v not in os],
        outer=[v for v in weights if v in os and v not in xs],
        spatial=spatial,
        plain=plain,
        extents=extents,
    )


def _spatial(dim: int, index: Expr, weights: list[str], outputs: list[str]) -> Spatial | None:
    form = affine(index)
    terms = form.coefficients
    if not form.is_plain or len(terms) != 2 or form.const < 0 or min(terms.values()) <= 0:
        return None
    kernels = [v for v in terms if v in weights and v not in outputs]
    outs = [v for v in terms if v in outputs and v not in weights]
    if len(kernels) != 1 or len(outs) != 1:
        return None
    return Spatial(dim, outs[0], kernels[0], terms[outs[0]], terms[kernels[0]], form.const)


def _needed(g: Geometry, s: Spatial) -> int:
    """The number of places of X's dimension that the convolution reads."""
    return (g.extents[s.out] - 1) * s.stride + (g.extents[s.kernel] - 1) * s.dilation + 1


def _as_x(g: Geometry, t: torch.Tensor) -> torch.Tensor:
    """X as (N, groups * C, spatial...)."""
    for s in g.spatial:
        t = t.narrow(s.dim, s.offset, _needed(g, s))
    order = [g.plain[v] for v in (*g.batch, *g.group, *g.inner)] + [s.dim for s in g.spatial]
    sizes = [g.size(g.batch), g.size(g.group) * g.size(g.inner), *(_needed(g, s) for s in g.spatial)]
    return t.permute(order).reshape(sizes)


def _read(g: Geometry, t: torch.Tensor, names: list[str]) -> torch.Tensor:
    """The places of a tensor that its variables reach, which may be the first of a dimension only."""
    for dim, name in enumerate(names):
        if t.shape[dim] != g.extents[name]:
            t = t.narrow(dim, 0, g.extents[name])
    return t


def _as_w(g: Geometry, t: torch.Tensor, names: list[str]) -> torch.Tensor:
    """W as (groups * M, C, kernel...)."""
    kernels = [s.kernel for s in g.spatial]
    order = [names.index(v) for v in (*g.group, *g.outer, *g.inner, *kernels)]
    sizes = [g.size(g.group) * g.size(g.outer), g.size(g.inner), *(g.extents[k] for k in kernels)]
    return _read(g, t, names).permute(order).reshape(sizes)


def _as_o(g: Geometry, t: torch.Tensor, names: list[str]) -> torch.Tensor:
    """O as (N, groups * M, out...)."""
    outs = [s.out for s in g.spatial]
    order = [names.index(v) for v in (*g.batch, *g.group, *g.outer, *outs)]
    sizes = [g.size(g.batch), g.size(g.group) * g.size(g.outer), *(g.extents[v] for v in outs)]
    return _read(g, t, names).permute(order).reshape(sizes)


def _back(g: Geometry, t: torch.Tensor, order: list[str], names: list[str]) -> torch.Tensor:
    """The tensor with merged dimensions split into those of the variables, in the order of the names."""
    t = t.reshape([g.extents[v] for v in order])
    return t.permute([order.index(v) for v in names])


def _settings(g: Geometry) -> tuple[list[int], list[int], int]:
    return [s.stride for s in g.spatial], [s.dilation for s in g.spatial], g.size(g.group)


def _names(indices: tuple[Expr, ...]) -> list[str]:
    return [i.name for i in indices if isinstance(i, Var)]


def _forward(g: Geometry, x: Access, w: Access, nest: Nest) -> Step:
    strides, dilations, groups = _settings(g)
    convolution = (torch.conv1d, torch.conv2d, torch.conv3d)[len(strides) - 1]
    order = [*g.batch, *g.group, *g.outer, *(s.out for s in g.spatial)]
    w_names, names = _names(w.indices), _names(nest.index)
    zeros = [0] * len(strides)

    def step(env: Mapping[str, torch.Tensor]) -> torch.Tensor:
        weight = _as_w(g, env[w.tensor], w_names)
        out = convolution(_as_x(g, env[x.tensor]), weight, None, strides, zeros, dilations, groups)
        return _back(g, out, order, names)

    return step


def _backward(g: Geometry, o: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mask: list[bool]) -> list[torch.Tensor]:
    strides, dilations, groups = _settings(g)
    zeros = [0] * len(strides)
    found: list[torch.Tensor] = torch.ops.aten.convolution_backward(
        o, x, w, None, strides, zeros, dilations, False, zeros, groups, mask
    )
    return found


def _weight_gradient(g: Geometry, x: Access, o: Access, nest: Nest) -> Step:
    order = [*g.group, *g.outer, *g.inner, *(s.kernel for s in g.spatial)]
    o_names, names = _names(o.indices), _names(nest.index)
    shape = (g.size(g.group) * g.size(g.outer), g.size(g.inner), *(g.extents[s.kernel] for s in g.spatial))

    def step(env: Mapping[str, torch.Tensor]) -> torch.Tensor:
        out, inputs = _as_o(g, env[o.tensor], o_names), _as_x(g, env[x.tensor])
        weight = out.new_empty(1).expand(shape)
        return _back(g, _backward(g, out, inputs, weight, [False, True, False])[1], order, names)

    return step


def _input_gradient(g: Geometry, o: Access, w: Access, nest: Nest, shape: tuple[int, ...]) -> Step:
    w_names, o_names = _names(w.indices), _names(o.indices)
    needed = [_needed(g, s) for s in g.spatial]
    sizes = [g.extents[v] for v in (*g.batch, *g.group, *g.inner)] + needed
    merged = (g.size(g.batch), g.size(g.group) * g.size(g.inner), *needed)
    order = [g.plain[v] for v in (*g.batch, *g.group, *g.inner)] + [s.dim for s in g.spatial]
    inverse = sorted(range(len(order)), key=order.__getitem__)
    whole = tuple(sizes[i] for i in inverse) == shape

    def step(env: Mapping[str, torch.Tensor]) -> torch.Tensor:
        out, weight = _as_o(g, env[o.tensor], o_names), _as_w(g, env[w.tensor], w_names)
        inputs = out.new_empty(1).expand(merged)
        part = _backward(g, out, inputs, weight, [True, False, False])[0].reshape(sizes).permute(inverse)
        if whole:
            return part
        total = out.new_zeros(shape)
        target = total
        for s in g.spatial:
            target = target.narrow(s.dim, s.offset, _needed(g, s))
        target.copy_(part)
        return total

    return step
