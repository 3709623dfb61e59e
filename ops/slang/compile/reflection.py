"""Reads the signatures of a compiled Slang source into the plain types of `types.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ctypes import byref, c_void_p
from dataclasses import replace

from ..language.errors import SlangCompileError
from ..language.types import FLOATS, THIS, Direction, Field, FunctionType, Parameter, SlangType, split_name
from .slangc import Request, blob_bytes, library

ANCHOR = "tracepack_anchor"
"""A function that is appended to each reflected source: its parent is the module, which has no other handle."""

# Values of the enumerations in slang.h.
_STRUCT, _ARRAY, _MATRIX, _VECTOR, _SCALAR, _INTERFACE = 1, 2, 3, 4, 5, 13
_NO_DIFF, _STATIC, _DIFFERENTIABLE, _MUTATING, _OUT, _INOUT = 1, 2, 6, 7, 9, 10
_KIND_STRUCT, _KIND_FUNCTION, _KIND_GENERIC, _KIND_NAMESPACE = 1, 2, 4, 6
_KINDS = {_KIND_STRUCT: "struct", _KIND_FUNCTION: "function", _KIND_GENERIC: "generic", _KIND_NAMESPACE: "namespace"}
CONSTRUCTOR = "__init"
"""The name by which a struct's constructor is asked for, as Slang declares it; it is called by the struct's name."""
_SCALAR_NAMES = {
    2: "bool",
    3: "int",
    4: "uint",
    5: "int64_t",
    6: "uint64_t",
    7: "half",
    8: "float",
    9: "double",
    10: "int8_t",
    11: "uint8_t",
    12: "int16_t",
    13: "uint16_t",
}
_WORDS = frozenset(
    "__init associatedtype bwd_diff column_major countof dyn extension func fwd_diff implementing import in internal "
    "let module new no_diff none nullptr out override payload precise private property public row_major sample shared "
    "sizeof snorm this try typealias uniform unorm var".split()
)
"""Words by which Slang finds no function, though it takes them as names: what it answers crashes when it is read."""
_WITHOUT_FIELDS = re.compile(r"(?:String|NativeString|Differential\w*Pair<.*>)$")
"""Structs of Slang's own that show neither their fields nor those of their memory."""
_VIEW = re.compile(r"^(?:slangpy\.)?(?P<base>I?(?P<access>RW|W)?(?P<diff>Diff|Primal)?Tensor)<(?P<rest>.+)>$")


def _hidden(name: str, what: str) -> SlangCompileError:
    return SlangCompileError(
        f"Slang has generic functions {name!r} of its own, and {what}", fix="Give yours another name."
    )


class Reflection:
    """The functions and types of one compiled request.

    Args:
        request: entered, and not yet left; the source ends with a function named `ANCHOR`.
    """

    def __init__(self, request: Request) -> None:
        self._lib = library()
        self._root = self._lib.spGetReflection(request.pointer)
        self._differentiable = self._lib.spReflection_FindTypeByName(self._root, b"IDifferentiable")
        anchor = self._lib.spReflection_FindFunctionByName(self._root, ANCHOR.encode())
        self._module = self._lib.spReflectionDecl_getParent(self._lib.spReflectionFunction_asDecl(anchor))

    def functions(self) -> dict[str, list[FunctionType]]:
        """The overloads of every function that the source declares, by name."""
        declared: dict[str, list[int]] = {}
        for name, child in self._declarations((_KIND_FUNCTION, _KIND_GENERIC)):
            declared.setdefault(name, []).append(child)
        found = {
            name: [self._function(name, overload) for overload in self._declared(name, children)]
            for name, children in declared.items()
            if name != ANCHOR
        }
        return {name: overloads for name, overloads in found.items() if overloads}

    def _declared(self, name: str, children: list[int]) -> list[int]:
        """The functions of one name; a single one is found without asking by its name, which may be a word of Slang's.

        Raises:
            SlangCompileError: it can be found by its name only, and is such a word.
        """
        only = self._lib.spReflectionDecl_castToFunction(children[0]) if len(children) == 1 else None
        if only and name != "no_diff":
            return [only]
        if name in _WORDS:
            raise SlangCompileError(
                f"a function named {name!r}, which is a word of Slang's own, is found neither by its overloads "
                "nor as a generic",
                fix="Give it another name.",
            )
        function = self._lib.spReflection_FindFunctionByName(self._root, name.encode())
        return list(self._overloads(function)) if function else []

    def globals(self) -> list[str]:
        """The global shader parameters of the source and of what it imports."""
        lib = self._lib
        parameters = (
            lib.spReflection_GetParameterByIndex(self._root, index)
            for index in range(lib.spReflection_GetParameterCount(self._root))
        )
        return [
            lib.spReflectionVariable_GetName(lib.spReflectionVariableLayout_GetVariable(p)).decode() for p in parameters
        ]

    def members(self) -> dict[str, str]:
        """What the source declares, and what is in its structs and namespaces: the kind of each, by its full name."""
        found: dict[str, str] = {}
        self._collect(self._module, "", found)
        return found

    def _collect(self, parent: int, prefix: str, found: dict[str, str]) -> None:
        lib = self._lib
        for index in range(lib.spReflectionDecl_getChildrenCount(parent)):
            child = lib.spReflectionDecl_getChild(parent, index)
            kind = _KINDS.get(lib.spReflectionDecl_getKind(child), "")
            name = (lib.spReflectionDecl_getName(child) or b"").decode()
            if not kind or not name.isidentifier() or name == ANCHOR:
                continue
            found[prefix + name] = kind
            if kind in ("struct", "namespace"):
                self._collect(child, f"{prefix}{name}::", found)

    def find(self, name: str) -> list[FunctionType]:
        """The overloads of a function by its full name: `f<8, 5>`, `n::f`, of a struct `P::f`, `P::__init`."""
        owner, own = split_name(name)
        struct = self._struct_named(owner)
        if struct and own == CONSTRUCTOR:
            function = self._lib.spReflection_FindFunctionByNameInType(self._root, struct, b"$init")
        else:
            function = self._lib.spReflection_FindFunctionByName(self._root, name.encode())
        if not function:
            self._refuse_hidden(name, own)
            return []
        concrete, type_ = "<" in name, self._type(struct) if struct else None
        if type_ and own == CONSTRUCTOR:
            return [self._function(owner, each, concrete=concrete, result=type_) for each in self._each(function)]
        found = [self._function(name, each, concrete=concrete) for each in self._each(function)]
        if type_ is None:
            return found
        return [self._method(type_, *both) for both in zip(self._each(function), found, strict=True)]

    def _refuse_hidden(self, name: str, own: str) -> None:
        """Refuses a generic of the module by its types, `mul<float>`, where Slang has generics of its name as well."""
        generic, bracket, _ = own.partition("<")
        function = self._lib.spReflection_FindFunctionByName(self._root, generic.encode()) if bracket else None
        if (
            function
            and name == own
            and not self._is_all_users(function)
            and any(map(self._is_users, self._each(function)))
        ):
            raise _hidden(generic, f"finds no {name} among them")

    def _struct_named(self, name: str) -> int:
        """The pointer of a type, 0 where there is none."""
        return (self._lib.spReflection_FindTypeByName(self._root, name.encode()) or 0) if name else 0

    def _method(self, struct: SlangType, function: int, found: FunctionType) -> FunctionType:
        """A function of a struct, with the struct as its first parameter unless it is static."""
        if self._lib.spReflectionFunction_FindModifier(function, _STATIC):
            return found
        changes = self._lib.spReflectionFunction_FindModifier(function, _MUTATING)
        this = Parameter(THIS, struct, "inout" if changes else "in", struct.differentiable)
        return replace(found, parameters=(this, *found.parameters))

    def specialize(self, name: str, argument_types: Sequence[str]) -> FunctionType | None:
        """The concrete signature of a generic function for these argument types, or None."""
        types = [self._lib.spReflection_FindTypeByName(self._root, each.encode()) for each in argument_types]
        if not all(types):
            return None
        function = self._lib.spReflection_FindFunctionByName(self._root, name.encode())
        owner, _ = split_name(name)
        struct = self._struct_named(owner)
        is_method = bool(struct) and not self._lib.spReflectionFunction_FindModifier(function, _STATIC)
        own = types[1:] if is_method else types
        concrete = self._specialized(function, own)
        if not owner and not self._is_all_users(function):
            if concrete and not self._is_users(concrete):
                raise _hidden(name, f"takes its own for {', '.join(argument_types)}")
            # Where none is better, the kernel's call finds the module's first; here Slang finds none.
            users = filter(self._is_users, self._each(function))
            concrete = concrete or next(filter(None, (self._specialized(user, own) for user in users)), None)
        if not concrete:
            return None
        found = self._function(name, concrete, concrete=True)
        return self._method(self._type(struct), concrete, found) if is_method else found

    def _specialized(self, function: int, types: Sequence[int]) -> int | None:
        array = (c_void_p * len(types))(*types)
        found: int | None = self._lib.spReflectionFunction_specializeWithArgTypes(function, len(types), array)
        return found

    def _is_all_users(self, function: int) -> bool:
        each = self._each(function)
        return len(each) == 1 or all(map(self._is_users, each))

    def type_named(self, name: str) -> SlangType | None:
        """A type by the name that Slang code would write."""
        found = self._lib.spReflection_FindTypeByName(self._root, name.encode())
        return self._type(found) if found else None

    def _each(self, function: int) -> list[int]:
        """The overloads of a function, itself where it has none."""
        if not self._lib.spReflectionFunction_isOverloaded(function):
            return [function]
        count = self._lib.spReflectionFunction_getOverloadCount(function)
        return [self._lib.spReflectionFunction_getOverload(function, index) for index in range(count)]

    def _declarations(self, kinds: tuple[int, ...]) -> Iterator[tuple[str, int]]:
        lib = self._lib
        for index in range(lib.spReflectionDecl_getChildrenCount(self._module)):
            child = lib.spReflectionDecl_getChild(self._module, index)
            name = lib.spReflectionDecl_getName(child)
            if name and lib.spReflectionDecl_getKind(child) in kinds:
                yield name.decode(), child

    def _overloads(self, function: int) -> Iterator[int]:
        """The overloads that the source declares; Slang's own, of `step` for one, are among those it gives."""
        each = self._each(function)
        yield from each if len(each) == 1 else filter(self._is_users, each)

    def _is_users(self, function: int) -> bool:
        parent = self._lib.spReflectionDecl_getParent(self._lib.spReflectionFunction_asDecl(function))
        if parent == self._module:
            return True
        is_generic = parent and self._lib.spReflectionDecl_getKind(parent) == _KIND_GENERIC
        return bool(is_generic and self._lib.spReflectionDecl_getParent(parent) == self._module)

    def _function(
        self, name: str, function: int, *, concrete: bool = False, result: SlangType | None = None
    ) -> FunctionType:
        """A signature; the result of a constructor, which Slang has no answer for, is given."""
        lib = self._lib
        # Asking a generic type for its size ends the process, so its types stay names.
        generic = not concrete and bool(lib.spReflectionFunction_GetGenericContainer(function))
        result = result or self._any_type(lib.spReflectionFunction_GetResultType(function), generic)
        parameters = tuple(
            self._parameter(lib.spReflectionFunction_GetParameter(function, index), generic)
            for index in range(lib.spReflectionFunction_GetParameterCount(function))
        )
        differentiable = bool(lib.spReflectionFunction_FindModifier(function, _DIFFERENTIABLE))
        return FunctionType(name, parameters, result, differentiable, generic)

    def _parameter(self, variable: int, generic: bool) -> Parameter:
        lib = self._lib
        type_ = self._any_type(lib.spReflectionVariable_GetType(variable), generic)
        direction: Direction = "in"
        if lib.spReflectionVariable_FindModifier(variable, _OUT):
            direction = "inout" if lib.spReflectionVariable_FindModifier(variable, _INOUT) else "out"
        no_diff = bool(lib.spReflectionVariable_FindModifier(variable, _NO_DIFF))
        name = lib.spReflectionVariable_GetName(variable).decode()
        has_default = bool(lib.spReflectionVariable_HasDefaultValue(variable))
        return Parameter(name, type_, direction, type_.differentiable and not no_diff, has_default)

    def _full_name(self, pointer: int) -> str:
        blob = c_void_p()
        self._lib.spReflectionType_GetFullName(pointer, byref(blob))
        return blob_bytes(blob).decode()

    def _any_type(self, pointer: int, generic: bool) -> SlangType:
        return SlangType("opaque", self._full_name(pointer)) if generic else self._type(pointer)

    def _type(self, pointer: int) -> SlangType:
        name = self._full_name(pointer)
        kind = self._lib.spReflectionType_GetKind(pointer)
        view = _VIEW.match(name)
        if view and kind in (_STRUCT, _INTERFACE):
            return self._view(name, view)
        differentiable = bool(self._lib.spReflection_isSubType(self._root, pointer, self._differentiable))
        if kind in (_SCALAR, _VECTOR, _MATRIX):
            return self._numeric(pointer, kind, name, differentiable)
        if kind == _ARRAY:
            return self._array(pointer, name, differentiable)
        if kind == _STRUCT:
            return self._struct(pointer, name, differentiable)
        return SlangType("opaque", name)

    def _numeric(self, pointer: int, kind: int, name: str, differentiable: bool) -> SlangType:
        lib = self._lib
        scalar = _SCALAR_NAMES.get(lib.spReflectionType_GetScalarType(pointer), "")
        if not scalar:
            return SlangType("void" if name == "void" else "opaque", name)
        rows, columns = lib.spReflectionType_GetRowCount(pointer), lib.spReflectionType_GetColumnCount(pointer)
        differentiable = differentiable and scalar in FLOATS
        if kind == _MATRIX:
            return SlangType("matrix", name, scalar, (rows, columns), differentiable=differentiable)
        if kind == _VECTOR:
            return SlangType("vector", name, scalar, (columns,), differentiable=differentiable)
        return SlangType("scalar", scalar, scalar, differentiable=differentiable)

    def _array(self, pointer: int, name: str, differentiable: bool) -> SlangType:
        element = self._type(self._lib.spReflectionType_GetElementType(pointer))
        count = self._lib.spReflectionType_GetElementCount(pointer)
        if element.kind in ("view", "opaque", "void") or not 0 < count < 1 << 20:
            return SlangType("opaque", name)
        if element.kind == "struct":
            return replace(element, name=name, shape=(count, *element.shape), differentiable=differentiable)
        shape = (count, *element.shape)
        return SlangType("array", name, element.scalar, shape, differentiable=differentiable)

    def _struct(self, pointer: int, name: str, differentiable: bool) -> SlangType:
        lib = self._lib
        fields = []
        if self._hides_fields(pointer, name):
            return SlangType("opaque", name)
        for index in range(lib.spReflectionType_GetFieldCount(pointer)):
            field = lib.spReflectionType_GetFieldByIndex(pointer, index)
            type_ = self._type(lib.spReflectionVariable_GetType(field))
            if type_.kind in ("opaque", "view"):
                return SlangType("opaque", name)
            no_diff = bool(lib.spReflectionVariable_FindModifier(field, _NO_DIFF))
            field_name = lib.spReflectionVariable_GetName(field).decode()
            if not field_name.isidentifier():  # the word that holds fields of some bits each
                return SlangType("opaque", name)
            fields.append(Field(field_name, type_, differentiable and type_.differentiable and not no_diff))
        return SlangType("struct", name, fields=tuple(fields), differentiable=differentiable)

    def _hides_fields(self, pointer: int, name: str) -> bool:
        """Whether a struct has more than the fields that it shows: a tuple, an optional, one that inherits fields."""
        lib = self._lib
        count = lib.spReflectionType_GetFieldCount(pointer)
        layout = lib.spReflection_GetTypeLayout(self._root, pointer, 0)
        hidden = bool(layout) and lib.spReflectionTypeLayout_GetFieldCount(layout) != count
        return hidden or (not count and bool(_WITHOUT_FIELDS.match(name)))

    def _view(self, name: str, match: re.Match[str]) -> SlangType:
        inner, _, rank = match["rest"].rpartition(",")
        element = self.type_named(inner.strip())
        if element is None or not element.scalar or not rank.strip().isdigit():
            return SlangType("opaque", name)
        access = {None: "r", "W": "w", "RW": "rw"}[match["access"]]
        return SlangType(
            "view",
            name,
            element.scalar,
            element.shape,
            (Field("element", element, element.differentiable),),
            int(rank),
            access,
            bool(match["diff"]),
        )
