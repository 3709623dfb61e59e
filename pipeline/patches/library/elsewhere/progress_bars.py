"""What stands for the bars of tqdm, which show how far a loop is and are nothing of the graph: the loop without one.

tqdm is never imported here: where nobody has, nobody calls it.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .....ops.runtime.user_code import is_own
from ....lists.walking.silent_bars import SHOWING, SilentBar
from ...hooks import active
from ...redirect import stand_in, stand_in_of

NAMES = ("tqdm", "trange", "tqdm_notebook", "tnrange")
_MODULES = ("tqdm", "tqdm.std", "tqdm.asyncio", "tqdm.auto", "tqdm.autonotebook", "tqdm.notebook", "tqdm.rich")
_ENTERING = frozenset(("BEFORE_WITH", "SETUP_WITH", "LOAD_SPECIAL"))  # of Python 3.11, 3.10 and 3.14


def _asks_bar() -> bool:
    """Whether the code of the user's that makes a bar names methods of one, or may enter it."""
    frame: Any = sys._getframe(2)
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return False
    code = frame.f_code
    return not SHOWING.isdisjoint(code.co_names) or any(each.opname in _ENTERING for each in dis.get_instructions(code))


def _bar(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a class of bars."""

    def bar(*args: Any, **kwargs: Any) -> Any:
        if active() is None:
            return plain(*args, **kwargs)
        iterable = args[0] if args else kwargs.get("iterable")
        if iterable is None:
            return SilentBar()
        return SilentBar(iterable) if _asks_bar() else iterable

    return bar


def _bar_of_range(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a function that gives a bar around a range."""

    def bar(*args: Any, **kwargs: Any) -> Any:
        if active() is None:
            return plain(*args, **kwargs)
        items = stand_in_of(range)(*args)
        return SilentBar(items) if _asks_bar() else items

    return bar


def bars_of(module: Any) -> dict[str, Any]:
    """What stands for the bars of a module, by their names there; of any other thing none."""
    if not isinstance(module, ModuleType) or module.__name__ not in _MODULES:
        return {}
    register()
    return {name: stand_in_of(found) for name in NAMES if callable(found := vars(module).get(name))}


def register() -> None:
    """Makes them known to the code of functions that name them, as after ``from tqdm import tqdm``."""
    for module in filter(None, map(sys.modules.get, _MODULES)):
        for name in NAMES:
            plain = vars(module).get(name)
            if callable(plain) and stand_in_of(plain) is plain:
                make = _bar if isinstance(plain, type) else _bar_of_range
                stand_in(plain, make(plain), f"{plain.__module__}.{plain.__name__}")
