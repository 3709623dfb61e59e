"""Functions that make objects of small classes of their own and change them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass
class Track:
    """What is followed from frame to frame."""

    id: int
    x: float
    age: int = 0
    hits: list = field(default_factory=list)
    LIMIT = 2

    def update(self, x):
        self.hits.append(x)
        self.x = x
        self.age = 0

    @property
    def lost(self):
        return self.age >= self.LIMIT


def tracks(frames):
    followed, number = [], 0
    for found in frames:
        left = list(found)
        for track in followed:
            near = sorted(left, key=lambda x, track=track: abs(x - track.x))
            if near and abs(near[0] - track.x) < 2:
                track.update(near[0])
                left.remove(near[0])
            else:
                track.age += 1
        followed = [track for track in followed if not track.lost]
        for x in left:
            followed.append(Track(number, x))
            number += 1
    return [{"id": track.id, "x": track.x, "hits": track.hits} for track in followed]


class History:
    """The last things, of which the oldest go first."""

    def __init__(self, limit=3):
        self.items, self.limit = [], limit

    def push(self, item):
        if len(self.items) == self.limit:
            self.items.pop(0)
        self.items.append(item)

    def last(self):
        return self.items[-1] if self.items else None


def undone(commands):
    history, log = History(limit=2), []
    for command in commands:
        if command == "undo":
            while history.items and history.last() == "nothing":
                history.items.pop()
            if history.items:
                log.append(history.items.pop())
        else:
            history.push(command)
    return log, history.items


class Span(NamedTuple):
    """Some words in a row."""

    start: int
    end: int
    label: str = "O"


def spans(tags):
    out, current = [], None
    for place, tag in enumerate(tags):
        if tag.startswith("B"):
            if current:
                out.append(current)
            current = Span(place, place + 1, tag[2:])
        elif tag.startswith("I") and current and current.label == tag[2:]:
            current = Span(current.start, place + 1, current.label)
        else:
            if current:
                out.append(current)
            current = None
    if current:
        out.append(current)
    return [(span.start, span.end, span.label) for span in out]


@dataclass
class Node:
    """A folder."""

    name: str
    inner: list = field(default_factory=list)


def tree(paths):
    def shown(node, level):
        out = ["  " * level + node.name]
        for each in node.inner:
            out.extend(shown(each, level + 1))
        return out

    root = Node("")
    for path in paths:
        node = root
        for part in path.split("/"):
            for each in node.inner:
                if each.name == part:
                    node = each
                    break
            else:
                new = Node(part)
                node.inner.append(new)
                node = new
    return shown(root, 0)


def unique(frames):
    """Dataclasses with equal fields are equal."""
    seen = []
    for found in frames:
        for x in found:
            track = Track(0, x)
            while track in seen:
                track.x += 0.5
            seen.append(track)
    return [track.x for track in seen]
