"""The settings of a search, checked before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..expr.errors import OptionsError

_RANGES: dict[str, tuple[int, int | None]] = {
    "generations": (1, None), "pop_size": (1, None), "threads": (1, None), "number_elites": (0, None),
    "crossover_rate": (0, 100), "mutation_rate": (0, 100),
}  # fmt: skip
"""The least and the largest value of each whole number among the settings; None is no bound."""
_REPLACED = {
    "gpus": "The tuner measures where the inputs are: put them on the device, one process for each.",
    "elites": "It is called number_elites.",
    "proto": "It is called cache.",
}
"""Settings of the tuner of Tensor Comprehensions, and what to do instead."""


@dataclass(frozen=True)
class Settings:
    """How the search runs.

    Args:
        generations: rounds of breeding.
        pop_size: candidates in each.
        crossover_rate: percent of candidates that mix two parents.
        mutation_rate: percent of nests whose schedule is drawn anew.
        number_elites: candidates that live on unchanged, `pop_size` at most.
        threads: compilers at once.
        seconds: stop after so long, forward and backward together, also within a generation; None is never.
        progress: a bar on stderr with the best time so far, or a function that takes it as lines; left out, a bar
            where stderr is a terminal. An error of the function ends the search like Ctrl-C, and is raised in the end.
        seed: the seed of the random choices.

    Raises:
        OptionsError: a value of another type, or out of its range.
    """

    generations: int = 2
    pop_size: int = 10
    crossover_rate: int = 80
    mutation_rate: int = 7
    number_elites: int = 1
    threads: int = 8
    seconds: float | None = None
    progress: bool | Callable[[str], None] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = self._whole(name)
            if value < least:
                raise OptionsError(f"{name} is below {least}", where="autotune", got=value)
            if most is not None and value > most:
                raise OptionsError(f"{name} is above {most}", where="autotune", got=value, expected="a percentage")
        self._whole("seed")
        if self.number_elites > max(self.pop_size, 1):
            raise OptionsError(
                "number_elites is above pop_size", where="autotune", got=self.number_elites, expected=self.pop_size
            )
        seconds = self.seconds
        if seconds is not None and not (type(seconds) in (int, float) and seconds > 0):
            raise OptionsError("seconds is no positive number", where="autotune", got=repr(seconds))
        if not (self.progress is None or type(self.progress) is bool or callable(self.progress)):
            raise OptionsError(
                "progress is no way to show it",
                where="autotune",
                got=repr(self.progress),
                expected="True, False, None or a function that takes a line",
            )

    def _whole(self, name: str) -> int:
        value = getattr(self, name)
        if type(value) is not int:
            raise OptionsError(f"{name} is no whole number", where="autotune", got=repr(value))
        return value


def checked_settings(given: Mapping[str, Any]) -> Settings:
    """The settings by their names.

    Raises:
        OptionsError: a name is unknown, or a value is refused.
    """
    for name, instead in _REPLACED.items():
        if name in given:
            raise OptionsError(f"there is no setting '{name}'", where="autotune", fix=instead)
    known = [field.name for field in fields(Settings)]
    for name in given:
        if name not in known:
            raise OptionsError(f"unknown setting '{name}'", where="autotune", expected=f"one of {', '.join(known)}")
    return Settings(**given)
