"""`tracepack.ops.slang` under its short name: `import tracepack.slang` gives that very module."""

import sys
from typing import TYPE_CHECKING

from .ops import slang

if TYPE_CHECKING:
    from .ops.slang import *  # noqa: F403  # a type checker reads this file, not what replaces it

sys.modules[__name__] = slang
