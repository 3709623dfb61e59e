"""Gradients of random functions of scalars and vectors against autograd: Slang's own fault is with the two together."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest
import torch

from tracepack import slang

COUNT = 8
HELPERS = """
[Differentiable] float hs(float a, float3 b) { return dot(a * b, b + a); }
[Differentiable] float3 hv(float a, float3 b) { float3 c = a * b; return c - a; }
[Differentiable] float3 hw(float3 b, float a) { return (b / (abs(a) + 2.0f)) * a; }
"""

Formula = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]
Pair = tuple[str, Formula]
"""An expression of Slang, and the formula for torch; scalars have a last dimension of size 1."""


class Writer:
    """Writes random expressions."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def scalar(self, depth: int) -> Pair:
        if depth == 0:
            return self._leaf("s", "t")
        a, b = self.scalar(depth - 1), self.scalar(depth - 1)
        v, w = self.vector(depth - 1), self.vector(depth - 1)
        rows: list[Pair] = [
            (f"({a[0]} * {b[0]})", lambda e: a[1](e) * b[1](e)),
            (f"({a[0]} - {b[0]})", lambda e: a[1](e) - b[1](e)),
            (f"dot({v[0]}, {w[0]})", lambda e: (v[1](e) * w[1](e)).sum(-1, keepdim=True)),
            (f"{v[0]}.y", lambda e: v[1](e)[..., 1:2]),
            (f"sin({a[0]})", lambda e: a[1](e).sin()),
            (f"({a[0]} / 2.5f)", lambda e: a[1](e) / 2.5),
            (f"hs({a[0]}, {v[0]})", lambda e: (a[1](e) * v[1](e) * (v[1](e) + a[1](e))).sum(-1, keepdim=True)),
        ]
        return self.chance.choice(rows)

    def vector(self, depth: int) -> Pair:
        if depth == 0:
            return self._leaf("v", "w")
        a, v, w = self.scalar(depth - 1), self.vector(depth - 1), self.vector(depth - 1)
        rows: list[Pair] = [
            (f"({a[0]} * {v[0]})", lambda e: a[1](e) * v[1](e)),
            (f"({v[0]} * {a[0]})", lambda e: v[1](e) * a[1](e)),
            (f"({a[0]} - {v[0]})", lambda e: a[1](e) - v[1](e)),
            (f"({v[0]} + {a[0]})", lambda e: v[1](e) + a[1](e)),
            (f"({v[0]} * {w[0]})", lambda e: v[1](e) * w[1](e)),
            (f"({v[0]} / (2.0f + abs({a[0]})))", lambda e: v[1](e) / (2 + a[1](e).abs())),
            (f"hv({a[0]}, {v[0]})", lambda e: a[1](e) * v[1](e) - a[1](e)),
            (f"hw({v[0]}, {a[0]})", lambda e: v[1](e) / (a[1](e).abs() + 2) * a[1](e)),
            (f"float3({a[0]}, {v[0]}.x, {a[0]})", lambda e: torch.cat([a[1](e), v[1](e)[..., :1], a[1](e)], -1)),
            (f"{v[0]}.zyx", lambda e: v[1](e).flip(-1)),
        ]
        return self.chance.choice(rows)

    def function(self, number: int) -> Pair:
        """A function with its formula: an expression, a choice of two, or a loop."""
        first, second = self.vector(3), self.vector(2)
        bodies: list[Pair] = [
            (f"return {first[0]};", first[1]),
            (
                f"if (s > 0) return {first[0]}; return {second[0]};",
                lambda e: torch.where(e["s"] > 0, first[1](e), second[1](e)),
            ),
            (
                f"float3 q = v; [ForceUnroll] for (int i = 0; i < 3; i++) q = s * q + {second[0]}; return q;",
                lambda e: ((e["v"] * e["s"] + second[1](e)) * e["s"] + second[1](e)) * e["s"] + second[1](e),
            ),
        ]
        body, formula = bodies[number % len(bodies)]
        return f"[Differentiable] float3 f{number}(float s, float t, float3 v, float3 w) {{ {body} }}", formula

    def _leaf(self, *names: str) -> Pair:
        name = self.chance.choice(names)
        return name, lambda e: e[name]


@pytest.fixture(scope="module")
def functions() -> tuple[slang.SlangModule, list[Formula]]:
    writer = Writer(7)
    pairs = [writer.function(number) for number in range(COUNT)]
    return slang.load(HELPERS + "\n".join(text for text, _ in pairs)), [formula for _, formula in pairs]


@pytest.mark.parametrize("number", range(COUNT))
def test_random_vector_functions(functions: tuple[slang.SlangModule, list[Formula]], number: int) -> None:
    module, formulas = functions
    given = {"s": torch.rand(6), "t": torch.rand(6), "v": torch.rand(6, 3), "w": torch.rand(6, 3)}
    given = {name: (value * 2 - 1).requires_grad_() for name, value in given.items()}
    wide = {name: value.detach().double().requires_grad_() for name, value in given.items()}
    columns = {name: value if value.dim() > 1 else value[:, None] for name, value in wide.items()}
    found, wanted = getattr(module, f"f{number}")(**given), formulas[number](columns)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-4)
    incoming = torch.randn(6, 3)
    got = torch.autograd.grad(found, list(given.values()), incoming, materialize_grads=True, allow_unused=True)
    truth = torch.autograd.grad(
        wanted, list(wide.values()), incoming.double(), materialize_grads=True, allow_unused=True
    )
    for mine, right in zip(got, truth, strict=True):
        torch.testing.assert_close(mine.double(), right, rtol=1e-3, atol=1e-3)
