"""Functions that choose between values of two dtypes, ranks or types, with examples that take each side."""

from __future__ import annotations

import torch

import tracepack

NET = torch.nn.Linear(4, 3).eval()
OP = tracepack.script(NET, device="cpu")
X, Y = torch.rand(2, 4) + 0.1, torch.rand(5, 4) - 2.0
ON, OFF = (X, True), (Y, False)


def mask(x, flag=False):
    return (x > 0.5) if flag else x


def dtypes(x, double):
    return x.double() if double else x.float()


def after_model(x, norm):
    y = OP(x)
    return y.softmax(-1) if norm else y.argmax(-1)


def by_number(x, n):
    return x.sum() if n > 3 else x * 2


def row(x, flag):
    if flag:
        x = x[None]
    return x * 2


def by_data(x):
    return x.sum() if x.max() > 0.5 else x * 2


def by_item(x):
    return x.sum() if x.mean().item() > 0 else x


def listed(x, flag):
    return [x.sum()] if flag else x


def kept(x, keep):
    return x.sum(0, keepdim=True) if keep else x.sum(0)


def kept_at_once(x, keep):
    return x.sum(0, keepdim=keep)


def in_dict(x, flag):
    y = OP(x)
    return {"y": y.softmax(-1) if flag else y.argmax(-1), "n": len(x)}


def going_on(x, flag):
    y = OP(x)
    chosen = y.softmax(-1) if flag else y.argmax(-1)
    return chosen * 2


def inner(x, flag):
    return (x.double() if flag else x.half()).sum()


def in_loop(x, flag):
    found = []
    for each in x:
        found.append(each.sum() if flag else each * 2)  # noqa: PERF401  # the form that is tried
    return found


def in_comprehension(x, flag):
    return [each.sum() if flag else each * 2 for each in x]


def nested(x, first, second):
    return x.sum() if first else (x * 2 if second else x > 0.5)


def _chosen(x, flag):
    return x.double() if flag else x.half()


def in_helper(x, flag):
    return _chosen(x, flag)


def after_helper(x, flag):
    y = _chosen(x, flag)
    return y + 1


def by_text(x, mode):
    if mode == "sum":
        return x.sum()
    elif mode == "mask":
        return x > 0.5
    else:
        return x.tolist()


def by_case(x, mode):
    match mode:
        case "sum":
            return x.sum()
        case "mask":
            return x > 0.5
        case _:
            return x


def set_on_all_ways(x, n):
    if n == 1:
        y = x.sum()
    elif n == 2:
        y = x > 0.5
    else:
        y = x * 2
    return y


def flag_and_value(x, flag):
    return flag and x


def early(x, flag):
    if flag:
        return x.sum()
    y = OP(x)
    return {"y": y, "best": y.argmax(-1)}


def models_on_both(x, flag):
    return OP(x).softmax(-1) if flag else NET(x).argmax(-1)


def model_on_one(x, flag):
    return OP(x).argmax(-1) if flag else x


def by_entry(x, options):
    return x.sum() if options["sum"] else x


def as_number(x, flag):
    return x.sum().item() if flag else x.argmax().item()


def dimensions(x, first):
    return x.flatten(first)


def power(n):
    return 2**n


def with_options(x, return_probs=False):
    probs = OP(x).softmax(-1)
    if return_probs:
        return probs
    scores, ids = probs.max(-1)
    return [{"label": int(i), "score": float(s)} for i, s in zip(ids, scores)]  # noqa: B905  # as users write it


def sorted_rows(x, descending):
    return x.sort(descending=descending).values


CASES = {
    "mask": (mask, [ON, (Y, False)]),
    "dtypes": (dtypes, [ON, OFF]),
    "after a model": (after_model, [ON, OFF]),
    "number": (by_number, [(X, 5), (Y, 1)]),
    "row": (row, [ON, OFF]),
    "data": (by_data, [(X + 1,), (Y,)]),
    "item": (by_item, [(X,), (Y,)]),
    "list": (listed, [ON, OFF]),
    "keepdim": (kept, [ON, OFF]),
    "keepdim at once": (kept_at_once, [ON, OFF]),
    "dict": (in_dict, [ON, OFF]),
    "going on": (going_on, [ON, OFF]),
    "inner": (inner, [ON, OFF]),
    "loop": (in_loop, [ON, OFF]),
    "comprehension": (in_comprehension, [ON, OFF]),
    "nested": (nested, [(X, True, True), (Y, False, True), (X, False, False)]),
    "helper": (in_helper, [ON, OFF]),
    "after a helper": (after_helper, [ON, OFF]),
    "text": (by_text, [(X, "sum"), (Y, "mask"), (X, "")]),
    "case": (by_case, [(X, "sum"), (Y, "mask"), (X, "")]),
    "all ways": (set_on_all_ways, [(X, 1), (Y, 2), (X, 7)]),
    "flag and value": (flag_and_value, [ON, OFF]),
    "early": (early, [ON, OFF]),
    "models": (models_on_both, [ON, OFF]),
    "model": (model_on_one, [ON, OFF]),
    "entry": (by_entry, [(X, {"sum": True, "n": 1}), (Y, {"sum": False, "n": 1})]),
    "numbers": (as_number, [ON, OFF]),
    "dimensions": (dimensions, [(X, 0), (Y, 1)]),
    "power": (power, [(3,), (-1,)]),
    "options": (with_options, [ON, OFF]),
    "sorted": (sorted_rows, [ON, OFF]),
    "lambda": (lambda x, flag: x.double() if flag else x.half(), [ON, OFF]),
    "lambda with a model": (lambda x, flag: OP(x) if flag else OP(x).argmax(-1), [ON, OFF]),
}
