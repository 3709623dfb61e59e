"""The time, and random numbers of the system: an answer that hangs on them is refused with the line that asks."""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import functools
import logging
import operator
import os
import random
import resource
import secrets
import sqlite3
import sys
import time
import uuid
from datetime import date
from pathlib import Path
from time import perf_counter, strftime
from time import time as now

import numpy as np
import pandas as pd
import pytest
import torch

import tracepack

X = torch.rand(3, 4)
LOG = logging.getLogger("moments")
DICE = random.SystemRandom()
PERIOD = 100
PARTIAL = functools.partial(time.time)
DATABASE = sqlite3.connect(":memory:")
STATISTICS: dict[str, float] = {}


class Timed:
    """A cache that gets old, with a clock of its own."""

    def __init__(self, clock=time.time) -> None:
        self.clock, self.made, self.factor = clock, clock(), 2.0

    def __call__(self, x):
        if self.clock() - self.made > 3600:
            self.made, self.factor = self.clock(), 3.0
        return x * self.factor


def helper() -> int:
    return time.localtime().tm_hour


def with_a_limit(x):
    began = time.perf_counter()
    y = x * 2
    return y if time.perf_counter() - began < 3.0 else x


def with_a_licence(x):
    if time.time() > 4e9:
        raise ValueError("the licence has ended")
    return x * 2


def with_an_own_import(x):
    from datetime import datetime as dates

    return x * 2 if dates.now().year > 2500 else x


def of_device() -> bytes:
    with Path("/dev/urandom").open("rb") as file:
        return file.read(2)


def rare_name() -> bool:
    found = str(uuid.uuid4())
    return found.startswith("abcdef")


def with_a_rare_name(x):
    number = uuid.uuid4().int
    number //= 10
    if number % 9973 == 7:
        x = x * 2
    return x


def with_a_list(x):
    names = []
    names.append(uuid.uuid4().hex)
    return x * 2 if any(name.startswith("abcdef") for name in names) else x


ASKING = {
    "a time far ahead": lambda x: x * 2 if time.time() > 2e9 else x,
    "a time far ahead in nanoseconds": lambda x: x * 2 if time.time_ns() > 2 * 10**18 else x,
    "a clock of the system far ahead": lambda x: x * 2 if time.clock_gettime(time.CLOCK_REALTIME) > 2e9 else x,
    "a clock without a date": lambda x: x * 2 if time.monotonic() > 1e9 else x,
    "the times of the process": lambda x: x * 2 if os.times().elapsed > 1e10 else x,
    "an hour of the day": lambda x: x * 2 if time.gmtime().tm_hour == 3 else x,
    "a month": lambda x: x * 2 if time.gmtime().tm_mon == 2 else x,
    "a day of the week": lambda x: x * 2 if time.localtime().tm_wday == 6 else x,
    "a year": lambda x: x * 2 if date.today().year in (2031, 2032) else x,
    "a limit of time": with_a_limit,
    "a licence": with_a_licence,
    "a class of dates of its own": with_an_own_import,
    "an hour": lambda x: x * time.gmtime().tm_hour,
    "a year in a helper": lambda x: x * helper(),
    "a text": lambda x: strftime("%Y-%m"),
    "a text of Python's library": lambda x: email.utils.formatdate(),
    "a weekday": lambda x: x if time.gmtime().tm_wday < 5 else x * 2,
    "a clock by its name": lambda x: x * int(now() // 3600),
    "a cache that gets old": Timed(),
    "a date": lambda x: x * date.today().year,
    "a date that matters late": lambda x: x if date.today().year < 2100 else x * 2,
    "an hour of a date": lambda x: x * datetime.datetime.now(datetime.timezone.utc).hour,
    "a clock of numpy": lambda x: x * 2 if np.datetime64("now") > np.datetime64("2100-01-01") else x,
    "a date of numpy": lambda x: x * int((np.datetime64("today") - np.datetime64("2020-01-01")).astype(int)),
    "a rare draw": lambda x: x * 2 if DICE.random() < 1e-9 else x,
    "the least draw": lambda x: x * 2 if secrets.randbelow(10**9) == 0 else x,
    "the largest draw": lambda x: x * 2 if DICE.randint(1, 10**9) == 10**9 else x,
    "a choice": lambda x: x * DICE.choice([1, 2]),
    "bytes": lambda x: x * 2 if os.urandom(1)[0] > 127 else x,
    "a rare second": lambda x: x * 2 if int(time.time()) % 100 == 0 else x,
    "a rare second that a global names": lambda x: x * 2 if int(time.time()) % PERIOD == 37 else x,
    "a rare millisecond": lambda x: x * 2 if int(time.time() * 1000) % 997 == 5 else x,
    "a rare nanosecond": lambda x: x * 2 if time.time_ns() % 1009 == 5 else x,
    "a rare minute": lambda x: x * 2 if int(time.time() // 60) % 97 == 41 else x,
    "a rare second without a date": lambda x: x * 2 if int(time.monotonic()) % 89 == 41 else x,
    "a second of a minute": lambda x: x * 2 if datetime.datetime.now().second == 59 else x,
    "a rare microsecond": lambda x: x * 2 if datetime.datetime.now().microsecond % 1000 == 999 else x,
    "a day of the year": lambda x: x * 2 if time.localtime().tm_yday == 333 else x,
    "a week of the year": lambda x: x * 2 if date.today().isocalendar()[1] == 27 else x,
    "a draw in the middle": lambda x: x * 2 if secrets.randbelow(1000) == 77 else x,
    "a rare name": lambda x: x * 2 if uuid.uuid4().int % 9973 == 7 else x,
    "a rare draw of numpy": lambda x: x * 2 if np.random.default_rng().random() < 1e-9 else x,
    "a rare draw of numpy's older generators": lambda x: x * 2 if np.random.RandomState().rand() < 1e-9 else x,
    "a rare draw of a generator of numpy's": lambda x: x * 2 if np.random.PCG64().random_raw() % 9973 == 7 else x,
    "a rare draw of Python's": lambda x: x * 2 if random.Random().random() < 1e-9 else x,
    "a seed of torch": lambda x: x * 2 if torch.Generator().seed() % 9973 == 7 else x,
    "rare bytes": lambda x: x * 2 if os.urandom(2) == b"ab" else x,
    "rare bits": lambda x: x * 2 if secrets.randbits(64) == 7 else x,
    "bytes of a file": lambda x: x * 2 if of_device() == b"ab" else x,
    "a date that a method is called for": lambda x: x * operator.methodcaller("today")(datetime.date).year,
    "a date that an iterator asks for": lambda x: x * next(iter(datetime.date.today, None)).year,
    "a clock in a partial": lambda x: x * 2 if PARTIAL() > 4e9 else x,
    "a clock that C code calls": lambda x: x * 2 if operator.call(time.time) > 4e9 else x,
    "a date of pandas": lambda x: x * 2 if pd.Timestamp.now().year > 2900 else x,
    "a date of pandas by a text": lambda x: x * 2 if pd.to_datetime("today").year > 2900 else x,
    "a date of an array": lambda x: x * int(np.array(["now"], dtype="M8[Y]").astype(int)[0]),
    "a date of a log's record": lambda x: x * 2 if logging.makeLogRecord({}).created > 4e10 else x,
    "the times of the machine": lambda x: x * 2 if resource.getrusage(0).ru_utime > 1e9 else x,
    "a draw of pandas": lambda x: x * 2 if pd.Series(range(9973)).sample(1).iloc[0] == 7 else x,
    "a draw of a database": lambda x: x * 2 if DATABASE.execute("select random()").fetchone()[0] == 7 else x,
    "a rare name in a helper": lambda x: x * 2 if rare_name() else x,
    "a variable of a rare name": with_a_rare_name,
    "a list of a rare name": with_a_list,
    "a name": lambda x: {"id": str(uuid.uuid4())[:1], "x": x},
}


@pytest.mark.parametrize("name", ASKING)
def test_an_answer_that_hangs_on_the_moment_is_refused_with_the_line(name) -> None:
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(ASKING[name], X)
    text = str(caught.value)
    reasons = (
        "asks for the time, or draws random numbers of the system", "random numbers or the time",
        "before, and pass what it gives as an argument",
        "keeps state in a generator of random numbers",
        "something that a recording does not see",  # where chance alone made two answers of the function differ
    )  # fmt: skip
    assert any(reason in text for reason in reasons)
    assert "test_moments.py" in text or name == "a name"  # a text among the results has no line of its own


def test_the_line_is_the_one_that_asks() -> None:
    with pytest.raises(
        tracepack.RecordError, match=r"return time.localtime\(\).tm_hour: the function asks for the time"
    ):
        tracepack.trace(lambda x: x * helper(), X)


def log_time(x):
    began = time.time()
    y = x * 2
    LOG.info("%s took %.3f s at %s", uuid.uuid4(), time.time() - began, time.ctime())
    return y


def time_by_name(x):
    began = perf_counter()
    y = x + 1
    LOG.debug("took %s", perf_counter() - began)
    return y


def dated_log(x):
    began = datetime.datetime.now()
    y = x * 2
    LOG.info("%s: took %s at %s", date.today().isoformat(), datetime.datetime.now() - began, datetime.datetime.now())
    if (datetime.datetime.now() - began).total_seconds() > 5:
        LOG.warning("slow")
    return y if isinstance(began, datetime.date) else x


def ticking(x):
    if int(time.time()) % 60 == 0:
        LOG.info("another minute")
    return x * 3


def timed(x):
    """A name that a file would get, and how long it takes, which nobody reads."""
    name, began = f"{uuid.uuid4()}.log", time.perf_counter()
    try:
        return x * 2
    finally:
        LOG.info("%s", name)
        STATISTICS["last"] = time.perf_counter() - began


@contextlib.contextmanager
def measured(what):
    began = time.perf_counter()
    yield
    if (took := time.perf_counter() - began) > 10:
        LOG.warning("%s took %s", what, took)


def within_measured(x):
    with measured("doubling"):
        return x * 2


HARMLESS = {
    "a time that nobody reads": timed,
    "a context that measures": within_measured,
    "a seeded generator of numpy": lambda x: x * np.random.default_rng(3).random(),
    "a seeded older generator of numpy": lambda x: x * np.random.RandomState(3).rand(),
    "a date of pandas that is given": lambda x: x * pd.Timestamp("2020-01-02").year,
    "a log at rare times": ticking,
    "a log with dates": dated_log,
    "a log": log_time,
    "a log with a clock by its name": time_by_name,
    "a pause": lambda x: (time.sleep(0.0), x * 2)[1],
    "a date that is given": lambda x: x * datetime.datetime(2020, 1, 2).day,
    "a seeded generator": lambda x: x * random.Random(3).random(),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_not_reach_the_answer_passes(name) -> None:
    mod = tracepack.trace(HARMLESS[name], X)
    assert torch.equal(mod(X[:2]), HARMLESS[name](X[:2]))


def test_a_trace_leaves_clocks_and_profilers_as_they_were() -> None:
    before = time.time, os.urandom, random.SystemRandom.random, now, datetime.datetime
    heard = []

    def profile(*_):
        heard.append(1)

    sys.setprofile(profile)
    try:
        tracepack.trace(log_time, X)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(ASKING["a weekday"], X)
    assert before == (time.time, os.urandom, random.SystemRandom.random, now, datetime.datetime)
    assert abs(time.time() - datetime.datetime.now().timestamp()) < 60
    assert sys.getprofile() is None


class Asks(torch.nn.Module):
    def __init__(self, ask) -> None:
        super().__init__()
        self.linear, self.ask = torch.nn.Linear(4, 2), ask

    def forward(self, x):
        return self.linear(x) * self.ask()


@pytest.mark.parametrize(
    "ask", [lambda: time.gmtime().tm_hour + 1, lambda: date.today().year, lambda: 2 if DICE.random() < 1e-9 else 1]
)
def test_a_model_that_asks_for_the_moment_is_refused(ask) -> None:
    op = tracepack.script(Asks(ask))
    with pytest.raises(tracepack.RecordError, match=r"test_moments.py:.*asks for the time, or draws random numbers"):
        tracepack.trace(lambda x: op(x), X)


class Measured(torch.nn.Linear):
    def forward(self, x):
        began = perf_counter()
        y = super().forward(x)
        LOG.debug("took %s", perf_counter() - began)
        return y


def test_a_model_that_measures_its_time_passes() -> None:
    model = Measured(4, 2)
    op = tracepack.script(model)
    assert torch.allclose(tracepack.trace(lambda x: op(x), X)(X), model(X))
