"""Answers that have other keys on each side of a branch, with models and with tensors in them."""

from __future__ import annotations

import torch

import tracepack

torch.manual_seed(0)
MODEL = tracepack.script(torch.nn.Linear(2, 3).eval(), device="cpu")
LABELS = ["low", "middle", "high"]


def of_number(n):
    if n > 0:
        return {"value": n}
    return {"error": f"{n} is not positive", "code": 2}


def parsed(text):
    try:
        value = float(text)
    except ValueError:
        return {"error": f"bad {text}"}
    return {"value": value, "text": text}


def of_all(rows):
    return [of_number(row) for row in rows]


def of_tensor(x):
    if x.sum() > 0:
        return {"mean": x.mean()}
    return {"error": "negative", "least": x.min().item()}


def best(x, k):
    scores = MODEL(x).softmax(-1)
    if k > scores.shape[-1]:
        return {"error": f"k={k} is too large"}
    found, ids = scores.topk(2)
    return {"scores": found.tolist(), "ids": ids}


def labelled(text, x):
    if not text.strip():
        return {"ok": False, "error": "no text"}
    logits = MODEL(x)
    return {"ok": True, "label": LABELS[int(logits.mean(0).argmax())], "logits": logits}


def of_events(events):
    if not events:
        return {"score": 0.0, "label": "none", "reason": "no events"}
    x = torch.tensor([[float(each["a"]), float(each["b"])] for each in events])
    scores = MODEL(x).softmax(-1).mean(0)
    return {"score": scores.max().item(), "label": "some", "all": scores.tolist()}


def of_points(points):
    if not points:
        return {"mean": None, "count": 0}
    return {"mean": MODEL(torch.tensor(points)).mean(0), "count": len(points)}


def with_imports(rows):
    import json as js

    if not rows:
        return {"error": "nothing"}
    return {"count": len(rows), "text": js.dumps(rows), "clean": [cleaned(row) for row in rows]}


def cleaned(text):
    import re
    from math import sqrt

    return {"clean": re.sub(r"\d+", "#", text), "root": sqrt(len(text))} if text else None
