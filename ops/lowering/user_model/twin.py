"""A twin of a module: other modules around the same tensors, which may be lowered while threads run the user's own.

torch.export puts stand-ins into a module's parameters, evaluation mode is a flag of each part, and attributes that a
model writes are taken out and put back. On a twin no other thread sees any of it.
"""

from __future__ import annotations

import gc
import re
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch.nn.parameter import is_lazy

_MOST = 100_000  # objects that are looked at
_OWN = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
_HOOKS = re.compile("_.*hooks")  # a hook that removes itself does so in its own module
_FOR_FILES = ("_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
_PLAIN = (
    str, bytes, int, float, complex, type(None), type, torch.Tensor, torch.dtype, torch.device, ModuleType, CodeType,
    BuiltinFunctionType,
)  # fmt: skip


def twin(model: Any) -> Any:
    """A module like the model, whose parts are new and whose tensors are the model's.

    What the parts hold is shared, too, except for containers and methods of the parts themselves.

    Args:
        model: the user's model, which is only read.

    Returns:
        None where there is no such module: for anything but an nn.Module, for parts that TorchScript or a subclass
        keeps elsewhere than in their dictionary, and where something that is shared leads back to the model, as a
        closure of a hook may.
    """
    if not isinstance(model, torch.nn.Module):
        return None
    modules = list(model.modules())
    if not all(map(_is_all_in_dictionary, modules)):
        return None
    made = _Counterparts(modules)
    return None if made.lead_back() else made.of(model)


def _is_all_in_dictionary(module: torch.nn.Module) -> bool:
    kind = type(module)
    return (
        not isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule)
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
        and not any(is_lazy(t) for t in (*module._parameters.values(), *module._buffers.values()) if t is not None)
    )


class _Counterparts:
    def __init__(self, modules: list[torch.nn.Module]) -> None:
        held = [t for module in modules for own in (module._parameters, module._buffers) for t in own.values()]
        self._tensors = {id(tensor) for tensor in held if tensor is not None}
        self._made: dict[int, Any] = {id(module): object.__new__(type(module)) for module in modules}
        self._shared: list[Any] = []
        self._open: set[int] = set()
        for module in modules:
            vars(self.of(module)).update({key: self._attribute(key, value) for key, value in vars(module).items()})

    def of(self, module: Any) -> Any:
        return self._made[id(module)]

    def _attribute(self, key: str, value: Any) -> Any:
        if key in _FOR_FILES:
            return value
        own = key in _OWN or (_HOOKS.match(key) and isinstance(value, dict))
        return self._copy(value) if own else self._like(value)

    def _like(self, value: Any) -> Any:
        """What a twin holds in place of a value: the same, unless parts or their tensors are in it."""
        if id(value) in self._made:
            return self._made[id(value)]
        if isinstance(value, _PLAIN):
            return value
        if type(value) in (list, tuple, dict, OrderedDict, set) and id(value) not in self._open:
            return self._container(value)
        if type(value) is MethodType and id(value.__self__) in self._made:
            return MethodType(value.__func__, self._made[id(value.__self__)])
        if type(value) is partial:
            return self._partial(value)
        self._shared.append(value)
        return value

    def _container(self, value: Any) -> Any:
        self._open.add(id(value))
        items = list(value.values() if isinstance(value, dict) else value)
        likes = [self._like(item) for item in items]
        self._open.discard(id(value))
        if all(a is b and id(a) not in self._tensors for a, b in zip(items, likes, strict=True)):
            return value
        made = type(value)(zip(value, likes, strict=True)) if isinstance(value, dict) else type(value)(likes)
        return self._made.setdefault(id(value), made)

    def _copy(self, value: Any) -> Any:
        if isinstance(value, dict):
            return type(value)((key, self._like(item)) for key, item in value.items())
        return value.copy()

    def _partial(self, value: Any) -> Any:
        func, args, keywords = self._like(value.func), self._like(value.args), self._like(value.keywords)
        if func is value.func and args is value.args and keywords is value.keywords:
            return value
        return partial(func, *args, **keywords)

    def lead_back(self) -> bool:
        """Whether something that is shared leads to a part of the model, or to a container that twins have anew."""
        pending, seen = list(self._shared), set[int]()
        while pending:
            thing = pending.pop()
            if id(thing) in self._made or len(seen) > _MOST:
                return True
            if id(thing) in seen or isinstance(thing, _PLAIN):
                continue
            seen.add(id(thing))
            pending.extend(_reached(thing))
        return False


def _reached(thing: Any) -> Iterable[Any]:
    """What an object holds, without the globals of functions."""
    if isinstance(thing, FunctionType):
        return [thing.__closure__, thing.__defaults__, thing.__kwdefaults__, vars(thing)]
    if isinstance(thing, weakref.ref):
        return [thing()]
    return gc.get_referents(thing)
