"""Attributes of a module that are no functions: types, structs with their methods, and namespaces.

`module.n.P.f` is the Slang name `n::P::f`; each step asks the module for the longer name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .binding.instances import SlangInstance
from .compile.reflection import CONSTRUCTOR
from .function import Home, SlangFunction
from .language.errors import SlangArgumentError, UnknownFunctionError
from .language.types import SlangType

if TYPE_CHECKING:
    import torch

    from .kernel import SlangKernel
    from .launch.operation import Operation


class SlangNamespace:
    """A namespace of a module; its declarations are attributes.

    Args:
        module: the module that declares it.
        name: its full name, `n::m`.

    Example:
        >>> from tracepack.ops.slang import load
        >>> load("namespace n { float twice(float x) { return 2 * x; } }").n.twice(3.0)
        6.0
    """

    _fix = ""

    def __init__(self, module: Home, name: str) -> None:
        self._module, self._name = module, name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}: {', '.join(dir(self)) or 'nothing in it'}>"

    def __str__(self) -> str:
        return self._name

    def __dir__(self) -> list[str]:
        prefix = f"{self._name.partition('<')[0]}::"
        inside = (name.removeprefix(prefix) for name in self._module.program.members if name.startswith(prefix))
        return sorted(name for name in inside if "::" not in name and not name.startswith("__"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != CONSTRUCTOR:
            raise AttributeError(name)
        try:
            return self._module[f"{self._name}::{name}"]
        except UnknownFunctionError:
            raise UnknownFunctionError(
                f"no {name!r} in {self._name!r} of the Slang module {self._module.program.source.name!r}",
                expected=f"one of {dir(self)}",
                fix=self._fix,
            ) from None

    def __getitem__(self, name: str) -> Any:
        """What it declares by name, or a generic one with its arguments, `module.n["f<float>"]`."""
        return getattr(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self._module).__getitem__, (self._module, self._name)

    def __deepcopy__(self, memo: dict[int, Any]) -> SlangNamespace:
        return self


class SlangStruct(SlangNamespace):
    """A struct of a module: called, it makes an instance; its methods and static functions are its attributes.

    A method called on the struct takes the instance, or a dict, first: `module.P.f(p, x)` is `p.f(x)`.

    Args:
        module: the module that declares it.
        name: its full name, with generic arguments if it has any.
        type_: its fields.

    Example:
        >>> import torch
        >>> from tracepack.ops.slang import load
        >>> module = load("struct Line { float a; float b; float at(float x) { return a * x + b; } };")
        >>> module.Line({"a": 2.0, "b": 1.0}).at(torch.tensor([0.0, 1.0]))
        tensor([1., 3.])
    """

    _fix = "Slang does not find by name what an extension adds: write it in the struct."

    def __init__(self, module: Home, name: str, type_: SlangType) -> None:
        super().__init__(module, name)
        self.type = type_

    def __call__(self, *args: Any, **kwargs: Any) -> SlangInstance:
        """An instance.

        Args:
            *args: a dict of all fields; else what the constructor takes, or the fields in order where there is none.
            **kwargs: the same by name.

        Raises:
            SlangArgumentError: these are neither the fields nor what a constructor takes.
        """
        if len(args) == 1 and not kwargs and isinstance(args[0], dict):
            return self._instance(args[0])
        if self._module.program.source.declares_constructor(self._name):
            made = self._module[f"{self._name}::{CONSTRUCTOR}"](*args, **kwargs)
            return self._instance(made)
        names = [field.name for field in self.type.fields]
        if len(args) > len(names) or set(names[: len(args)]) & set(kwargs):
            raise SlangArgumentError(
                "too many fields", where=f"struct {self._name}", got=len(args) + len(kwargs), expected=names
            )
        return self._instance({**dict(zip(names, args, strict=False)), **kwargs})

    def slangpy(self, device: Any = None) -> Any:
        """SlangPy's own type of this struct, for the elements of its tensors: `dtype=module.P.slangpy()`."""
        return self._module.slangpy_module(device).require_struct(self._name)

    def _instance(self, fields: Any) -> SlangInstance:
        return SlangInstance(self.type, fields, self._method)

    def _method(self, instance: SlangInstance, name: str) -> Any:
        function: Any = getattr(self, name)
        if not isinstance(function, SlangFunction) or not function.signatures[0].is_method:
            return function
        return BoundMethod(function, instance)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self._module).__getitem__, (self._module, self._name)


class BoundMethod:
    """A method of an instance: a `SlangFunction` whose first argument is given.

    Args:
        function: the method, as an attribute of its struct.
        instance: the value on which it is called.

    Example:
        >>> import torch
        >>> from tracepack.ops.slang import load
        >>> module = load("struct Scale { float by; float of(float x) { return by * x; } };")
        >>> module.Scale(by=2.0).of.map(x=(0,))(torch.ones(3))
        tensor([2., 2., 2.])
    """

    def __init__(self, function: SlangFunction, instance: SlangInstance) -> None:
        self._function, self._instance = function, instance
        self.__name__, self.signatures = function.__name__, function.signatures

    def __repr__(self) -> str:
        return f"<{self._function!r} of {self._instance!r}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the method, see `SlangFunction`."""
        return self._function(self._instance, *args, **kwargs)

    def __getitem__(self, arguments: Any) -> BoundMethod:
        """A generic method with its arguments."""
        return BoundMethod(self._function[arguments], self._instance)

    def bwds(self, /, *args: Any, **kwargs: Any) -> None:
        """Runs the backward function, see `SlangFunction.bwds`; the instance's fields get gradients too."""
        self._function.bwds(self._instance, *args, **kwargs)

    def map(self, *args: Any, **kwargs: Any) -> BoundMethod:
        """The method with the axes of its arguments placed by hand, see `SlangFunction.map`."""
        names = [parameter.name for parameter in self.signatures[0].parameters[1:]]
        mapped = self._function.map(**{**dict(zip(names, args, strict=False)), **kwargs})
        return BoundMethod(mapped, self._instance)

    def return_type(self, wanted: Any) -> BoundMethod:
        """The method, returning its result as another type, see `SlangFunction.return_type`."""
        return BoundMethod(self._function.return_type(wanted), self._instance)

    def kernel(self, /, *args: Any, **kwargs: Any) -> SlangKernel:
        """The kernel of the method, whose first inputs are the fields, see `SlangFunction.kernel`."""
        return self._function.kernel(self._instance, *args, **kwargs)

    def operation(self, /, *args: Any, **kwargs: Any) -> Operation:
        """The operation that a call with these arguments runs."""
        return self._function.operation(self._instance, *args, **kwargs)


class BuiltinType(str):
    """A type of Slang's own: its name, which is what SlangPy takes for the elements of a tensor.

    Example:
        >>> from tracepack.ops.slang import load
        >>> float3 = load("float f(float x) { return x; }").float3
        >>> float3, float3.dtype, float3.shape
        ('float3', torch.float32, (3,))
        >>> float3(1, 2, 3)
        tensor([1., 2., 3.])
    """

    type: SlangType

    def __new__(cls, name: str, type_: SlangType) -> BuiltinType:
        """The name, with what Slang says of the type."""
        made = super().__new__(cls, name)
        made.type = type_
        return made

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of its tensors."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The last sizes of its tensors."""
        return self.type.shape

    def __call__(self, *values: Any) -> torch.Tensor:
        """A tensor of it from one number for each component, or from nested numbers.

        Raises:
            SlangArgumentError: the numbers are more or fewer.
        """
        import torch

        try:
            found = torch.tensor(values[0] if len(values) == 1 else values, dtype=self.dtype)
            return found.reshape(self.shape) if found.numel() == self.type.numel else found.expand(self.shape)
        except (RuntimeError, TypeError, ValueError) as error:
            raise SlangArgumentError(
                f"no {self} can be made of these", got=error, expected=f"{self.type.numel} numbers"
            ) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return BuiltinType, (str(self), self.type)
