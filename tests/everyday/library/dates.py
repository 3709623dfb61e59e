"""Dates of texts and numbers: read, asked, moved, compared, written."""

from __future__ import annotations

import datetime as dt
from datetime import date, datetime, time, timedelta, timezone

import torch

from tests.everyday.case import Case

FORM = "%Y-%m-%d"
HOLIDAYS = {date(2024, 1, 1), date(2024, 12, 25)}
DAYS = [["1999-12-31"], ["2024-02-29"], ["0001-01-01"]]
LISTS = [[[]], [["2024-12-25"]], [["2024-03-05", "2023-02-28", "1970-01-01"]]]


def features(stamp):
    when = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S")
    hour = when.hour + when.minute / 60
    return {"hour": hour, "day": when.weekday(), "weekend": when.weekday() >= 5, "month": when.month, "iso": str(when)}


def parsed(text):
    return datetime.strptime(text, FORM)


def of_each(texts):
    found = [parsed(text) for text in texts]
    return [
        {"day": each.date().isoformat(), "free": each.date() in HOLIDAYS, "age": (each - START).days} for each in found
    ]


def in_order(rows):
    rows = sorted(rows, key=lambda row: datetime.fromisoformat(row["at"]))
    times = [datetime.fromisoformat(row["at"]) for row in rows]
    gaps = [(after - before).total_seconds() / 3600 for before, after in zip(times, times[1:])]  # noqa: B905, RUF007
    return [row["n"] for row in rows], gaps, max(gaps, default=0.0)


def latest(texts):
    last = date(1970, 1, 1)
    total = timedelta()
    for text in texts:
        day = date.fromisoformat(text)
        total += day - START.date()
        last = max(last, day)
    return last.isoformat(), total.days, str(total)


def forecast(history, start, horizon):
    first, found = date.fromisoformat(start), []
    for ahead in range(horizon):
        day = first + timedelta(days=ahead)
        found.append({"on": f"{day:%d.%m.%Y}", "y": history[-1] * (0.5 if day.isoweekday() > 5 else 1.0)})
    return found


def kind_of(a, b):
    one, other = date.fromisoformat(a), date.fromisoformat(b)
    return "same" if one == other else "later" if other > one else "earlier"


HOUR, START, OPENS, CLOSES = timedelta(hours=1), datetime(2020, 1, 1), time(8), time(18, 30)


def earlier(text):
    when = datetime.fromisoformat(text)
    if when.year > 2010:
        when = when.replace(year=2010)
    return when.isoformat()


def moved(when):
    return when.replace(year=2000) if when.month > 2 else when


def aware(text):
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return when.isoformat()


def latest_of(texts):
    found = START
    for text in texts:
        when = datetime.fromisoformat(text)
        found = max(found, when)
    return found.isoformat()


NAIVE, ZONED = "2024-03-15T13:45:00", "1999-01-01T10:00:00+02:00"
ZONES = [[ZONED], [NAIVE], ["2030-01-01T00:00:00+00:00"]]

CASES = {
    "a choice between dates": Case(earlier, [NAIVE], ZONES),
    "a choice between dates in a line": Case(
        lambda s: moved(datetime.fromisoformat(s)).isoformat(),
        [NAIVE], ZONES,
    ),
    "the latest": Case(latest_of, [["2024-03-15", "2031-03-15"]], [[[]], [["1999-01-01"]]]),
    "a date made aware": Case(aware, [NAIVE], ZONES),
    "an aware date made aware": Case(aware, [ZONED], ZONES),
    "whether a date has a zone": Case(
        lambda s: (
            datetime.fromisoformat(s).tzinfo is None, datetime.fromisoformat(s).tzinfo == None,  # noqa: E711  # the form is tested
            1 if datetime.fromisoformat(s).tzinfo else 0, not datetime.fromisoformat(s).tzinfo,
        ),
        [NAIVE], ZONES,
    ),
    "features": Case(features, ["2024-03-15 13:45:00"], [["1999-12-31 23:59:59"], ["2024-02-29 00:00:00"]]),
    "each of a list": Case(of_each, [["2024-01-01", "2024-03-05"]], LISTS),
    "in order": Case(
        in_order,
        [[{"at": "2024-01-01T10:00:00", "n": 1}, {"at": "2024-01-01T09:30:00", "n": 2}]],
        [[[]], [[{"at": "2024-01-01", "n": 0}]], [[{"at": f"2024-01-0{d}", "n": d} for d in (9, 2, 5)]]],
    ),
    "carried by a loop": Case(latest, [["2024-01-01", "2024-03-05"]], LISTS),
    "days ahead": Case(forecast, [[1.0, 2.0], "2024-02-27", 3], [[[4.0], "2023-12-29", 5], [[1.0], "2024-01-01", 0]]),
    "a choice": Case(
        kind_of, ["2024-01-31", "2024-03-01"], [["2024-03-01", "2024-01-31"], ["2024-01-01", "2024-01-01"]]
    ),
    "formats": Case(
        lambda s: (f"{parsed(s)}", f"{parsed(s):%A %d %b %Y, week %V}", f"on {parsed(s):%y%m%d}", "%s" % parsed(s)),  # noqa: UP031
        ["2024-05-06"], DAYS[:2],
    ),
    "parts": Case(
        lambda s: [(d := date.fromisoformat(s)).year, d.toordinal(), d.isocalendar()[1], d.isocalendar().weekday],
        ["2024-05-06"], DAYS,
    ),
    "the first of a month": Case(
        lambda s: (date.fromisoformat(s).replace(day=1) - timedelta(days=1)).isoformat(), ["2024-03-06"], DAYS[:2]
    ),
    "made of numbers": Case(
        lambda y, m, d, n: (datetime(y, m, d) + dt.timedelta(hours=n, minutes=30)).isoformat(" ", timespec="minutes"),
        [2024, 2, 28, 30], [[1999, 12, 31, -1], [2023, 1, 1, 0]],
    ),
    "seconds since 1970": Case(
        lambda n: ((d := datetime.fromtimestamp(n, tz=timezone.utc)).hour, f"{d:%a}", d.isoformat(), d.timestamp()),
        [1_700_000_000], [[0], [-1], [2**31]],
    ),
    "seconds of a tensor": Case(
        lambda x: [datetime.fromtimestamp(n, timezone.utc).hour for n in x.tolist()],
        [torch.tensor([0, 90_000])], [[torch.tensor([1_700_000_000])], [torch.zeros(0, dtype=torch.int64)]],
    ),
    "with a zone": Case(
        lambda s: datetime.fromisoformat(s) > datetime(2024, 1, 1, tzinfo=timezone.utc),
        ["2024-01-01T00:30:00+01:00"], [["2024-01-01T00:30:00+00:00"]],
    ),
    "a time of day": Case(
        lambda s: (OPENS <= (at := parsed_time(s)) < CLOSES, at.isoformat()), ["09:15"], [["18:30"], ["07:59"]]
    ),
    "spans": Case(
        lambda n: ((s := timedelta(minutes=n)).days, s / HOUR, str(s), s // timedelta(hours=7), -s < s, bool(s)),
        [90], [[0], [100_000], [-1]],
    ),
    "map": Case(lambda texts: [d.day for d in map(date.fromisoformat, texts)], [["2024-01-01", "2024-03-05"]], LISTS),
    "the module's classes": Case(
        lambda s: (isinstance(s, dt.date), dt.datetime.strptime(s, FORM).day, isinstance(parsed(s), dt.datetime)),
        ["2024-01-05"], DAYS,
    ),
    "the earlier one": Case(
        lambda a, b: min(date.fromisoformat(a), date.fromisoformat(b)).isoformat(),
        ["2024-01-31", "2024-03-01"], [["2024-03-01", "2024-01-31"]],
    ),
}  # fmt: skip


def parsed_time(text):
    return time.fromisoformat(text)


FAILING = {
    "no date": (lambda s: datetime.strptime(s, FORM).day, "2024-01-01", "2024-1", "does not match format"),
    "no such day": (lambda s: date.fromisoformat(s).day, "2024-01-01", "2023-02-29", "day is out of range"),
    "no such month": (lambda n: date(2024, n, 1).isoformat(), 3, 13, "month must be in 1..12"),
    "too late": (lambda n: (START + timedelta(days=n)).isoformat(), 3, 10**8, "date value out of range"),
}
"""What fails in Python fails in the file: the function, an example, one that fails, and words of the error."""

REFUSED = {
    "a zone that is compared": (
        lambda s: datetime.fromisoformat(s).tzinfo == timezone.utc,
        r"a zone of a date is compared\. Write \(date - datetime\(1970",
    ),
    "a date as a result": (lambda s: parsed(s), "the function returns a datetime.*Return date.isoformat"),
    "a list of dates as a result": (lambda s: [[date.fromisoformat(s)]], "the function returns a date"),
    "a span as a result": (lambda s: parsed(s) - START, r"returns a timedelta.*Return span.total_seconds\(\)"),
    "the zone of the machine": (lambda s: parsed(s).timestamp(), r"Write date.replace\(tzinfo=timezone.utc\)"),
    "seconds in the zone of the machine": (
        lambda s: datetime.fromtimestamp(torch.tensor(float(len(s))).item()).hour,
        r"datetime.fromtimestamp\(seconds, timezone.utc\)",
    ),
    "a date as a key": (lambda s: {START: 1}.get(parsed(s), 0), "a datetime that is decided at run time cannot be"),
    "a width of a format": (lambda s: parsed(s).strftime("%99d"), "a format of a date cannot be used"),
}  # fmt: skip
"""What is refused with what to write: the function, and words of the error."""
