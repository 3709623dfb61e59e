"""Interrupts: after one at any bytecode of a verb, everything is as it was; see `tests.campaigns.interrupts`."""

from __future__ import annotations

import datetime
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest
import torch
from torch.fx import _symbolic_trace, graph_module

import tracepack
from tests.campaigns.interrupts import campaign, presses
from tests.campaigns.interrupts.process_state import ProcessState
from tests.models import Counter
from tracepack.ops.lowering.patches.fx_patcher import FxPatcher
from tracepack.ops.runtime.interrupts.changes import Change, Lock, made
from tracepack.ops.runtime.interrupts.modes import Modes, Outside, outside
from tracepack.ops.runtime.interrupts.verbs import undisturbed


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")
def test_a_share_of_the_interrupts() -> None:
    seed = int(os.environ.get("CAMPAIGN_SHARE", datetime.date.today().timetuple().tm_yday))
    tally = campaign.run(seed)
    assert len(tally.cases) == campaign.SHARE
    assert [f"{case.name}: {case.reason} ({case.detail})" for case in tally.bugs()] == []


def test_the_entry_of_a_pipeline_at_every_bytecode() -> None:
    mod = tracepack.trace(lambda x: (x * 2).relu() + 1, torch.rand(3, 4))
    x = torch.rand(3, 4)
    wanted = mod(x)
    landed = 0
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            for number in range(400):
                tracer = presses.AtBytecode(lambda frame: "<tracepack" in frame.f_code.co_filename, 0, number)
                try:
                    with presses.traced(tracer):
                        mod.run({"x": x})
                except presses.Interrupted:
                    landed += 1
                assert torch.is_grad_enabled() is grad, f"bytecode {number}: {tracer.raised}"
                if not tracer.raised:
                    break
            else:
                pytest.fail("the entry has more bytecodes than were tried")
    assert landed > 100
    assert torch.equal(mod(x), wanted)


def test_a_pipeline_with_state_lets_go_of_its_lock_at_every_bytecode() -> None:
    op = tracepack.script(Counter())
    mod = tracepack.trace(lambda x: op(x), torch.ones(2))
    mod(torch.ones(2))
    for number in range(300):
        tracer = presses.AtBytecode(presses.is_near, 0, number)
        try:
            with presses.traced(tracer):
                mod.run({"x": torch.ones(2)})
        except presses.Interrupted:
            pass
        if not tracer.raised:
            break
        mod.reset()
        found: list[torch.Tensor] = []
        thread = threading.Thread(target=lambda found=found: found.append(mod(torch.ones(2))), daemon=True)
        thread.start()
        thread.join(60)
        assert len(found) == 1, f"bytecode {number}: {tracer.raised}"
        assert found[0].tolist() == [1, 1]
    assert number > 50


class Halves(Change):
    """A change in two steps."""

    held: ClassVar[list[str]] = []

    def make(self) -> None:
        self.held.append("one")
        self.held.append("two")

    def undo(self) -> None:
        for part in ("two", "one"):
            if part in self.held:
                self.held.remove(part)


@pytest.fixture
def quick_collections() -> Iterator[None]:
    """The guard collects garbage after an interrupt; all of torch need not be looked through each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick_collections")
def test_a_change_is_undone_at_every_bytecode() -> None:
    lock, ends = Lock(), 0

    @undisturbed
    def verb() -> None:
        with lock(), Halves(), Outside(), torch.no_grad():
            assert Halves.held == ["one", "two"]

    before, start, grad = ProcessState(), made(), torch.is_grad_enabled()
    for number in range(3000):
        tracer = presses.AtBytecode(presses.is_near, 0, number)
        try:
            with presses.traced(tracer):
                verb()
        except presses.Interrupted:
            ends += 1
        assert Halves.held == [], f"bytecode {number}"
        assert not lock.held, f"bytecode {number}"
        assert made() == start, f"bytecode {number}"
        assert torch.is_grad_enabled() is grad, f"bytecode {number}"
        if not tracer.raised:
            break
    assert ends > 200
    assert [name for name in before.differences(ProcessState()) if name.startswith("thread:")] == []


def test_what_torchs_compiler_replaces_comes_back() -> None:
    original = graph_module._forward_from_src

    @undisturbed
    def verb() -> None:
        graph_module._forward_from_src = lambda *args: original(*args)
        raise presses.Interrupted

    with pytest.raises(presses.Interrupted):
        verb()
    assert graph_module._forward_from_src is original


def test_what_torch_fx_replaced_comes_back_where_its_own_clean_up_was_cut_off() -> None:
    original = vars(_symbolic_trace)["_assert_is_none"]
    added = "tracepack_added"

    @undisturbed
    def verb() -> None:
        with FxPatcher():
            patcher = _symbolic_trace._Patcher()
            _symbolic_trace.CURRENT_PATCHER = patcher
            patcher.patch(vars(_symbolic_trace), "_assert_is_none", lambda *args: None)
            patcher.patch(vars(_symbolic_trace), "_assert_is_none", lambda *args: None, deduplicate=False)
            vars(_symbolic_trace)[added] = 1
            patcher.patches_made.append(_symbolic_trace._PatchedFnDel(vars(_symbolic_trace), added, None, None))
            del vars(_symbolic_trace)[added]
            raise presses.Interrupted

    with pytest.raises(presses.Interrupted):
        verb()
    assert vars(_symbolic_trace)["_assert_is_none"] is original
    assert _symbolic_trace.CURRENT_PATCHER is None


def test_modes_come_back_as_they_were() -> None:
    with torch.device("meta"), torch.autocast("cpu", dtype=torch.bfloat16), torch.enable_grad():
        before, modes = ProcessState(), Modes()
        torch.set_grad_enabled(False)
        torch.set_autocast_enabled("cpu", False)
        torch._C._pop_torch_function_stack()
        torch._C._set_torch_function_state(torch._C._TorchFunctionState.ALL_DISABLED)
        assert before.differences(ProcessState())
        modes.restore()
        assert before.differences(ProcessState()) == []

        @outside
        def inner() -> torch.device:
            return torch.ones(1).device

        assert inner().type == "cpu"
        assert torch.ones(1).device.type == "meta"


def test_an_interrupt_that_comes_while_another_is_dealt_with() -> None:
    class Twice(Halves):
        tries = 0

        def undo(self) -> None:
            Twice.tries += 1
            if Twice.tries < 3:
                raise KeyboardInterrupt
            super().undo()

    @undisturbed
    def verb() -> None:
        with Twice():
            raise presses.Interrupted

    before = made()
    with pytest.raises(KeyboardInterrupt):
        verb()
    assert Halves.held == []
    assert made() == before


BUILTINS = """
import builtins
import gc
import queue
import numpy
import torch
before = dict(vars(builtins))
from tests.campaigns.interrupts import presses, world
import tracepack

def compare(when):
    after = dict(vars(builtins))
    wrong = {name for name in before.keys() | after.keys() if before.get(name) is not after.get(name)}
    assert not wrong, f"{when}: {wrong}"

here = world.World()
compare("import")
for name in world.VERBS:
    getattr(here, name)()
    compare(name)

class Fails(torch.nn.Module):
    def forward(self, x):
        raise ValueError("no")

kept = queue.SimpleQueue()  # whose content no trace can restore

def keeps(x):
    scale = lambda y: float(y) * 2 + len([y])
    kept.put(scale)
    return x * scale(x.shape[0])

failing = {
    "an error": lambda x: x * float(len(x)) + int("no number"),
    "a refusal": lambda x: x * float(len(x)) if x.sum() > 0 else x,
    "a model that fails": lambda x: tracepack.script(Fails())(x) * float(len(x)),
}
for name, function in failing.items():
    try:
        tracepack.trace(function, torch.ones(3))
    except Exception as error:
        compare(f"{name}: {error}")
    else:
        raise AssertionError(name)
assert tracepack.trace(keeps, torch.ones(3))(torch.ones(5)).tolist() == [11] * 5
compare("a function that keeps another one")
functions = [kept.get() for _ in range(kept.qsize())]
constants = [constant for function in functions for constant in function.__code__.co_consts]
assert any(hasattr(constant, "co_code") or callable(constant) for constant in constants)
assert {function(4) for function in functions} == {9.0}
gc.collect()
gc.freeze()  # the guard collects garbage after an interrupt; all of torch need not be looked through each time
landed = 0
for name in world.VERBS:
    verb = getattr(here, name)
    calls = presses.calls_of(verb, presses.is_near)
    for part in (1, 3, 6):
        try:
            # a press, which waits where a dispatch mode of torch runs: an error there would end the process
            pressed = presses.AtBytecode(presses.is_near, calls * part // 7, 3, presses.press)
            with presses.pressed_after(None), presses.traced(pressed):
                verb()
        except presses.Interrupted:
            landed += 1
        compare(f"an interrupt of {name} after {part}/7 of its calls")
assert landed > 15, landed
"""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")
def test_builtins_are_as_before_tracepack_was_imported() -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [sys.executable, "-W", "ignore", "-c", BUILTINS]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
