"""SlangFunction: a function of a Slang module, called on torch tensors."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from ..runtime.torch_compiler import is_traced_here
from .binding import arguments as args_
from .binding.overloads import Chosen, check_maps, choose, place_axes
from .call import Call, fill
from .compile.program import Program
from .kernel import SlangKernel, kernel_of
from .language.errors import SlangArgumentError
from .language.specialization import Specialization
from .language.types import THIS, FunctionType
from .launch.mixed_tensors import Shared, check_gradients, device_of, is_slangpys, sizes_of, slangpy_function
from .launch.operation import Operation

_RESULT = "_result"
_function_mode = torch._C._is_torch_function_mode_enabled


class Home(Protocol):
    """What a module has that its functions, types and namespaces use."""

    program: Program

    def __getitem__(self, name: str) -> Any:
        """A function, this one among them, or a type or namespace, by its full name."""

    def operation(self, spec: Specialization) -> Operation:
        """The operation of a specialization."""

    def slangpy_module(self, device: Any = None, *, backward: bool = False, sizes: Sequence[int] = ()) -> Any:
        """SlangPy's own module of the source."""


class SlangFunction:
    """A function of a Slang module.

    Called with tensors, it runs once for each element of their broadcast sizes, in parallel, and returns new
    tensors on the device of its inputs; gradients flow through it as Slang's automatic differentiation says. An
    argument of type `float3` takes tensors whose last size is 3, a `float3x3` whose last sizes are 3 and 3, a struct a
    dict or a dataclass with a tensor for each field; the sizes before these are broadcast as torch does. A tensor
    passed for an `out` or `inout` parameter is written in place, one that is left out is returned.

    Args:
        module: the module that declares it.
        name: its name, with generic arguments if they were given.
        signatures: its overloads.
        maps: parameter -> for each of its own axes the axis of the call.
        result: the argument of `return_type`.

    Example:
        >>> import torch
        >>> from tracepack.ops.slang import load
        >>> module = load("[Differentiable] float square(float x) { return x * x; }")
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> module.square(x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(
        self,
        module: Home,
        name: str,
        signatures: tuple[FunctionType, ...],
        *,
        maps: Mapping[str, Sequence[int]] | None = None,
        result: Any = None,
    ) -> None:
        self.module, self.name, self.signatures = module, name, signatures
        self._maps, self._result = dict(maps or {}), result
        self._calls: dict[Any, Call] = {}
        self.__name__, self._number, self._sizes = name, -1, 0
        if maps is None and result is None:  # else the plain function does the work
            self._number = len(_functions)
            _functions.append(weakref.ref(self))
            self._sizes = max(map(args_.deciding_sizes, signatures), default=0)
            if self._sizes:
                self._form = self._sized_form  # type: ignore[method-assign]  # on this path a branch would cost time

    def __repr__(self) -> str:
        return f"<SlangFunction {' | '.join(map(str, self.signatures))}>"

    def __getitem__(self, arguments: Any) -> SlangFunction:
        """A generic function with its arguments: `module.f[module.P, 8]` is `module["f<P, 8>"]`."""
        each = arguments if isinstance(arguments, tuple) else (arguments,)
        found: SlangFunction = self.module[f"{self.name}<{', '.join(map(str, each))}>"]
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> SlangFunction:
        return self  # a function has no state, and modules that hold one are copied

    def __reduce__(self) -> tuple[Any, ...]:
        """Modules that hold one are pickled, by torch.save and by processes that are spawned."""
        return _function_again, (self.module, self.name, self._maps, self._result)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:  # a parameter may be named `self`
        """Runs the function; see the class.

        Args:
            *args: for the parameters in their order.
            **kwargs: for the parameters by name, and `_result`: a tensor to fill, `"tensor"`, `"numpy"` or a type.

        Returns:
            The function's result and the `out` parameters that were not passed: a tensor, a number where only
            numbers came in, a dict for a struct, a tuple of these, or None.

        Raises:
            SlangArgumentError: the arguments do not fit the signature.
            SlangDtypeError: a tensor has another dtype than the parameter.
            SlangShapeError: sizes do not fit or do not broadcast.
        """
        if _function_mode():
            return self._watched(args, kwargs)
        if torch.compiler.is_compiling() and is_traced_here():
            if self._maps:
                return self._through_plain(args, kwargs)
            call = self._compiled_call(args, kwargs)
        else:
            # The fast path: a known form of call, and no mode, map or result type.
            call = self._calls.get(self._form(args, kwargs))
        if call is not None:
            return call(args, kwargs)
        return self._first_call(args, kwargs)

    def _compiled_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """The call of this form for torch.compile, or None where the arguments' kinds do not tell it."""
        if self._result is not None or _RESULT in kwargs:
            return None
        kinds = tuple([args_.sized_kind_of(each, self._sizes) for each in (*args, *kwargs.values())])
        learnt = _learn(self._number, kinds, tuple(kwargs))
        found: Call | None = getattr(self, learnt) if learnt else None
        return found

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while a mode, such as a recording, watches torch: the mode must see the operator only."""
        if self._maps:
            return self._through_plain(args, kwargs)
        result = kwargs.pop(_RESULT, self._result)
        with torch._C.DisableTorchFunction():
            call = self._resolve(args, kwargs)
        outputs = call.watched(args, kwargs)
        return outputs if result is None else _as_wanted(call.operation.spec.function, outputs, result)

    def _first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a new form, or one that is not on the fast path; torch.compile does not trace into it."""
        result = kwargs.pop(_RESULT, self._result)
        if is_slangpys(args, kwargs, result):
            return self._slangpy("__call__", args, kwargs, result)
        if self._maps:
            return self._through_plain(args, kwargs, result)
        call = self._resolve(args, kwargs)
        outputs = call(args, kwargs)
        return outputs if result is None else _as_wanted(call.operation.spec.function, outputs, result)

    def _through_plain(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any = None) -> Any:
        """A mapped call: moves the axes, and calls the function without a map."""
        result = kwargs.pop(_RESULT, self._result) if result is None else result
        mapped = place_axes(self._choose(args, kwargs), self._maps)
        if result is not None:
            mapped[_RESULT] = result
        return self.module[self.name](**mapped)

    @staticmethod
    def _form(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The key of a form of call: dtypes of tensors, and types of other arguments."""
        kind_of, tensor = args_.kind_of, torch.Tensor
        form = [each.dtype if type(each) is tensor else kind_of(each) for each in args]
        for name, each in kwargs.items():
            form.append(name)
            form.append(each.dtype if type(each) is tensor else kind_of(each))
        return tuple(form)

    def _sized_form(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The same for a generic function whose types depend on the last sizes too."""
        sized, sizes = args_.sized_kind_of, self._sizes
        return (*(sized(each, sizes) for each in args), *((name, sized(each, sizes)) for name, each in kwargs.items()))

    def _resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The call of this form, from memory if it was met before."""
        if self._maps or self._result is not None:
            return self._make_call(args, kwargs)
        form = self._form(args, kwargs)
        if (found := self._calls.get(form)) is None:
            found = self._calls[form] = self._make_call(args, kwargs)
        return found

    def _make_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        function, bound = self._choose(args, kwargs)
        args_.check_result(function)
        kinds = tuple(args_.argument_kind(function, parameter, bound) for parameter in function.parameters)
        operation = self.module.operation(Specialization(function, kinds))
        return Call(operation, len(args), bound)

    def _choose(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Chosen:
        program = self.module.program
        return choose(self.signatures, args, kwargs, program.specialize, program.type_named)

    def bwds(self, *args: Any, **kwargs: Any) -> None:
        """Runs the backward function, as SlangPy does: reads the outputs' `.grad`, adds to the inputs' `.grad`.

        Args:
            *args: as for the forward call.
            **kwargs: as for the forward call; `_result` is the tensor whose `.grad` comes back.

        Raises:
            SlangArgumentError: an output has no gradient.
            NotDifferentiableError: the function has no `[Differentiable]`.
        """
        result = kwargs.pop(_RESULT, None)
        if is_slangpys(args, kwargs, result):
            self._slangpy("bwds", args, kwargs, result)
            return
        if self._maps:
            args, kwargs = (), place_axes(self._choose(args, kwargs), self._maps)
        self._resolve(args, kwargs).backward(args, kwargs, result)

    def return_type(self, wanted: Any) -> SlangFunction:
        """This function, returning its result as another type: `torch.Tensor`, `numpy.ndarray`, SlangPy's `Tensor`."""
        return SlangFunction(self.module, self.name, self.signatures, maps=self._maps, result=wanted)

    def map(self, *args: Any, **kwargs: Sequence[int]) -> SlangFunction:
        """This function with the axes of some arguments placed by hand instead of aligned from the last.

        Args:
            *args: for each parameter in order, to which axis of the call each of its own axes belongs.
            **kwargs: the same by name.

        Raises:
            SlangArgumentError: there is no such parameter, or a map does not place axes.
        """
        names = [parameter.name for parameter in self.signatures[0].parameters]
        known = {parameter.name for each in self.signatures for parameter in each.parameters}
        if len(args) > len(names) or not known.issuperset(kwargs):
            got = f"{len(args)} maps" if len(args) > len(names) else sorted(set(kwargs) - known)
            raise SlangArgumentError("a map for no parameter", where=str(self.signatures[0]), got=got, expected=names)
        maps = {**self._maps, **dict(zip(names, args, strict=False)), **kwargs}
        check_maps(self.signatures[0], maps)
        return SlangFunction(self.module, self.name, self.signatures, maps=maps, result=self._result)

    def kernel(self, *args: Any, **kwargs: Any) -> SlangKernel:
        """The kernel of this function, as an archive holds it.

        Args:
            *args: example arguments, which fix the kinds and generic types; none at all: a tensor for each parameter.
            **kwargs: the same by name.
        """
        if args or kwargs:
            return kernel_of(self._resolve(args, kwargs).operation)
        function = self.signatures[0]
        args_.check_result(function)
        kinds = tuple(args_.argument_kind(function, p, dict.fromkeys([p.name])) for p in function.parameters)
        return kernel_of(self.module.operation(Specialization(function, kinds)))

    def operation(self, *args: Any, **kwargs: Any) -> Operation:
        """The operation that a call with these arguments runs."""
        return self._resolve(args, kwargs).operation

    def _slangpy(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
        """Leaves the call to SlangPy's own functional API."""
        device = next(filter(None, map(device_of, (*args, *kwargs.values(), result))), None)
        backward, sizes = method == "bwds", sizes_of((*args, *kwargs.values(), result))
        if backward:
            check_gradients(self.module.program, self.signatures)
        module = self.module.slangpy_module(device, backward=backward, sizes=sizes)
        function: Any = slangpy_function(module, self.name)
        if self.signatures[0].is_method and not args:  # SlangPy takes the struct by position only
            args, kwargs = [kwargs[THIS]], {name: each for name, each in kwargs.items() if name != THIS}
        function = function.map(**self._maps) if self._maps else function
        if isinstance(result, type):
            function, result = function.return_type(result), None
        lent = Shared(device or self.module.slangpy_module().device, backward, self.signatures)
        args, kwargs, filled = lent.arguments(args, kwargs, result)
        extra = {} if result is None else {_RESULT: filled}
        found = (function.bwds if backward else function)(*args, **kwargs, **extra)
        lent.give_back()
        return result if isinstance(result, torch.Tensor) else found


def _function_again(module: Home, name: str, maps: dict[str, Sequence[int]], result: Any) -> SlangFunction:
    function: SlangFunction = module[name]
    if not maps and result is None:
        return function
    return SlangFunction(module, name, function.signatures, maps=maps, result=result)


_functions: list[weakref.ref[SlangFunction]] = []


def _learn(number: int, kinds: tuple[Any, ...], names: tuple[str, ...]) -> str:
    """Makes the call of a form that torch.compile meets first, while it compiles.

    torch.compile runs this for real and takes the answer as a constant, so everything here is one.

    Args:
        number: the number of the function.
        kinds: the kinds of the arguments, see `arguments.sized_kind_of`.
        names: the names of the last arguments, which were passed by name.

    Returns:
        The attribute of the function that holds the call; "" where the kinds do not tell enough, or nothing fits.
    """
    function = _functions[number]() if number < len(_functions) else None
    values = [args_.stand_in(kind) for kind in kinds]
    if function is None or any(value is None for value in values):
        return ""
    positional = len(values) - len(names)
    try:
        call = function._resolve(tuple(values[:positional]), dict(zip(names, values[positional:], strict=True)))
    except SlangArgumentError:
        return ""  # the call itself raises the error
    attribute = f"_call_{id(call)}"
    setattr(function, attribute, call)
    return attribute


# What torch.compiler.assume_constant_result does, without its import of torch._dynamo (1 s).
# Mypy does not know the attribute, which is set dynamically.
_learn._dynamo_marked_constant = True  # type: ignore[attr-defined]


# What torch.compiler.disable does, without its import of torch._dynamo (1 s).
# Mypy does not know the attribute, which is set dynamically.
SlangFunction._first_call._torchdynamo_disable = True  # type: ignore[attr-defined]


def _as_wanted(function: FunctionType, outputs: Any, wanted: Any) -> Any:
    """Writes a result into the tensor that was given for it, or converts it to the requested type."""
    if isinstance(wanted, (torch.Tensor, np.ndarray)):
        fill(wanted, torch.as_tensor(outputs), _RESULT, str(function))
        return wanted
    kind = (getattr(wanted, "__module__", ""), getattr(wanted, "__qualname__", ""))
    name = wanted if isinstance(wanted, str) else ".".join(kind)
    if name not in ("numpy", "numpy.ndarray", "tensor", "torch.Tensor"):
        raise SlangArgumentError(
            "no results of this kind",
            where=str(function),
            got=repr(wanted),
            expected="a tensor to fill, 'tensor' or 'numpy'",
        )
    made = torch.as_tensor(outputs)
    return made.detach().cpu().numpy() if "numpy" in name else made
