"""Operators of well-known packages that any file may call, and from where such a package may be imported for one.

An operator is on the list only after its code in C++ took hostile arguments as those of torch do that any file may
call: with checks of its own, and without a way out of its memory. `torchvision::roi_align` is none of these, since it
takes a column for indices as it is: for a file that calls it the caller says `load(..., packages=["torchvision"])`.

Importing a package runs its code. So a file decides no name of a module: it is that of the list, and its package must
be an installed one. A folder of that name beside a script, or in the working folder, where Python looks first, is none.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from importlib import util

_PACKAGES = {"torchvision::nms": "torchvision"}
"""An operator, in all its overloads -> the package that gives it."""


def package_of_known(operator: str, module: str) -> str:
    """The package to import for an operator that any file may call; empty where the caller has to name it.

    Args:
        operator: its name, ``"mylib::f"``.
        module: the one that gives it, as the file says.
    """
    package = _PACKAGES.get(operator.partition(".")[0], "")
    return package if package and module.partition(".")[0] == package and _may_be_imported(package) else ""


def _may_be_imported(package: str) -> bool:
    """Whether a package was imported before, is an installed one, or is not there at all, which its import says."""
    if package in sys.modules:
        return True
    try:
        spec = util.find_spec(package)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return True
    folder = os.path.dirname(os.path.dirname(spec.origin or ""))
    return bool(folder) and os.path.realpath(folder) in _installed()


def _installed() -> set[str]:
    """The folders into which packages are installed."""
    of_python = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return set(map(os.path.realpath, [*of_python, *site.getsitepackages(), site.getusersitepackages()]))
