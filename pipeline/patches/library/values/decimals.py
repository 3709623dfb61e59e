"""What stands for `decimal.Decimal`, where it is given a text or a number of the recording."""

from __future__ import annotations

import decimal
from typing import Any

from ....proxies.base import is_traced
from ....proxies.values.decimals import TracedDecimal, require_default
from ...python.operations import active


def made(*args: Any, **options: Any) -> Any:
    """Stands for `Decimal`."""
    recorder = active()
    if recorder is None or len(args) != 1 or options or not is_traced(args[0]):
        return decimal.Decimal(*args, **options)
    require_default(recorder)
    return args[0] if type(args[0]) is TracedDecimal else recorder.scalar("decimal", "make", args[0])
