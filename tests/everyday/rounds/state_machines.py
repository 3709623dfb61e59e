"""Loops that carry a state: a member of an Enum, a text, or None; tables of moves by state and event."""

from __future__ import annotations

import enum

from tests.everyday.case import Case


class Mode(enum.Enum):
    """Of a machine."""

    IDLE = 0
    RUN = 1
    DONE = 2


class Level(enum.IntEnum):
    """Of a warning."""

    LOW = 1
    HIGH = 5


def by_identity(events):
    mode = Mode.IDLE
    for event in events:
        if mode is Mode.IDLE and event == "start":
            mode = Mode.RUN
        elif mode is Mode.RUN and event == "stop":
            mode = Mode.DONE
    return mode.name


def by_equality(events):
    mode, ticks = Mode.IDLE, 0
    for event in events:
        if mode == Mode.IDLE:
            if event == "start":
                mode = Mode.RUN
        elif mode == Mode.RUN:
            ticks += 1
            if event == "stop":
                mode = Mode.DONE
    return {"mode": mode.value, "ticks": ticks}


def by_cases(events):
    mode = Mode.IDLE
    for event in events:
        match (mode, event):
            case (Mode.IDLE, "start"):
                mode = Mode.RUN
            case (Mode.RUN, "stop"):
                mode = Mode.DONE
    return mode.name


MOVES = {(Mode.IDLE, "start"): Mode.RUN, (Mode.RUN, "stop"): Mode.DONE, (Mode.DONE, "start"): Mode.RUN}


def by_table(events):
    mode, found = Mode.IDLE, []
    for event in events:
        mode = MOVES.get((mode, event), mode)
        found.append(mode.name)
    return found


def where_known(events):
    mode, moves = Mode.IDLE, 0
    for event in events:
        if (mode, event) in MOVES:
            mode = MOVES[mode, event]
            moves += 1
    return {"mode": mode.value, "moves": moves}


STEPS = {("idle", "start"): "run", ("run", "stop"): "done"}


def by_texts(events):
    state = "idle"
    for event in events:
        state = STEPS.get((state, event), state)
    return state


def highest(events):
    level = Level.LOW
    for event in events:
        if event == "stop" and level < Level.HIGH:
            level = Level.HIGH
    return int(level)


def late(events):
    mode = None
    for event in events:
        if event == "start":
            mode = Mode.RUN
        elif event == "stop" and mode is Mode.RUN:
            mode = Mode.DONE
    return "none" if mode is None else mode.name


def history(events):
    mode, found = Mode.IDLE, []
    for event in events:
        if event == "start":
            mode = Mode.RUN
        found.append(mode)
    return {"names": [each.name for each in found], "runs": sum(each is Mode.RUN for each in found)}


def changes(events):
    last, found = None, 0
    for event in events:
        if event != last and last is not None:
            found += 1
        last = event if event != "tick" else None
    return {"changes": found, "last": last}


def price(size, kind):
    prices = {("s", 1): 0.5, ("m", 2): 1.5, ("s", 2): 0.75}
    return prices.get((size, kind), 0.0) + (1.0 if (size, kind) in {("s", 1), ("l", 9)} else 0.0)


_EVENTS = (
    [["start", "tick", "tick", "stop"]],
    [[["tick", "start"]], [["start", "stop", "start", "tick", "stop", "tick"]], [["start"]], [["stop", "tick"]]],
)

CASES = {
    **{
        process.__name__: Case(process, *_EVENTS)
        for process in (
            by_identity,
            by_equality,
            by_cases,
            by_table,
            where_known,
            by_texts,
            highest,
            late,
            changes,
            history,
        )
    },
    "price": Case(price, ["s", 2], [["m", 2], ["s", 1], ["l", 9], ["m", 1]]),
}
