"""What no signature holds, literals in every position, and inputs that end in errors of ours."""

from __future__ import annotations

import io
from collections import OrderedDict, defaultdict, namedtuple
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.models import Counter
from tests.trust.trials import trial

X = torch.randn(2, 3)
INDEX = torch.tensor([0, 1, 1])


class Tagged(torch.Tensor):
    pass


def by_gradient(x: torch.Tensor) -> torch.Tensor:
    return x.detach() * 2 if x.requires_grad else x.detach()


def by_parameter(x: torch.Tensor) -> torch.Tensor:
    return x.detach() * 2 if isinstance(x, torch.nn.Parameter) else x.detach()


def by_attribute(x: torch.Tensor) -> torch.Tensor:
    return x.detach() * getattr(x, "scale", 1)


def by_class(x: torch.Tensor) -> torch.Tensor:
    return torch.Tensor(x) * 2 if isinstance(x, Tagged) else x.detach()


def tagged() -> torch.Tensor:
    return X.clone().as_subclass(Tagged)


def scaled() -> torch.Tensor:
    x = X.clone()
    x.scale = 3  # type: ignore[attr-defined]  # that is the trial
    return x


KINDS: list[tuple[Any, Any]] = [
    (by_gradient, lambda: X.clone().requires_grad_()),
    (by_parameter, lambda: torch.nn.Parameter(X.clone())),
    (by_attribute, scaled),
    (by_class, tagged),
]


@pytest.mark.parametrize(("process", "special"), KINDS)
def test_what_no_signature_holds(process: Any, special: Any) -> None:
    for first, second in ((special, X.clone), (X.clone, special)):
        try:
            traced = tracepack.trace(process, first())
        except tracepack.TracepackError:
            continue
        for make in (first, second, second):
            try:
                got = traced(make())
            except tracepack.TracepackError:
                continue
            assert torch.equal(torch.Tensor(got), torch.Tensor(process(make()).detach()))


def test_a_parameter_or_a_tensor_with_gradients_is_taken_where_nothing_asks() -> None:
    traced = tracepack.trace(lambda x: x * 2, X)
    for given in (torch.nn.Parameter(X.clone()), X.clone().requires_grad_(), scaled()):
        assert torch.equal(traced(given), X * 2)


def test_the_fields_of_a_named_tuple_keep_their_order() -> None:
    given, swapped = namedtuple("Pair", "a b"), namedtuple("Pair", "b a")
    traced = tracepack.trace(lambda pair: pair.a - pair.b, given(X, X * 2))
    assert torch.equal(traced(given(X, X * 3)), X - X * 3)
    with pytest.raises(tracepack.SignatureError, match="fields"):
        traced(swapped(X, X * 3))


def test_a_plain_tuple_is_no_named_one() -> None:
    pair, other = namedtuple("Pair", "a b"), namedtuple("Other", "a b")
    traced, file = tracepack.trace(lambda pair: pair.a - pair.b, pair(X, 2.0)), io.BytesIO()
    traced.save(file, examples=[{"pair": pair(X, 3.0)}])
    read = tracepack.load(file.getvalue(), verify="golden")
    for pipeline in (traced, read):
        assert torch.equal(pipeline(other(X, 5.0)), X - 5.0)
        told = r"'pair'.*a plain tuple has no names.*expected a named tuple with the fields a, b"
        with pytest.raises(tracepack.SignatureError, match=told):
            pipeline((X, 5.0))
    converting = tracepack.load(file.getvalue(), convert=True)
    for given in ((X, 5.0), [X, 5.0], {"b": 5.0, "a": X}, pair(X, 5)):
        assert torch.equal(converting(given), X - 5.0)
    with pytest.raises(tracepack.SignatureError, match="another structure"):
        converting((X, 5.0, 6.0))
    second = io.BytesIO()
    read.save(second)
    assert second.getvalue() == file.getvalue()


def test_a_function_that_goes_through_a_dict_is_held_to_the_order_of_its_keys() -> None:
    def process(parts: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.cat(list(parts.values()))

    file = io.BytesIO()
    with pytest.warns(UserWarning, match="the keys of 'parts' are fixed"):
        traced = tracepack.trace(process, {"a": X, "b": X * 2})
    traced.save(file)
    for pipeline in (traced, tracepack.load(file.getvalue())):
        given = {"a": X, "b": X * 3}
        assert torch.equal(pipeline(given), process(given))
        with pytest.raises(tracepack.SignatureError, match="keys are in another order.*'b', 'a'.*'a', 'b'"):
            pipeline({"b": X * 3, "a": X})


@pytest.mark.parametrize("kind", [OrderedDict, partial(defaultdict, int)])
def test_another_kind_of_dict_is_held_to_its_order_where_the_function_goes_through_it(kind: Any) -> None:
    given, other = kind({"a": 1, "b": 2}), kind({"b": 3, "a": 4})
    through = tracepack.trace(lambda parts: [[*part.items()] for part in parts], [given])
    assert through([kind({"a": 5, "b": 6})]) == [[("a", 5), ("b", 6)]]
    with pytest.raises(tracepack.SignatureError, match=r"parts\[0\].*another order"):
        through([other])
    looked_up = tracepack.trace(lambda parts: parts["a"] - parts["b"], given)
    assert looked_up(other) == 1


def test_a_dict_that_is_handed_on_beside_an_op_with_state_is_held_to_the_order_of_its_keys() -> None:
    op = tracepack.script(Counter())
    mod = tracepack.trace(lambda x, k: (op(x), k), X, {2: 3, 1: 4})
    assert list(mod(X, {2: 5, 1: 6})[1]) == [2, 1]
    with pytest.raises(tracepack.SignatureError, match="input 'k': the keys are in another order"):
        mod(X, {1: 6, 2: 5})


def test_a_function_that_looks_things_up_takes_keys_in_any_order() -> None:
    traced = tracepack.trace(lambda parts: parts["a"] - parts["b"][0], {"a": X, "b": (X * 2,)})
    assert torch.equal(traced({"b": (X * 3,), "a": X}), X - X * 3)


def test_the_order_of_keys_in_a_nested_dict_counts_and_is_bound_where_pipelines_are_called() -> None:
    traced = tracepack.trace(lambda parts: [v * 2 for v in parts[0].values()], [{3: X, 1: X + 1}])
    with pytest.raises(tracepack.SignatureError, match=r"parts\[0\].*another order"):
        traced([{1: X + 1, 3: X}])
    outer = tracepack.trace(lambda x: traced([{3: x, 1: x + 1}])[1], X)
    assert torch.equal(outer(X * 5), (X * 5 + 1) * 2)


@pytest.mark.parametrize("asks", [lambda x: x._version, lambda x: x.is_inference()])
def test_what_only_the_history_of_a_tensor_decides_is_refused(asks: Any) -> None:
    with pytest.raises(tracepack.RecordError, match="which no graph holds") as caught:
        tracepack.trace(lambda x: x * 2 if asks(x) else x, X)
    assert "test_inputs.py" in str(caught.value)


# -- literals ---------------------------------------------------------------------------------------------------

LITERALS = [-1, 0, -3, -(2**70), -1.5, -0.0, float("-inf"), True, -1j]
OPERATORS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b, "truediv": lambda a, b: a / b, "pow": lambda a, b: a**b, "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b, "and": lambda a, b: a & b, "shift": lambda a, b: a << b,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_literals_in_every_position(name: str) -> None:
    operate, taken = OPERATORS[name], []
    for literal in LITERALS:
        for left in (False, True):
            try:
                operate(literal, 2) if left else operate(2, literal)
            except (TypeError, ValueError, OverflowError, ZeroDivisionError):
                continue
            taken.append((left, literal))

    def process(x: torch.Tensor) -> Any:
        n = x.shape[0]
        return [operate(literal, n) if left else operate(n, literal) for left, literal in taken], x

    assert taken
    assert trial(lambda: process, X) == "right"


def test_a_negative_base_keeps_its_brackets() -> None:
    traced = tracepack.trace(lambda x: x * ((-1) ** x.shape[0]), X)
    for rows in (1, 2, 3, 4):
        assert torch.equal(traced(torch.ones(rows, 3)), torch.ones(rows, 3) * (-1) ** rows)


# -- errors of ours -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_wide_unsigned_inputs(dtype: torch.dtype) -> None:
    given = torch.tensor([1, 2, 3]).to(dtype)
    found = trial(lambda: lambda x: x.to(torch.int64) + 1, given, others=[(given[:2],)])
    assert found == "right" or "uint" in found, found


def test_a_keyword_with_the_name_of_a_positional_one() -> None:
    def process(x: torch.Tensor, /, **options: Any) -> torch.Tensor:
        return x * options["x"]

    with pytest.raises(tracepack.TracepackError, match="'x'"):
        tracepack.trace(process, X, x=2.0)
    traced = tracepack.trace(lambda x, /, **options: x * options["y"], X, y=2.0)
    assert torch.equal(traced(X, y=3.0), X * 3)


def test_deep_nesting() -> None:
    deep: Any = X
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(tracepack.TracepackError, match="nested"):
        tracepack.trace(lambda x: X * 2, deep)
    with pytest.warns(UserWarning, match="the length of 'x' is fixed to 1"):
        traced = tracepack.trace(lambda x: x[0] * 2, [X])
    with pytest.raises(tracepack.TracepackError):
        traced(deep)

    def returns(x: torch.Tensor) -> Any:
        found: Any = x
        for _ in range(5000):
            found = [found]
        return found

    with pytest.raises(tracepack.TracepackError, match="nested"):
        tracepack.trace(returns, X)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("kind", ["meta", "nested", "sparse"])
def test_tensors_without_plain_memory(kind: str) -> None:
    match kind:
        case "meta":
            given = X.to("meta")
        case "nested":
            given = torch.nested.nested_tensor([X[0], X[1, :2]])
        case _:
            given = X.to_sparse()
    traced = tracepack.trace(lambda x: x * 2, X)
    with pytest.raises(tracepack.TracepackError):
        traced(given)
    with pytest.raises(tracepack.TracepackError):
        tracepack.trace(lambda x: x * 2, given)


@pytest.mark.parametrize("key", [(1, 2), None, b"k", 1.5, 3, True], ids=str)
def test_keys_of_dicts(key: Any) -> None:
    for process, example in (
        (lambda d: d[key] * 2, {key: X}),
        (lambda x: {key: x * 2}, X),
    ):
        try:
            traced = tracepack.trace(process, example)
        except tracepack.TracepackError:
            continue
        file = io.BytesIO()
        try:
            traced.save(file)
        except tracepack.TracepackError:
            continue
        loaded = tracepack.load(file.getvalue())
        got, wanted = loaded(example), process(example)
        assert str(got) == str(wanted)


def test_the_text_of_a_signature_holds_no_object() -> None:
    traced = tracepack.trace(lambda x: (x * 2, x.dtype, np.float32(2)), X)
    assert "Literal(" not in traced.signature
    assert "Literal(" not in str(traced.graph)


def _sets(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    batch["c"] = batch["a"] * 2
    return batch["a"]


def _pops(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return batch.pop("a")


def _appends(rows: list[torch.Tensor]) -> torch.Tensor:
    (only,) = rows
    rows.append(only * 2)
    return only


@pytest.mark.parametrize(("process", "given"), [(_sets, {"a": X}), (_pops, {"a": X}), (_appends, [X])])
def test_a_function_that_changes_a_container_of_its_caller_is_warned_of(process: Any, given: Any) -> None:
    with pytest.warns(UserWarning, match="^the function changes a list or a dict that it was given; the"):
        mod = tracepack.trace(process, given)
    assert len(given) == 1
    torch.testing.assert_close(mod(given), X)


def test_a_function_that_changes_its_own_containers_is_not_warned_of() -> None:
    def process(batch: dict[str, torch.Tensor], *rest: torch.Tensor, **more: torch.Tensor) -> torch.Tensor:
        batch = dict(batch, c=X)
        return batch.pop("a") + rest[0] + more.pop("b")

    mod = tracepack.trace(process, {"a": X}, X, b=X)
    torch.testing.assert_close(mod({"a": X}, X, b=X), X * 3)


def test_a_number_of_numpy_that_promotes_otherwise_than_a_plain_one_is_refused() -> None:
    with pytest.raises(tracepack.RecordError, match="float32 .* instead of ndarray float64 .* number of numpy, which"):
        tracepack.trace(lambda a, n: a * n, np.ones(3, np.float32), np.int64(3))
    mod = tracepack.trace(lambda x, k: x.topk(k).values, torch.randn(2, 5), np.int64(3))
    assert mod(torch.randn(4, 6), np.int64(2)).shape == (4, 2)


def test_a_text_for_a_function_of_torch_is_refused_with_the_way_out() -> None:
    text = "a function of torch was given a text that is decided at run time; got scatter_reduce.*must be str. Leave it"
    with pytest.raises(tracepack.RecordError, match=text):
        tracepack.trace(lambda x, how: torch.zeros(2).scatter_reduce(0, INDEX, x, how), torch.rand(3), "sum")
