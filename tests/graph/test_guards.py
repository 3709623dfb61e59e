"""Expressions over sizes: Python's own `eval` of their text is the reference."""

from __future__ import annotations

import ast
import itertools

import pytest

from tracepack.ops.graph.errors import GraphError
from tracepack.ops.graph.graph import Record
from tracepack.ops.graph.guards import FUNCTIONS, Expression
from tracepack.ops.graph.traverse import leaves, map_leaves
from tracepack.ops.lowering.sizes import over_letters, read_sizes

TEXTS = (
    "((1 + (((-1) + M) // 2)) != 1)",
    "N >= 2 or (N == 0 and M == 0)",
    "max(N, M // 2) * 2 == N % 3 + M",
    "not (N < M) and N ** 2 > M",
    "(N if N > M else M) <= 4",
)


def python(text: str, **sizes: int) -> object:
    return eval(text, {"__builtins__": {}, **FUNCTIONS}, sizes)


@pytest.mark.parametrize("text", TEXTS)
def test_an_expression_means_what_python_says(text: str) -> None:
    found = Expression.parse(text)
    assert str(found) == text
    for n, m in itertools.product(range(6), repeat=2):
        wanted = python(text, N=n, M=m)
        assert found.compile(["N", "M"])(n, m) == wanted
        assert Expression.parse(found.plain).compile(["N", "M"])(n, m) == wanted
        swapped = found.renamed({"N": "M", "M": "N"})  # at once, not one after the other
        assert swapped.compile(["N", "M"])(m, n) == wanted
        assert found.renamed({"N": n}).compile(["M"])(m) == wanted


@pytest.mark.parametrize(("a", "b"), list(itertools.product(TEXTS, repeat=2)))
def test_joined_expressions_keep_their_brackets(a: str, b: str) -> None:
    parts = [Expression.parse(a), Expression.parse(b)]
    either, both = Expression.any_of(parts), Expression.all_of(parts)
    for n, m in itertools.product(range(4), repeat=2):
        first, second = python(a, N=n, M=m), python(b, N=n, M=m)
        assert either.compile(["N", "M"])(n, m) == (first or second)
        assert both.compile(["N", "M"])(n, m) == (first and second)


def test_renaming_leaves_the_original_alone() -> None:
    found = Expression.parse("N % 3 == 0")
    assert str(found.renamed({"N": "K"})) == "K % 3 == 0"
    assert found.plain == "N % 3 == 0"
    assert found.symbols == {"N"}


@pytest.mark.parametrize("text", ["__import__('os')", "N.real", "[N]", "N @ M", "lambda: 0", "f(N)", "N ** M", "'N'"])
def test_what_is_not_in_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(GraphError, match="a guard expression is outside of the grammar"):
        Expression.parse(text)


def test_threads_that_disturb_each_other_in_pythons_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """What CPython 3.11.7 raised once in some 800 jobs of 8 threads."""
    original, failures = ast.parse, [3]

    def parse(*args, **kwargs):
        if failures[0]:
            failures[0] -= 1
            raise SystemError("AST constructor recursion depth mismatch (before=81, after=75)")
        return original(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(ast, "parse", parse)
        right = Expression.parse("N % 3 == 0").compile(["N"])(6)
    assert right
    assert failures == [0]


def test_a_symbol_that_is_not_there_is_refused() -> None:
    with pytest.raises(GraphError, match="a guard expression names an unknown symbol"):
        Expression.parse("N + M").compile(["N"])


def test_guards_of_torch_become_symbols_equal_sizes_and_fixed_sizes() -> None:
    sources = ["L['flat'][0]", "L['flat'][1]"]
    guards = [
        "L['flat'][0].size()[0] == L['flat'][1].size()[0]",
        "L['flat'][1].size()[1] == 4",
        "torch.sym_max(2, L['flat'][0].size()[1]) % 3 == 0",
        "math.ceil(L['flat'][0].size()[0]) > 1",
    ]
    found = read_sizes([("s0", "s1"), ("s2", "s3")], {"s0": (2, 9)}, guards, sources)
    assert found.shapes == [("N", "M"), ("N", 4)]
    assert list(map(str, found.facts.guards)) == ["max(2, M) % 3 == 0", "ceil(N) > 1", "N >= 2", "N <= 9"]
    assert found.letters == {"s0": "N", "s1": "M", "s2": "N", "s3": 4}


def test_a_size_that_torch_computed_is_written_over_our_symbols() -> None:
    assert over_letters("(((s2 - 1)//2)) + s10", {"s2": "M", "s10": "K"}) == "(M - 1) // 2 + K"
    assert over_letters("2*s7", {"s7": 4}) == 8
    assert over_letters("Mod(s0, 2)", {"s0": "N"}) == "Mod(N, 2)"  # a function that guards do not know


def test_a_tree_is_mapped_in_its_containers() -> None:
    tree = (1, [2, {"a": 3}], slice(4, None, 5), Record("R", ("x",), (6,)))
    mapped = map_leaves(lambda leaf: leaf and leaf * 10, tree)
    assert mapped == (10, [20, {"a": 30}], slice(40, None, 50), Record("R", ("x",), (60,)))
    assert list(leaves(tree)) == [1, 2, 3, 4, None, 5, 6]
    assert list(leaves(tree, lambda item: isinstance(item, list))) == [1, [2, {"a": 3}], 4, None, 5, 6]
    assert map_leaves(str, (Record("R", ("x",), (6,)),), lambda record, items: [record.name, *items]) == (["R", "6"],)
