"""Tensor comprehensions: layers written as index notation, trained, tuned and packed.

`define` makes a layer of a text; the layer is called on tensors, has gradients, tunes itself and packs itself.
Text goes through the parser, the checker and range inference to a program of loop nests for given sizes, which
emitters run: torch's operators everywhere, C++ where there is a compiler, and Slang on GPUs.
"""

from .expr.errors import ComprehensionError, ComprehensionWarning
from .kernel import ComprehensionKernel
from .layer import Layer, define
from .module import ComprehensionModule
from .schedule.options import Options

__all__ = [
    "ComprehensionError",
    "ComprehensionKernel",
    "ComprehensionModule",
    "ComprehensionWarning",
    "Layer",
    "Options",
    "define",
]
