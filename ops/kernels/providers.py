"""Which package gives an operator of torch.library, so that a file can name it, and what may be imported for it.

torch knows the module of an operator that `torch.library.custom_op` defines, and the file of one that
`torch.library.Library` does. Of an operator in C++ it knows a source file only: there the namespace stands for the
package, as in `torchvision::nms`, unless `register_namespace` says otherwise.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from inspect import getclosurevars
from typing import Any

import torch

from ..graph.errors import GraphError

_namespaces: dict[str, str] = {}


def register_namespace(namespace: str, module: str) -> None:
    """Says which module registers the operators of a namespace, where torch cannot tell.

    Call it where the function is traced and where the file is loaded.

    Args:
        namespace: the part of an operator's name before ``::``.
        module: the module whose import registers them.

    Raises:
        GraphError: another module was named before.

    Example:
        >>> from tracepack.ops.kernels.providers import register_namespace
        >>> register_namespace("fast_ops", "fast_ops_package")
    """
    if _namespaces.setdefault(namespace, module) != module:
        raise GraphError(f"the operators of {namespace!r} are those of {_namespaces[namespace]!r} already", got=module)


def module_of(operator: str) -> str:
    """The module that registers an operator, ``"mylib::f"``; empty where it cannot be told, and for torch's own."""
    namespace = operator.partition("::")[0]
    found = _namespaces.get(namespace) or _defined_by(operator) or _registered_in(operator)
    if not found and namespace in sys.modules:
        found = namespace
    return "" if found.partition(".")[0] in ("torch", "__main__", "tracepack") else found


def is_of_script(operator: str) -> bool:
    """Whether the script or the notebook that runs defines an operator."""
    return "__main__" in (_defined_by(operator), _registered_in(operator))


def is_python(operator: str) -> bool:
    """Whether torch knows a function or a file of Python that defines an operator: anything else is code of C++."""
    return bool(_defined_by(operator) or _registered_in(operator))


def _defined_by(operator: str) -> str:
    """The module of the function under `torch.library.custom_op`."""
    from torch._library.custom_ops import OPDEFS

    definition = OPDEFS.get(operator.partition(".")[0])
    if definition is None:
        return ""
    function: Any = definition._init_fn
    if function.__module__.startswith("torch."):  # that of `torch.library.triton_op` calls the user's
        function = getclosurevars(function).nonlocals.get("fn", function)
    return str(function.__module__)


def _registered_in(operator: str) -> str:
    """The module whose file has the `torch.library.Library` that defines it."""
    match = re.search(r"^debug: registered at (.+\.py):\d+$", _dump(operator), re.MULTILINE)
    if match is None:
        return ""
    named = {getattr(module, "__file__", None): name for name, module in list(sys.modules.items())}
    return named.get(match[1], "")


def _dump(operator: str) -> str:
    """What torch's dispatcher says about an operator; empty where there is none of this name."""
    dump: Any = torch._C._dispatch_dump
    return str(dump(operator))


def version_of(module: str) -> str:
    """The version of the installed package that a module belongs to; empty where it has none."""
    top = module.partition(".")[0]
    try:
        return metadata.version(top)
    except metadata.PackageNotFoundError:  # the names of all packages are read only where one has another name
        owners = metadata.packages_distributions().get(top, ())
    return metadata.version(owners[0]) if owners else str(getattr(sys.modules.get(top), "__version__", ""))
