"""`tracepack.ops.comprehension` under its short name: `import tracepack.comprehension` gives that very module."""

import sys
from typing import TYPE_CHECKING

from .ops import comprehension

if TYPE_CHECKING:
    from .ops.comprehension import *  # noqa: F403  # a type checker reads this file, not what replaces it

sys.modules[__name__] = comprehension
