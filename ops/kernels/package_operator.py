"""OperatorKernel: an operator of torch.library that an installed package gives, by name.

A file holds no code of it, only what it is called, its schema, and the module and version that gave it. Calling it runs
code of that package, on arguments that the file chooses: so a package is imported, and its operators called, only where
the caller of `load` has named it, or the operator is on the list of `known_operators`. Which operators are those of a
package is asked of torch, never of the file.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch

from ..graph.errors import GraphError, MissingExtraError, TrustError, UnknownOperatorError, shown
from ..graph.kernel import Kernel
from ..runtime.user_code import user_stacklevel
from .known_operators import package_of_known
from .providers import is_of_script, is_python, module_of, version_of

_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)
_SAY = "tracepack.ops.kernels.providers.register_namespace"
_OF_TORCH = ("aten", "prim", "prims", "tracepack")
OF_SCRIPT = ": it is defined in the script that runs, which no other process imports"
PUT_INTO_MODULE = "Put it into a module, and import that."
_FIELDS = ("operator", "schema", "module", "version")


class OperatorKernel(Kernel):
    """An operator of an installed package.

    Args:
        overload: it, as torch calls it.
        description: its name, its schema, and its module with the version.
    """

    kind: ClassVar[str] = "operator"
    own_check: ClassVar[bool] = True
    from_package: ClassVar[bool] = True
    strided: ClassVar[bool] = True
    varying: ClassVar[bool] = True  # nobody says whether data decides its sizes
    lists_vary: ClassVar[bool] = True  # nor what decides how many tensors it gives in a list

    def __init__(self, overload: Callable[..., Any], description: Mapping[str, str]) -> None:
        self.overload, self._description = overload, dict(description)

    def __deepcopy__(self, memo: dict[int, Any]) -> OperatorKernel:
        return self

    @property
    def trusts_values(self) -> bool:
        """Whether it is code of C++, such as `torchvision::roi_align`, which takes the first column for indices."""
        return not is_python(self.name)

    @property
    def writes(self) -> bool:
        """No: operators that do are refused, when they are packed and when they are loaded."""
        return False

    @property
    def name(self) -> str:
        """The operator's name, ``"mylib::f"``."""
        return self._description["operator"]

    def description(self) -> dict[str, Any]:
        """The operator's name, its schema, and its module with the version."""
        return dict(self._description)

    def assets(self) -> dict[str, bytes]:
        """None: the package has the code."""
        return {}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> OperatorKernel:
        """Refuses, since no package is named.

        Raises:
            TrustError: always.
        """
        return cls.build_named(description, ())

    @classmethod
    def build_named(cls, description: Mapping[str, Any], packages: Sequence[str]) -> OperatorKernel:
        """Finds the operator; of all modules only those of `packages`, and of known operators, are imported.

        Raises:
            GraphError: the description is malformed.
            TrustError: its package is not among them, and the operator on no list.
            MissingExtraError: it is not installed.
            UnknownOperatorError: it does not register the operator, or with another schema.
        """
        wanted = {field: description.get(field) for field in _FIELDS}
        if not all(isinstance(text, str) for text in wanted.values()) or not _NAME.fullmatch(str(wanted["operator"])):
            raise GraphError("the operator of a package is malformed", got=repr(wanted)[:200])
        texts = {field: str(text) for field, text in wanted.items()}
        named = [each for each in packages if _is_within(texts["module"], each)]
        named = named or list(filter(None, [package_of_known(texts["operator"], texts["module"])]))
        if not named:
            raise _not_named(texts)
        for each in named:
            _import(each, texts)
        return cls(_found(texts, named), texts)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the operator."""
        return self.overload(*args, **kwargs)


_kernels: dict[Any, OperatorKernel] = {}


def operator_kernel(overload: Any) -> OperatorKernel | str:
    """The kernel for an operator of a package, one for each overload, or the reason why there is none.

    Args:
        overload: an operator that is no torch function on the allow-list.
    """
    name, schema = overload.name(), overload._schema
    namespace = name.partition("::")[0]
    if namespace in _OF_TORCH:
        return ""
    if reason := _touches(schema):
        return f": {reason}"
    if overload not in _kernels:
        module = module_of(name)
        if not module and is_of_script(name):
            return OF_SCRIPT
        if not module:
            return f": no module that another process could import registers it; {_SAY}({namespace!r}, …) says which"
        fields = {"operator": name, "schema": str(schema), "module": module, "version": version_of(module)}
        _kernels[overload] = OperatorKernel(overload, fields)
    return _kernels[overload]


def _touches(schema: Any) -> str:
    """What an operator does to the memory of its arguments, which no graph follows; empty where it does nothing."""
    if schema.is_mutable:
        return "it writes to its arguments"
    shares = any(each.alias_info is not None for each in schema.returns)
    return "its result may share memory with its arguments" if shares else ""


def _is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _top(module: str) -> str:
    """The package of a module, which is what can be installed."""
    return module.partition(".")[0]


def _not_named(texts: Mapping[str, str]) -> TrustError:
    top = _top(texts["module"])
    version = f" {texts['version']}" if texts["version"] else ""
    return TrustError(
        f"the operator {texts['operator']} is code of the package {top!r}{version}, which load was not given",
        fix=f"Pass packages=[{top!r}] if you trust that package with what this file calls it with.",
    )


def _import(package: str, texts: Mapping[str, str]) -> None:
    """Imports a package that the caller named.

    Raises:
        MissingExtraError: it is not installed; UnknownOperatorError: its import fails.
    """
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or not _is_within(package, error.name):
            raise UnknownOperatorError(
                f"the import of {package!r} fails", where=f"operator {texts['operator']}", got=str(error)
            ) from error
        version = f" {texts['version']}" if texts["version"] else ""
        raise MissingExtraError(
            f"the operator {texts['operator']} needs the package {package!r}{version}, which is not installed",
            fix="Install it.",
        ) from error
    except Exception as error:
        got = f"{type(error).__name__}: {str(error)[:200]}"
        raise UnknownOperatorError(
            f"the import of {package!r} fails", where=f"operator {texts['operator']}", got=got
        ) from error


def _found(texts: Mapping[str, str], named: Sequence[str]) -> Callable[..., Any]:
    """The overload of an operator that one of the named packages gives.

    Raises:
        UnknownOperatorError: there is none, or its schema is another one than in the file.
    """
    name, where = texts["operator"], f"operator {texts['operator']}"
    module = module_of(name) if _exists(name) else ""
    if not any(_is_within(module, each) for each in named):
        raise UnknownOperatorError(
            f"the import of {' and '.join(map(repr, named))} registers no such operator",
            where=where,
            got=f"one of {module!r}" if module else None,
            expected=f"one of {texts['module']!r}",
            fix=f"Pass packages=[{texts['module']!r}], or install the version that was packed"
            + (f", {texts['version']}." if texts["version"] else "."),
        )
    base, _, which = name.partition("::")[2].partition(".")
    overload: Any = getattr(getattr(getattr(torch.ops, name.partition("::")[0]), base), which or "default")
    if str(overload._schema) != texts["schema"]:
        version = f", {texts['version']}" if texts["version"] else ""
        raise UnknownOperatorError(
            "the operator has another schema than when it was packed",
            where=where,
            got=str(overload._schema),
            expected=texts["schema"],
            fix=f"Install the version of {_top(module)!r} that was packed{version}, or pack again.",
        )
    if reason := _touches(overload._schema):
        raise UnknownOperatorError(f"the operator cannot be called from a file: {reason}", where=where)
    _warn_of_version(module, texts)
    return overload  # type: ignore[no-any-return]  # torch leaves it untyped


def _exists(operator: str) -> bool:
    find: Any = torch._C._dispatch_has_kernel
    return bool(find(operator)) or bool(torch._C._jit_get_schemas_for_operator(operator.partition(".")[0]))


def _warn_of_version(module: str, texts: Mapping[str, str]) -> None:
    here, top = version_of(module), _top(module)
    if here != texts["version"]:
        warnings.warn(
            shown(
                f"the operator {texts['operator']} was packed with {top} {texts['version'] or 'without a version'}; "
                f"here is {here or 'one without a version'}, which may answer otherwise"
            ),
            stacklevel=user_stacklevel(),
        )
