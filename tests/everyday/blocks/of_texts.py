"""Functions on texts and words that recording does not follow: while loops in loops, records that stay open, sets."""

from __future__ import annotations

import re

import torch

import tracepack

linear = tracepack.script(torch.nn.Linear(3, 3).eval(), device="cpu")
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
VOCABULARY = {"un", "##aff", "##able", "##s", "play", "##ing"}


def shunting_yard(tokens):
    out, operators = [], []
    for token in tokens:
        if token in PRECEDENCE:
            while operators and PRECEDENCE[operators[-1]] >= PRECEDENCE[token]:
                out.append(operators.pop())
            operators.append(token)
        else:
            out.append(token)
    while operators:
        out.append(operators.pop())
    return " ".join(out)


def sentences(words):
    out, current = [], []
    for word in words:
        current.append(word)
        if word.endswith("."):
            out.append(" ".join(current))
            current = []
    if current:
        out.append(" ".join(current))
    return out


def entities(logits, words):
    found, current = [], None
    for place, number in enumerate(logits.argmax(-1).tolist()):
        tag = TAGS[number]
        if tag.startswith("B-"):
            if current is not None:
                found.append(current)
            current = {"type": tag[2:], "start": place, "end": place, "text": words[place]}
        elif tag.startswith("I-") and current is not None:
            current["end"] = place
            current["text"] += " " + words[place]
        else:
            if current is not None:
                found.append(current)
            current = None
    if current is not None:
        found.append(current)
    return {"entities": found, "count": len(found)}


def unique(words):
    seen = set()
    return [word for word in words if not (word in seen or seen.add(word))]


def record(line):
    found = re.match(r"(\w+)=(\d+)", line)
    if not found:
        return None
    return {"key": found.group(1), "value": int(found.group(2))}


def records(lines):
    found = [record(line) for line in lines]
    return [each for each in found if each is not None]


def masked(text):
    found = []

    def take(match):
        found.append(match.group(0))
        return f"<{len(found)}>"

    return re.sub(r"\d+", take, text), found


def pieces(words):
    out = []
    for word in words:
        start, parts, unknown = 0, [], False
        while start < len(word):
            end, piece = len(word), None
            while start < end:
                part = word[start:end]
                if start > 0:
                    part = "##" + part
                if part in VOCABULARY:
                    piece = part
                    break
                end -= 1
            if piece is None:
                unknown = True
                break
            parts.append(piece)
            start = end
        out.extend(["[UNK]"] if unknown else parts)
    return out


def pieces_before_a_model(words, x):
    out = []
    for word in words:
        start = 0
        while start < len(word):
            end = len(word)
            while start < end and word[start:end] not in VOCABULARY:
                end -= 1
            if end == start:
                break
            out.append(word[start:end])
            start = end
    return linear(x) * len(out), out


def bracket(text):
    opened = []
    for place, each in enumerate(text):
        if each in "([{":
            opened.append((each, place))
        elif each in ")]}":
            if not opened or "([{".index(opened[-1][0]) != ")]}".index(each):
                return place
            opened.pop()
    return opened[0][1] if opened else -1


def cleaned(words):
    def clean(word):
        while word and word[-1] in ".,!":
            word = word[:-1]
        return word or None

    return [each.upper() for each in (clean(word) for word in words) if each]


def parsed(lines):
    found, bad = [], 0
    for line in lines:
        parts = line.split(",")
        try:
            found.append({"id": int(parts[0]), "value": float(parts[1])})
        except (ValueError, IndexError):
            bad += 1
    return found, bad


class Machine:
    """A machine of states, whose table is an attribute."""

    def __init__(self):
        self.table = {("idle", "go"): "run", ("run", "stop"): "idle", ("run", "pause"): "hold", ("hold", "go"): "run"}

    def __call__(self, events):
        state, log = "idle", []
        for event in events:
            following = self.table.get((state, event))
            if following is None:
                log.append(f"ignored {event} in {state}")
                continue
            state = following
            log.append(state)
        return state, log
