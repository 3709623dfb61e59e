"""OtherOperator: stands for an operator of skl2onnx, handed to a converter in place of it."""

from __future__ import annotations

from typing import Any


class OtherOperator:
    """An operator some of whose attributes are others.

    Args:
        operator: it.
        changed: the attributes that are others.
    """

    def __init__(self, operator: Any, **changed: Any) -> None:
        self.__dict__.update(changed, _operator=operator)
        for side in ("inputs", "outputs"):
            if side in changed:
                self.__dict__[f"{side[:-1]}_full_names"] = [each.full_name for each in changed[side]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)
