"""The kernel of a comprehension: text, constants in place, gradient and tuned options as plain data and assets.

Compiled libraries may travel as assets, tagged with instruction set and source. They are code, so `build` uses them
only with `trust=True`; otherwise the machine's compiler makes them again, and without one the kernel runs on torch's
operators and says so once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..graph.kernel import Kernel, Plain
from .cpp.emitter import CppEmitter
from .expr.errors import ComprehensionInputError, OptionsError
from .expr.ir import Definition
from .program.specialise import specialise
from .run.select import Artifacts, artifact_key
from .schedule.options import Options

TEXT = "comprehension.tc"
ARTIFACT = "artifact/"


class Packable(Protocol):
    """What a layer has that its kernel packs."""

    name: str
    text: str
    operator: str
    gather: str
    device: str | None
    backward_name: str | None
    as_list: bool
    reordered: tuple[str, ...] | None
    definition: Definition

    @property
    def tuned(self) -> dict[str, list[Options]]:
        """Options by shapes."""

    def kernel(self) -> ComprehensionKernel:
        """The kernel that packs it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs it."""


class ComprehensionKernel(Kernel):
    """A layer as something that an archive can hold.

    Args:
        layer: the layer to pack.
        with_artifacts: also pack the compiled libraries of tuned sizes.
    """

    kind: ClassVar[str] = "comprehension"
    own_check: ClassVar[bool] = True
    layer_of: ClassVar[Callable[[Mapping[str, Any], str, dict[str, list[Options]], Artifacts], Packable]]
    """Makes a layer of a description, its text, its options and its artifacts; the layer's module hands it in."""

    def __init__(self, layer: Packable, with_artifacts: bool = False) -> None:
        self.layer, self.with_artifacts = layer, with_artifacts

    @property
    def tells_sizes(self) -> bool:
        """True: an operator of torch stands for it there."""
        return True

    @property
    def writes(self) -> bool:
        """No: its outputs are new."""
        return False

    @property
    def name(self) -> str:
        """The forward's name."""
        return self.layer.name

    @property
    def operator(self) -> str:
        """The operator of `torch.library` that runs it."""
        return self.layer.operator

    def description(self) -> dict[str, Plain]:
        """The data that decides the results, and the options by sizes."""
        tuned: dict[str, Plain] = {k: [o.to_plain() for o in v] for k, v in sorted(self.layer.tuned.items())}
        return {
            "name": self.layer.name,
            "backward": self.layer.backward_name,
            "gather": self.layer.gather,
            "tuned": tuned,
            **({"device": self.layer.device} if self.layer.device else {}),
            **({"list": True} if self.layer.as_list else {}),
            **({"reorder": list(self.layer.reordered)} if self.layer.reordered is not None else {}),
        }

    def assets(self) -> dict[str, bytes]:
        """The text, and compiled libraries where asked for."""
        found = {TEXT: self.layer.text.encode()}
        if self.with_artifacts:
            found.update(self._artifacts())
        return found

    def _artifacts(self) -> dict[str, bytes]:
        """The forward's library for each tuned size whose best options are generated code."""
        found = {}
        for key, options in sorted(self.layer.tuned.items()):
            if options[0].schedule is None or ":" in key:
                continue
            shapes = [tuple(int(n) for n in s.split("x")) if s else () for s in key.split(",")]
            program = specialise(self.layer.definition, shapes)
            emitter = CppEmitter(program, options[0].schedule, self.layer.gather == "clamp")
            found[ARTIFACT + artifact_key(emitter.generated.text) + ".so"] = emitter.path.read_bytes()
        return found

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> ComprehensionKernel:
        """Makes the kernel again; nothing is compiled before the first call, and no library is loaded.

        Raises:
            ComprehensionInputError: the text is missing.
        """
        return cls._built(description, assets, Artifacts())

    @classmethod
    def build_trusted(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> ComprehensionKernel:
        """Like `build`; compiled libraries among the assets are used where their tag fits, and Slang on GPUs."""
        return cls._built(description, assets, Artifacts(_unpacked(assets), trusted=True))

    @classmethod
    def _built(
        cls, description: Mapping[str, Any], assets: Mapping[str, bytes], artifacts: Artifacts
    ) -> ComprehensionKernel:
        packed = _checked(description)
        if TEXT not in assets:
            raise ComprehensionInputError(f"the asset '{TEXT}' is missing", where=packed["name"])
        try:
            text = bytes(assets[TEXT]).decode()
        except UnicodeDecodeError as error:
            raise ComprehensionInputError(f"the asset '{TEXT}' is no UTF-8", where=packed["name"]) from error
        kernel = cls.layer_of(packed, text, _options(packed["tuned"]), artifacts).kernel()
        kernel.with_artifacts = any(name.startswith(ARTIFACT) for name in assets)
        return kernel

    def cost(self, *args: Any) -> tuple[int, int]:
        """The elements that all statements compute one by one, and the bytes of all that they write."""
        program = specialise(self.layer.definition, [tuple(arg.shape) for arg in args])
        kinds = [program.tensors[nest.target] for nest in program.nests]
        return program.steps, sum(prod(kind.shape) * kind.dtype.bits // 8 for kind in kinds)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the layer; several outputs come as a list."""
        return self.layer(*args, **kwargs)


_FIELDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "backward": (str, type(None)),
    "gather": (str,),
    "tuned": (dict,),
    "device": (str, type(None)),
    "list": (bool, type(None)),
    "reorder": (list, type(None)),
}
"""The fields of a description, which comes from a file, and their types."""


def _checked(description: Mapping[str, Any]) -> dict[str, Any]:
    """The description with every field of its type; other fields are of versions to come.

    Raises:
        ComprehensionInputError: a field is missing or of another type.
    """
    found = {name: description.get(name) for name in _FIELDS}
    for name, kinds in _FIELDS.items():
        if not isinstance(found[name], kinds):
            raise ComprehensionInputError(
                f"a packed comprehension has no '{name}'",
                got=type(found[name]).__name__,
                expected=" or ".join(k.__name__ for k in kinds),
            )
    if not all(isinstance(name, str) for name in found["reorder"] or ()):
        raise ComprehensionInputError("a packed comprehension reorders other things than names", got=found["reorder"])
    return found | {"list": bool(found["list"])}


def _options(tuned: Mapping[object, object]) -> dict[str, list[Options]]:
    """The options by sizes.

    Raises:
        OptionsError: they are no options, or more than those of the forward and the backward.
    """
    found: dict[str, list[Options]] = {}
    for key, options in tuned.items():
        if not isinstance(key, str) or not isinstance(options, list) or not 1 <= len(options) <= 2:
            raise OptionsError("the options of a size are no list of one or two", got=type(options).__name__)
        found[key] = [Options.from_plain(o) for o in options]
    return found


def _unpacked(assets: Mapping[str, bytes]) -> dict[str, Path]:
    """Compiled libraries as files, which the loader needs; they go with the process.

    There are none where nothing can be written: what runs without them is slower, and right.
    """
    found: dict[str, Path] = {}
    names = [n for n in assets if n.startswith(ARTIFACT) and n.endswith(".so")]
    if not names:
        return found
    try:
        folder = tempfile.TemporaryDirectory(prefix="tracepack-")
        _FOLDERS.append(folder)
        for number, name in enumerate(names):
            path = Path(folder.name) / f"{number}.so"
            path.write_bytes(assets[name])
            found[name[len(ARTIFACT) : -len(".so")]] = path
    except OSError:
        return {}
    return found


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
