"""Lists of arrays, of bytes and of namedtuples as arguments may have any length, as lists of tensors may."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

RANDOM = np.random.default_rng(0)


def arrays(*shapes, dtype=np.float64):
    return [RANDOM.random(shape).astype(dtype) for shape in shapes]


class Image(NamedTuple):
    """What a reader of images may give."""

    name: str
    pixels: np.ndarray


class Point(NamedTuple):
    """Two numbers."""

    x: float
    y: float


OP = tracepack.script(torch.nn.Linear(3, 2), device="cpu")
ROWS = [[arrays((3,), (5,))], [[arrays((2,))], [arrays((1,), (4,), (2,), (7,))], [[]]]]
ALIKE = [[arrays((3,), (3,))], [[arrays((2,))], [arrays((4,), (4,), (4,))]]]
IMAGES = [np.full(shape, 50, np.uint8) for shape in ((4, 5, 3), (3, 3, 3))]
OTHER_IMAGES = [[IMAGES[1:]], [[np.arange(n * 18, dtype=np.uint8).reshape(n, 6, 3) for n in (1, 2, 5)]]]
DATA = [[[b"RIFFa", b"bc"]], [[[b"q"]], [[b"RIFF", b"", b"abc", b"q"]], [[]]]]
RECORDS = [{"n": "a", "x": RANDOM.random(3), "d": b"xy"}, {"n": "b", "x": RANDOM.random(2), "d": b"z"}]
OTHER_RECORDS = [[RECORDS[:1]], [[*RECORDS, {"n": "cd", "x": RANDOM.random(9), "d": b""}]]]
POINTS = [Point(1.0, 2.0), Point(2.0, 3.0)]
OTHER_POINTS = [[POINTS[:1]], [[Point(-1.0, 0.5), *POINTS, Point(4.0, 9.0)]], [[]]]


def scaled(images):
    out = []
    for image in images:
        out.append(image / 255.0)  # noqa: PERF401  # as people write it
    return out


def batch(images):
    rows = [np.asarray(image, dtype=np.float32) / 255 for image in images]
    resized = [
        torch.nn.functional.interpolate(torch.from_numpy(row).permute(2, 0, 1)[None], size=(2, 2))[0] for row in rows
    ]
    return torch.stack(resized)


def padded(xs):
    longest = max(len(x) for x in xs)
    return np.stack([np.pad(x, (0, longest - len(x))) for x in xs])


def named_max(records):
    best, most = "none", -1.0
    for record in records:
        if record["x"].sum() > most:
            best, most = record["n"], float(record["x"].sum())
    return best, most


def marked(xs):
    out = []
    for x in xs:
        y = x.copy()
        y[0] = 1
        out.append(y)
    return out


def kinds(files):
    out = []
    for data in files:
        if data[:4] == b"RIFF":
            out.append("wav")
        else:
            out.append(f"other of {len(data)}")
    return out


def longer(files):
    out = []
    for data in files:
        if len(data) > 2:
            out.append(data)
        else:
            out.append(b"zz")
    return [each.hex() for each in out]


CASES = {
    "means": Case(lambda xs: [x.mean() for x in xs], ROWS[0], ROWS[1][:2]),
    "floats": Case(lambda xs: [float(x.sum()) for x in xs], *ROWS),
    "map": Case(lambda xs: tracepack.map(lambda x: x * 2, xs), *ROWS),
    "a loop": Case(scaled, [IMAGES], OTHER_IMAGES),
    "images": Case(batch, [IMAGES], OTHER_IMAGES),
    "concatenate": Case(lambda xs: np.concatenate(xs), ROWS[0], ROWS[1][:2]),
    "stack": Case(lambda xs: np.stack(xs).mean(0), *ALIKE),
    "an array of them": Case(lambda xs: torch.tensor(np.array(xs)) * 2, *ALIKE),
    "an op": Case(
        lambda xs: [OP(torch.from_numpy(x)) for x in xs],
        [arrays((2, 3), (4, 3), dtype=np.float32)], [[arrays((1, 3), dtype=np.float32)]],
    ),
    "padded": Case(padded, ROWS[0], ROWS[1][:2]),
    "copies that are written": Case(marked, ROWS[0], ROWS[1][:2]),
    "a list back": Case(lambda xs: xs, *ROWS),
    "names beside them": Case(
        lambda xs, names: [f"{n}:{x.mean():.2f}" for n, x in zip(names, xs)],  # noqa: B905  # as people write it
        [arrays((3,), (2,)), ["a", "b"]], [[arrays((1,), (2,), (5,)), ["a", "bb", "c"]]],
    ),
    "the longest": Case(lambda xs: max(xs, key=lambda x: x.shape[0]).sum(), ROWS[0], ROWS[1][:2]),
    "lists of them in lists": Case(
        lambda xss: [[x.sum() for x in xs] for xs in xss], [[arrays((2,), (3,)), arrays((1,))]], [[[arrays((4,))]]]
    ),
    "in a dict": Case(lambda d: [x.sum() for x in d["a"]], [{"a": arrays((3,), (2,))}], [[{"a": arrays((1,))}]]),
    "in records": Case(lambda rows: [{"n": r["n"].upper(), "m": r["x"].max()} for r in rows], [RECORDS], OTHER_RECORDS),
    "the best record": Case(named_max, [RECORDS], OTHER_RECORDS),
    "in tuples": Case(
        lambda pairs: [(x * 2).sum() + len(t) for x, t in pairs],
        [[(RANDOM.random(2), "a"), (RANDOM.random(3), "bb")]], [[[(RANDOM.random(1), "ccc")]]],
    ),
    "bytes": Case(lambda files: [len(data) for data in files], *DATA),
    "texts of bytes": Case(lambda files: [data.decode().upper() for data in files], *DATA),
    "bytes that branch": Case(kinds, *DATA),
    "bytes that a loop keeps": Case(longer, *DATA),
    "bytes that are filtered": Case(lambda files: [data.hex() for data in files if data != b"q"], *DATA),
    "bytes that are not empty": Case(lambda files: [data.hex() for data in files if data], *DATA),
    "empty bytes": Case(lambda files: [data.hex() for data in files if not data or data[0] > 98], *DATA),
    "bytes sorted": Case(lambda files: [len(data) for data in sorted(files, key=len)], *DATA),
    "bytes in records": Case(lambda rows: [(r["n"], len(r["d"])) for r in rows], [RECORDS], OTHER_RECORDS),
    "encoded texts": Case(
        lambda texts: [len(data) for data in [text.encode() for text in texts]],
        [["a", "é"]], [[["q"]], [["ü", "", "c"]]],
    ),
    "namedtuples": Case(lambda points: [p.x + p.y for p in points], [POINTS], OTHER_POINTS),
    "namedtuples sorted": Case(
        lambda points: [p.x for p in sorted(points, key=lambda p: -p.y)], [POINTS], OTHER_POINTS
    ),
    "namedtuples back": Case(lambda points: [p for p in points if p.x > 0], [POINTS], OTHER_POINTS),
    "namedtuples of arrays": Case(
        lambda images: [(i.name.upper(), i.pixels.mean()) for i in images],
        [[Image("a", RANDOM.random((3, 2))), Image("b", RANDOM.random((2, 2)))]],
        [[[Image("c", RANDOM.random((4, 4)))] * 3]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_list_has_any_length(name) -> None:
    check(CASES[name])


def test_the_signature_shows_a_list() -> None:
    mod = loaded(CASES["in records"].process, RECORDS)
    assert mod.signature.startswith("(rows: list[{'n': str, 'x': f64[?], 'd': u8[?]}]) -> ")


def test_a_place_that_is_asked_for_fixes_the_length() -> None:
    with pytest.warns(UserWarning, match="the length of 'xs' is fixed to 2"):
        mod = loaded(lambda xs: xs[0] + xs[1], arrays((3,), (3,)))
    assert mod.signature.startswith("(xs[0]: f64[N], xs[1]: f64[")
    xs = arrays((2,), (2,))
    assert np.array_equal(mod(xs), xs[0] + xs[1])
    with pytest.raises(tracepack.SignatureError, match="got list of 3; expected list of 2. It has the length of the"):
        mod([*xs, *xs[:1]])


def test_what_is_written_into_an_item_reaches_the_caller_or_is_refused() -> None:
    mod = loaded(lambda xs: [np.multiply(x, 2, out=x).sum() for x in xs], arrays((3,), (2,)))
    given = [np.ones(3), np.ones(1), np.ones(2)]
    assert mod(given) == [6.0, 2.0, 4.0]
    assert [x.tolist() for x in given] == [[2.0] * 3, [2.0], [2.0] * 2]
    given[1].flags.writeable = False
    with pytest.raises(tracepack.SignatureError, match="writes into this array, which is read-only"):
        mod(given)
    with pytest.raises(tracepack.SignatureError, match="negative strides"):
        mod([np.ones(3)[::-1]])
    assert given[0].tolist() == [2.0] * 3


def test_bytes_of_a_list_are_not_compared_as_tensors() -> None:
    with pytest.raises(tracepack.RecordError, match="the objects of a list are compared, or more is asked of them"):
        tracepack.trace(lambda files: b"q" in files, [b"a", b"q"])


@pytest.mark.parametrize(
    ("process", "example"),
    [
        (lambda texts: [text.upper() for text in texts], ("a", "b")),
        (lambda xs: torch.cat(xs), (torch.ones(2), torch.ones(3))),
    ],
)
def test_trace_says_that_a_tuple_has_a_fixed_length(process, example) -> None:
    with pytest.warns(UserWarning, match="is fixed to 2, because it is a tuple. Trace with a list, which may have"):
        mod = loaded(process, example)
    with pytest.raises(tracepack.SignatureError, match="got tuple of 1; expected tuple of 2. Trace with a list"):
        mod(example[:1])
    check(Case(process, [list(example)], [[list(example[:1])], [[*example, *example]]]))


def test_nothing_is_said_of_a_tuple_that_the_function_does_not_go_through() -> None:
    mod = loaded(lambda state: state[0] + state[1], (torch.ones(2), torch.ones(2)))
    assert mod((torch.ones(3), torch.ones(3))).tolist() == [2.0] * 3


COUNTED = {
    "a loop over a dict": (
        lambda table: {key: value * 2 for key, value in table.items()},
        [{"a": 1.0, "b": 2.0}],
        r"the keys of 'table' are fixed to \['a', 'b'\], because the function goes through them. For any keys let it",
        "(table['a']: float, table['b']: float)",
    ),
    "the length of a dict of unlike things": (
        lambda table: len(table) + table["a"],
        [{"a": 1, "b": "x"}],
        r"the keys of 'table' are fixed to \['a', 'b'\], because the function goes through them$",
        "(table['a']: int, table['b']: str)",
    ),
    "all of several": (
        lambda *xs: torch.stack([x.sum() for x in xs]),
        [torch.ones(2), torch.ones(3)],
        r"the number of \*xs is fixed to 2, because the function goes through them. Let it take one list, xs, which",
        "(xs[0]: f32[N], xs[1]: f32[M])",
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_trace_says_what_fixes_a_number_of_arguments(name) -> None:
    process, example, words, inputs = COUNTED[name]
    with pytest.warns(UserWarning, match=words) as found:
        mod = loaded(process, *example)
    assert len(found) == 1
    assert mod.signature.startswith(inputs)


def test_the_forms_for_any_keys_and_for_any_number_work() -> None:
    def doubled(keys, values):
        return {key: value * 2 for key, value in zip(keys, values, strict=True)}

    check(Case(doubled, [["a", "b"], [1.0, 2.0]], [[["c"], [3.0]], [[], []], [["a", "x", "y"], [1.0, 5.0, 0.0]]]))
    with pytest.warns(UserWarning, match="Let it take one list, xs"):
        mod = loaded(lambda *xs: torch.cat(xs), torch.ones(2), torch.ones(3))
    with pytest.raises(tracepack.SignatureError, match=r"tuple of 2. Let the function take one list in place of \*xs"):
        mod(torch.ones(2))


def test_nothing_is_said_of_known_keys_and_known_arguments() -> None:
    mod = loaded(lambda batch, *xs: batch["a"] + batch["b"] + xs[0], {"a": 1.0, "b": 2.0}, 3.0)
    assert mod({"a": 2.0, "b": 2.0}, 4.0) == 8.0


def grown_by_two_names(xs):
    both = xs
    both += [9]
    return xs, both, len(xs), max(both)


def grown_in_place(xs):
    other = kept = xs
    other += [1]
    kept += xs
    return [x + 1 for x in xs], len(other)


def grown_entry(table):
    items = table["a"]
    items += [1]
    return table, len(items)


@pytest.mark.parametrize(
    ("process", "example", "other"),
    [
        (grown_by_two_names, [3, 1, 2], [5]),
        (grown_in_place, [3, 1], []),
        (grown_entry, {"a": [1, 2]}, {"a": []}),
    ],
)
def test_a_given_list_grows_under_all_of_its_names_and_the_callers_stays(process, example, other):
    with pytest.warns(UserWarning, match="changes a list or a dict that it was given") as said:
        mod = loaded(process, copy.deepcopy(example))
    assert len(said) == 1
    for given in (example, other):
        kept = copy.deepcopy(given)
        assert mod(given) == process(copy.deepcopy(given))
        assert given == kept
