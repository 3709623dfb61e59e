"""Engines take the functions of one list; of all others torch is the only one to compute them."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.campaigns.architectures.campaign import listed as emitted
from tests.campaigns.engines.layers import LAYERS
from tests.campaigns.samples import entries
from tracepack.ops.engines.checks.listed_functions import FUNCTIONS, unlisted

# Which architectures use, and engines decline: for a reason of its own, or since no runtime of ONNX has them.
DECLINED = {
    "grouped_mm", "is_all_true", "cross_entropy_loss", "embedding_bag", "fft_fftn", "histc", "log_sigmoid", "rnn_tanh",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino", "inductor"])
@pytest.mark.parametrize(
    ("process", "name"),
    [
        (lambda x: torch.lgamma(x), "lgamma"),
        (lambda x: torch.isclose(x, x), "isclose"),
        (lambda x: torch.special.i0(x), "special_i0"),
        (lambda x: x.clone().logit_().lgamma_(), "lgamma"),
        (lambda x: torch.nn.functional.pdist(x), "pdist"),
    ],
)
def test_a_function_that_is_not_listed_is_declined_by_name(process, name: str, engine: str) -> None:
    pytest.importorskip("onnxscript")
    if engine != "inductor":
        pytest.importorskip(engine)
    with pytest.raises(tracepack.LoweringError, match=f"`{name}` is not on the list of functions that engines are"):
        tracepack.trace(tracepack.script(process, name="op", engine=engine), torch.rand(3, 4))


def test_what_architectures_use_is_listed() -> None:
    names = {
        name.split(".")[1 if name.startswith("aten.") else -1].strip("_") for name in emitted() if name[:3] != "py."
    }
    assert names - FUNCTIONS == DECLINED


def test_a_listed_name_of_somebody_elses_operator_is_not_listed() -> None:
    with torch.library._scoped_library("listed_names", "FRAGMENT") as library:
        library.define("relu(Tensor x) -> Tensor")
        library.impl("relu", torch.clone, "CPU")
        x = torch.ones(2)
        own = torch.ops.listed_names.relu.default
        assert unlisted(own, "relu", own(x)) == "`relu` is not on the list of functions that engines are held to"
        assert unlisted(torch.ops.aten.relu.default, "relu", x) == ""


def test_what_gives_no_tensor_is_not_asked_for() -> None:
    assert unlisted(torch.Tensor.dim, "dim", 2) == ""
    assert "not on the list" in unlisted(torch._foreach_add_, "foreach_add", None)


def test_integers_have_a_list_of_their_own() -> None:
    integers = torch.arange(3)
    assert unlisted(torch.sigmoid, "sigmoid", integers.float()) == ""
    assert unlisted(torch.softmax, "softmax", integers).startswith("`softmax` of integers is not on the list")


# Functions that the campaign tries under another name, and what only reads, makes or moves tensors.
FORMS = frozenset(
    "alias and as_tensor broadcast_to_copy clone_copy copy data detach device floordiv get iand ilshift invert ior "
    "irshift ixor len lift_fresh lift_fresh_copy lshift mod new_tensor numpy or pos promote_types reshape_alias "
    "result_type rfloordiv rlshift rrshift rshift set_grad_enabled size stride sym_size tensor to_copy _to_copy "
    "truediv type unsafe_index unsafe_view xor convolution im2col col2im idiv".split()
)
PARTS = ("_with_indices", "upsample_", "reflection_", "replication_")


def test_the_campaign_tries_what_is_listed() -> None:
    tried = {*LAYERS, "upsample_bicubic", "upsample_trilinear", "upsample_linear"}
    for entry in entries():
        tried |= {part.strip("_") for part in entry.name.split(".")} | {"_".join(entry.name.split(".")[:2])}
        tried |= {alias.name.replace(".", "_").strip("_") for alias in entry.info.aliases}
    left = {
        name for name in FUNCTIONS - FORMS - tried
        if not any(part in name for part in PARTS) and not (name[0] in "ir" and name[1:] in tried)
    }  # fmt: skip
    assert left == set()
