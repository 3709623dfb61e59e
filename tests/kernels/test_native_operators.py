"""Operators in C++ of other packages trust the numbers that they get: no example that is made up reaches them.

The package is made here, of Python that torch cannot tell from C++: it has no file.
"""

from __future__ import annotations

import io
import sys
import types

import pytest
import torch

import tracepack

SOURCE = """
import torch

library, outside = torch.library.Library("native_t", "DEF"), []
library.define("pick(Tensor images, Tensor boxes) -> Tensor")

def pick(images, boxes):
    places = boxes[:, 0].long()
    outside.extend(each for each in places.tolist() if not 0 <= each < len(images))  # where C++ reads foreign memory
    return images[places.clamp(0, max(len(images) - 1, 0))] * boxes[:, 1:].sum(1)[:, None]

library.impl("pick", pick, "CPU")

@torch.library.register_fake("native_t::pick", lib=library)
def _(images, boxes):
    return images.new_empty(boxes.shape[0], images.shape[1])
"""


@pytest.fixture(scope="module")
def native():
    module = types.ModuleType("native_t")
    sys.modules["native_t"] = module
    exec(compile(SOURCE, "<native>", "exec"), module.__dict__)
    yield module
    module.library._destroy()
    del sys.modules["native_t"]


IMAGES, BOXES = torch.rand(3, 4), torch.tensor([[0.0, 1, 2], [2, 5, 3], [1, 4, 4], [2, 1, 1]])


class Head(torch.nn.Module):
    def forward(self, images, boxes):
        return torch.ops.native_t.pick(images * 2, boxes)


@pytest.mark.parametrize("scripted", [False, True])
def test_it_is_only_given_what_may_be_an_index(native, scripted) -> None:
    native.outside.clear()
    call = tracepack.script(Head()) if scripted else Head()
    mod, file = tracepack.trace(lambda images, boxes: call(images, boxes).relu(), IMAGES, BOXES), io.BytesIO()
    mod.save(file)
    assert native.outside == []
    found = tracepack.load(file.getvalue(), packages=["native_t"])
    assert "where bool" not in found.signature
    for images, boxes in ((IMAGES, BOXES), (torch.rand(5, 4), BOXES[:2] * 2), (torch.rand(1, 4), BOXES[:1])):
        assert torch.equal(found(images, boxes), Head()(images, boxes).relu())
