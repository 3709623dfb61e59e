"""What a recording knows of tensors: which value of the graph each one is, and which came from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Constant, Node, Value
from ...ops.graph.traverse import leaves
from ...ops.graph.types import DTYPES
from ...ops.runtime.user_code import user_line
from ..proxies.base import is_traced
from ..proxies.trees import tensor_type
from ..rules.advice.plain_models import CHANGES
from ..rules.number_or_tensor import Chosen
from .aliases import Twins, version
from .leaves.known_results import containers_in, is_changed

_WRITTEN = -1  # no tensor has this version


class Values:
    """The tensors of one recording, by identity: all of them stay alive, so that ids stay taken.

    Attributes:
        captured: tensors that the function used without being given them, by id.
        given: lists and dicts from choices that other code may know, with what is in them, and the lines.
        varying: ids of the Values whose sizes, or whose existence, data decides.
        loose: ids of the Values whose rank may hang on sizes.
        twins: tensors that may be one object or two, depending on the inputs.
        chosen: tensors in whose place Python has a number on other data.
        lift: makes a value of a tensor of the recording around this one, where this is of a branch.
    """

    def __init__(self) -> None:
        self.captured: dict[int, Constant] = {}
        self.versions: dict[int, tuple[torch.Tensor, int, Any]] = {}
        self.given: list[tuple[Any, Any, Any]] = []
        self.varying: set[int] = set()
        self.loose: set[int] = set()
        self.twins = Twins()
        self.chosen = Chosen()
        self._open: dict[
            int, tuple[torch.Tensor, torch.Tensor]
        ] = {}  # tensors that numpy can write unseen, with copies of their content
        self._values: dict[int, Value] = {}
        self._contents: dict[
            int, int
        ] = {}  # the address of torch's own object behind a tensor, by the id of the tensor
        self._alive: list[Any] = []
        self.lift: Callable[[Any], None] | None = None
        self._inside: set[int] = set()  # the memory of values; of constants in `_outside`
        self._outside: set[int] = {0}

    def __contains__(self, tensor: Any) -> bool:
        """Whether a tensor is a value of the recording, rather than a captured one."""
        if id(tensor) not in self._values and self.lift is not None:
            self.lift(tensor)
        return id(tensor) in self._values

    def of(self, tensor: Any) -> Value | None:
        """The value that a tensor is, or None.

        Raises:
            RecordError: `torch.utils.swap_tensors` has exchanged it since.
        """
        if id(tensor) in self._contents and _contents(tensor) != self._contents[id(tensor)]:
            raise RecordError(
                "a tensor of the recording was exchanged for another one behind its name",
                where=str(user_line() or ""),
                fix="Exchange the names instead: a, b = b, a.",
            )
        return self._values.get(id(tensor))

    def add(self, tensor: torch.Tensor, value: Value | None = None, varies: bool = False) -> Value:
        """Registers a tensor as a value, a new one by default; `varies` says whether data decides its sizes."""
        value = Value(tensor_type(tensor)) if value is None else value
        self._inside.add(_memory(tensor))
        self._values[id(tensor)] = value
        self._contents[id(tensor)] = _contents(tensor)
        self._alive.append(tensor)
        if varies:
            self.varying.add(id(value))
        return value

    def example(self, value: Value) -> Any:
        """The tensor that a value is; None for a value that is no tensor."""
        return next((tensor for tensor in self._alive if self._values.get(id(tensor)) is value), None)

    def varies(self, thing: Any) -> bool:
        """Whether data decides a traced scalar, or the sizes of a tensor, or whether it exists at all."""
        return thing.varies if is_traced(thing) else id(self.of(thing)) in self.varying

    def capture(self, tensor: torch.Tensor) -> Constant:
        """A tensor from outside becomes a constant of the graph.

        Raises:
            RecordError: it is not dense, or shares the memory of a tensor of the recording.
        """
        constant = self.captured.get(id(tensor))
        if constant is None:
            self._refuse_unseen(tensor)
            if tensor.layout is not torch.strided:
                raise RecordError("a captured tensor is not dense", where=str(user_line() or ""), got=tensor.layout)
            if str(tensor.dtype).removeprefix("torch.") not in DTYPES:
                raise RecordError(
                    "a captured tensor is of a dtype that no file holds",
                    where=str(user_line() or ""),
                    got=tensor.dtype,
                    fix="Capture tensor.dequantize() in its place." if tensor.is_quantized else "",
                )
            constant = Constant(tensor, f"c{len(self.captured)}", parameter=_is_trained(tensor))
            self.captured[id(tensor)] = constant
            self._contents[id(tensor)] = _contents(tensor)
            self._alive.append(tensor)
            self.versions[id(tensor)] = (tensor, version(tensor), user_line())
            self._outside.add(_memory(tensor))
            with torch._C.DisableTorchFunction():
                if (
                    tensor.device.type == "cpu" and not tensor.untyped_storage().resizable()
                ):  # it shares the memory of an array
                    self.open(tensor)
        return constant

    def refuse_chosen(self, leaf: Any, nodes: Sequence[Node]) -> None:
        """Refuses to return a tensor in whose place Python has a number on other data."""
        if isinstance(leaf, torch.Tensor):
            self.chosen.refuse(self.of(leaf), nodes)

    def twin(self, tensor: torch.Tensor) -> torch.Tensor:
        """Another tensor object that shares the memory of a tensor."""
        return self.twins.twin(tensor)

    def readers(self) -> list[tuple[torch.Tensor, Any]]:
        """The captured tensors, each with the line of the user's that read it first."""
        lines = {key: self.versions[key][2] if key in self.versions else None for key in self.captured}
        return [(constant.tensor, lines[key]) for key, constant in self.captured.items()]

    def open_captured(self, tree: Any) -> None:
        """Keeps copies of the captured tensors that the arguments of a function of numpy are, or are views of."""
        for leaf in leaves(tree, is_traced):
            if not isinstance(leaf, torch.Tensor):
                continue
            if leaf not in self:
                self.open(leaf)
            elif (memory := _memory(leaf)) in self._outside - {0}:
                for constant in self.captured.values():
                    if _memory(constant.tensor) == memory:
                        self.open(constant.tensor)

    def open(self, tensor: torch.Tensor) -> None:
        """Keeps a copy of a captured tensor that numpy can write, since torch does not count such writes."""
        with torch._C.DisableTorchFunction():
            self._open.setdefault(id(tensor), (tensor, tensor.detach().clone()))

    def restore_open(self) -> None:
        """Restores captured tensors that numpy has written, and registers the writes."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for tensor, was in self._open.values():
                if not _same_bits(tensor, was):
                    self.written(tensor, self.versions[id(tensor)][2])
                    tensor.copy_(was)

    def _refuse_unseen(self, tensor: torch.Tensor) -> None:
        """Refuses a tensor from outside that shares the memory of a tensor of the recording."""
        if _memory(tensor) in self._inside - self._outside:
            raise RecordError(
                "a tensor of the recording came back by a way that the recorder does not see",
                where=str(user_line() or ""),
                fix="Use torch functions, or script that part.",
            )

    def written(self, tensor: torch.Tensor, line: Any) -> None:
        """Registers a write to a tensor from outside, with its line: not every operator changes `_version`."""
        self.versions[id(tensor)] = (tensor, _WRITTEN, line)

    def watch(self, result: Any, line: Any) -> None:
        """Has a write refused into a result that may be a tensor from outside, as the first value of a loop is."""
        if isinstance(result, torch.Tensor):
            self.versions[id(result)] = (result, version(result), line)

    def share(self, outer: Values) -> None:
        """Watches with the recording around a side: one for all that neither may change."""
        self.captured, self.versions, self.given = outer.captured, outer.versions, outer.given

    def keep(self, given: Any, line: Any) -> None:
        """Has changes refused of what a side of a choice gives, or the choice does, and of tables that are asked."""
        self.given += [(*each, line) for each in containers_in(given)]

    def keeps(self, thing: Any) -> bool:
        """Whether changes are refused of a container, or of one in it."""
        kept = {id(container) for container, _, _ in self.given}
        return any(id(container) in kept for container, _ in containers_in(thing))

    def refuse_changes(self) -> None:
        """Refuses a function that wrote into a tensor from outside: its next run would start from another value.

        Raises:
            RecordError: it did; the message names the line of the write, or that of the first use.
        """
        for container, held, line in self.given:
            if is_changed(container, held):
                fix = "Change a copy: list(items), dict(table), array.copy()."
                what = "what other code may know, from a side of a choice or a table that is asked, is changed"
                raise RecordError(what, where=str(line or ""), fix=fix)
        for tensor, before, line in self.versions.values():
            if version(tensor) != before:
                raise RecordError(
                    CHANGES,
                    where=str(line or ""),
                    got=f"a tensor of shape {tuple(tensor.shape)}",
                    fix="Pass it as an input and return the new value, or keep it as a buffer of a scripted module.",
                )


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of one dtype and shape are equal; NaN equals NaN."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _is_trained(tensor: torch.Tensor) -> bool:
    return tensor.requires_grad and tensor.is_leaf  # also one that is no Parameter


def _memory(tensor: torch.Tensor) -> int:
    """The address of a tensor's memory; 0 for one without memory."""
    if tensor.layout is not torch.strided:
        return 0
    with torch._C.DisableTorchFunction():
        return tensor.untyped_storage().data_ptr() if tensor.device.type != "meta" else 0


def _contents(tensor: torch.Tensor) -> int:
    """Which of torch's own objects stands behind a tensor; `torch.utils.swap_tensors` exchanges it."""
    with torch._C.DisableTorchFunction():
        return tensor._cdata
