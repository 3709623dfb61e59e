"""Operators that end a card's context where an index or a probability is wrong, tried on the CPU before.

On the CPU they raise an error. On a CUDA card a kernel's assertion fails, after which no call of the process can use
the card any more. Runs on data that nobody chose for the function must not come to that.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

_ASSERTING = frozenset(
    """embedding embedding_bag _embedding_bag _embedding_bag_forward_only embedding_renorm_ index _unsafe_index
    index_put index_put_ _index_put_impl_ _unsafe_index_put index_select index_add index_add_ index_copy index_copy_
    index_fill index_fill_ index_reduce index_reduce_ gather scatter scatter_ scatter_add scatter_add_ scatter_reduce
    scatter_reduce_ take put put_ masked_scatter masked_scatter_ max_unpool2d max_unpool3d repeat_interleave
    nll_loss_forward nll_loss2d_forward multi_margin_loss multilabel_margin_loss_forward binary_cross_entropy
    lu_unpack linalg_lu_solve multinomial bernoulli bernoulli_ poisson normal _assert_async segment_reduce""".split()
)


class _TriedOnCpu(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        kwargs = kwargs or {}
        if func.overloadpacket.__name__ in _ASSERTING and any(map(_is_on_card, pytree.tree_leaves((args, kwargs)))):
            args_there, kwargs_there = pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, (args, kwargs))
            if isinstance(kwargs_there.get("device"), torch.device):
                kwargs_there["device"] = torch.device("cpu")
            with torch.random.fork_rng(devices=[]):
                func(*args_there, **kwargs_there)
        return func(*args, **kwargs)


def _is_on_card(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.device.type == "cuda"


def tried_on_cpu() -> AbstractContextManager[Any]:
    """While it is entered, what would end the card's context raises the error of the CPU; without a card it is nothing.

    Raises:
        IndexError, RuntimeError: an index, a class or a probability is out of range.
    """
    return _TriedOnCpu() if torch.cuda.is_available() else nullcontext()  # type: ignore[no-untyped-call]  # torch's
