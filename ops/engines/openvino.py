"""The engine `openvino`: a region as an ONNX model, compiled by OpenVINO for the CPU.

OpenVINO is told where in memory the weights lie, and copies them into the form that it computes with, beside those of
the file.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import openvino
import torch

from ..graph.device import Device
from ..graph.graph import Node
from ..graph.program import Artefact
from ..graph.traverse import every_node
from ..onnx.external_data import refuse_external_data
from .checks.finite_checks import floating_inputs, require_finite_array
from .checks.index_checks import checked, index_checks
from .checks.left_to_torch import LeftToTorch
from .checks.number_checks import LARGEST, MOST_SIZE, refused_in_32_bits, takes_integers
from .checks.step_checks import names_of
from .engine import BF16, WAY, Declined, Engine, Task, file_of
from .exporting.onnx_weights import MODEL, addressed, embedded
from .region import Region

_LOCK = threading.Lock()
_cores: list[Any] = []


class OpenVino(Engine):
    """OpenVINO on the CPU."""

    name: ClassVar[str] = "openvino"
    package: ClassVar[str] = "openvino"
    ways: ClassVar[Mapping[str, Sequence[str]]] = {BF16: (BF16,)}
    apart: ClassVar[bool] = True

    def make(self, task: Task) -> Artefact:
        """Exports the region to ONNX.

        Raises:
            Declined: it cannot be exported, or numpy, by which tensors come in, lacks a dtype; or it needs numbers that
                OpenVINO computes with fewer bits.
            MissingExtraError: onnxscript is not installed.
        """
        if reason := refused_in_32_bits(task.region.graph):
            raise Declined(f"OpenVINO computes in 32 bits: {reason}")
        if any(map(_rounds_up, every_node(task.region.graph))):
            raise Declined("OpenVINO has other sizes and means than torch where a pool has `ceil_mode`")
        from .exporting.onnx_export import onnx_artefact

        return onnx_artefact(task, self.name, self.version(), in_32_bits=takes_integers(task.region.graph))

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        """The compiled model, with as many threads as torch has now, in the precision of the region or in bfloat16.

        Raises:
            Declined: OpenVINO does not take the model, or it has other inputs and outputs than the region.
        """
        refuse_external_data(file_of(artefact, MODEL), region.name)
        weights = {name: constant.tensor.detach().contiguous() for name, constant in artefact.constants.items()}
        core = _core()
        settings = {
            "INFERENCE_NUM_THREADS": torch.get_num_threads(), "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "bf16" if artefact.description.get(WAY) == BF16 else "f32",
            "ENABLE_CPU_PINNING": False,
        }  # fmt: skip
        try:
            model = _read(core, file_of(artefact, MODEL), weights)
            compiled = core.compile_model(model, "CPU", settings)
        except Exception as error:
            raise Declined(f"OpenVINO cannot load the model: {_cause(error)}") from error
        names = [f"x{index}" for index in range(len(region.graph.inputs))]
        # An input has the names of all that is the same tensor, as what a reshape to its own shape makes.
        given = [next(iter({*names} & port.get_names()), port.get_any_name()) for port in compiled.inputs]
        more = len(compiled.outputs) - len(region.graph.output)
        if not set(given) <= set(names) or more not in (0, 1):
            raise Declined(f"the model has the inputs {given} and {len(compiled.outputs)} outputs")
        places = [names.index(name) for name in given]
        function = _function(compiled, places, weights, floating_inputs(region.graph))
        return checked(function, index_checks(region.graph), within=more == 1)


def _rounds_up(node: Node) -> bool:
    """Whether a node is a pool with `ceil_mode`: some sizes end the process, and some answers are others (2026.4)."""
    pools = {name for name in names_of(node) if re.search(r"(avg|max|lp)_pool\dd", name)}
    place = 5 if any("max" in name for name in pools) else 4  # after `dilation`, or where that is not
    return bool(pools) and bool(dict(node.kwargs).get("ceil_mode", [*node.args[place : place + 1], False][0]))


def _core() -> Any:
    """The only core of this process, kept for good.

    Its plugin for the CPU gives the thread a stack of its own for signals, and the former one back when it is freed.
    Of two that are not freed in the reverse order, the last one gives back what the first one unmapped, and the
    next signal ends the process.
    """
    with _LOCK:
        if not _cores:
            _cores.append(openvino.Core())
        return _cores[0]


def _cause(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else type(error).__name__


def _read(core: Any, model: bytes, weights: Mapping[str, torch.Tensor]) -> Any:
    """The model with its weights, by their addresses where this version of OpenVINO takes them so."""
    try:
        return core.read_model(model + addressed(weights))
    except Exception:  # it took the address for the name of a file
        return core.read_model(model + embedded(weights))


class _Requests(threading.local):
    """A request of each thread, with the weights that the model may read, which must live as long."""

    def __init__(self, compiled: Any, weights: Mapping[str, torch.Tensor]) -> None:
        self.own = compiled.create_infer_request()
        self.weights = weights


def _function(
    compiled: Any, given: Sequence[int], weights: Mapping[str, torch.Tensor], floating: Sequence[int]
) -> Callable[..., Any]:
    """A function of tensors that shares their memory with a request, of which each thread has one.

    Args:
        compiled: the model.
        given: which of the region's inputs it takes.
        weights: from whose memory it was made.
        floating: the region's inputs that must be finite.
    """
    requests = _Requests(compiled, weights)
    count = len(compiled.outputs)

    def call(*values: torch.Tensor) -> list[torch.Tensor]:
        request = requests.own
        if any(size > MOST_SIZE for value in values for size in value.shape):
            raise LeftToTorch("OpenVINO computes positions beyond 2**24 otherwise")
        for index in floating:
            require_finite_array(_array(values[index]))
        arrays = [_array(values[index]) for index in given]  # OpenVINO keeps no copy alive, which infer reads
        for place, array in enumerate(arrays):
            if array.dtype.kind in "iu" and array.itemsize >= 4 and max(int(array.max()), -int(array.min())) > LARGEST:
                raise LeftToTorch("OpenVINO computes integers beyond 2**24 otherwise")
            request.set_input_tensor(place, openvino.Tensor(array, shared_memory=True))
        request.infer()
        # The memory of a result is the request's, which writes into it again.
        return [torch.from_numpy(request.get_output_tensor(place).data.copy()) for place in range(count)]

    return call


def _array(tensor: torch.Tensor) -> Any:
    return (tensor.detach() if tensor.requires_grad else tensor).contiguous().numpy()
