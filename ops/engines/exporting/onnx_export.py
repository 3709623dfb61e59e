"""A region as an ONNX model: torch.export of the flat function, torch.onnx from there.

Weights are left out of the model: it names them, and `onnx_weights` puts them back when a runtime opens it. Those that
an archive holds anyway have no second copy on the disk; those that the export folded are mapped like them, not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...graph.errors import MissingExtraError
from ...graph.graph import Constant
from ...graph.program import Artefact
from ...graph.sharing.flat_items import flat_items
from ...graph.traverse import constants
from ...graph.types import TensorType
from ...lowering.patches.compile_flags import CompileFlags
from ...lowering.patches.fx_patcher import FxPatcher
from ...lowering.patches.lock import KeptProcess, lowering
from ...lowering.patches.shape_functions import FreeSizes
from ...lowering.patches.silence import Silence
from ..checks.finite_checks import holds_infinity
from ..checks.index_checks import DataChecks, index_checks
from ..checks.known_ranges import ranges_of
from ..checks.left_to_torch import Unfit
from ..checks.number_checks import LEFT_OUT, rounds_to_half
from ..engine import BF16, Declined, Task, cause, described
from ..size_boxes import BOXES, SizeBoxes
from .exact_constants import ExactConstants
from .onnx_weights import MODEL, NUMPY_TYPES, WITHIN
from .plain_shapes import simplify
from .proven_boxes import proven_boxes

OPSET = 20  # ONNX Runtime 1.17 and OpenVINO 2024 know it; from 19 on there is Resize as torch does it
_WITHOUT_NUMPY = ("bfloat16", "complex", "float8")
LEAST = 256  # bytes; a smaller weight stays in the model


@dataclass(frozen=True)
class OnnxModel:
    """A model in ONNX.

    Attributes:
        data: its bytes, without the weights that are named.
        constants: the weights that it takes from outside, by their names in the model.
        boxes: between the sizes of the task's examples, where the model is right at all.
    """

    data: bytes
    constants: dict[str, Constant]
    boxes: list[SizeBoxes]


class Exporting(torch.nn.Module):
    """A region as a module, which is what torch's exporters take; in bfloat16 by torch's own rules where asked for."""

    def __init__(self, task: Task, *, grad: bool = True) -> None:
        super().__init__()
        kinds: list[Any] = [value.type for value in task.region.graph.output]
        self.__dict__ |= {
            "function": task.function(grad=grad),
            "lower": task.way == BF16,
            "dtypes": [getattr(torch, kind.dtype) for kind in kinds],
        }

    @property
    def function(self) -> Any:
        """The flat function of the region."""
        return self.__dict__["function"]

    def forward(self, *values: torch.Tensor) -> Any:
        """Runs the region."""
        function = self.__dict__["function"]
        if not self.__dict__["lower"]:
            return function(*values)
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            found = function(*values)
        return tuple(each.to(dtype) for each, dtype in zip(found, self.__dict__["dtypes"], strict=True))


class Checking(Exporting):
    """A region that also gives whether the numbers that it computes are within bounds, where it has any to check.

    Args:
        task: the region; its indices are within their tensors.
        in_32_bits: whether integers must fit into 32 bits, too.
    """

    def __init__(self, task: Task, in_32_bits: bool = False) -> None:
        super().__init__(task)
        held = ranges_of(constant.tensor for constant in constants(task.region.graph))
        infinite = holds_infinity(task.region.graph)
        self.__dict__ |= {"inputs": index_checks(task.region.graph), "held": (in_32_bits, held, infinite)}

    def forward(self, *values: torch.Tensor) -> Any:
        """Runs the region.

        Raises:
            Unfit: torch alone is to run it.
        """
        known = [(values[number], rows) for number, rows in self.__dict__["inputs"]]
        with DataChecks(known, *self.__dict__["held"]) as checks:
            found = super().forward(*values)
        within = checks.all_hold()
        return found if within is None else (*found, within)


def onnx_model(
    task: Task, *, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None, whole: bool = False,
    checking: bool = True, in_32_bits: bool = False,
) -> OnnxModel:  # fmt: skip
    """Exports a region.

    Args:
        task: the region and examples of it.
        inputs: names for the inputs; ``x0``, ``x1`` … by default.
        outputs: names for the outputs; ``y0``, ``y1`` … by default.
        whole: whether the model keeps all of its weights.
        checking: whether it may have one more output, which says whether all indices were within their tensors.
        in_32_bits: whether that says, too, that integers fit into 32 bits.

    Raises:
        Declined: torch cannot export it, or ONNX has no such operator.
        MissingExtraError: onnxscript is not installed.
    """
    try:
        import onnx_ir
        import onnxscript  # noqa: F401 - torch.onnx needs it
    except ImportError as error:
        raise MissingExtraError(
            f"an export to ONNX needs the package {error.name!r}, which is not installed",
            fix="Install it: pip install 'tracepack[onnx]'.",
        ) from error
    graph = task.region.graph
    names = list(inputs or (f"x{index}" for index in range(len(graph.inputs))))
    results = list(outputs or (f"y{index}" for index in range(len(graph.output))))
    program = exported(task, checking=checking, in_32_bits=in_32_bits)
    results += [WITHIN] * (len(program.graph_signature.user_outputs) - len(results))
    sizes = _sizes(program)
    with Silence():
        try:
            with lowering(), FxPatcher(), CompileFlags(), KeptProcess(), FreeSizes(), ExactConstants():
                made = torch.onnx.export(
                    program, dynamo=True, input_names=names, output_names=results, opset_version=OPSET, verbose=False
                )
        except Exception as error:
            raise Declined(f"torch.onnx cannot export it: {cause(error)}") from error
    assert made is not None
    model: Any = made.model
    found = {} if whole else _detach_weights(model, list(constants(graph)))
    misled = _clean(model, task, sizes)
    if not misled:  # else its sizes are not what they seem
        simplify(model, program, masks_checked=checking)
    boxes = [] if misled else proven_boxes(program, task.examples, task.given)
    return OnnxModel(onnx_ir.serde.serialize_model(model).SerializeToString(), found, boxes)


def onnx_artefact(task: Task, engine: str, package: str, *, in_32_bits: bool = False) -> Artefact:
    """The artefact of an engine that runs ONNX models and shares memory with numpy.

    Args:
        task: the region and examples of it.
        engine: the name of the engine.
        package: the version of its package.
        in_32_bits: whether the engine computes integers in 32 bits, which the model then checks.

    Raises:
        Declined: the region cannot be exported, or numpy lacks a dtype.
        MissingExtraError: onnxscript is not installed.
    """
    for value in (*task.region.graph.inputs, *task.region.graph.output):
        if isinstance(value.type, TensorType) and value.type.dtype.startswith(_WITHOUT_NUMPY):
            raise Declined(f"numpy has no {value.type.dtype}")
    if rounds_to_half(task.region.graph):
        raise Declined(LEFT_OUT)
    key = f"{MODEL} in 32 bits" if in_32_bits else MODEL
    model: OnnxModel = task.shared.get(key) or onnx_model(task, in_32_bits=in_32_bits)
    task.shared[key] = model
    description = {**described(task), BOXES: [each.described() for each in model.boxes]}
    return Artefact(engine, package, description, {MODEL: model.data}, model.constants)


def exported(
    task: Task, *, checking: bool = True, module: torch.nn.Module | None = None, in_32_bits: bool = False
) -> torch.export.ExportedProgram:
    """The region as torch exports it, with the sizes free that the signature leaves free.

    Args:
        task: the region.
        checking: whether it may have one more output, which says whether all indices were within their tensors.
        module: the region as a module; by default one that computes in the precision that the task asks for.
        in_32_bits: whether that output says, too, that integers fit into 32 bits.

    Raises:
        Declined: torch cannot export it.
    """
    example = tuple(task.examples[0])
    module = module or (Checking(task, in_32_bits) if checking else Exporting(task))
    auto = torch.export.Dim.AUTO
    free = tuple(dict.fromkeys(task.free(index), auto) for index in range(len(example)))
    with Silence(), torch.no_grad():
        try:
            module(*example)  # compiled inside an export, the function would keep fake tensors
        except Unfit as error:
            raise Declined(str(error)) from error
        try:
            with lowering(), FxPatcher(), CompileFlags(), KeptProcess(), FreeSizes():
                return torch.export.export(module, example, dynamic_shapes=(free,), strict=False)
        except Exception as error:
            raise Declined(f"torch.export cannot export it: {cause(error)}") from error


def _sizes(program: torch.export.ExportedProgram) -> list[list[int | None]]:
    """The sizes of the inputs, None for each that is free; an export to ONNX fixes some of them afterwards."""
    names = set(program.graph_signature.user_inputs)
    values = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in names]
    return [
        [int(size) if isinstance(size, int) or size.node.expr.is_number else None for size in value.shape]
        for value in values
    ]


def _clean(model: Any, task: Task, sizes: Sequence[Sequence[int | None]]) -> bool:
    """Gives free sizes the letters of the signature, and removes stack traces of the machine that exported it.

    Returns whether a decomposition fixed a size that the export left free.

    Torch writes fixed sizes as names, and as fixed some that its decompositions fixed on the way. Which sizes are free
    is what the export said before; whether the model then is right at other sizes is tried on cases. The sizes in
    between stay, since a runtime fuses by them, unless one was so fixed, which would mislead it.
    """
    import onnx_ir

    letters: dict[str, str | int] = {}
    misled = False
    kinds: list[Any] = [value.type for value in task.region.graph.inputs]
    for given, shape, kind in zip(model.graph.inputs, sizes, kinds, strict=True):
        for dim, (size, letter) in enumerate(zip(shape, kind.shape, strict=True)):
            name = getattr(given.shape[dim], "value", None)
            if size is not None:
                given.shape[dim] = size
            elif isinstance(letter, str) and letter.isidentifier() and name is not None:
                given.shape[dim] = letters.setdefault(name, letter)
            misled |= size is None and name is None
    outer = [id(value) for value in (*model.graph.inputs, *model.graph.outputs)]
    for node in model.graph:
        node.metadata_props.clear()
        for made in node.outputs:
            if misled and id(made) not in outer:
                made.shape = None  # a runtime infers it
            elif made.shape is not None:  # it may be frozen: torch shares some shapes
                shape = [letters.get(getattr(size, "value", None) or "", size) for size in made.shape]
                made.shape = onnx_ir.Shape(shape)
    return misled


def _detach_weights(model: Any, held: Sequence[Constant]) -> dict[str, Constant]:
    """Takes the weights out of a model, and says which they are: tensors of the archive, or new ones that it folded."""
    known = {_memory(constant.tensor): constant for constant in held if constant.tensor.is_contiguous()}
    found: dict[str, Constant] = {}
    for name, value in list(model.graph.initializers.items()):
        data = value.const_value
        if data is None or data.nbytes < LEAST:
            continue
        tensor = getattr(data, "raw", None)
        if not isinstance(tensor, torch.Tensor):
            array = data.numpy()
            if array.dtype.name not in NUMPY_TYPES:
                continue
            tensor = torch.from_numpy(array.copy())
        tensor = tensor.detach().contiguous()
        del model.graph.initializers[name]
        turned = None if _memory(tensor) in known else _turned(tensor, held)
        if turned is None:
            found[name] = known.get(_memory(tensor)) or Constant(tensor, f"folded {name}")
        else:
            found[_turn(model.graph, value)] = turned
    return found


def _turned(tensor: torch.Tensor, held: Sequence[Constant]) -> Constant | None:
    """The matrix of the archive that the export transposed: a second copy would double the file."""
    if tensor.dim() != 2:
        return None
    alike = (
        each
        for each in held
        if (each.tensor.dtype, each.tensor.shape) == (tensor.dtype, tensor.shape[::-1])
        and torch.equal(_bits(each.tensor[:, 0]), _bits(tensor[0]))  # layers are alike in size: few are turned for it
    )
    return next((each for each in alike if torch.equal(_bits(each.tensor.T), _bits(tensor))), None)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    bits: torch.Tensor = flat_items(tensor).view(torch.uint8)
    return bits  # zeros with their signs, NaN equal to itself


def _turn(graph: Any, value: Any) -> str:
    """Has a graph transpose a matrix itself, which runtimes do once, and returns the name of what it takes."""
    import onnx_ir

    matrix = onnx_ir.Value(name=f"{value.name} turned", type=value.type)
    perm = onnx_ir.AttrInt64s("perm", [1, 0])
    graph.insert_before(graph[0], onnx_ir.Node("", "Transpose", [matrix], [perm], outputs=[value]))
    return str(matrix.name)


def _memory(tensor: torch.Tensor) -> Any:
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.is_contiguous()
