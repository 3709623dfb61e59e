"""Opens archives: the loading behind `load`, and behind a pipeline that another process unpickles.

Pickle carries a pipeline to a worker: as the path and the hash of its file, or as the bytes of an archive. It goes
through the same checks there as in `load`, on the terms on which it was loaded here: trust is carried, never gained.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..ops.graph.device import Device, parse_device, place
from ..ops.graph.errors import ArchiveError, GoldenMismatchError, shown
from ..ops.graph.frozen_class import frozen_object
from ..ops.graph.graph import Constant, Graph, KernelCall
from ..ops.graph.program import EngineChoice, Program
from ..ops.graph.traverse import every_node
from ..ops.kernels.registry import OPERATOR_PACKAGES
from ..ops.kinds import kernel_class
from ..ops.runtime.interrupts.modes import outside
from ..ops.runtime.interrupts.verbs import undisturbed
from ..ops.runtime.placement import accelerator, check_choices, present
from ..ops.runtime.safety.admission import admit
from ..ops.runtime.user_code import user_stacklevel
from ..serialization.container.archive import Archive
from ..serialization.container.faults import one_error
from ..serialization.container.schema import WEIGHTS
from ..serialization.contents import trusted_build
from ..serialization.program import load_program

if TYPE_CHECKING:
    from .comparing.golden import Report, Runnable

    class Openable(Runnable, Protocol):
        """What opening a file needs of a pipeline."""

        program: Program
        grad: bool
        origin: Origin | None
        _options: dict[str, Any]

        @property
        def stateful(self) -> bool:
            """Whether a run changes what later runs give."""

        def session(self) -> Any:
            """The same pipeline with a state of its own."""

        def state(self) -> dict[str, Any]:
            """Copies of all that runs change."""

        def load_state(self, state: Mapping[str, Any]) -> None:
            """Restores what `state` gave."""

        def _tolerance_of_engines(self) -> float:
            """By how much outputs may differ because of engines; 0 for no more than by rounding."""

        def save(self, path: Any) -> None:
            """Writes the archive."""


ALWAYS_HASHED = 8 << 20  # bytes of weights that are hashed on every load: about 7 ms
VERIFY = ("code", "all", "golden")


@frozen_object
class Terms:
    """On which terms a file is loaded; see `load`."""

    device: Any = None
    trust: bool = False
    verify: str = "code"
    gpu_ops: str = "gpu"
    cpu_ops: str = "cpu"
    convert: bool = False
    grad: bool = False
    budget: Mapping[str, float] | None = None
    signed_by: Any = None
    packages: Sequence[str] = ()


@frozen_object
class Origin:
    """Where a pipeline comes from.

    Attributes:
        archive: the file; of one that is named by a path, its contents may be another file's by now.
        program: what was read from it, which the pipeline has until something else is made of it.
        terms: those of its loading, the keys of signatures as bytes.
    """

    archive: Archive
    program: Program
    terms: Terms


P = TypeVar("P", bound="Openable")


def open_pipeline(make: Callable[..., P], path: Any, terms: Terms, digest: str | None = None) -> P:
    """The pipeline of a file; `load` says what it raises.

    Args:
        make: the class of the pipeline.
        path: the file, its bytes, or a binary file object.
        terms: on which it is loaded.
        digest: the sha256 that its manifest must have.
    """
    if not isinstance(terms.trust, bool):  # "no" is true
        raise ArchiveError("trust is no flag", got=repr(terms.trust), expected="True or False")
    if terms.verify not in VERIFY:
        raise ArchiveError("unknown value of verify", got=repr(terms.verify), expected=f"one of {list(VERIFY)}")
    check_choices(terms.gpu_ops, terms.cpu_ops)
    wanted = None if terms.device is None else parse_device(terms.device, accelerator())
    limited, named = _is_limited(terms.budget), _named(terms.packages, terms.trust)
    archive = Archive(path)
    check_unchanged(archive, digest)
    archive.check_listing()
    keys = None if terms.signed_by is None else _signed(archive, terms.signed_by)
    _check_placement(archive, wanted, terms)
    native = (terms.trust or terms.signed_by is not None) and not terms.grad and not limited
    engines = native and bool(archive.manifest.get("engines"))
    if terms.verify == "code" and not engines:
        _check_weights(archive)
    for name in archive.names() if terms.verify != "code" else ():
        archive.check(name)
    if not native and archive.manifest.get("engines") and not terms.grad:
        _say_left(archive, "its engines keep to no budget" if terms.trust else "its engines need trust=True")
    program = _read(archive, terms, named, engines)
    with one_error(archive.label):
        pipeline = make(
            program, device=wanted, gpu_ops=terms.gpu_ops, cpu_ops=terms.cpu_ops, convert=terms.convert,
            grad=terms.grad, budget=terms.budget,
        )  # fmt: skip
    _warn_of_idle(pipeline, archive, wanted, terms)
    kept = replace(terms, device=wanted, signed_by=keys, packages=tuple(terms.packages))
    pipeline.origin = Origin(archive, program, kept)
    if terms.verify == "golden":
        verify_golden(pipeline, archive).require()
    return pipeline


def _check_weights(archive: Archive) -> None:
    """Compares the hash of the weights where that takes little time."""
    if archive.weights_size() <= ALWAYS_HASHED:
        archive.check(WEIGHTS)


def _read(archive: Archive, terms: Terms, packages: tuple[str, ...], engines: bool) -> Program:
    prepare = _trained_on if terms.grad else _left

    def engaged(choices: Sequence[EngineChoice]) -> None:
        from .optimizing.engaging import start_early  # what few pipelines need is imported by these

        start_early(choices)
        if terms.verify == "code":
            _check_weights(archive)  # beside the thread, which needs Python's lock to begin: a hash leaves it free

    with one_error(archive.label):
        build = trusted_build(terms.trust, archive.label, kernel_class, packages)
        program = load_program(archive, build, prepare, engaged=engaged if engines else None)
        admit(program.graph, trust=terms.trust, label=archive.label)
        return program


def _signed(archive: Archive, keys: Any) -> list[bytes]:
    """The keys as bytes, after one of them was found to have signed the file."""
    from ..serialization.container.signatures import public_pems, require_signature  # what few need, as below

    pems = public_pems(keys)
    require_signature(archive, pems)
    return pems


def _trained_on(constants: Sequence[Constant], origins: Sequence[Any]) -> None:
    from .training import make_trainable

    make_trainable(constants, origins)


def _left(constants: Sequence[Constant], origins: Sequence[Any]) -> None:
    """Leaves the constants as the archive holds them."""


def _check_placement(archive: Archive, wanted: Any, terms: Terms) -> None:
    """Places every op before any weight is read."""
    here = present()
    for row in archive.manifest["bodies"]:
        if isinstance(row, dict):
            scripted, name = parse_device(row.get("device")), str(row.get("name"))
            place(scripted, wanted, here, gpu_ops=terms.gpu_ops, cpu_ops=terms.cpu_ops, where=f"op {name!r}")


def _warn_of_idle(pipeline: Any, archive: Archive, wanted: Device | None, terms: Terms) -> None:
    """Warns where nothing goes to the device that was asked for."""
    if wanted is None or wanted.is_cpu or terms.gpu_ops != "gpu" or wanted in pipeline._places.values():
        return
    why = "all ops were scripted for the CPU; cpu_ops='gpu' moves them"
    if terms.cpu_ops == "gpu" or not archive.manifest["bodies"]:
        why = "it has no ops, and torch's own functions run where their tensors are"
    warnings.warn(f"{archive.label}: nothing runs on {wanted}: {why}", stacklevel=user_stacklevel())


def _is_limited(budget: Mapping[str, float] | None) -> bool:
    """Whether there is a budget; raises SignatureError where it is none."""
    if budget is None:
        return False
    from ..ops.runtime.safety.budget import Budget

    return Budget.of(budget) is not None


def _named(packages: Sequence[str], trust: bool) -> tuple[str, ...]:
    """The packages that may be imported."""
    listed = isinstance(packages, list | tuple | set | frozenset)
    if not listed or not all(isinstance(each, str) and each for each in packages):
        raise ArchiveError(
            "packages is no list of names", got=repr(packages), expected="a list such as ['torchvision']"
        )
    return (*packages, *OPERATOR_PACKAGES) if trust else tuple(packages)


def _say_left(archive: Archive, reason: str) -> None:
    from ..serialization.engine_rows import engine_names

    names = shown(", ".join(engine_names(archive.manifest)))
    warnings.warn(f"{archive.label}: runs on aten in place of {names}: {reason}", stacklevel=user_stacklevel())


def verify_golden(pipeline: Openable, archive: Archive) -> Report:
    """Replays the golden examples of an archive and compares.

    Raises:
        GoldenMismatchError: it has none.
    """
    from ..serialization.golden import golden_examples, golden_terms
    from .comparing.golden import replay

    pairs = golden_examples(archive)
    if not pairs:
        raise GoldenMismatchError(
            "the archive has no golden examples", where=archive.label, fix="Save it with save(path, examples=[...])."
        )
    terms = golden_terms(archive)
    terms = terms and replace(terms, engines=pipeline._tolerance_of_engines())
    return replay(pipeline.session() if pipeline.stateful else pipeline, pairs, terms)


# -- other processes -------------------------------------------------------------------------------------------


def carried(pipeline: Openable) -> tuple[Any, str | None, Terms, dict[str, Any] | None]:
    """What another process needs to open a pipeline again, as it is now; the arguments of `opened_again`.

    A pipeline that was traced here, optimized, or that trains, goes as the bytes of an archive with its weights. One
    that was traced here is of this process, so it is trusted there; one that was loaded keeps the trust that it had.
    """
    origin, state = pipeline.origin, pipeline.state() if pipeline.stateful else None
    if origin is not None and origin.program is pipeline.program and not pipeline.grad:
        archive = origin.archive
        if archive.identity is None:
            return bytes(archive.buffer), None, origin.terms, state
        return archive.identity[0], digest_of(archive), origin.terms, state
    buffer = io.BytesIO()
    pipeline.save(buffer)
    if origin is not None:  # a signature is one of the file, and not of what was made of it
        return buffer.getvalue(), None, replace(origin.terms, signed_by=None), state
    terms = Terms(trust=True, packages=_packages(pipeline.graph), **pipeline._options)
    return buffer.getvalue(), None, terms, state


@undisturbed
@outside
def opened_again(
    make: Callable[..., P], source: str | bytes, digest: str | None, terms: Terms, state: dict[str, Any] | None
) -> P:
    """The pipeline that `carried` described.

    Raises:
        ArchiveError: the file is missing, or another one than it was. Others as `load`.
    """
    pipeline = open_pipeline(make, source, terms, digest)
    if state is not None:
        pipeline.load_state(state)
    return pipeline


def digest_of(archive: Archive) -> str:
    """The sha256 of the manifest of a file, which has those of all that is in it."""
    return hashlib.sha256(archive.manifest_bytes()).hexdigest()


def check_unchanged(archive: Archive, digest: str | None) -> None:
    """Raises ArchiveError where a file has another digest than the one given."""
    if digest is not None and digest_of(archive) != digest:
        raise ArchiveError(
            "the file is another one than the pipeline was loaded from", where=archive.label,
            got=f"sha256 {digest_of(archive)[:16]} of its manifest", expected=digest[:16],
            fix="Load the file, and pickle or deploy the pipeline again.",
        )  # fmt: skip


def _packages(graph: Graph) -> list[str]:
    """The modules whose operators a graph calls, which were imported when it was traced."""
    kernels = [node.target.kernel for node in every_node(graph) if isinstance(node.target, KernelCall)]
    return sorted({str(kernel.description()["module"]) for kernel in kernels if kernel.from_package})
