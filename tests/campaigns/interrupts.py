"""Interrupts at random bytecodes of all five verbs: afterwards the process is as it was, and pipelines answer.

`python -m tests.campaigns interrupts` runs the whole, 500 of them; the suite runs a share with a seed of the day, which
comes at bytecodes only, so that whoever meets a failure can repeat it.
An interrupt is the signal of Ctrl-C, sent in one of three ways: at a random bytecode of our own frames and of
`contextlib`'s, at a random bytecode of any frame, torch's included, or after a random time.
"""

from __future__ import annotations

import gc
import io
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

import tracepack
from tests.campaigns.process_state import ProcessState, model_state, same_state
from tests.campaigns.tally import ERROR, RIGHT, WRONG, Tally

WHOLE = 500
SHARE = 30
_OURS = (os.path.dirname(os.path.abspath(tracepack.__file__)), str(Path(tracepack.__file__).resolve().parents[2]))
_NEAR = 60  # bytecodes from the frame that is chosen to the interrupt
WAYS = ("own", "any", "signal")
REPEATABLE = WAYS[:2]  # a signal comes by the clock, so that another run of the same seed finds something else


class Interrupted(KeyboardInterrupt):
    """The interrupt of this campaign."""


class Held(torch.nn.Module):
    """A model with all that lowering touches: modes, buffers, notes, recurrence, sizes as plain integers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)
        self.rnn = torch.nn.GRU(4, 4, batch_first=True)
        self.register_buffer("seen", torch.zeros(4))
        self.note: Any = None

    def forward(self, x):
        self.note = x.shape
        self.seen = self.seen + 1
        rows = int(x.shape[0])
        y = self.drop(self.norm(x)).reshape(rows, 4) + self.seen
        return self.rnn(y.unsqueeze(1))[0].squeeze(1).contiguous()


class Scripted(torch.nn.Module):
    """A model for TorchScript, with a loop whose end data decides."""

    def forward(self, x):
        while bool(x.sum() < 100):
            x = x * 2 + 1
        return x


class World:
    """What the verbs work on, and what they answer when nobody interrupts them."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = Held()
        self.linear = torch.nn.Linear(4, 4)
        self.scripted = torch.jit.script(Scripted())
        self.generator = torch.Generator().manual_seed(3)
        self.x = torch.rand(3, 4)
        self.op = tracepack.script(self.linear, example=self.x)
        self.plain = tracepack.trace(lambda x: self.op(x).relu(), self.x)
        self.drawn = tracepack.trace(self.draws, self.x)
        self.folder = tempfile.mkdtemp()
        file = io.BytesIO()
        self.plain.save(file, examples=[{"x": self.x}])
        self.bytes = file.getvalue()
        self.loaded = tracepack.load(self.bytes)
        self.wanted = self.linear(self.x).relu().detach()

    def draws(self, x):
        with tracepack.drawing(self.generator):
            return x + torch.rand(2, 1).sum()

    def process(self, x, n):
        """Uses what a recording replaces: numpy, print, builtins, control flow, random numbers, and an op with state."""
        y = self.op(x) * float(len(x))
        print(y.shape, end="", file=io.StringIO())
        z = torch.from_numpy(np.asarray([1.0, 2.0], dtype=np.float32)) * np.float32(n)
        y = tracepack.cond(y.sum() > 0, lambda t: t * 2, lambda t: -t, y)
        with tracepack.drawing(self.generator):
            return y + torch.rand(4) + z.sum()

    # -- the verbs ---------------------------------------------------------------------------------------------

    def script(self) -> Any:
        return tracepack.script(self.model, example=torch.rand(3, 4))

    def script_torchscript(self) -> Any:
        return tracepack.script(self.scripted, example=torch.rand(3, 4))

    def trace(self) -> Any:
        return tracepack.trace(self.process, torch.rand(3, 4), 2.0)

    def trace_lowering(self) -> Any:
        op = tracepack.script(torch.nn.Linear(4, 2))
        return tracepack.trace(lambda x: op(x) + 1, torch.rand(3, 4))

    def save(self) -> Any:
        self.plain.save(os.path.join(self.folder, "kept.tpk"), examples=[{"x": self.x}])

    def load(self) -> Any:
        return tracepack.load(self.bytes, verify="golden")

    def run(self) -> Any:
        return [self.loaded.run({"x": self.x}), self.loaded.run({"x": torch.rand(random.randrange(2, 99), 4)})]

    def run_first(self) -> Any:
        return tracepack.load(self.bytes).run({"x": self.x})

    def run_drawn(self) -> Any:
        return [self.drawn(self.x), self.drawn(self.x)]

    # -- afterwards --------------------------------------------------------------------------------------------

    def answers(self) -> list[str]:
        """What does not work any more."""
        bad = []
        for name, x in (("known", self.x), ("new", torch.rand(random.randrange(2, 999), 4))):
            got = self.loaded.run({"x": x})
            if (
                type(got) is not torch.Tensor
                or not torch.equal(got, self.linear(x).relu().detach())
                or got.requires_grad
            ):
                bad.append(f"the loaded pipeline is wrong for a {name} size")
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.extend([self.loaded.run({"x": self.x}), self.drawn(self.x)]))
        thread.start()
        thread.join(60)
        if len(found) != 2 or not torch.equal(found[0], self.wanted):
            bad.append("another thread gets no answer")
        if [name for name in os.listdir(self.folder) if name != "kept.tpk"]:
            bad.append(f"files are left: {os.listdir(self.folder)}")
        return bad

    def works(self) -> list[str]:
        """Whether all verbs still work together, in another thread too."""
        bad: list[str] = []

        def whole() -> None:
            model = torch.nn.Linear(4, 3)
            x = torch.rand(5, 4)
            op = tracepack.script(model)
            file = io.BytesIO()
            tracepack.trace(lambda x: op(x) * 2, torch.rand(3, 4)).save(file)
            if not torch.equal(tracepack.load(file.getvalue())(x), (model(x) * 2).detach()):
                bad.append("a new pipeline is wrong")
            bad.append("done")

        thread = threading.Thread(target=whole)
        thread.start()
        thread.join(120)
        whole()
        return ["a new pipeline in another thread gets no answer"] if bad != ["done", "done"] else []


VERBS = (
    "script", "script_torchscript", "trace", "trace_lowering", "save", "load", "run", "run_first", "run_drawn",
)  # fmt: skip


# -- interrupts --------------------------------------------------------------------------------------------------


def _raise() -> None:
    raise Interrupted


class AtBytecode:
    """Interrupts at a random bytecode: some bytecodes after a call that is chosen among those that the verb makes."""

    def __init__(
        self,
        chosen: Callable[[FrameType], bool],
        call: int,
        bytecodes: int,
        interrupt: Callable[[], None] = _raise,
    ) -> None:
        self.chosen, self.left, self.bytecodes, self.raised = chosen, call, bytecodes, ""
        self.interrupt = interrupt

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self.chosen(frame):
            return None
        self.left -= 1
        if self.left >= 0 or self.raised:
            return None
        frame.f_trace = self.step  # before the next line, which Python 3.13 heeds only in a frame that is traced
        frame.f_trace_opcodes = True
        return self.step

    def step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self.bytecodes -= 1
            if self.bytecodes < 0 and not self.raised:
                self.raised = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name} at {frame.f_lasti}"
                self.interrupt()
        return self.step


def is_near(frame: FrameType) -> bool:
    """Whether a frame is ours, or one of the context managers that ours use."""
    name = frame.f_code.co_filename
    return name.startswith((*_OURS, "<tracepack")) or name.endswith("contextlib.py")


def is_any(frame: FrameType) -> bool:
    """Any frame."""
    return True


@contextmanager
def traced(tracer: Any) -> Iterator[None]:
    """Calls a function at every call of Python."""
    sys._getframe().f_trace_opcodes = True  # on Python 3.12 one frame has to ask before `settrace`, for the others too
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(None)


def calls_of(verb: Callable[[], Any], chosen: Callable[[FrameType], bool]) -> int:
    """How many calls a verb makes."""
    counter = AtBytecode(chosen, 1 << 60, 0)
    with traced(counter):
        verb()
    return (1 << 60) - counter.left


class Campaign:
    """Rounds of one interrupt each.

    Args:
        seed: of the choices; it is shown with every failure.
        ways: the ways to interrupt that it chooses among.
    """

    def __init__(self, seed: int, ways: Sequence[str] = WAYS) -> None:
        self.seed, self.ways, self.world = seed, ways, World()
        self.calls: dict[tuple[str, str], int] = {}
        self.seconds: dict[str, float] = {}
        self.landed: Counter[str] = Counter()
        for name in VERBS:
            verb = getattr(self.world, name)
            verb()  # imports what it needs
            start = time.perf_counter()
            verb()
            self.seconds[name] = time.perf_counter() - start
        self.world.works()
        self.volatile = self._volatile()
        gc.collect()
        gc.freeze()  # what torch is made of need not be looked through for each interrupt

    def _volatile(self) -> set[str]:
        """What changes without interrupts too."""
        found: set[str] = set()
        for _ in range(2):
            before = ProcessState()
            for name in VERBS:
                getattr(self.world, name)()
            found |= set(before.differences(ProcessState()))
        return {name for name in found if not name.startswith("thread:")} | {"thread:random numbers"}

    def round(self, number: int) -> tuple[str, list[str], str]:
        """One interrupt; returns the verb, what is wrong afterwards, and where the interrupt came."""
        chance = random.Random(f"{self.seed} {number}")
        name = VERBS[number % len(VERBS)]
        way = chance.choice(self.ways)
        verb = getattr(self.world, name)
        gc.collect()
        generator = self.world.generator.get_state()
        before, model = ProcessState(), model_state(self.world.model)
        where = self._interrupted(verb, name, way, chance)
        early = before.differences(ProcessState())
        gc.collect()
        bad = [f"changed: {found}" for found in {*early, *before.differences(ProcessState())} - self.volatile]
        if not same_state(model, model_state(self.world.model)):
            bad.append("the model is changed")
        self.world.generator.set_state(generator)
        bad += self._tried(self.world.answers)
        if number % 20 == 0:
            bad += self._tried(self.world.works)
        return name, bad, f"{way}: {where}"

    def _interrupted(self, verb: Callable[[], Any], name: str, way: str, chance: random.Random) -> str:
        """Interrupts a verb; returns where."""
        ended = "came too late"
        tracer: Any = None
        try:
            if way == "signal":
                with dropped() as lost, pressed_after(chance.random() * self.seconds[name]):
                    verb()
            else:
                chosen = is_near if way == "own" else is_any
                if (name, way) not in self.calls:
                    self.calls[name, way] = calls_of(verb, chosen)
                tracer = AtBytecode(chosen, chance.randrange(self.calls[name, way]), chance.randrange(_NEAR), press)
                with dropped() as lost, pressed_after(None), traced(tracer):
                    verb()
            if lost:
                ended = f"was dropped by Python: in {lost[0]}"
            elif tracer is not None and tracer.raised:
                ended = "was caught below"
        except Interrupted as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            ended = f"{frame.filename}:{frame.lineno} {frame.name}"
        except Exception as error:  # torch turned it into an error of its own
            ended = f"became {type(error).__name__}: {error}"
        self.landed[ended.split(":")[0] if ended.startswith(("came", "was", "became")) else "raised"] += 1
        return tracer.raised + " " + ended if tracer is not None else ended

    @staticmethod
    def _tried(check: Callable[[], list[str]]) -> list[str]:
        try:
            return check()
        except BaseException as error:
            return [f"{type(error).__name__}: {error}"]


@contextmanager
def dropped() -> Iterator[list[str]]:
    """Where interrupts came that Python drops: an exception in a callback of a weak reference, or in `__del__`, goes no further."""
    found: list[str] = []
    before = sys.unraisablehook

    def hook(raised: Any) -> None:
        if isinstance(raised.exc_value, Interrupted):
            found.append(repr(raised.object))
        else:
            before(raised)

    sys.unraisablehook = hook
    try:
        yield found
    finally:
        sys.unraisablehook = before


def press() -> None:
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


@contextmanager
def pressed_after(seconds: float | None) -> Iterator[None]:
    """A context in which Ctrl-C raises `Interrupted`, and comes after some time where one is given."""
    before = signal.signal(signal.SIGINT, _interrupted)
    alarm = signal.signal(signal.SIGALRM, lambda *_: press())
    try:
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, before)


def _interrupted(*_: Any) -> None:
    raise Interrupted


def run(share: int | None, rounds: int | None = None) -> Tally:
    """The campaign: the whole, or a part of it with a seed of its own."""
    rounds = rounds or (WHOLE if share is None else SHARE)
    seed = 0 if share is None else share
    tally = Tally("Interrupts", "interrupts", full=share is None, tried=rounds)
    start = time.process_time()
    campaign = Campaign(seed, WAYS if share is None else REPEATABLE)
    for number in range(rounds):
        name, bad, where = campaign.round(number)
        reason = "; ".join(bad)
        outcome = RIGHT if not bad else WRONG if "answer" in reason or "wrong" in reason else ERROR
        tally.add(name, outcome, reason, f"seed {seed}, round {number}, {where}")
    found = ", ".join(f"{count} {how}" for how, count in sorted(campaign.landed.items()))
    gc.unfreeze()
    tally.notes.append(f"{rounds} interrupts with seed {seed}: {found}.")
    tally.seconds = time.process_time() - start
    return tally
