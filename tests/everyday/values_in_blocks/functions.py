"""Functions with decimals, dates, digests, and objects from outside, in loops that no recording follows."""

import hashlib
import re
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import NamedTuple

HOLIDAYS = {date(2024, 1, 1), date(2024, 12, 25)}
RATES = {"de": Decimal("0.19"), "at": Decimal("0.20")}


def due(rows):
    out, late = [], 0
    for row in rows:
        try:
            day = datetime.strptime(row, "%Y-%m-%d").date()
        except ValueError:
            out.append(None)
            continue
        count = 0
        while count < 3:
            day += timedelta(days=1)
            if day.weekday() < 5 and day not in HOLIDAYS:
                count += 1
        late += (day - date(2024, 1, 1)).days
        out.append(f"{day:%d.%m.%Y} {day} {day.isoformat()} {day.isocalendar().week}")
    return {"due": out, "late": late, "last": max((each for each in out if each), default="")}


def money(rows, country):
    total, bad = Decimal(0), []
    for row in rows:
        name, _, price = row.partition("=")
        try:
            value = Decimal(price)
        except InvalidOperation:
            bad.append(name)
            continue
        if value.is_nan():
            continue
        total += value * (1 + RATES.get(country, Decimal(0)))
    shown = total.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    return {"total": str(shown), "float": float(total), "whole": int(total), "bad": bad, "text": f"{total:,.1f}"}


def shards(keys, count):
    out = {}
    for key in keys:
        digest = hashlib.sha256()
        digest.update(key.encode())
        digest.update(b"salt")
        place = int.from_bytes(digest.digest()[:4], "big") % count
        while place in out and len(out) < count:
            place = (place + 1) % count
        others = hashlib.md5(key.encode()).hexdigest()[:4], hashlib.blake2b(key.encode()).hexdigest()[:4]
        out.setdefault(place, []).append((key, zlib.crc32(key.encode("utf-8")), *others))
    return [out.get(i, []) for i in range(count)]


@dataclass(frozen=True)
class Rule:
    name: str
    pattern: str
    weight: float
    blocks: bool = False

    def weighted(self, count):
        return self.weight * min(count, 3)


RULES = [
    Rule("insult", r"\b(idiot|moron)\b", 0.6),
    Rule("threat", "kill you", 1.0, True),
    Rule("shout", "[A-Z]{6,}", 0.2),
]


def _score(text):
    hits, total, blocked = [], 0.0, False
    for rule in RULES:
        flags = 0 if rule.name == "shout" else re.IGNORECASE
        found = re.findall(rule.pattern, text, flags)
        if found:
            hits.append(rule.name)
            total += rule.weighted(len(found))
            blocked = blocked or rule.blocks
    return hits, total, blocked


def moderate(texts, strikes):
    out = []
    for text in texts:
        hits, total, blocked = _score(text)
        if blocked or total >= 1.0:
            action = "ban" if strikes >= 2 else "remove"
            strikes += 1
        else:
            action = "pass"
        out.append({"action": action, "score": round(total, 2), "reasons": hits})
    return {"decisions": out, "strikes": strikes}


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0

    def distance(self, other):
        return abs(self.x - other.x) + abs(self.y - other.y)


class Shape(NamedTuple):
    name: str
    area: float


HOME = Point(0, 1)
SHAPES = {"a": [Shape("square", 4.0), Shape("circle", 3.1)], "b": []}


def walk(steps):
    seen, now, count = {HOME}, HOME, 0
    for step in steps:
        now = Point(now.x + (step == "r") - (step == "l"), now.y + (step == "u"))
        if now in seen:
            count += 1
            continue
        seen.add(now)
    areas = sum(shape.area for step in steps for shape in SHAPES.get(step, []))
    return count, now.distance(HOME), areas, now == HOME


class Words:
    def __init__(self, text):
        self.counts = Counter(text)
        self.total = sum(self.counts.values())

    def share(self, letter):
        return self.counts.get(letter, 0) / self.total


MODELS = {"en": [Words("thedog"), Words("house")], "de": [Words("derhund"), Words("haus")]}


def language(text):
    scores = {}
    for name, models in MODELS.items():
        total = 0.0
        for letter in text.lower():
            if not letter.isalpha():
                continue
            total += sum(weight * model.share(letter) for weight, model in zip((0.7, 0.3), models, strict=True))
        scores[name] = total
    ranked = sorted(scores, key=scores.get, reverse=True)
    return {"best": ranked[0], "scores": scores}


@dataclass
class Item:
    list: str
    max: int = 3
    tags: list = field(default_factory=list)


def _marked(item, count):
    item.tags.append(count)
    item.max += count
    return count > 1


def items(rows):
    out = []
    for row in rows:
        name, _, number = row.partition(":")
        item = Item(list=name, max=int(number)) if number.isdigit() else Item(name)
        if out and out[-1].max > item.max:
            out.pop()
        if _marked(item, len(out)):
            item.list += "!"
        out.append(item)
    return [asdict(each) for each in out]


def with_flags(rows, loud):
    out = []
    for row in rows:
        flags = re.IGNORECASE if loud else 0
        words = re.findall("[a-c]+", row, flags)
        while words and len(words[-1]) < 2:
            words.pop()
        given = row, 1, flags
        out.append(words + re.split("x", *given) + [re.sub("b", "_", *given)])
    return out


def _assigned(user, salt):
    return int(hashlib.md5(f"{salt}:{user}".encode()).hexdigest()[:8], 16) % 100


def _arm(user, salt):
    number, total = _assigned(user, salt), 0
    for share, arm in zip([50, 30], ["a", "b"], strict=True):
        total += share
        if number < total:
            return arm
    return "c"


def _arms(user):
    return {salt: _arm(user, salt) for salt in ("one", "two")}


def route(users):
    out, tally = {}, {}
    for user in users:
        arms = _arms(user)
        out[user] = arms
        for arm in arms.values():
            tally[arm] = tally.get(arm, 0) + 1
    return {"users": out, "tally": tally}


STATE = [Item("a"), Item("b")]


def changes_what_is_outside(rows):
    count = 0
    for row in rows:
        for item in STATE:
            if item.list != row:
                continue
            item.max += 1
            count += item.max
    return count
