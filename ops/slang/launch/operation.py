"""A specialization as an operation on tensors: one torch.library operator, and a shorter way past it.

The operator (`tracepack::slang_<function>_<hash>`) has a fake kernel, a gradient and a batching rule, so that
torch.export, torch.compile and `torch.vmap` see one well-behaved node. Its dispatch costs 40 us and more, so a plain
eager call on plain tensors goes to the kernel directly, or through one `torch.autograd.Function`; both ways end
in the same launcher. The operator is registered when it is first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch.autograd import forward_ad

from ...kernels import cache as disk
from ...kernels.torch_library import are_batched, have_tangents
from ...runtime.torch_compiler import is_traced_here
from ..binding.arguments import check_numbers
from ..binding.shapes import check_strided
from ..compile.program import Program
from ..language.errors import NotDifferentiableError, SlangError
from ..language.specialization import Specialization
from ..language.types import FLOATS
from .cpu import CPU, Launcher
from .fakes import zeros_for_missing
from .select import launcher_for

_PLAIN = (torch.Tensor, torch.nn.Parameter)


_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_mode = torch._C._is_torch_function_mode_enabled
_functorch_level = torch._C._functorch.peek_interpreter_stack
_jit_tracing = torch._C._get_tracing_state


def is_plain_eager() -> bool:
    """Whether no mode, tracer, compiler, functorch transform or forward-mode level (30 ns) watches calls."""
    if (torch.compiler.is_compiling() and is_traced_here()) or forward_ad._current_level >= 0:
        return False
    return not (_dispatch_modes() or _function_mode() or _jit_tracing()) and _functorch_level() is None


# Strong references: torch.library keeps operators for ever, so an operation must outlive equal ones that are dropped.
_by_name: dict[str, Operation] = {}


def _registered(name: str) -> bool:
    """Registers an operation's operator; torch.compile takes the answer and does not look into it."""
    return _by_name[name].overload() is not None


# What torch.compiler.assume_constant_result does, without its import of torch._dynamo (1 s).
# Mypy does not know the attribute, which is set dynamically.
_registered._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _refuse_functional_gradients(spec: Specialization) -> None:
    """Refuses `torch.func.grad` and similar transforms, under which torch.library operators have no derivative."""
    if _functorch_level() is None or not any(not s.is_value and s.type.scalar in FLOATS for s in spec.slots):
        return
    vmap = torch._C._functorch.TransformType.Vmap
    if any(level.key() != vmap for level in torch._C._functorch.get_interpreter_stack() or ()):
        raise SlangError(
            "Slang functions cannot be differentiated by torch.func",
            where=str(spec.function),
            fix="Use torch.autograd.grad or .backward().",
        )


def refuse_tangents(spec: Specialization, arguments: Sequence[Any]) -> None:
    """Refuses a tensor with a tangent of forward-mode differentiation, which the result would silently lack.

    Raises:
        SlangError: there is one.
    """
    if have_tangents(arguments):
        raise no_forward_mode(spec)


def no_forward_mode(spec: Specialization) -> SlangError:
    """The error of a tensor with a tangent."""
    return SlangError(
        "Slang functions have no forward-mode derivative",
        where=str(spec.function),
        fix="Use torch.autograd.grad or .backward().",
    )


def refuse_batched(spec: Specialization, gradients: Sequence[torch.Tensor | None]) -> None:
    """Refuses the several gradients at once that `is_grads_batched=True` gives, in tensors that have no memory.

    Raises:
        SlangError: they are given.
    """
    if are_batched(gradients, also_by_vmap=False):
        raise SlangError(
            "gradients of Slang functions are not taken several at once",
            where=str(spec.function),
            fix="Leave is_grads_batched=True and vectorize=True out, or use torch.vmap around torch.autograd.grad.",
        )


def second_derivative(spec: Specialization) -> SlangError:
    """The error of a gradient that is differentiated."""
    return SlangError(
        "Slang functions can be differentiated once, and a second derivative was asked for",
        where=str(spec.function),
        fix="Write the first derivative as a Slang function of its own, and differentiate that.",
    )


class Operation:
    """One specialization of one program, callable with a number or a tensor for each slot.

    Args:
        program: the program of the source.
        spec: the function with its argument kinds.
        target: `""` for the device of the tensors, else `"vulkan"`.
        publish: defines and returns the torch.library operator; called when the operator is first needed.
    """

    def __init__(
        self, program: Program, spec: Specialization, target: str, publish: Callable[[Operation], Any]
    ) -> None:
        self.program, self.spec, self.target = program, spec, target
        readable = re.sub(r"\W", "_", spec.function.name)
        self.name = f"slang_{readable}_{disk.key(program.source.key, spec.plain(), target)[:12]}"
        self._publish = publish
        _by_name[self.name] = self
        self._overload: Any = None
        self._launchers: dict[torch.device, Launcher] = {}
        self._cpu: Launcher | None = None
        self.tensor_slots = tuple(index for index, slot in enumerate(spec.slots) if not slot.is_value)
        # A float output without [Differentiable] stays in the autograd graph, so that backward raises an error.
        self.fixed_outputs = tuple(
            index
            for index, output in enumerate(spec.outputs)
            if not output.differentiable and (spec.function.differentiable or output.type.scalar not in FLOATS)
        )

    @property
    def checks_indices(self) -> bool:
        """Whether an index outside of a tensor is an error wherever this ran: on the CPU, with `bounds`."""
        return self.program.source.bounds and not self.target and all(d.type == "cpu" for d in self._launchers)

    @property
    def operator(self) -> str:
        """The name of the torch.library operator."""
        return f"tracepack::{self.name}"

    def __call__(self, *arguments: Any) -> Sequence[torch.Tensor]:
        """Runs the function on a number or a tensor for each slot; returns one tensor for each output."""
        if not is_plain_eager():
            return self.through_operator(arguments)
        wants = False
        for index in self.tensor_slots:
            tensor = arguments[index]
            if type(tensor) not in _PLAIN or tensor.is_meta:
                return self.through_operator(arguments)
            if tensor.requires_grad:
                wants = True
        if wants and torch.is_grad_enabled():
            # Torch leaves it untyped.
            return _Apply.apply(self, *arguments)  # type: ignore[no-untyped-call, no-any-return]
        return self.run(arguments)

    def run(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """The forward kernel, with no gradient."""
        return self._launcher(arguments).forward(arguments)

    def run_backward(
        self, arguments: Sequence[Any], gradients: Sequence[torch.Tensor | None], needs: tuple[int, ...]
    ) -> list[torch.Tensor]:
        """The backward kernel: the gradient of each slot in `needs`."""
        return self._launcher(arguments).backward(arguments, gradients, needs)

    def run_backward_by_hand(
        self, arguments: Sequence[Any], gradients: Sequence[torch.Tensor], needs: tuple[int, ...]
    ) -> list[torch.Tensor]:
        """The same for arguments that may come from anywhere.

        Raises:
            NotDifferentiableError: the function has no derivative.
            SlangArgumentError: gradients or slots that are none of the function's.
        """
        self.check_differentiable()
        self._launcher(arguments).check_backward(arguments, gradients, needs)
        return self.run_backward(arguments, gradients, needs)

    def _launcher(self, arguments: Sequence[Any]) -> Launcher:
        check_numbers(self.spec, arguments)
        if not self.tensor_slots or (first := arguments[self.tensor_slots[0]]).is_cpu:
            return self._cpu or self._find_launcher(CPU)
        return self._find_launcher(first.device)

    def _find_launcher(self, device: torch.device) -> Launcher:
        if (found := self._launchers.get(device)) is None:
            found = self._launchers[device] = launcher_for(self.target, device, self.program, self.spec)
        if device == CPU:
            self._cpu = found
        return found

    def through_operator(self, arguments: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """Runs the torch.library operator, which modes and compilers see."""
        if torch.compiler.is_compiling() and is_traced_here():
            assert _registered(self.name)
            result = getattr(torch.ops.tracepack, self.name)(*arguments)
        else:
            _refuse_functional_gradients(self.spec)
            if not _function_mode():  # a recording would write the question down
                check_strided(self.spec, arguments)
            refuse_tangents(self.spec, arguments)
            result = self.overload()(*arguments)
        return result if isinstance(result, tuple) else (result,)

    def backward_through_operator(
        self, arguments: Sequence[Any], gradients: Sequence[torch.Tensor | None], needs: tuple[int, ...]
    ) -> Sequence[torch.Tensor]:
        """The same through its torch.library operator, with zeros for missing gradients."""
        self.overload()
        whole = zeros_for_missing(self.spec, arguments, gradients)
        found: Sequence[torch.Tensor] = getattr(torch.ops.tracepack, f"{self.name}_backward")(
            *arguments, whole, list(needs)
        )
        return found

    def overload(self) -> Any:
        """The torch.library operator, registered now if it was not yet."""
        if self._overload is None:
            self._overload = self._publish(self)
        return self._overload

    def check_differentiable(self) -> None:
        """Refuses to differentiate a function that Slang cannot differentiate.

        Raises:
            NotDifferentiableError: the function has no `[Differentiable]`.
        """
        if not self.spec.function.differentiable:
            raise NotDifferentiableError(
                f"a gradient was asked of {self.spec.function.name!r}, which is not differentiable",
                where=str(self.spec.function),
                fix="Write [Differentiable] before the function in the Slang source.",
            )

    def check_reached(self, wanted: Sequence[bool]) -> None:
        """Refuses a gradient for a field of a struct that declares no derivative, which would silently be None.

        Raises:
            NotDifferentiableError: such a gradient is needed.
        """
        for index in self.spec.lost_slots:
            if wanted[index]:
                struct = self.spec.function.parameters[self.spec.slots[index].parameter].type.name
                raise NotDifferentiableError(
                    f"no gradient flows into {self.spec.slot_name(index)!r}: its struct is not differentiable",
                    where=str(self.spec.function),
                    fix=f"Write `struct {struct} : IDifferentiable`, or pass the tensor detached.",
                )


class _Apply(torch.autograd.Function):
    """The autograd function for eager calls with gradients."""

    @staticmethod
    def forward(ctx: Any, operation: Operation, *arguments: Any) -> tuple[torch.Tensor, ...]:
        outputs = operation.run(arguments)
        remember(ctx, operation, arguments, outputs)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        if not torch.is_grad_enabled():
            return _backward(ctx, *gradients)
        with torch.no_grad():
            found = _backward(ctx, *gradients)
        return _refusing_another(ctx, found, gradients)


def _backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
    operation: Operation = ctx.operation
    operation.check_differentiable()
    arguments, needs = recall(ctx, ctx.needs_input_grad[1:])
    refuse_batched(operation.spec, gradients)
    # Under torch.vmap gradients are batched tensors, which only the operator takes.
    run = operation.run_backward if _functorch_level() is None else operation.backward_through_operator
    found = run(arguments, selected(operation, gradients), needs)
    return (None, *spread(operation, needs, found))


class _Once(torch.autograd.Function):
    """Gradients that cannot be differentiated again: the first of the tensors; they depend on the others."""

    @staticmethod
    def forward(ctx: Any, spec: Specialization, count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.spec = spec
        return tuple(each.view_as(each) for each in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> NoReturn:
        raise second_derivative(ctx.spec)


def _refusing_another(
    ctx: Any, found: tuple[torch.Tensor | None, ...], gradients: Sequence[torch.Tensor | None]
) -> tuple[torch.Tensor | None, ...]:
    """Gradients of a `create_graph=True` pass: a second derivative through them is an error, not a silent zero.

    torch's `once_differentiable` makes them depend on neither the arguments nor, where they are constants, on anything.
    """
    tensors = [each for each in found if each is not None]
    others = [each for each in (*ctx.saved_tensors, *gradients) if each is not None]
    # Torch leaves `apply` untyped.
    refused = iter(_Once.apply(ctx.operation.spec, len(tensors), *tensors, *others))  # type: ignore[no-untyped-call]
    return tuple(None if each is None else next(refused) for each in found)


def remember(ctx: Any, operation: Operation, arguments: Sequence[Any], outputs: Sequence[torch.Tensor]) -> None:
    """Keeps what the backward kernel will need."""
    ctx.operation = operation
    ctx.set_materialize_grads(False)
    ctx.arguments = [None if isinstance(each, torch.Tensor) else each for each in arguments]
    ctx.save_for_backward(*[arguments[index] for index in operation.tensor_slots])
    if operation.fixed_outputs:
        ctx.mark_non_differentiable(*[outputs[index] for index in operation.fixed_outputs])


def recall(ctx: Any, wanted: Sequence[bool]) -> tuple[list[Any], tuple[int, ...]]:
    """The arguments of the forward call, and the slots that want a gradient."""
    operation: Operation = ctx.operation
    operation.check_reached(wanted)
    arguments = list(ctx.arguments)
    for index, tensor in zip(operation.tensor_slots, ctx.saved_tensors, strict=True):
        arguments[index] = tensor
    return arguments, tuple([index for index in operation.spec.differentiable_slots if wanted[index]])


def selected(operation: Operation, gradients: Sequence[Any]) -> list[Any]:
    """The gradients of the differentiable outputs."""
    return [gradients[index] for index in operation.spec.differentiable_outputs]


def spread(operation: Operation, needs: tuple[int, ...], found: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients, each at the position of its slot."""
    by_slot = dict(zip(needs, found, strict=True))
    return tuple(by_slot.get(index) for index in range(len(operation.spec.slots)))
