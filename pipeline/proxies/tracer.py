"""What the recorder offers to the stand-ins and to the rules, which know nothing else of it.

`NodeWriter` writes into the graph, `Refuser` says no with the user's line, and a `Tracer` is both: what a stand-in
holds, and what the rules are given. `KnownTensors` is what they may ask of the tensors that the recorder has met.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Protocol

from ...ops.graph.graph import Constant, KernelCall, Node, Operator, Value


class KnownTensors(Protocol):
    """The tensors of one recording.

    Attributes:
        captured: tensors that the function used without being given them, by id.
        varying: ids of the Values whose sizes, or whose existence, data decides.
        loose: ids of the Values whose rank may hang on sizes.
        chosen: tensors in whose place Python has a number on other data.
    """

    captured: dict[int, Constant]
    varying: set[int]
    loose: set[int]
    chosen: Any

    def __contains__(self, tensor: Any) -> bool:
        """Whether a tensor is a value of the recording, rather than a captured one."""
        ...

    def of(self, tensor: Any) -> Value | None:
        """The value that a tensor is, or None."""
        ...

    def add(self, tensor: Any, value: Value | None = None, varies: bool = False) -> Value:
        """Registers a tensor as a value, a new one by default; `varies` says whether data decides its sizes."""
        ...

    def varies(self, thing: Any) -> bool:
        """Whether data decides a traced scalar, or the sizes of a tensor."""
        ...

    def capture(self, tensor: Any) -> Constant:
        """A tensor from outside becomes a constant of the graph."""
        ...

    def twin(self, tensor: Any) -> Any:
        """Another tensor object that shares the memory of a tensor."""
        ...


class NodeWriter(Protocol):
    """What writes nodes.

    Attributes:
        grad_mode: whether gradients are on, as the function sees it.
        written_mode: what the nodes say of that so far.
        examples: the stand-in of a value that is no tensor, by the id of the value.
        rounds: the loops over lists of any length.
    """

    grad_mode: bool
    written_mode: bool
    examples: dict[int, Any]
    rounds: Any

    @property
    def given(self) -> set[int]:
        """Ids of the tensors that are inputs."""
        ...

    @property
    def nodes(self) -> list[Node]:
        """The recorded nodes, in order."""
        ...

    @property
    def values(self) -> KnownTensors:
        """The tensors that it knows."""
        ...

    @property
    def busy(self) -> bool:
        """Whether what runs now is known to the recorder, so that it need not be recorded."""
        ...

    def within(self) -> AbstractContextManager[None]:
        """While it is entered, what torch runs is known to the recorder."""
        ...

    def apply(
        self, target: Operator | KernelCall, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Runs a function on real values, records it as one node, and returns its result as the function sees it."""
        ...

    def pin_setting(self, name: str) -> None:
        """Remembers that the function read a setting of torch."""
        ...

    def arguments(self, tree: Any) -> Any:
        """Arguments in the form of the IR."""
        ...

    def concrete(self, tree: Any) -> Any:
        """Arguments with traced scalars replaced by plain ones, unguarded."""
        ...

    def scalar(self, name: str, *args: Any) -> Any:
        """Records arithmetic and returns the traced result."""
        ...

    def direct(self, func: Callable[..., Any], *args: Any) -> Any:
        """Records a torch function that torch's own parser would not take a traced scalar for."""
        ...

    def array(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Records a function of numpy, or an operator on arrays."""
        ...

    def rank(self, tensor: Any) -> int:
        """The rank of a tensor of the recording, guarded where sizes may decide it."""
        ...


class Refuser(Protocol):
    """What refuses: a refusal is kept, so that a function that catches it cannot go on as if nothing had been.

    Attributes:
        printing: whether `print` turns values into text, which cannot come back into the graph.
        plainly_used: why something was fixed that a recording of other code may leave free.
        branches: whether this is the recording of a branch; untaken: of one that the example does not take.
    """

    printing: bool
    branches: bool
    untaken: bool
    plainly_used: str

    def refuse(self, what: str, fix: str) -> NoReturn:
        """Refuses with the user's line."""
        ...

    def refuse_ended(self) -> None:
        """Refuses to go on when the recording is over: a stand-in was kept beyond it, and is used now."""
        ...

    def refusing(self) -> AbstractContextManager[None]:
        """Keeps the first refusal that is raised while it is entered."""
        ...

    def allow_random(self) -> None:
        """Refuses what draws random numbers where that cannot be recorded, as in a branch."""
        ...

    def pin(self, scalar: Any, reason: str) -> Any:
        """Guards that a traced scalar has its present value, and returns that; refuses where data decides it."""
        ...


class Tracer(NodeWriter, Refuser, Protocol):
    """What stand-ins and rules need of the recorder: a mode of torch, which records while it is entered."""

    def __enter__(self) -> Any: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any: ...

    def array_rank(self, array: Any) -> int:
        """The rank of an array of the recording, guarded where sizes may decide it."""
        ...

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records a universal function of numpy."""
        ...

    def array_function(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Records any other function of numpy."""
        ...
