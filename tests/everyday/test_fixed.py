"""What cannot stay free is said at the trace, and is an error of ours for other inputs; nothing is frozen unseen."""

from __future__ import annotations

import cmath
import logging
import re
import unicodedata
import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import loaded
from tests.everyday.idioms import asserted
from tests.everyday.labels import LABELS, SCORES
from tests.everyday.texts import TEXTS
from tracepack.pipeline.opening import verify_golden
from tracepack.serialization.container.archive import Archive

X = torch.ones(2)


def counted(words):
    i = count = 0
    while i < len(words):
        try:
            count += len(words[i])
        finally:
            i += 1
    return count


FIXED = {
    "while": (counted, [["a", "bb"]], [["a"]], "the number of rounds is fixed"),
    "a method that is not recorded": (lambda s: len(s.format(1)), ["ab"], ["c"], "its method 'format' was called"),
    "loop": (lambda texts: tuple(map(repr, iter(texts))), [TEXTS], [["a"]], "the length is fixed to 2"),
}


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.usefixtures("no_blocks")
def test_what_is_fixed_is_said_at_once_and_guarded(name) -> None:
    process, example, other, words = FIXED[name]
    with pytest.warns(UserWarning, match=words):
        mod = loaded(process, *example)
    assert mod(*example) == process(*example)
    with pytest.raises(tracepack.GuardError, match="the recording holds for one value only"):
        mod(*other)


def test_a_choice_by_a_text_is_recorded_and_another_branch_on_one_is_a_condition_of_the_signature() -> None:
    mod = loaded(lambda s: "yes" if s.startswith("a") else "no", "abc")
    assert (mod.signature, mod("axe"), mod("box")) == ("(s: str) -> str", "yes", "no")
    mod = loaded(lambda s: s[1] if s.startswith("a") else 0, "abc")
    assert (mod.signature, mod("axe"), mod("box")) == ("(s: str) -> any", "x", 0)


_INTEGER = "it was used as a plain integer"
VALUES = {
    "an index": (lambda x, n: [x[None], -x][n], [X, 1], "an argument", 1, _INTEGER, "n == 1"),
    "a complex number": (
        lambda x, n: cmath.exp(1j * n).real,
        [X, 2],
        "a number",
        2j,
        "it was taken as a plain complex",
        "1j * n == 2j",
    ),
    "copies": (lambda x: (0.5,) * len(x), [X], "a size", 2, _INTEGER, "x: f32[2]"),
    "a shape in a set": (lambda x: {x.shape, 3} != {3}, [X], "a size", 2, "it was used as a key", "x: f32[2]"),
    "rows of an array": (lambda x: int(x.numpy().__len__()), [X], "a size", 2, "len() read", "x: f32[2]"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_fixed_value_is_said_at_once_and_in_the_signature(name) -> None:
    process, example, what, value, why, signature = VALUES[name]
    words = re.escape(f"{what} is fixed to {value}, because {why}")
    with pytest.warns(UserWarning, match=words) as found:
        mod = loaded(process, *example)
    assert len(found) == 1
    assert signature in mod.signature


def test_a_text_for_a_function_that_takes_plain_ones_is_refused_with_what_is_recorded() -> None:
    words = (
        "a function that takes plain texts was given a text that is decided at run time.*Do .unicodedata.name.letter. "
        "for letter in text. before, and pass it as an argument"
    )
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda text: [unicodedata.name(letter) for letter in text], "abc")


def test_what_a_distribution_does_not_take_is_an_error_of_the_run_too() -> None:
    def process(rate):  # torch's compiler, once it has run, turns checks off where nobody asks for them
        return torch.distributions.Poisson(rate, validate_args=True).log_prob(torch.ones(2))

    mod = tracepack.trace(process, X)
    with pytest.raises(
        tracepack.GuardError, match="a parameter or a value lies outside of what the distribution takes"
    ):
        mod(-X)
    with pytest.raises(
        tracepack.RecordError, match="a value of the example lies outside of what the distribution takes"
    ):
        tracepack.trace(process, -X)


@pytest.mark.parametrize(
    "process",
    [
        lambda x, device="cpu": x.to(device) * 2,
        lambda x, name: x.to(device=name) * 2,
        lambda x, name: x.to(torch.device(name)) + x,
        lambda x, name: torch.zeros(1, device=torch.device(name)) + x * 2,
        lambda x, name: torch.ones_like(x, device=name) + torch.arange(1, 2, device=name) + x - x,
    ],
)
def test_a_text_that_names_a_device_is_fixed(process) -> None:
    with pytest.warns(UserWarning, match="fixed to 'cpu', because it names a device"):
        mod = loaded(process, X, "cpu")
    assert torch.equal(mod(torch.ones(3), "cpu"), torch.full((3,), 2.0))
    with pytest.raises(tracepack.GuardError, match="because it names a device; got 'cuda'; expected 'cpu'"):
        mod(torch.ones(3), "cuda")


def test_what_a_match_holds_beside_its_groups_is_refused() -> None:
    words = r"re.Match.string cannot be recorded. Use group\(\), groups\(\), groupdict\(\), start\(\), end\(\) or span"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda text: re.search("[a-z]", text).string, "abc")


def test_a_pattern_that_needs_trust_is_said_at_once() -> None:
    with pytest.warns(UserWarning, match=r"the file needs load\(path, trust=True\): the time of .* has no bound"):
        tracepack.trace(lambda s: re.sub(r"(\w+)@(\w+)", r"\2", s), "a@b")


REFUSED = {
    "entries of two types": lambda x: [1, "two", 3.0, 4, 5][x.argmax().item()],
    "entries or None in a loop": lambda x: [{1: (2, 3)}.get(n) for n in x.long().tolist()],
    "texts asked by an array": lambda x: np.array(["a", "b", "c", "d", "e"])[x[None].argsort().numpy()],
    "list of tensors": lambda x: [x, x[None], x + 2, x, x][x.argmax().item()],
    "default of another kind": lambda x: {1: ("a", 2)}.get(x.argmax().item()),
}
WORDS = {
    "entries of two types": "a table has entries of several types, int and str and float",
    "entries or None in a loop": r"table.get\(key\) gives None for a key that is missing",
    "texts asked by an array": r"an array of texts was asked by an array of several dimensions. Write tracepack.lookup",
    "list of tensors": "is asked by a traced key",
    "default of another kind": r"table.get\(key\) gives None for a key that is missing",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded_is_refused_with_the_line(name) -> None:
    with pytest.raises(tracepack.RecordError, match=WORDS[name]) as caught:
        tracepack.trace(REFUSED[name], SCORES)
    assert "test_fixed.py:" in str(caught.value)


def test_a_key_that_is_missing_is_an_error_with_the_line() -> None:
    mod = loaded(lambda x: {1: "yes", 4: "no"}[x.argmax().item()], SCORES)
    words = r"node py.lookup \(test_fixed.py:.*the table has no such entry; got 0; expected one of its 2 keys. Use tab"
    with pytest.raises(tracepack.GuardError, match=words):
        mod(torch.tensor([1.0, 0.0]))
    short = loaded(lambda x: LABELS[:2][x.argmax().item()], SCORES[:2])
    with pytest.raises(tracepack.GuardError, match="got 3; expected an index from -2 to 1"):
        short(torch.tensor([0.0, 0.0, 0.0, 1.0]))


def test_an_assertion_is_checked_in_every_run() -> None:
    mod = loaded(asserted, torch.ones(2))  # pytest rewrites the assertions of its own files
    assert torch.equal(mod(torch.ones(3)), torch.full((3,), 2.0))
    for _ in range(2):
        with pytest.raises(tracepack.GuardError, match="idioms.py:.*an assertion of the function fails; got False"):
            mod(-torch.ones(3) * 1000)


def test_a_table_is_a_constant_of_the_pipeline() -> None:
    names = ["cat", "dog"]
    mod = tracepack.trace(lambda x: names[x.argmax().item()], torch.tensor([0.0, 1.0]))
    names[0] = "cow"
    assert mod(torch.tensor([1.0, 0.0])) == "cat"


def test_an_entry_that_is_a_list_is_a_new_one_each_time() -> None:
    mod = loaded(lambda x: [[255, 0], [0, 255]][x.argmax().item()], torch.tensor([0.0, 1.0]))
    mod(torch.tensor([1.0, 0.0])).append(7)
    assert mod(torch.tensor([1.0, 0.0])) == [255, 0]


def test_a_message_of_a_logger_comes_once_for_a_trace(caplog) -> None:
    def process(x):
        logging.getLogger("everyday").warning("mean %.1f", x.mean())
        return x * 2

    with caplog.at_level(logging.INFO):
        tracepack.trace(process, torch.ones(2))
    assert caplog.messages.count("mean 1.0") >= 1
    assert caplog.records[0].funcName == "process"


def test_golden_examples_of_labels_have_the_tolerance_of_their_tensors(tmp_path) -> None:
    def best(x):
        probs, ids = x.softmax(-1).topk(2)
        return {LABELS[i]: p for i, p in zip(ids.tolist(), probs.tolist(), strict=True)}

    path = str(tmp_path / "best.tpk")
    tracepack.trace(best, SCORES).save(path, examples=[{"x": SCORES}])
    report = verify_golden(tracepack.load(path), Archive(path))
    assert [output.name for output in report.outputs] == ["out['dog']", "out['pig']"]
    assert [output.tolerance for output in report.outputs] == [1e-4, 1e-4]
    assert report.passed


def test_a_condition_inside_of_a_loop_is_not_taken_for_one_of_the_loop() -> None:
    mod = loaded(lambda texts: [[word for word in ("abc", "b") if word == text] for text in texts], ["x", "y"])
    assert mod(["q", "r", "s"]) == [[], [], []]
    assert mod(["q", "b"]) == [[], ["b"]]


def test_a_list_is_unpacked_into_as_many_values_as_in_python() -> None:
    def process(text):
        key, value = text.split("=")
        return {"key": key, "value": value}

    mod = loaded(process, "a=b")
    assert mod("c=d") == {"key": "c", "value": "d"}
    with pytest.raises(tracepack.GuardError, match="the function unpacks it into 2 values; got 3; expected 2"):
        mod("c=d=e")


def test_a_number_of_rows_that_data_decides_is_said_where_it_is_fixed() -> None:
    def process(x):
        found = ()
        for row in x[x > 0]:
            found = (*found, row)
        return found

    example = torch.tensor([1.0, -1.0, 2.0])
    with pytest.warns(
        UserWarning, match=r"for row in x\[x > 0\]:: the number of rows is fixed to 2; lists of .* carries a tuple"
    ):
        mod = loaded(process, example)
    assert mod(torch.tensor([3.0, 4.0, -1.0, -2.0])) == (torch.tensor(3.0), torch.tensor(4.0))
    with pytest.raises(tracepack.GuardError, match="rows whose number data decides; got 3; expected 2"):
        mod(torch.ones(3))


def test_a_number_of_pieces_that_a_list_decides_is_said() -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 2"):
        mod = loaded(lambda x, sizes: [part.sum() for part in x.split(sizes.tolist())], X, torch.tensor([1, 1]))
    assert mod(torch.ones(7), torch.tensor([3, 4])) == [3, 4]
    with pytest.raises(tracepack.SignatureError, match="got 3 in shape"):
        mod(torch.ones(7), torch.tensor([3, 2, 2]))


@pytest.mark.parametrize("process", [lambda x, n: x.split(n), lambda x, n: torch.cat(x.split(2)[::-1])])
def test_a_number_of_pieces_is_said_where_it_is_fixed(process) -> None:
    with pytest.warns(UserWarning, match=r"the number of pieces is fixed to 3\. A list comprehension over those of"):
        mod = loaded(process, torch.arange(6.0), 2)
    assert "f32[?]" in mod.signature  # of five rows the last piece has one
    found, wanted = mod(torch.arange(5.0), 2), process(torch.arange(5.0), 2)
    assert all(map(torch.equal, found, wanted))


def test_rows_that_data_chooses_are_unpacked_into_as_many_values_as_in_python() -> None:
    def process(x):
        first, second = x[x > 0]
        return first - second

    mod = loaded(process, torch.tensor([1.0, -1.0, 2.0]))
    assert mod(torch.tensor([3.0, 4.0, -1.0, -2.0])) == -1
    with pytest.raises(tracepack.GuardError, match="the function unpacks it into 2 values; got 3; expected 2"):
        mod(torch.ones(3))


def test_results_of_a_loop_that_nothing_collects_are_refused() -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 2"):
        mod = loaded(lambda texts: (tuple(0 for _ in texts), [1 for _ in range(1)]), ["x", "y"])
    with pytest.raises(tracepack.GuardError, match="the length of the list was read"):
        mod(["x"])


@pytest.mark.usefixtures("no_blocks")
def test_a_branch_on_a_part_of_a_text_is_in_the_signature() -> None:
    def process(text):
        name, _, value = text.partition(":")
        return value.strip() or len(name)

    with pytest.warns(UserWarning, match="a condition on a text is fixed to True, because a branch was taken on it"):
        mod = loaded(process, "a:b")
    assert mod.signature == "(text: str) -> str where str_strip(str_partition(text, ':')[2]) != ''"
    assert mod("c:d") == "d"
    with pytest.raises(tracepack.GuardError, match="a branch was taken on it"):
        mod("c:")


def test_bytes_that_are_returned_are_named_as_bytes() -> None:
    with pytest.raises(tracepack.RecordError, match="the function returns bytes, which an archive cannot hold"):
        tracepack.trace(lambda data: data[:2], b"abc")


def test_an_error_in_a_loop_leaves_the_blocks_around_it() -> None:
    def process(x):
        with torch.enable_grad():
            return [LABELS[i] for i in x.argsort().tolist()]

    before = torch.is_grad_enabled()
    assert loaded(process, SCORES)(SCORES) == process(SCORES)  # one row more has no label: that recording fails
    assert torch.is_grad_enabled() == before


def test_a_range_that_is_empty_in_the_example_is_said() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mod = tracepack.trace(lambda text: [text[i : i + 2] for i in range(len(text) - 1)], "x")
    assert any("Trace with a list of one item at least" in str(each.message) for each in found)
    assert mod("y") == []
