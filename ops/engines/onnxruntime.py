"""The engine `onnxruntime`: a region as an ONNX model, in a session of ONNX Runtime on the CPU or a CUDA card.

On the CPU the session takes the weights from the memory of the archive. ONNX Runtime packs those of matrix products
anew, which is what makes it fast, and costs memory of its own. For a card it copies them there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import onnxruntime
import torch

from ..graph.device import CPU, Device
from ..graph.errors import GraphError, MissingExtraError
from ..graph.program import Artefact
from ..onnx.external_data import refuse_external_data
from ..onnx.session import Session, first_line, session_options
from .checks.finite_checks import floating_inputs, require_finite_array
from .checks.index_checks import checked, index_checks
from .checks.nan_carriers import CARRIES, build, carries, may_carry
from .engine import AWAKE, DYNAMIC, SIDE_BY_SIDE, STATIC, WAY, Declined, Engine, Task, file_of, lowers
from .exporting.onnx_weights import MODEL, WITHIN, declared, embedded
from .exporting.optimised_model import OPTIMISED, as_it_is, is_optimised, weights_of
from .memory import early_start
from .memory.ort_values import from_dlpack, is_plain, is_understood, plain, to_dlpack, value_of
from .region import Region


class OnnxRuntime(Engine):
    """ONNX Runtime, on the CPU or a CUDA card.

    Attributes:
        provider: what it is to run on a card by; empty for CUDA's own.
    """

    name: ClassVar[str] = "onnxruntime"
    package: ClassVar[str] = "onnxruntime"
    devices: ClassVar[Sequence[str]] = ("cpu", "cuda")
    provider: ClassVar[str] = ""
    cores: ClassVar[Sequence[str]] = (AWAKE, SIDE_BY_SIDE)
    apart: ClassVar[bool] = True
    ways: ClassVar[Mapping[str, Sequence[str]]] = {"int8": (DYNAMIC, STATIC)}

    def make(self, task: Task) -> Artefact:
        """Exports the region to ONNX, and quantises it where a way asks for that.

        Raises:
            Declined: it cannot be exported, or numpy, by which tensors come in, lacks a dtype.
            MissingExtraError: onnxscript is not installed.
        """
        from .exporting.onnx_export import onnx_artefact
        from .exporting.onnx_quantized import quantized_artefact
        from .exporting.optimised_model import with_optimised
        from .exporting.turned_products import with_turned_products

        if lowers(task.way):
            return quantized_artefact(task, self.name, self.version())
        made = onnx_artefact(task, self.name, self.version())
        if not self.provider:
            made = with_turned_products(made)
            made = with_optimised(made, lambda path: _prepared(made, self.name, written_to=path)())
        return self._shown_nan(made, task) if may_carry(task.region.graph) else made

    def _shown_nan(self, made: Artefact, task: Task) -> Artefact:
        """The artefact, with a note where a NaN goes through this build as it goes through torch."""
        noted = replace(made, description={**made.description, CARRIES: build(self.version())})
        with torch.no_grad():
            tried = carries(self.open(noted, task.region, CPU), task.function(), [*task.examples, *task.given])
        return noted if tried else made

    def start(self, artefact: Artefact) -> None:
        """Makes the session in a thread."""
        size = sum(constant.tensor.nbytes for constant in artefact.constants.values())
        early_start.start(artefact, _prepared(artefact, self.name), size)

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        """A session with as many threads as torch has now.

        Raises:
            Declined: ONNX Runtime does not take the model, or it has other inputs and outputs than the region.
        """
        if not device.is_cpu:
            return self._open_on_card(
                file_of(artefact, MODEL) + embedded(weights_of(artefact, optimised=False)), region, str(device)
            )
        carrying = artefact.description.get(CARRIES) == build(self.version()) and may_carry(region.graph)
        floating = [] if carrying else floating_inputs(region.graph)
        checks, _ = index_checks(region.graph), is_understood()  # what takes its time the first time, beside the thread
        session = early_start.taken(artefact) or _prepared(artefact, region.name)()
        given, made = [each.name for each in session.get_inputs()], [each.name for each in session.get_outputs()]
        places = list(zip(_places(region, given, made), given, strict=True))
        return checked(_function(session, places, made, floating), checks, within=made[-1] == WITHIN)

    def _open_on_card(self, model: bytes, region: Region, device: str) -> Callable[..., Sequence[torch.Tensor]]:
        refuse_external_data(model, region.name)
        try:
            session = Session(model, device, region.name, self.provider)
        except (GraphError, MissingExtraError) as error:
            raise Declined(str(error)) from error
        made = [each.name for each in session.outputs]
        places = _places(region, [each.name for each in session.inputs], made)

        def call(*values: torch.Tensor) -> Sequence[torch.Tensor]:
            return session(*[values[place].detach().contiguous() for place in places])

        return checked(
            call, index_checks(region.graph), within=made[-1] == WITHIN, floating=floating_inputs(region.graph)
        )  # fmt: skip


def _places(region: Region, given: Sequence[str], made: Sequence[str]) -> list[int]:
    """Where the inputs of a model are among those of the region.

    Raises:
        Declined: it has other inputs and outputs than the region.
    """
    names = [f"x{index}" for index in range(len(region.graph.inputs))]
    wanted = [f"y{index}" for index in range(len(region.graph.output))]
    if not set(given) <= set(names) or list(made) not in (wanted, [*wanted, WITHIN]):
        raise Declined(f"the model has the inputs {given} and the outputs {made}")
    return [names.index(name) for name in given]


def _prepared(artefact: Artefact, where: str, written_to: str = "") -> Callable[[], Any]:
    """What makes the session of an artefact, and does little else.

    Args:
        artefact: with the model.
        where: the region, for messages.
        written_to: the path of a file into which the session writes the model as it has rewritten it.

    Raises:
        GraphError: the model takes a tensor from another file.
    """
    optimised, way = is_optimised(artefact, OnnxRuntime.version()), artefact.description.get(WAY)
    options = session_options(awake=way == AWAKE)
    weights = weights_of(artefact, optimised=optimised)
    model = file_of(artefact, OPTIMISED if optimised else MODEL)
    refuse_external_data(model, where)
    if optimised:
        as_it_is(options)
    if written_to:
        options.optimized_model_filepath = written_to
    if way == SIDE_BY_SIDE and options.intra_op_num_threads > 1:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads, options.intra_op_num_threads = options.intra_op_num_threads, 1
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    arrays = {name: tensor.numpy() for name, tensor in weights.items()}
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in arrays.values()]
    if values:
        options.add_external_initializers(list(arrays), values)
    model += declared(weights)

    def session() -> Any:
        try:
            made: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Declined(f"ONNX Runtime cannot load the model: {first_line(error)}") from error
        made.tracepack_memory = (arrays, values)  # the session reads it as long as it lives
        return made

    return session


def _function(
    session: Any, given: Sequence[tuple[int, str]], made: Sequence[str], floating: Sequence[int]
) -> Callable[..., Any]:
    """A function of tensors that shares their memory with the session.

    Args:
        session: of ONNX Runtime.
        given: the numbers and the names of its inputs.
        made: the names of its outputs.
        floating: the inputs of the region that must be finite, those too that the session does not take.
    """
    if not is_understood() or not hasattr(session._sess, "run_with_ort_values"):
        return _by_array(session, given, made, floating)
    if len(given) == 1 and len(made) == 1 and given[0][0] == 0 and not any(floating):
        return _of_one(session, given[0][1], made[0], bool(floating))
    run, options, places = session._sess.run_with_ort_values, onnxruntime.RunOptions(), range(len(made))
    lend, take, needed = value_of, from_dlpack, sorted({*floating, *(index for index, _ in given)})

    def call(*values: torch.Tensor) -> list[torch.Tensor]:
        lent = {}
        for index in needed:
            value = values[index]
            lent[index] = lend(to_dlpack(value if is_plain(value) else plain(value)))
        for index in floating:
            require_finite_array(lent[index].numpy())
        found = run({name: lent[index] for index, name in given}, made, options)
        return [take(found.dlpack_at(place)) for place in places]

    return call


def _of_one(session: Any, name: str, made: str, is_floating: bool) -> Callable[[torch.Tensor], tuple[torch.Tensor]]:
    """`_function` of one tensor in and one out: of a small model, each function that a call runs counts."""
    run, names, options = session._sess.run_with_ort_values, [made], onnxruntime.RunOptions()
    lend, take, pack = value_of, from_dlpack, to_dlpack

    def call(value: torch.Tensor) -> tuple[torch.Tensor]:
        if not value.is_contiguous() or value.is_neg() or value._is_zerotensor():  # `is_plain`, written out
            value = plain(value)
        lent = lend(pack(value))
        if is_floating:
            require_finite_array(lent.numpy())
        return (take(run({name: lent}, names, options).dlpack_at(0)),)

    return call


def _by_array(
    session: Any, given: Sequence[tuple[int, str]], made: Sequence[str], floating: Sequence[int]
) -> Callable[..., Any]:
    """`_function` by arrays of numpy, which every release of ONNX Runtime takes."""
    run: Any = session._sess.run  # what `InferenceSession.run` calls, without its checks of the feed
    from_numpy, options = torch.from_numpy, onnxruntime.RunOptions()  # which a run without them makes anew

    def call(*values: torch.Tensor) -> list[torch.Tensor]:
        for index in floating:
            require_finite_array(_array(values[index]))
        feed = {name: _array(values[index]) for index, name in given}
        return [from_numpy(_known(array)) for array in run(made, feed, options)]

    return call


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().resolve_neg().numpy()


def _known(array: Any) -> Any:
    """The array with a type that torch knows: of `long long` of C, torch does not know that it is int64."""
    return array.view(array.dtype.name) if array.dtype.char in "qQ" else array
