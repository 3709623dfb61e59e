"""The kinds of kernels: for each its class, the objects that `script` accepts for it, and the package it needs.

A kind is registered once, by `register`; our own are registered in `ops/kinds.py`, in the same way as those of other
packages. Another package offers its kinds under the entry-point group `tracepack.kernels`: the entry point's name is
the kind, its value a function without arguments that calls `register`. It is loaded when a file or an object needs the
kind, so that a file can load installed packages that offer kinds, and no other code.
This module itself knows no kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import metadata
from typing import Any

from ..graph.errors import GraphError, MissingExtraError, ScriptError, TracepackError
from ..graph.frozen_class import frozen_object
from ..graph.kernel import Kernel
from ..runtime.user_code import user_stacklevel

GROUP = "tracepack.kernels"
"""The entry-point group."""

OPERATOR_PACKAGES = ("torchaudio", "torchvision")
"""Packages that `trust=True` alone may import, for their operators."""


@frozen_object
class Kind:
    """A kind of kernels.

    Attributes:
        name: the name in archives.
        load: imports and returns its class.
        make: returns a kernel for an object, or None where the kind does not accept the object.
        requirement: the argument of `pip install` where the class cannot be imported; "" where it always can.
    """

    name: str
    load: Callable[[], type[Kernel]]
    make: Callable[[Any], Kernel | None]
    requirement: str

    def kernel_class(self) -> type[Kernel]:
        """The class, which is imported at the first use.

        Raises:
            MissingExtraError: a package that it needs is not installed.
            GraphError: it cannot be imported, or is no kernel.
        """
        try:
            found = self.load()
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"kernels of kind {self.name!r} need the package {error.name!r}, which is not installed",
                fix=f"Install it: pip install '{self.requirement or error.name}'.",
            ) from error
        except Exception as error:
            raise _not_loaded(f"kernels of kind {self.name!r}", error) from error
        if not (isinstance(found, type) and issubclass(found, Kernel)):
            raise GraphError(
                f"what is registered for the kind {self.name!r} loads no kernel",
                got=repr(found)[:80],
                expected="a subclass of tracepack.ops.graph.kernel.Kernel",
            )
        return found


_kinds: dict[str, Kind] = {}
_by_operator: dict[str, Kernel] = {}


def register(
    kind: str,
    load: Callable[[], type[Kernel]],
    *,
    make: Callable[[Any], Kernel | None] | None = None,
    requirement: str = "",
) -> None:
    """Makes a kind of kernels known to `script`, `save` and `load`.

    Args:
        kind: the name in archives, which is the `kind` of the class.
        load: imports and returns the class, at the first use of the kind.
        make: returns the kernel for an object that is given to `script`, or None where the kind does not accept the
            object; models of torch are not passed. Without it `script` takes only kernels of the kind.
        requirement: the argument of `pip install` where the import fails, `"tracepack[slang]"`.

    Raises:
        GraphError: the kind is registered already, or has no printable name.

    Example:
        >>> from tracepack.ops.kernels import registry
        >>> def load():
        ...     from tracepack_polynomial.kernel import PolynomialKernel
        ...     return PolynomialKernel
        >>> registry.register("example", load, requirement="tracepack-polynomial")
        >>> "example" in registry.known()
        True
    """
    if not isinstance(kind, str) or not kind or not kind.isprintable():
        raise GraphError("a kind of kernels has no name", got=repr(kind), expected="a printable text")
    if kind in _kinds:
        raise GraphError(f"the kind of kernels {kind!r} is registered already", fix="Give it another name.")
    _kinds[kind] = Kind(kind, load, make or (lambda model: None), requirement)


@cache
def _entry_points() -> dict[str, metadata.EntryPoint]:
    """The entry points of installed packages, by kind."""
    return {entry.name: entry for entry in metadata.entry_points(group=GROUP)}


def _load_entry_point(kind: str) -> None:
    entry = _entry_points().get(kind)
    if entry is None or kind in _kinds:
        return
    entry.load()()
    if kind not in _kinds:
        raise GraphError(
            f"the entry point {kind!r} of {GROUP} registers no kind of this name",
            where=entry.value,
            fix=f"Call tracepack.ops.kernels.registry.register({kind!r}, ...) in it.",
        )


def _not_loaded(what: str, error: Exception) -> GraphError:
    return GraphError(
        f"{what} cannot be loaded",
        got=f"{type(error).__name__}: {error}"[:200],
        fix="Ask the package that registers it.",
    )


def known() -> list[str]:
    """The names of all kinds, also of those that installed packages offer."""
    return sorted({*_kinds, *_entry_points()})


def find(kind: str) -> Kind | None:
    """The kind of a name, or None.

    Raises:
        GraphError: the entry point that offers it fails.
    """
    if kind not in _kinds:
        try:
            _load_entry_point(kind)
        except TracepackError:
            raise
        except Exception as error:  # it is of another package
            raise _not_loaded(f"the entry point {kind!r} of {GROUP}", error) from error
    return _kinds.get(kind)


def kernel_class(kind: str) -> type[Kernel]:
    """The class that builds the kernels of a kind again.

    Raises:
        GraphError: the kind is not registered.
        MissingExtraError: a package that it needs is not installed.
    """
    found = find(kind)
    if found is None:
        raise GraphError(
            f"unknown kind of kernel {kind!r}",
            expected=f"one of {known()}",
            fix=f"Install the package that offers it by an entry point of {GROUP}.",
        )
    return found.kernel_class()


def make_kernel(model: Any) -> Kernel | None:
    """The kernel of the first kind that accepts an object, ours before those of other packages; or None."""
    for kind in list(_kinds.values()):
        kernel = _made(kind, model)
        if kernel is not None:
            return kernel
    for name in sorted(_entry_points().keys() - _kinds.keys()):
        try:
            _load_entry_point(name)
        except Exception as error:  # a broken package must not disturb users of another one
            text = f"the entry point {name!r} of {GROUP} failed: {type(error).__name__}: {error}"
            warnings.warn(text, stacklevel=user_stacklevel())
            continue
        kernel = _made(_kinds[name], model)
        if kernel is not None:
            return kernel
    return None


def _made(kind: Kind, model: Any) -> Kernel | None:
    try:
        kernel = kind.make(model)
    except TracepackError:
        raise
    except Exception as error:  # it may be of another package
        raise ScriptError(
            f"`make` of the kind of kernels {kind.name!r} failed: {type(error).__name__}: {error}"
        ) from error
    if kernel is not None and not isinstance(kernel, Kernel):
        got = f"{type(kernel).__module__}.{type(kernel).__qualname__}"
        raise ScriptError(
            f"`make` of the kind of kernels {kind.name!r} returned no kernel", got=got, expected="a Kernel, or None"
        )
    return kernel


def check_registered(kernel: Kernel) -> None:
    """Refuses a kernel that `load` could not build.

    Raises:
        ScriptError: its kind is not registered, or registered for another class: a subclass would be loaded as the
            class that it is derived from.
    """
    found = find(kernel.kind)
    if found is None or type(kernel) is not found.kernel_class():
        raise ScriptError(
            f"load could not build the kernel {kernel.name!r}: its kind {kernel.kind!r} is registered "
            + ("for no class" if found is None else "for another class"),
            got=f"{type(kernel).__module__}.{type(kernel).__qualname__}",
            expected=f"one of {known()}" if found is None else found.kernel_class().__qualname__,
            fix="Call tracepack.ops.kernels.registry.register(...), here and where the file is loaded, best by an "
            f"entry point of {GROUP}.",
        )


def register_operator(operator: str, kernel: Kernel) -> None:
    """Registers the kernel behind a torch.library operator (`"tracepack::name"`)."""
    _by_operator[operator] = kernel


def kernel_of_operator(operator: str) -> Kernel | None:
    """The kernel behind a torch.library operator, or None for an operator of torch."""
    return _by_operator.get(operator)
