"""Selections among the rows of a tensor: each choice looks at those that were chosen before."""

import torch


def unlike_rows(e, thr):
    keep = []
    for i, row in enumerate(e):
        if not keep or (e[keep] @ row).max() < thr:
            keep.append(i)
    return keep


def unlike_rows_of_items(e, thr):
    keep = []
    for i in range(len(e)):
        if len(keep) == 0 or e[torch.tensor(keep)].matmul(e[i]).max().item() < thr:
            keep.append(i)
    return keep, e[keep]


def skipping(e, thr):
    keep = []
    for i in range(len(e)):
        if keep:
            nearest = (e[keep] @ e[i]).max().item()
            if nearest >= thr:
                continue
        keep.append(i)
    return [f"row {i}" for i in keep]


def marginal(e, query, k):
    sim = e @ query
    candidates = list(range(len(e)))
    chosen = [int(sim.argmax())]
    candidates.remove(chosen[0])
    while candidates and len(chosen) < k:
        best = max(candidates, key=lambda i: 0.5 * sim[i].item() - 0.5 * max((e[i] @ e[j]).item() for j in chosen))
        chosen.append(best)
        candidates.remove(best)
    return chosen


def marginal_of_tensors(e, query, k):
    sim = e @ query
    chosen, candidates = [0], list(range(1, len(e)))
    while candidates:
        best = max(candidates, key=lambda i: 0.7 * sim[i] - 0.3 * max((e[i] @ e[j]).item() for j in chosen))
        chosen.append(best)
        candidates.remove(best)
    return chosen[:k]


def marginal_in_loops(e, query, k):
    sim = e @ query
    chosen, candidates = [], list(range(len(e)))
    while candidates and len(chosen) < k:
        best, highest = candidates[0], -1e9
        for i in candidates:
            alike = max([(e[i] @ e[j]).item() for j in chosen], default=0.0)
            score = 0.7 * sim[i].item() - 0.3 * alike
            if score > highest:
                best, highest = i, score
        chosen.append(best)
        candidates.remove(best)
    return chosen


def popping(e, query, k):
    chosen, candidates = [0], list(range(1, len(e)))
    while candidates and len(chosen) < k:
        scores = [(e[i] @ e[chosen].T).max().item() for i in candidates]
        chosen.append(candidates.pop(scores.index(min(scores))))
    return chosen


def farthest(xs):
    chosen, rest = [0], list(xs)
    while rest:
        best = max(rest, key=lambda x: min(abs(x - y) for y in chosen))
        chosen.append(best)
        rest.remove(best)
    return chosen


def far_from_kept(xs):
    kept = []
    for x in xs:
        kept.append(min(xs, key=lambda y: abs(x - y) + sum(1 for z in kept if z == y)))
    return kept
