"""Operators of torchvision: the one that any file may call, and the others.

torchvision has no build for every torch, so a package of that name is made here: its operators have the names and
schemas of torchvision's, and an implementation of their own.
"""

from __future__ import annotations

from pathlib import Path

from .written import Run, write

VISION = '''
import torch

library = torch.library.Library("torchvision", "DEF")
library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
library.define("box_area_twice(Tensor boxes) -> Tensor")

def nms(dets, scores, iou_threshold):
    """Keeps the best of boxes that overlap."""
    order, kept = scores.argsort(descending=True, stable=True).tolist(), []
    for index in order:
        if all(overlap(dets[index], dets[other]) <= iou_threshold for other in kept):
            kept.append(index)
    return torch.tensor(kept, dtype=torch.int64)

def overlap(a, b):
    low, high = torch.maximum(a[:2], b[:2]), torch.minimum(a[2:], b[2:])
    inside = (high - low).clamp(min=0).prod()
    return float(inside / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - inside))

library.impl("nms", nms, "CPU")
library.impl("box_area_twice", lambda boxes: 2 * (boxes[:, 2:] - boxes[:, :2]).prod(1), "CPU")
'''

PACK_VISION = """
import torchvision

class Area(torch.nn.Module):
    def forward(self, boxes):
        return torch.ops.torchvision.box_area_twice(boxes) / 2

def process(boxes, scores):
    kept = torch.ops.torchvision.nms(boxes, scores, 0.5)
    return boxes[kept], len(kept)

torch.library.register_fake("torchvision::box_area_twice", lambda boxes: boxes.new_empty(boxes.shape[0]))
boxes = torch.tensor([[0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]]).float()
tracepack.trace(process, boxes, torch.tensor([0.5, 0.9, 0.1])).save("a.tpk")
area = tracepack.script(Area(), example=boxes)
tracepack.trace(lambda boxes: area(boxes), boxes).save("b.tpk")
"""
LOAD_VISION = """
import sys
boxes = torch.tensor([[0, 0, 4, 4], [8, 8, 9, 9], [0, 0, 4, 5], [8, 8, 9, 9.5]]).float()

def tried(name, *args, **options):
    try:
        print(tracepack.load(name, **options)(*args))
    except tracepack.TracepackError as error:
        print(type(error).__name__, error, "torchvision" in sys.modules)
"""
INSTALLED = """
import os, site
site.getsitepackages = lambda: [os.getcwd()]
"""


def test_torchvision_with_a_stand_in(tmp_path: Path, run: Run) -> None:
    """Named, or with trust, since the loader knows it; never without both where it is not installed."""
    write(tmp_path, "torchvision", VISION, "0.99")
    run(PACK_VISION)
    found = run(f"""{LOAD_VISION}
tried("a.tpk", boxes, torch.rand(4))
tried("b.tpk", boxes)
for options in ({{"trust": True}}, {{"packages": ["torchvision"]}}):
    kept, count = tracepack.load("a.tpk", **options)(boxes, torch.tensor([0.9, 0.2, 0.8, 0.3]))
    print(kept.tolist(), count, tracepack.load("b.tpk", **options)(boxes).tolist())
""")
    answer = "[[0.0, 0.0, 4.0, 4.0], [8.0, 8.0, 9.0, 9.5]] 2 [16.0, 1.0, 20.0, 1.5]\n"
    refused = [
        f"TrustError the operator torchvision::{name} is code of the package 'torchvision' 0.99, which load was not "
        "given. Pass packages=['torchvision'] if you trust that package with what this file calls it with. False\n"
        for name in ("nms", "box_area_twice")
    ]
    assert found == f"{''.join(refused)}{answer * 2}"


def test_a_known_operator_of_an_installed_package_needs_no_name(tmp_path: Path, run: Run) -> None:
    """And no other operator of that package; nor a package of that name which lies elsewhere."""
    write(tmp_path, "torchvision", VISION, "0.99")
    run(PACK_VISION)
    call = 'tried("a.tpk", boxes, torch.tensor([0.9, 0.2, 0.8, 0.3]))'
    answer = "(tensor([[0.0000, 0.0000, 4.0000, 4.0000],\n        [8.0000, 8.0000, 9.0000, 9.5000]]), 2)\n"
    found = run(f'{LOAD_VISION}{INSTALLED}tried("b.tpk", boxes)\n{call}\ntried("b.tpk", boxes)')
    before, after = (part.rpartition(" ")[2] for part in found.split(answer))
    assert (found.count("TrustError"), found.count(answer), before, after) == (2, 1, "False\n", "True\n")
    assert run(f"{LOAD_VISION}import torchvision\n{call}") == answer  # the user's own import
    (tmp_path / "torchvision").rename(tmp_path / "elsewhere")
    assert run(f"{LOAD_VISION}{call}") == (
        "MissingExtraError the operator torchvision::nms needs the package 'torchvision' 0.99, which is not installed. "
        "Install it. False\n"
    )
    (tmp_path / "torchvision").mkdir()  # a folder without a package
    assert run(f"{LOAD_VISION}{INSTALLED}{call}").startswith("TrustError the operator torchvision::nms is code of")
