"""Session: a model in ONNX Runtime on one device, which takes and gives tensors of torch and lists of strings.

On the CPU nothing is copied on the way in or out: tensors lend their memory as arrays of numpy, and results lie in
memory of ONNX Runtime that torch holds. On a GPU, and for dtypes that numpy lacks, memory is bound by its address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
import torch

from ..graph.errors import GraphError, GuardError, MissingExtraError, SignatureError, TracepackError
from .ports import TEXT, UNKNOWN, Port, port

_SPIN = "300"  # microseconds that a thread waits for work without sleep; older versions know of no such setting
_SILENT = 4  # ONNX Runtime's level of messages: errors come as exceptions, and need no second text
_WITHOUT_NUMPY = {"bfloat16": 16}  # dtypes that numpy lacks -> their numbers in ONNX
_TAKES_EMPTY = (1, 31)  # the first release that does not divide by the number of rows, which ends the process
_OF_CATEGORIES = ("Unknown Category", UNKNOWN)
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def require_provider(device: str, where: str, provider: str = "") -> None:
    """Checks that the installed ONNX Runtime can run on a device.

    Args:
        device: ``"cpu"`` or ``"cuda:1"`` for example.
        where: the op, for messages.
        provider: by what it is to run there; by default the one of the kind of device.

    Raises:
        MissingExtraError: it cannot.
    """
    name = provider or _PROVIDERS.get(device.partition(":")[0])
    if name is None or name not in onnxruntime.get_available_providers():
        raise MissingExtraError(
            f"this ONNX Runtime cannot run on {device}",
            where=where,
            got=onnxruntime.get_available_providers(),
            expected=name or "a device of cpu or cuda",
            fix="Install onnxruntime-gpu in place of onnxruntime, or run the op on the CPU.",
        )


@cache
def _takes_empty() -> bool:
    return tuple(int(part) for part in re.findall(r"\d+", onnxruntime.__version__)[:2]) >= _TAKES_EMPTY


class Session:
    """A model that is ready to run.

    Args:
        model: the bytes of the model, which name no other file.
        device: ``"cpu"`` or ``"cuda:1"`` for example.
        where: the op, for messages.
        provider: what runs it where that can; the one of the kind of device runs the rest.

    Raises:
        GraphError: ONNX Runtime cannot load the model.
        MissingExtraError: it cannot run on the device.
    """

    def __init__(self, model: bytes, device: str, where: str, provider: str = "") -> None:
        require_provider(device, where, provider)
        self._provider = provider
        self.where, self.device, (self._kind, _, index) = where, device, device.partition(":")
        self._index = int(index or 0)
        try:
            self._session = onnxruntime.InferenceSession(model, session_options(), providers=self._providers())
        except Exception as error:
            raise GraphError("ONNX Runtime cannot load the model", where=where, got=first_line(error)) from error
        self.inputs = self._ports(self._session.get_inputs())
        self.outputs = self._ports(self._session.get_outputs())
        self._wanted = [each.name for each in self.outputs]
        self._lengths = list(_lengths(self.inputs))
        arrays = self._kind == "cpu" and not any(p.dtype in _WITHOUT_NUMPY for p in (*self.inputs, *self.outputs))
        self._run: Callable[[Sequence[Any]], list[Any]] = self._by_array if arrays else self._by_address

    def _providers(self) -> list[Any]:
        if self._kind == "cpu":
            return [_PROVIDERS["cpu"]]
        names = dict.fromkeys(filter(None, (self._provider, _PROVIDERS[self._kind])))
        return [*((name, {"device_id": str(self._index)}) for name in names), _PROVIDERS["cpu"]]

    def _ports(self, found: Sequence[Any]) -> tuple[Port, ...]:
        return tuple(port(each.name, each.type, each.shape, self.where) for each in found)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Runs the model.

        Args:
            *values: for each input a contiguous tensor on the session's device, or a list of strings.

        Returns:
            For each output a contiguous tensor, a list of strings, or a string.

        Raises:
            GraphError: ONNX Runtime fails, or is of a release that some empty inputs end, and one is empty.
            GuardError: a category is one that an encoder was not fitted with.
            SignatureError: a list of strings has a wrong length.
        """
        for text, length in self._lengths:
            self._check_length(values, text, length)
        if not _takes_empty():
            self._refuse_empty(values)
        try:
            return tuple(self._run(values))
        except GraphError:
            raise
        except Exception as error:
            raise self._failure(first_line(error)) from error

    def _failure(self, said: str) -> TracepackError:
        """The error for one of ONNX Runtime, which says little of a category that an encoder was not fitted with."""
        if any(part in said for part in _OF_CATEGORIES):
            return GuardError(
                "an input holds a category that the encoder was not fitted with",
                where=self.where,
                fix="Leave such rows out, or fit it with handle_unknown='ignore', or 'use_encoded_value'.",
            )
        return GraphError("ONNX Runtime fails", where=self.where, got=said)

    def _refuse_empty(self, values: Sequence[Any]) -> None:
        for given, value in zip(self.inputs, values, strict=True):
            if not (value.numel() if isinstance(value, torch.Tensor) else len(value)):
                raise GraphError(
                    f"an empty input, which may end the process in ONNX Runtime {onnxruntime.__version__}",
                    where=f"{self.where}, input {given.name!r}",
                    fix=f"Install onnxruntime {'.'.join(map(str, _TAKES_EMPTY))} or newer, or leave empty inputs out.",
                )

    def _check_length(self, values: Sequence[Any], text: int, length: tuple[int, int] | int) -> None:
        """Checks the length of a list of strings; the sizes of tensors are checked by their op."""
        found = len(values[text])
        wanted = length if isinstance(length, int) else _size(values[length[0]], length[1])
        if found != wanted:
            other = "" if isinstance(length, int) else f", as dimension {length[1]} of {self.inputs[length[0]].name!r}"
            raise SignatureError(
                "the list has a wrong length",
                where=f"{self.where}, input {self.inputs[text].name!r}",
                got=found,
                expected=f"{wanted}{other}",
            )

    def _by_array(self, values: Sequence[Any]) -> list[Any]:
        feed = {
            given.name: _array(value) if isinstance(value, torch.Tensor) else _texts(value, given)
            for given, value in zip(self.inputs, values, strict=True)
        }
        return [self._from_array(found) for found in self._session.run(self._wanted, feed)]

    def _from_array(self, found: Any) -> Any:
        if found.dtype.char in "qQ":  # long long of C, which torch takes for another type than int64
            found = found.view(found.dtype.name)
        if found.dtype != object:
            return torch.from_numpy(found)
        if found.ndim > 1:
            raise GraphError("an output holds strings in more than one dimension", where=self.where, got=found.shape)
        return found.tolist()

    def _by_address(self, values: Sequence[Any]) -> list[Any]:
        binding = self._session.io_binding()
        if self._kind == "cuda":
            torch.cuda.current_stream(self._index).synchronize()  # the session has a stream of its own
        for given, value in zip(self.inputs, values, strict=True):
            self._bind(binding, given, value)
        for wanted in self.outputs:
            on_host = wanted.dtype == TEXT
            binding.bind_output(wanted.name, "cpu" if on_host else self._kind, 0 if on_host else self._index)
        self._session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        found = zip(self.outputs, binding.get_outputs(), strict=True)
        return [self._from_array(v.numpy()) if p.dtype == TEXT else _tensor(v, p) for p, v in found]

    def _bind(self, binding: Any, given: Port, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise GraphError(
                "ONNX Runtime binds no strings by address",
                where=f"{self.where}, {given.name!r}",
                fix="Run the op on the CPU, without bfloat16.",
            )
        element = _WITHOUT_NUMPY.get(given.dtype) or np.dtype(given.dtype)
        value = value.detach()
        binding.bind_input(given.name, self._kind, self._index, element, tuple(value.shape), value.data_ptr())


def session_options(awake: bool = False) -> Any:
    """The settings of every session: as many threads as torch has, which spin while a run lasts, and sleep between.

    Within a run they meet for every operator: where they slept, BERT on one sequence took 1.7 times
    as long on two cores. While the session is made they have nothing to do, and take the core of who makes it.

    Args:
        awake: whether they spin between runs, too: for some 30 ms, unless the runtime is told another time.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = _SILENT
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    if not awake:
        options.add_session_config_entry("session.force_spinning_stop", "1")
        options.add_session_config_entry("session.intra_op.spin_duration_us", _SPIN)
    options.add_session_config_entry("session.load_model_format", "ONNX")  # of its own format nothing was checked
    return options


def _lengths(inputs: Sequence[Port]) -> Iterator[tuple[int, tuple[int, int] | int]]:
    """For each input of strings its fixed length, or the first input and dimension that has its length."""
    for index, given in enumerate(inputs):
        size = given.shape[0] if given.dtype == TEXT and given.shape else None
        if isinstance(size, int):
            yield index, size
        elif size is not None:
            places = ((i, dim) for i, each in enumerate(inputs) for dim, s in enumerate(each.shape or ()) if s == size)
            first = next(places)
            if first[0] != index:
                yield index, first


def _size(value: Any, dim: int) -> int:
    return len(value) if isinstance(value, list) else int(value.shape[dim])


def _tensor(value: Any, wanted: Port) -> torch.Tensor:
    """A result of ONNX Runtime as a tensor that holds its memory; DLPack knew no bools for long.

    Raises:
        GraphError: this version of ONNX Runtime has no DLPack.
    """
    if not hasattr(value, "__dlpack__"):
        raise GraphError(
            "this version of ONNX Runtime does not hand out such a result",
            got=f"{wanted.name!r} of {wanted.dtype}, onnxruntime {onnxruntime.__version__}",
            fix="Install a newer onnxruntime.",
        )
    tensor: torch.Tensor = torch.from_dlpack(value)  # type: ignore[attr-defined]  # torch exports it without saying so
    return tensor.view(torch.bool) if wanted.dtype == "bool" else tensor


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().numpy() if tensor.requires_grad else tensor.numpy()


def _texts(value: Any, given: Port) -> Any:
    """Strings as ONNX Runtime takes them; a column of strings for an input of two dimensions."""
    array = np.array(value, dtype=object)
    return array.reshape(-1, 1) if given.shape is not None and len(given.shape) == 2 else array


def first_line(error: BaseException) -> str:
    """The first line of an error, without what ONNX Runtime writes in front of each."""
    text = str(error).strip().split("\n")[0]
    return text.removeprefix("[ONNXRuntimeError] : ")[:300] or type(error).__name__
