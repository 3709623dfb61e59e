"""`load(..., convert=True)`: what is converted without loss, and what is refused."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas
import pytest
import torch

import tracepack


def converting(function: Any, *examples: Any) -> tracepack.Pipeline:
    file = io.BytesIO()
    tracepack.trace(function, *examples).save(file)
    return tracepack.load(file.getvalue(), convert=True)


@pytest.mark.parametrize(
    "value",
    [
        [1, 2, 3], (1, 2, 3), [1.0, 2.0, 3.0], np.array([1, 2, 3], np.int32), np.array([1, 2, 3], np.uint8),
        torch.tensor([1, 2, 3], dtype=torch.int16), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64),
        np.array([1, 2, 3], np.float32), np.array([3, 2, 1])[::-1], pandas.Series([1, 2, 3]),
        pandas.Series([1.0, 2.0, 3.0]), pandas.DataFrame({"a": [1, 2, 3]})["a"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bfloat16])
def test_equal_numbers_of_another_kind(value: Any, dtype: torch.dtype) -> None:
    mod = converting(lambda x: x * 2, torch.tensor([1, 2], dtype=dtype))
    got = mod(value)
    assert (got.dtype, got.tolist()) == (dtype, [2, 4, 6])


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        ([1.5], torch.int64, "input 'x': values are lost in the conversion from float64 to int64; expected i64"),
        ([float("nan")], torch.int64, "from float64 to int64"),
        ([True, False, 2], torch.bool, "from int64 to bool"),
        (np.array([2**53 + 1]), torch.float64, "from int64 to float64"),
        (torch.tensor([0.1], dtype=torch.float64), torch.float32, "from float64 to float32"),
        (np.array([300]), torch.uint8, "from int64 to uint8"),
        (torch.tensor([-1]), torch.uint8, "from int64 to uint8"),
        (torch.tensor([1j]), torch.float32, "from complex64 to float32"),
        ([1e300], torch.float32, "from float64 to float32"),
        ([[1], [2, 3]], torch.float32, "input 'x': lists are of different lengths; expected f32"),
        (["a"], torch.float32, "input 'x[0]': not a number; got 'a'; expected f32"),
        ([[1, 2], [3, None]], torch.float32, "input 'x[1][1]': not a number; got None; expected f32"),
        ([1, 10**30], torch.float32, "input 'x': an integer of more than 64 bits; expected f32"),
        (np.array(["1.0"]), torch.float32, "input 'x': not numbers; got numpy <U3; expected f32"),
        ([-1], torch.uint64, "from int64 to uint64"),
        ([2**64 - 1], torch.int64, "from uint64 to int64"),
        ([2**53 + 1, 2.0], torch.int64, "from integers beyond 2**53 to int64"),
        ([2**53 + 1, 0.5], torch.float64, "from integers beyond 2**53 to float64"),
        ([np.int64(2**53 + 1), 0.5], torch.float64, "from integers beyond 2**53 to float64"),
        ([np.int64(2**53 + 1), 1.0], torch.int64, "from integers beyond 2**53 to int64"),
        ([torch.tensor(2**53 + 1), torch.tensor(1.5)], torch.float64, "from integers beyond 2**53 to float64"),
        ([2**24 + 1, 0.5], torch.float32, "from integers beyond 2**24 to float32"),
        ([2**11 + 1, 0.5], torch.float16, "from integers beyond 2**11 to float16"),
        ([np.array([2**24 + 1, 1]), np.array([0.5, 1.0])], torch.float32, "from integers beyond 2**24 to float32"),
        (pandas.Series([2**53 + 1, None], dtype="Int64"), torch.float64, "from integers beyond 2**53 to float64"),
        (pandas.DataFrame({"a": [2**53 + 1], "b": [0.5]}), torch.float64, "from integers beyond 2**53 to float64"),
        ([65520.0], torch.float16, "from float64 to float16"),
        ([1e6], torch.float8_e4m3fn, "from float64 to float8_e4m3fn"),
        ([float("inf")], torch.float8_e4m3fn, "from float64 to float8_e4m3fn"),
        ([1e39], torch.complex64, "from float64 to complex64"),
        (pandas.Series([1, None]), torch.int64, "from float64 to int64"),
        (torch.tensor([-float("inf")], dtype=torch.float16), torch.int64, "from float16 to int64"),
        (torch.tensor([-(2**31)], dtype=torch.int32), torch.float16, "from int32 to float16"),
        (np.array([40000, 1], np.uint16), torch.int16, "from uint16 to int16"),
        (np.array([-1], np.int8), torch.uint8, "from int8 to uint8"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), torch.float32, "input 'x': a tensor has no mask; got a masked array"),
    ],
)  # fmt: skip
def test_what_would_be_lost_is_refused(value: Any, dtype: torch.dtype, text: str) -> None:
    mod = converting(lambda x: x, torch.ones(2, dtype=dtype))
    with pytest.raises(tracepack.SignatureError) as caught:
        mod(value)
    assert text in str(caught.value)


def test_floats_of_python_and_of_tables_are_rounded_as_torch_rounds_them() -> None:
    mod = converting(lambda x: x + 0, torch.ones(2))
    numbers = [0.1, 1 / 3, float("inf"), float("nan")]
    wanted = torch.tensor(numbers)
    for value in (numbers, pandas.Series(numbers)):
        assert torch.equal(mod(value).nan_to_num(7), wanted.nan_to_num(7))


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([0.1, 65519.0, -float("inf"), float("nan")], torch.float16), ([0.1, 1e6, float("inf")], torch.bfloat16),
        ([0.1, 448.0, -1.0, float("nan")], torch.float8_e4m3fn), ([1e-300, 1e-46, -0.0], torch.float32),
        ([0.1, 2.0], torch.complex64), ([0.1 + 2j], torch.complex64), ([1, 2], torch.complex64),
        ([0, 2**64 - 1], torch.uint64), ([2**54, 0.5], torch.float64),
    ],
)  # fmt: skip
def test_numbers_become_what_torch_makes_of_them(numbers: list[Any], dtype: torch.dtype) -> None:
    got, wanted = converting(lambda x: x, torch.ones(2, dtype=dtype))(numbers), torch.tensor(numbers, dtype=dtype)
    assert got.dtype == dtype
    assert got.view(torch.uint8).tolist() == wanted.view(torch.uint8).tolist()


def test_arrays_of_the_other_byte_order() -> None:
    mod = converting(lambda x: x * 2, torch.ones(2))
    for kind in (">f4", "<f4", ">i2", ">f8"):
        assert mod(np.array([1, 2, 3], kind)).tolist() == [2, 4, 6]


def test_numbers_tables_and_strings() -> None:
    table = pandas.DataFrame({"a": [1.5, 2.5, 3.5], "b": [1, 2, 3], "name": ["x", "yy", "z"]})
    mod = converting(
        lambda rows, n, t, flag: (rows.sum() * n, t * 2, flag), torch.ones(3, 2), 1.0, torch.tensor(1.0), True
    )
    total, doubled, flag = mod(table[["a", "b"]], 2, 3, True)
    assert (total.item(), doubled.item(), flag) == (27.0, 6.0, True)
    total, *_ = mod(table[["a", "b"]], torch.tensor(2.0), 3, True)
    assert total.item() == 27.0
    with pytest.raises(tracepack.SignatureError, match="input 'flag'"):
        mod(table[["a", "b"]], 2, 3, 1)


def test_without_it_nothing_is_converted() -> None:
    mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
    with pytest.raises(tracepack.SignatureError, match="input 'x': not a tensor; got list; expected f32"):
        mod([1.0, 2.0])
    with pytest.raises(tracepack.SignatureError, match="got float64; expected float32"):
        mod(torch.ones(2, dtype=torch.float64))


def filled(x):
    y = x.clone()
    y[0] = 0
    return y


def counted(indices):
    found = torch.zeros(3)
    for index in indices:
        found[index] += 1
    return found


def hot(classes):
    found = torch.zeros(len(classes), 3)
    found[torch.arange(len(classes)), classes] = 1
    return found


def clipped(x):
    array = x.numpy().copy()
    array[array > 0.5] = 0
    return array


OWN_WRITES = {
    "a copy": (filled, torch.ones(3), [1.0, 2.0]),
    "a product": (lambda x: (x * 2).clamp_(0, 1), torch.ones(3), [1.0, 0.25]),
    "a result": (lambda x: x.masked_fill(x < 0, 1.0).relu_(), torch.ones(3), [1.0, -2.0]),
    "zeros that are filled": (hot, torch.tensor([0, 2]), [1, 0, 2]),
    "counts": (counted, [1, 2, 1], [0, 0]),
    "an array": (clipped, torch.tensor([0.25, 1.0]), [1.0, 0.5, 0.25]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", OWN_WRITES)
def test_what_the_function_made_itself_may_be_written_to(name: str) -> None:
    process, example, given = OWN_WRITES[name]
    mod = converting(process, example)
    assert "(written)" not in mod.signature
    tensor = given if isinstance(example, list) else torch.tensor(given, dtype=example.dtype)
    assert np.array_equal(np.asarray(mod(given)), np.asarray(process(tensor)))


def test_what_a_run_writes_into_is_not_converted_and_the_rest_is() -> None:
    with pytest.warns(UserWarning, match="convert=True converts all but 'x': a run may write into the caller's"):
        both = converting(lambda x, y: x.add_(y), torch.ones(3), torch.ones(3))
    x = torch.ones(2)
    both(x, [1.0, 2.0])
    assert x.tolist() == [2, 3]
    with pytest.raises(tracepack.SignatureError, match="input 'x': not a tensor; got list"):
        both([1.0, 2.0], [1.0, 2.0])


def test_nothing_is_converted_where_a_run_writes_into_all_inputs() -> None:
    with pytest.warns(UserWarning, match="convert=True converts all but 'x': a run may write into the caller's"):
        mod = converting(lambda x: x.add_(1), torch.ones(3))
    x = torch.ones(2)
    mod(x)
    assert x.tolist() == [2, 2]
    with pytest.raises(tracepack.SignatureError, match="not a tensor; got list"):
        mod([1.0, 2.0])


class Repeated(torch.nn.Module):
    def forward(self, x, texts: list[str]) -> list[torch.Tensor]:
        return [x * len(text) for text in texts]


def loaded(process, *example):
    file = io.BytesIO()
    tracepack.trace(process, *example).save(file)
    return tracepack.load(file.getvalue(), convert=True, trust=True)


@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")
def test_kernels_that_write_nothing_let_inputs_be_converted() -> None:
    twice = tracepack.script(tracepack.comprehension.define("def twice(float(N) X) -> (O) { O(n) = 2.0 * X(n) }"))
    assert loaded(lambda x: twice(x), torch.ones(3))([1, 2]).tolist() == [2, 4]
    kept = tracepack.script(torch.jit.script(Repeated()))
    with pytest.warns(tracepack.OpaqueOpWarning):
        mod = loaded(lambda x, texts: kept(x, texts), torch.ones(1), ["a", "bb"])
    assert [each.tolist() for each in mod([2], ["", "abc", "a"])] == [[0], [6], [2]]


class Attributes(dict):
    """A dict whose entries are attributes, too: a name that it lacks is a KeyError."""

    __getattr__ = dict.__getitem__


@pytest.mark.parametrize(
    "value",
    [
        torch.ones(3).to_sparse(),
        torch.ones(3).to_mkldnn(),
        Attributes(a=1),
    ],
    ids=["sparse", "of oneDNN", "a dict"],
)
def test_what_has_no_numbers_to_compare_is_refused(value: Any) -> None:
    mod = converting(lambda x: x * 2, torch.tensor([1, 2]))
    with pytest.raises(tracepack.SignatureError, match="input 'x'"):
        mod(value)


def test_eight_bits_of_floats_are_converted() -> None:
    mod = converting(lambda x: x * 2, torch.tensor([1, 2]))
    assert mod(torch.tensor([1.0, 2.0, 3.0]).to(torch.float8_e4m3fn)).tolist() == [2, 4, 6]


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        ([2**24, 0.5], torch.float32, [2.0**24, 0.5]),
        ([2**24 + 2, 0.1], torch.float32, [2.0**24 + 2, 0.10000000149011612]),
        ([16777217.0, 3], torch.float32, [16777216.0, 3.0]),  # a float is rounded, as by `torch.tensor`
        ([np.int64(2**54), 1e300], torch.float64, [2.0**54, 1e300]),
        (pandas.Series([2**54, 5], dtype="Int64"), torch.float64, [2.0**54, 5.0]),
    ],
)
def test_integers_beside_floats_that_are_kept(value: Any, dtype: torch.dtype, wanted: list[float]) -> None:
    assert converting(lambda x: x + 0, torch.ones(2, dtype=dtype))(value).tolist() == wanted


def test_json_gives_lists_for_tuples() -> None:
    mod = converting(lambda pair: pair[0] + pair[1], (1, 2.5))
    assert mod([1, 2.5]) == 3.5
    with pytest.raises(tracepack.SignatureError, match="another structure.*got list of 3; expected tuple of 2"):
        mod([1, 2.5, 3])


def test_a_column_of_float16_becomes_integers_without_a_warning() -> None:
    mod, file = tracepack.trace(lambda x: x * 2, torch.tensor([1, 2])), io.BytesIO()
    mod.save(file)
    loaded = tracepack.load(file.getvalue(), convert=True)
    assert torch.equal(loaded(pandas.Series([1.0, 2.0]).astype("float16")), torch.tensor([2, 4]))
