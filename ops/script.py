"""`script`: turns a model or kernel of any accepted kind into an InferenceOp bound to a device."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from .engines.catalogue import ATEN, find
from .graph.device import CPU, Device
from .graph.errors import ScriptError
from .graph.kernel import Kernel
from .kinds import check_registered, kernel_class, make_kernel
from .lowering.call import flatten_call
from .lowering.patches.lock import lowering
from .model_op import ModelOp
from .onnx.read import estimator_form, is_estimator, is_onnx, read_onnx
from .op import InferenceOp, KernelOp, default_name, model_device
from .runtime.interrupts.modes import Outside
from .runtime.interrupts.verbs import undisturbed
from .runtime.placement import resolve_device
from .tracing_hook import current, recording

_KINDS = (
    "an nn.Module, a ScriptModule, a ScriptFunction, the path of a TorchScript or ONNX file, an ExportedProgram, "
    "an ONNX model, an estimator of scikit-learn, a Slang function, a tensor comprehension, a tokenizer, an object of "
    "a registered kind, or a callable on tensors"
)


@undisturbed
def script(
    model: Any,
    device: Any = None,
    *,
    example: Any = None,
    name: str | None = None,
    contiguous: bool = False,
    training: bool = False,
    engine: str | None = None,
) -> InferenceOp:
    """Turns a model into an op that a pipeline can call and an archive can hold.

    The model is left exactly as it was: its mode, device, parameters and gradients. It is lowered on a twin of its
    modules around its own tensors, so other threads may run it meanwhile, but none may train it. There is no twin where
    something that the model holds leads back to it, as a closure of a hook may: other threads then run a copy. The op
    answers as the model does in evaluation mode, without gradients. Two ops of one model have separate states: to share
    the state, script the model once.

    Args:
        model: an nn.Module, ScriptModule, ScriptFunction, the path of a TorchScript file, an ExportedProgram, a
            Slang function, a tensor comprehension, a tokenizer, a callable on tensors, or an InferenceOp, which is
            returned as is. An ONNX model as a path that ends in ``.onnx``, its bytes, or an `onnx.ModelProto`. An
            estimator of scikit-learn, XGBoost or LightGBM, which becomes an ONNX model that answers as it does.
        device: None (where the model's first parameter or buffer lives, else the CPU), an int (-1 the CPU, n >= 0
            accelerator n), ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"gpu:1"`` or a torch.device.
        example: arguments to lower the op with at once: a tensor, a tuple of positional arguments, or a dict of
            keyword arguments. Without it the op is lowered at its first trace, and runs the model until then. An
            estimator needs rows that it takes, as a matrix, a table of pandas, or a list of strings.
        name: what graphs and errors call the op; the model's class by default.
        contiguous: makes a non-contiguous output contiguous. By default it is refused.
        training: lets an nn.Module keep the mode that each of its parts is in, instead of evaluation mode. Batch
            normalisation in training mode then normalises by the batch, and its running statistics are state of the
            pipeline; dropout is refused, since it draws random numbers.
        engine: what runs the op in pipelines: ``"onnxruntime"``, ``"openvino"`` or another registered engine, which
            must answer as the model does when the op is traced. By default the flat function runs it, and
            `Pipeline.optimize` chooses.

    Returns:
        The op: call it like the model.

    Raises:
        ScriptError: the model is a class instead of an instance, of no accepted kind, or a kernel of a kind that is not
            registered; or it is to keep its mode and is no nn.Module; or an estimator has no example, cannot be
            converted, or answers otherwise than what it was converted to.
        DeviceError: the device is not in one of the accepted forms, or this machine lacks it.
        LoweringError: the model cannot be lowered with the example.
        GraphError: ONNX Runtime cannot load an ONNX model, or the model takes a tensor from another file.
        MissingExtraError: the packages of the extra ``onnx`` are not installed.

    Example:
        >>> import torch, tracepack
        >>> op = tracepack.script(torch.nn.Linear(4, 2), device="cpu")
        >>> op(torch.rand(3, 4)).shape
        torch.Size([3, 2])
    """
    if isinstance(model, InferenceOp):
        return model
    if not training and is_estimator(model):
        return _estimator(model, device, name, example)
    op = (_in_own_mode if training else _make)(model, device, name, contiguous)
    if engine not in (None, ATEN):
        _engage(op, engine)
    if example is not None:
        lower_now(op, example)
    return op


def _engage(op: InferenceOp, engine: str) -> None:
    find(engine)  # there is such an engine, and its package
    if not isinstance(op, ModelOp) or not op.device.is_cpu:
        got = f"{op.name!r} on {op.device}" if isinstance(op, ModelOp) else f"{op.name!r}, which is a kernel"
        raise ScriptError("an engine runs models of torch on the CPU", got=got)
    op.engine = engine


def lower_now(op: InferenceOp, example: Any) -> None:
    """Lowers an op with example arguments."""
    recorder = current()
    args, kwargs = _call(example if recorder is None else recorder.concrete(example))
    with Outside(), recording(None):  # in a traced function the lowering is no part of the recording
        if isinstance(op, ModelOp):
            op.application(args, kwargs)
        elif not isinstance(op, KernelOp):
            op.run(args, kwargs)


def _call(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, Mapping):
        return (), dict(example)
    return (tuple(example), {}) if isinstance(example, tuple | list) else ((example,), {})


def _make(model: Any, device: Any, name: str | None, contiguous: bool) -> InferenceOp:
    if isinstance(model, type):
        raise ScriptError(
            "a class was given", got=model.__name__, expected="an instance of it", fix=f"Pass {model.__name__}(...)."
        )
    if isinstance(model, str | os.PathLike) and not str(model).lower().endswith(".onnx"):
        return _from_file(os.fspath(model), device, name, contiguous)
    if is_onnx(model):
        return _onnx(model, device, name)
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        return _scripted(model, device, name, contiguous)
    if isinstance(model, torch.nn.Module):
        return ModelOp(model, name or default_name(model), _device(model, device), contiguous=contiguous)
    if isinstance(model, torch.export.ExportedProgram):
        return _exported(model, device, name, contiguous)
    kernel = _kernel(model)
    if kernel is not None:
        check_registered(kernel)
        where = CPU if kernel.on_host else resolve_device(device)
        return _kernel_op(model, kernel, name or kernel.name, where)
    if callable(model):
        return ModelOp(model, name or default_name(model), resolve_device(device), contiguous=contiguous)
    form = estimator_form(model)
    expected = "an estimator" if form else _KINDS
    raise ScriptError("this object cannot become an op", got=type(model).__name__, expected=expected, fix=form)


def _in_own_mode(model: Any, device: Any, name: str | None, contiguous: bool) -> InferenceOp:
    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        raise ScriptError("training=True needs a model with a mode", got=type(model).__name__, expected="an nn.Module")
    title = name or default_name(model)
    return ModelOp(model, title, _device(model, device), contiguous=contiguous, training=True)


def _device(model: torch.nn.Module, device: Any) -> Any:
    _require_sizes(model)
    with lowering():  # another thread may be lowering it, and have stand-ins for its parameters
        found = model_device(model)
    return found if device is None and found is not None else resolve_device(device)


def _require_sizes(model: torch.nn.Module) -> None:
    """Refuses a lazy module that was never called: lowering would be its first call, and leave it half made.

    Raises:
        ScriptError: naming the part.
    """
    for name, module in model.named_modules():
        tensors = (*module._parameters.values(), *module._buffers.values())
        if any(is_lazy(tensor) for tensor in tensors if tensor is not None):
            where, fix = f"part {name!r}" if name else "", "Call the model once with an example."
            what = "the model has parameters without sizes"
            raise ScriptError(what, where=where, got=type(module).__name__, fix=fix)


def _kernel(model: Any) -> Kernel | None:
    """The kernel of the kind that accepts the object."""
    if isinstance(model, Kernel):
        return model
    return make_kernel(model)


def _kernel_op(model: Any, kernel: Any, name: str, device: Device) -> KernelOp:
    """The op of a kernel: of its own class where users call it in other forms than graphs do."""
    match kernel.kind:
        case "tokenizer":
            from .tokenizer_op import TokenizerOp

            return TokenizerOp(kernel, name, device)
        case "slang":
            from .slang_op import SlangOp

            return SlangOp(model, kernel, name, device)
        case _:
            return KernelOp(kernel, name, device)


def _from_file(path: str, device: Any, name: str | None, contiguous: bool) -> InferenceOp:
    from .torchscript.inspect import load_file

    stem = os.path.splitext(os.path.basename(path))[0]
    return _scripted(load_file(path), device, name or stem, contiguous)


def _onnx(model: Any, device: Any, name: str | None) -> InferenceOp:
    data, title = read_onnx(model)
    return _onnx_op(data, device, name or title)


def _estimator(model: Any, device: Any, name: str | None, example: Any) -> InferenceOp:
    kernel_class("onnx")
    from .onnx.estimators.estimator import convert_estimator

    title = name or default_name(model)
    data, guards = convert_estimator(model, example, title)
    return _onnx_op(data, device, title, guards)


def _onnx_op(data: bytes, device: Any, name: str, guards: Sequence[Any] = ()) -> InferenceOp:
    kernel: Any = kernel_class("onnx")  # imports it, or names the extra
    from .onnx_op import OnnxOp

    return OnnxOp(kernel(data, name, guards), name, resolve_device(device))


def _scripted(model: Any, device: Any, name: str | None, contiguous: bool) -> InferenceOp:
    from .torchscript.kernel import opaque
    from .torchscript.lower import lower_scripted

    where = _device(model, device) if isinstance(model, torch.nn.Module) else resolve_device(device)
    title = name or default_name(model)
    return ModelOp(
        model,
        title,
        where,
        contiguous=contiguous,
        lowerer=lambda call, tensors: lower_scripted(
            model, call, tensors, name=title, device=str(where), contiguous=contiguous
        ),
        fallback=lambda error: opaque(model, title, error, contiguous),
    )


def _exported(program: Any, device: Any, name: str | None, contiguous: bool) -> InferenceOp:
    """The op for an exported program, whose module is lowered again, with the sizes that its guards leave free."""
    module = program.module()
    title = name or "exported"
    op = ModelOp(module, title, resolve_device(device), contiguous=contiguous)
    example = program.example_inputs
    if example is not None:
        args, kwargs = example
        call, tensors = flatten_call(tuple(args), dict(kwargs))
        op.lowered(call, tensors)
    return op
