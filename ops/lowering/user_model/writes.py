"""The tensors that operators write to, and the check that a model writes to buffers only.

Only registered buffers are state that a pipeline keeps. A write to a parameter or to another tensor would change the
user's model in every call, and no graph holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ...graph.errors import LoweringError

# Operators whose schema does not say that they write running statistics in training -> the first of these arguments,
# and the position of the flag for training, if there is one.
_STATISTICS = {
    "aten::native_batch_norm": (3, 5), "aten::cudnn_batch_norm": (3, 5), "aten::miopen_batch_norm": (3, 5),
    "aten::batch_norm_update_stats": (1, None),
}  # fmt: skip


def written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors with memory that an operator writes to."""
    found: list[Any] = []
    schema = func._schema
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            found += value if isinstance(value, list) else [value]
    if schema.name in _STATISTICS:
        first, training = _STATISTICS[schema.name]
        found += args[first : first + 2] if training is None or args[training] else ()
    return filter(_is_dense, found)


def _is_dense(leaf: Any) -> bool:
    """Whether it is a dense tensor with memory; the tensors of torch.export are of other classes, and have none."""
    return type(leaf) in (torch.Tensor, torch.nn.Parameter) and leaf.layout is torch.strided and storage(leaf) != 0


def storage(tensor: torch.Tensor) -> int:
    """The address of a tensor's memory; 0 for one without memory."""
    return tensor.untyped_storage().data_ptr() if tensor.device.type != "meta" else 0


class FixedTensors(TorchDispatchMode):
    """Watches a model's parameters and plain tensors, and restores those that are written to.

    Other tensors that the call writes to it may have made itself, some where no mode sees it (`torch.tensor`,
    `torch.from_numpy`): see `confirm`.

    Args:
        model: the model; only an nn.Module has parameters to watch.
        name: the op's name.
    """

    def __init__(self, model: Any, name: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.name = name
        fixed = () if _compiles(model) else _fixed(model)
        self._held = {storage(tensor): (where, tensor) for where, tensor in fixed if _is_dense(tensor)}
        self._before: dict[int, torch.Tensor] = {}
        self._made = set[int]()  # memory that the call was seen to make
        self._unknown: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # other memory: a tensor, and what it held
        self._watches = isinstance(model, torch.nn.Module | FunctionType) and not _compiles(model)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        for tensor in written(func, args, kwargs or {}):
            key = storage(tensor)
            if key in self._held and key not in self._before:
                self._before[key] = self._held[key][1].detach().clone()
            elif key not in self._held and key not in self._made:
                self._unknown.setdefault(key, (tensor, tensor.detach().clone()))
        result = func(*args, **(kwargs or {}))
        given = {storage(leaf) for leaf in pytree.tree_leaves((args, kwargs)) if _is_dense(leaf)}
        self._made |= {storage(leaf) for leaf in pytree.tree_leaves(result) if _is_dense(leaf)} - given
        return result

    def __enter__(self) -> Any:
        return super().__enter__() if self._watches else self  # type: ignore[no-untyped-call]  # torch leaves it untyped

    def __exit__(self, *exc: Any) -> None:
        """Restores the tensors."""
        if not self._watches:
            return
        super().__exit__(*exc)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        with torch.no_grad():
            for key, before in self._before.items():
                self._held[key][1].copy_(before)

    def confirm(self, again: Callable[[], object]) -> None:
        """Finds out which tensors of unknown origin were there before the call: those that another call writes, too.

        They are kept meanwhile, so that nothing which that call makes can lie where they do.

        Args:
            again: calls the model once more.
        """
        if not self._unknown:
            return
        unknown, self._unknown = self._unknown, {}
        self._made.difference_update(unknown)
        self._held |= {key: ("unregistered tensor", tensor) for key, (tensor, _) in unknown.items()}
        with self:
            again()
            self._before |= {key: unknown[key][1] for key in self._before.keys() & unknown.keys()}

    def refuse_writes(self) -> None:
        """Refuses a model that wrote to one of them.

        Raises:
            LoweringError: it did; the message names the tensor.
        """
        for key in self._before:
            raise LoweringError(
                f"the model writes to its {self._held[key][0]}, which is no buffer",
                where=f"op {self.name!r}",
                fix="Keep state in a registered buffer and change it in place.",
            )


_COMPILED = frozenset(("cond", "while_loop", "scan", "associative_scan", "flex_attention", "compile", "map"))


def _compiles(model: Any) -> bool:
    """Whether a model's code names a function of torch that compiles when it is called, outside of modes only."""
    kinds = {type(module) for module in model.modules()} if isinstance(model, torch.nn.Module) else set()
    own = {base for kind in kinds for base in kind.__mro__ if not base.__module__.startswith("torch.nn.modules.")}
    codes = [item.__code__ for base in own for item in vars(base).values() if isinstance(item, FunctionType)]
    return any(_COMPILED.intersection(code.co_names) for code in codes)


def _fixed(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The parameters of a module, and the tensors that it holds as plain attributes, also in containers."""
    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        return
    buffers = {storage(buffer) for buffer in model.buffers() if _is_dense(buffer)}
    for name, parameter in model.named_parameters():
        yield f"parameter {name!r}", parameter
    for module in model.modules():
        for key, value in vars(module).items():
            if key not in ("_parameters", "_buffers", "_modules"):
                for tensor in _tensors(value):
                    if _is_dense(tensor) and storage(tensor) not in buffers:
                        yield f"tensor {key!r}", tensor


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif type(value) in (list, tuple, dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)
