"""Functions that give a list, a dict, a text or a tensor, or None, as data decides: a box or none, a fit or none."""

from __future__ import annotations

import itertools
import re


def box(mask):
    ys, xs = (mask == 2).nonzero(as_tuple=True)
    if len(xs) == 0:
        return {"box": None, "n": 0}
    return {"box": [xs.min().item(), ys.min().item(), xs.max().item()], "n": len(xs)}


def box_in_one(mask):
    ys, xs = (mask == 2).nonzero(as_tuple=True)
    return {"box": [xs.min().item(), ys.min().item()] if len(xs) else None}


def nested(x):
    high = x[x > 0.5]
    if high.numel() == 0:
        return {"status": "empty", "result": None}
    place = high.argmax().item()
    return {"status": "ok", "result": {"place": place, "value": high[place].item()}}


def record(x):
    high = x[x > 0.5]
    if len(high) == 0:
        return None
    return {"most": high.max().item(), "n": len(high)}


def pair(x):
    high = x[x > 0.5]
    if len(high) == 0:
        return "no hits", None
    return f"{len(high)} hits", {"most": high.max().item()}


def vector(x):
    high = x[x > 0.5]
    if len(high) == 0:
        return {"vector": None}
    return {"vector": high / high.max()}


def set_later(x):
    span, out = None, {"n": len(x), "range": None}
    mask = x > 0.5
    if mask.any():
        places = mask.nonzero()[:, 0]
        span = (places.min().item(), places.max().item())
        out["range"] = [x[mask].min().item(), x[mask].max().item()]
    return {"span": span, **out}


def of_three(x):
    if x.sum() < 0:
        return None
    if x.max() < 0.5:
        return {"kind": "low", "values": None}
    return {"kind": "high", "values": x[x > 0.5].tolist()}


def span(x):
    places = x.gt(0.5).nonzero().flatten()
    if len(places) == 0:
        return None
    return [places[0].item(), places[-1].item()]


def of_helper(x):
    return {"span": span(x), "others": [span(-x), span(x * 2)]}


def asked(x):
    found = span(x)
    if found is None:
        return {"length": 0, "text": "none"}
    return {"length": found[1] - found[0] + 1, "text": f"{found[0]}-{found[1]}"}


def asked_again(x):
    found, other = span(x), record(x)
    if found is None and other is None:
        return "none"
    return f"{found[0]} {other['n']}"


def in_conditions(x):
    found, other = span(x), record(x)
    return {
        "any": "yes" if found else "no",
        "same": found == [0, 2],
        "first": found[0] if found is not None else -1,
        "n": other["n"] if other else 0,
        "more": (found or [0, 0])[1],
        "known": other is not None,
        "of": isinstance(other, dict),
    }


def as_tensor(x):
    found = vector(x)["vector"]
    if found is None:
        return x[:1] * 0
    return found * 2


def made_of_it(x):
    found = record(x)
    return {"record": found, "twice": {"most": found["most"] * 2} if found is not None else None}


def best_box(boxes, scores):
    keep = scores > 0.5
    if not keep.any():
        return {"box": None, "score": 0.0}
    best = scores[keep].argmax()
    return {"box": boxes[keep][best].tolist(), "score": scores[keep][best].item()}


def of_texts(texts):
    kept = [text for text in texts if text]
    if not kept:
        return {"best": None}
    best = max(kept, key=len)
    return {"best": {"text": best, "n": len(best)}}


def of_match(text):
    found = re.match(r"id=(\d+)", text)
    if not found:
        return None
    return {"id": int(found[1]), "rest": text[found.end() :]}


def trend(values):
    if len(values) < 3:
        return {"trend": None, "last": values[-1] if values else None}
    return {"trend": [b - a for a, b in itertools.pairwise(values)], "last": values[-1]}


def of_rows(x):
    return [span(row) for row in x]
