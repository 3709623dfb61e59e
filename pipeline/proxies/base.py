"""What all stand-ins have in common: things that a recorded function holds in place of run-time values."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from ...ops.graph.graph import Value


class Tracer(Protocol):
    """What stand-ins need of the recorder."""

    def scalar(self, name: str, *args: Any) -> Any:
        """Records arithmetic and returns the traced result."""
        ...

    def direct(self, func: Any, *args: Any) -> Any:
        """Records a torch function that torch's own parser would not take a traced scalar for."""
        ...

    def pin(self, traced: Any, reason: str) -> Any:
        """Guards that a traced scalar has its present value, and returns that; refuses where data decides it."""
        ...

    def array(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Records a function of numpy, or an operator on arrays."""
        ...

    def array_rank(self, array: Any) -> int:
        """The rank of an array of the recording, guarded where sizes may decide it."""
        ...

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records a universal function of numpy."""
        ...

    def array_function(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Records any other function of numpy."""
        ...

    def refuse(self, what: str, fix: str) -> NoReturn:
        """Refuses with the user's line."""
        ...


class Traced:
    """What all stand-ins have: the recorder, the value in its graph, the thing itself.

    Attributes:
        varies: whether data decides it, rather than the sizes and scalars of the inputs.
    """

    tracer: Tracer
    value: Value
    concrete: Any
    varies: bool

    def _bind(self, tracer: Tracer, value: Value, concrete: Any, varies: bool) -> None:
        self.tracer, self.value, self.concrete, self.varies = tracer, value, concrete, varies

    def _pin(self, reason: str) -> Any:
        return self.tracer.pin(self, reason)

    def __repr__(self) -> str:
        return repr(self._pin("it was turned into text"))

    def __str__(self) -> str:
        return str(self._pin("it was turned into text"))

    def __format__(self, spec: str) -> str:
        return format(self._pin("it was formatted into a string"), spec)

    def __hash__(self) -> int:
        return hash(self._pin("it was used as a key"))

    def __bool__(self) -> bool:
        return bool(self._pin("a branch was taken on it"))

    def __reduce__(self) -> Any:
        raise TypeError("a traced value cannot be pickled or copied deeply")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def is_traced(thing: Any) -> bool:
    """Whether a thing is a stand-in; `isinstance` would ask its pretended class first, which is harmless."""
    return issubclass(type(thing), Traced)
