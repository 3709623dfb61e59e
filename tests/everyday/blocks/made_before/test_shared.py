"""Loops that fill what another name has, too: recorded where the block makes both, else refused with the line."""

from __future__ import annotations

import importlib.util

import pytest
import torch

import tracepack

TEXT = """
import torch

def doubled(x):
    return x * 2

def as_given(x):
    return x

def suppressed(scores, near):
    {lines}
    keep = []
    for i in scores.argsort().tolist():
        if not alive[i]:
            continue
        keep.append(i)
        alive &= near[i] <= 0.5
    {after}
    return keep, {result}
"""
MADE = "alive = torch.ones(len(scores), dtype=torch.bool)"
TWICE = "twice = doubled(near)"


def made(tmp_path, lines, result, after="pass"):
    """The function with some lines before its loop, from a file of its own."""
    path = tmp_path / f"shared_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(TEXT.format(lines="\n    ".join(lines), after=after, result=result))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.suppressed


def drawn(count):
    generator = torch.Generator().manual_seed(count)
    return torch.rand(count, generator=generator), torch.rand(count, count, generator=generator)


def answers(process):
    """The pipeline of a function, which answers as it does for other sizes, too."""
    mod = tracepack.trace(process, *drawn(5))
    for count in (5, 1, 9, 0):
        wanted, found = process(*drawn(count)), mod(*drawn(count))
        assert str(found) == str(wanted)
    return mod


RECORDED = {
    "a view": ([MADE, "other = alive.view(-1)"], "other"),
    "a column": (["table = torch.ones(len(scores), 2, dtype=torch.bool)", "alive = table[:, 0]"], "table"),
    "an entry": (["state = {'alive': torch.ones(len(scores)) > 0}", "alive = state['alive'].clone()"], "state"),
    "a tensor in a dict": (["state = {'a': torch.zeros(len(scores)), 'b': 1}", MADE, "alive[:1] = True"], "state"),
    "an entry that is filled": ([f"state = {{'alive': {MADE[8:]}}}", "alive = state['alive']"], "state"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_the_block_makes_may_have_several_names(name, tmp_path) -> None:
    answers(made(tmp_path, *RECORDED[name]))


SHARED = {
    "a name": ([MADE, "other = alive", TWICE], "other"),
    "a name after a call": ([MADE, TWICE, "other = alive"], "other"),
    "a part": ([MADE, "other = alive[:2]", TWICE], "other"),
    "a tuple": ([MADE, "other = (alive, 1)", TWICE], "other"),
    "a dict": ([MADE, "other = {'alive': alive}", TWICE], "other"),
    "a call": ([MADE, "other = as_given(alive)"], "other"),
    "a mask": (["alive = scores > 0.1", "other = alive"], "other"),
}


@pytest.mark.parametrize("name", SHARED)
def test_the_line_that_shares_is_named_with_forms_that_run(name, tmp_path) -> None:
    lines, result = SHARED[name]
    line = next(each for each in lines if each.startswith("other"))
    plain = made(tmp_path, lines, result)
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(plain, *drawn(5))
    assert "for i in scores.argsort().tolist()" in str(caught.value)
    number = 11 + lines.index(line)
    assert f"a tensor is filled or changed that another name has, too: line {number}, {line}. Write " in str(
        caught.value
    )
    copied, _, later = caught.value.fix.removeprefix("Write ").removesuffix(" after the loop.").partition(", or ")
    mod = answers(made(tmp_path, [line for line in lines if not line.startswith("other")], result, later))
    assert str(mod(*drawn(9))) == str(plain(*drawn(9)))
    copied = copied.removesuffix(" to keep what alive is there")
    answers(made(tmp_path, [copied if each == line else each for each in lines], result))


def test_what_is_filled_under_its_second_name_is_written_back(tmp_path) -> None:
    plain = made(tmp_path, ["mask = scores > 0.1", "alive = mask"], "mask")
    with pytest.raises(tracepack.RecordError, match="line 12, alive = mask") as caught:
        tracepack.trace(plain, *drawn(5))
    assert caught.value.fix == "Write alive = mask.clone(), and mask = alive after the loop."
    mod = answers(made(tmp_path, ["mask = scores > 0.1", "alive = mask.clone()"], "mask", "mask = alive"))
    assert str(mod(*drawn(9))) == str(plain(*drawn(9)))
