"""Interrupts at random bytecodes of all five verbs: afterwards the process is as it was, and pipelines answer.

`python -m tests.campaigns interrupts` runs the whole, 500 of them; the suite runs a share with a seed of the day, which
comes at bytecodes only, so that whoever meets a failure can repeat it.
An interrupt is the signal of Ctrl-C, sent in one of three ways: at a random bytecode of our own frames and of
`contextlib`'s, at a random bytecode of any frame, torch's included, or after a random time.
"""

from __future__ import annotations

import gc
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.campaigns.interrupts.presses import (
    AtBytecode,
    Interrupted,
    calls_of,
    dropped,
    is_any,
    is_near,
    press,
    pressed_after,
    traced,
)
from tests.campaigns.interrupts.process_state import ProcessState, model_state, same_state
from tests.campaigns.interrupts.world import VERBS, World
from tests.campaigns.tally import ERROR, RIGHT, WRONG, Tally

WHOLE = 500
SHARE = 30
_NEAR = 60  # bytecodes from the frame that is chosen to the interrupt
WAYS = ("own", "any", "signal")
REPEATABLE = WAYS[:2]  # a signal comes by the clock, so that another run of the same seed finds something else


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
