"""One table of cases for every test of layers: the operators of the peer's own test-suite, with torch's reference.

Each case is a text with `{t}` for the float type, what makes its inputs from a generator and a type, and the
formula in torch. The texts are ours; the names say which of the peer's operators they stand for.
"""

from __future__ import annotations

import importlib

from tests.comprehension.operator_cases.case import CASES, Case, Maker

for _part in ("convolution", "linear", "normalisation", "elementwise", "gathers", "language"):
    importlib.import_module(f"{__name__}.{_part}")

__all__ = ["CASES", "Case", "Maker"]
