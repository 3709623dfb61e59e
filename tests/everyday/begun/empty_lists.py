"""Loops that begin with empty lists, look at what is in them, and branch in every round."""

import torch


def paragraphs(lines):
    out, current = [], []
    for line in lines:
        if line:
            current.append(line)
        else:
            out.append(" ".join(current))
            current = []
    if current:
        out.append(" ".join(current))
    return out


def wrapped(text, width):
    out, current = [], []
    for word in text.split():
        if len(" ".join([*current, word])) > width:
            out.append(" ".join(current))
            current = []
        current.append(word)
    out.append(" ".join(current))
    return out


def batches(lines, size):
    out, current = [], []
    for line in lines:
        current.append(line)
        if len(current) == size:
            out.append("|".join(current))
            current = []
    return [*out, "|".join(current)]


def runs(xs):
    out, current = [], []
    for x in xs:
        if current and x < current[-1]:
            out.append(sum(current) / len(current))
            current = []
        current.append(x)
    if current:
        out.append(sum(current) / len(current))
    return out


def tallied(words):
    seen, counts = [], []
    for word in words:
        if word in seen:
            counts[seen.index(word)] += 1
        else:
            seen.append(word)
            counts.append(1)
    return dict(zip(seen, counts, strict=True))


def of_two_kinds(xs):
    out = []
    for x in xs:
        if x % 2 == 0:
            out.append(x)
        elif out:
            out.append(f"after {out[-1]}")
    return out


def smoothed(x):
    window, out = [], []
    for row in x:
        window.append(row)
        if len(window) > 2:
            window.pop(0)
        if row.sum() > 1.5:
            out.append(torch.stack(window).mean(0))
    return torch.stack(out) if out else torch.zeros(0, 3)


def highest_first(xs):
    chosen, rest = [], list(xs)
    while rest:
        best, highest = rest[0], -1e9
        for x in rest:
            score = x * 0.5 - max([abs(x - y) * 0.3 for y in chosen], default=0.0)
            if score > highest:
                best, highest = x, score
        chosen.append(best)
        rest.remove(best)
    return chosen


def entities(logits, words):
    found, current = [], []
    for word, i in zip(words, logits.argmax(-1).tolist(), strict=False):
        tag = "OBI"[i]
        if tag == "B":
            if current:
                found.append(" ".join(current))
            current = [word]
        elif tag == "I" and current:
            current.append(word)
        else:
            if current:
                found.append(" ".join(current))
            current = []
    if current:
        found.append(" ".join(current))
    return found
