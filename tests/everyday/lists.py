"""Lists of any length as arguments: of tensors of different sizes, of numbers, of records, as people write them."""

from __future__ import annotations

import math

import torch
from torch.nn.utils.rnn import pad_sequence

import tracepack
from tests.everyday.case import Case

torch.manual_seed(0)
IMAGES = [torch.rand(3, 4, 5), torch.rand(3, 6, 2)]
OTHER_IMAGES = [[[torch.rand(3, 2, 2)]], [[torch.rand(3, n, 7) for n in range(1, 6)]], [[]]]
SEQUENCES = [torch.rand(2, 4), torch.rand(5, 4)]
OTHER_SEQUENCES = [
    [[torch.rand(3, 4)]], [[torch.rand(n, 4) for n in (1, 2, 7, 2)]], [[torch.rand(2, 6), torch.rand(1, 6)]],
]  # fmt: skip
RECORDS = [{"name": "Ann", "score": 1.5, "tags": ["a", "b"]}, {"name": "bob", "score": -2.5, "tags": ["c"]}]
OTHER_RECORDS = [[RECORDS[1:]], [[*RECORDS, {"name": "", "score": 0.0, "tags": ["x"] * 3}, *RECORDS]], [[]]]
NUMBERS, OTHER_NUMBERS = [[1.5, -2.0]], [[[0.25]], [[3.0, 1.0, 2.0, -7.5]]]
FEATURES = [{"x": torch.rand(3), "k": 2}, {"x": torch.rand(5), "k": 3}]
OTHER_FEATURES = [[FEATURES[:1]], [[{"x": torch.rand(9), "k": 7}, *FEATURES, *FEATURES]]]
WEIGHT = torch.rand(4, 3)
OP = tracepack.script(torch.nn.Conv2d(3, 2, 1))


def normalized(image):
    scaled = torch.nn.functional.interpolate(image[None], size=(4, 4), mode="bilinear")[0]
    return (scaled - scaled.mean()) / (scaled.std() + 1e-6)


def described(records):
    return [f"{i}. {r['name'].title()}: {r['score']:+.1f} ({', '.join(r['tags'])})" for i, r in enumerate(records, 1)]


def enriched(records):
    return [{**r, "length": len(r["name"]), "good": r["score"] > 0} for r in records]


def best_names(records):
    return [r["name"] for r in sorted(records, key=lambda r: r["score"], reverse=True)][:2]


def matched(sequences, names):
    return {"texts": [f"{name}: {x.sum():.2f}" for name, x in zip(names, sequences, strict=True)], "n": len(sequences)}


def pooled(sequences):
    lengths = torch.tensor([len(x) for x in sequences])
    return pad_sequence(sequences, batch_first=True).sum(1) / lengths[:, None]


def windows(x):
    found = []
    for start in range(0, x.shape[0] - 1, 2):
        found.append(x[start : start + 2].mean(0))  # noqa: PERF401 - as people write it
    return torch.stack(found)


def summed_in_chunks(x):
    total, chunks = torch.zeros(4), 0
    for start in range(0, len(x), 3):
        total = total + x[start : start + 3].amax(0)
        chunks += 1
    return total, chunks


def rows(process):
    return Case(process, [torch.rand(5, 4)], [[torch.rand(n, 4)] for n in (2, 3, 4, 7, 12)])


def images(process):
    return Case(process, [IMAGES], OTHER_IMAGES[:2])


def sequences(process):
    return Case(process, [SEQUENCES], OTHER_SEQUENCES)


def records(process):
    return Case(process, [RECORDS], OTHER_RECORDS)


def numbers(process):
    return Case(process, NUMBERS, OTHER_NUMBERS)


CASES = {
    "images of different sizes": images(lambda images: torch.stack([normalized(image) for image in images])),
    "images through an op": images(lambda images: [OP(image[None])[0].amax((1, 2)) for image in images]),
    "images mapped": Case(
        lambda images: tracepack.map(lambda image: image.mean((1, 2)), images), [IMAGES], OTHER_IMAGES
    ),
    "sizes of images": images(lambda images: [(image.shape[1], image.size(2)) for image in images]),
    "large ones": images(lambda images: [image.sum() for image in images if image.shape[1] > 3]),
    "sequences padded": sequences(lambda xs: pad_sequence(xs, batch_first=True)),
    "sequences padded elsewhere": sequences(lambda xs: torch.nn.utils.rnn.pad_sequence(xs, padding_value=-1.0)),
    "sequences pooled": sequences(pooled),
    "sequences joined": sequences(lambda xs: torch.cat(xs, dim=0)),
    "sequences joined after a product": Case(
        lambda xs: torch.vstack([x @ WEIGHT for x in xs]), [SEQUENCES], OTHER_SEQUENCES[:2]
    ),
    "lengths": sequences(lambda xs: [len(x) for x in xs]),
    "number of them": sequences(lambda xs: {"n": len(xs), "mean": sum(len(x) for x in xs) / len(xs)}),
    "numbered": sequences(lambda xs: [f"{i}: {x.mean():.3f}" for i, x in enumerate(xs)]),
    "with names": Case(
        matched, [SEQUENCES, ["a", "b"]], [[OTHER_SEQUENCES[0][0], ["x"]], [OTHER_SEQUENCES[1][0], list("wxyz")]]
    ),
    "in a dict": Case(
        lambda batch: [x.sum() * batch["scale"] for x in batch["xs"]],
        [{"xs": SEQUENCES, "scale": 2.0}],
        [[{"xs": SEQUENCES * 2, "scale": 0.5}]],
    ),
    "pairs": Case(
        lambda pairs: [x * weight for x, weight in pairs],
        [[(torch.ones(2), 0.5), (torch.ones(3), 2.0)]],
        [[[(torch.rand(4), 3.0)]]],
    ),
    "numbers": numbers(lambda xs: [math.exp(x) * 2 for x in xs]),
    "tensor of numbers": numbers(lambda xs: torch.tensor(xs) * 2),
    "sums": numbers(lambda xs: {"sum": sum(xs), "largest": max(xs), "mean": sum(xs) / len(xs)}),
    "signs": numbers(lambda xs: ["plus" if x > 0 else "minus" for x in xs]),
    "lists of numbers": Case(
        lambda rows: [sum(row) for row in rows], [[[1.0, 2.0], [3.0]]], [[[[0.5]]], [[[1.0, 2.0, 3.0]] * 4]]
    ),
    "records described": records(described),
    "records enriched": records(enriched),
    "best records": records(best_names),
    "column of records": records(lambda rs: torch.tensor([r["score"] for r in rs], dtype=torch.float64)),
    "sum over records": records(lambda rs: sum(r["score"] for r in rs)),
    "records by name": records(lambda rs: {r["name"]: r["score"] for r in rs}),
    "records that stay": records(lambda rs: [r["name"] for r in rs if r["score"] > 0]),
    "a default": records(lambda rs: [r.get("name", "nobody") for r in rs]),
    "records with tensors": Case(lambda rs: [r["x"].sum() * r["k"] for r in rs], [FEATURES], OTHER_FEATURES),
    "best records with tensors": Case(
        lambda rs: [r["x"] * 2 for r in sorted(rs, key=lambda r: r["k"], reverse=True)][:1], [FEATURES], OTHER_FEATURES
    ),
    "numbered records": Case(
        lambda rs: [r["x"].sum() + i for i, r in enumerate(reversed(rs))], [FEATURES], OTHER_FEATURES
    ),
    "records beside numbers": Case(
        lambda rs, ks: [r["x"] * k for r, k in zip(rs, ks, strict=True)], [FEATURES, [1, 2]], [[FEATURES[:1], [5]]]
    ),
    "some records": Case(
        lambda rs: [r["x"].mean() for r in filter(lambda r: r["k"] > 2, rs)], [FEATURES], OTHER_FEATURES
    ),
    "records made of records": Case(
        lambda rs: [r["y"].sum() for r in [{"y": r["x"] * r["k"]} for r in rs]], [FEATURES], OTHER_FEATURES
    ),
    "chunks": rows(lambda x: torch.cat([x[i : i + 2] * 2 for i in range(0, x.shape[0], 2)])),
    "chunks summed": rows(summed_in_chunks),
    "windows": rows(windows),
    "rows from the last one on": rows(lambda x: torch.stack([x[i] for i in range(x.shape[0] - 1, -1, -1)])),
    "steps down": rows(lambda x: [i * 2 for i in range(x.shape[0], -4, -3)]),
    "steps from a size up": rows(lambda x: [i + 1 for i in range(len(x), 12, 5)]),
    "number of steps": rows(lambda x: x * len(range(1, x.shape[0], 3))),
    "texts as a list of lists": Case(
        lambda rows: [" ".join(row).lower() for row in rows],
        [[["A", "b"], ["C"]]],
        [[[["X"]]], [[["Q"], ["R", "s"]] * 3]],
    ),
}
