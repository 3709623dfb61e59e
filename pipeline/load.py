"""Loads a pipeline from its archive: checks it, places its ops, and maps its weights."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..ops.graph.device import parse_device, place
from ..ops.graph.errors import ArchiveError, GoldenMismatchError
from ..ops.graph.graph import Constant
from ..ops.kernels.providers import KNOWN
from ..ops.kinds import kernel_class
from ..ops.runtime.interrupts.modes import outside
from ..ops.runtime.interrupts.verbs import undisturbed
from ..ops.runtime.placement import accelerator, check_choices, present
from ..ops.runtime.safety.admission import admit
from ..ops.runtime.safety.budget import Budget
from ..ops.runtime.user_code import user_stacklevel
from ..serialization.container.archive import Archive
from ..serialization.container.faults import one_error
from ..serialization.container.schema import WEIGHTS
from ..serialization.contents import trusted_build
from ..serialization.program import load_program
from .pipeline import Pipeline

if TYPE_CHECKING:
    from .comparing.golden import Report

ALWAYS_HASHED = 8 << 20  # bytes of weights that are hashed on every load: about 7 ms
VERIFY = ("code", "all", "golden")


@undisturbed
@outside
def load(
    path: Any,
    device: Any = None,
    *,
    trust: bool = False,
    verify: str = "code",
    gpu_ops: str = "gpu",
    cpu_ops: str = "cpu",
    convert: bool = False,
    grad: bool = False,
    budget: Mapping[str, float] | None = None,
    signed_by: Any = None,
    packages: Sequence[str] = (),
) -> Pipeline:
    """Reads a pipeline from a file, ready to run on a device.

    Needs neither the source of the function nor that of the models, and runs no code from the file unless trusted.
    Weights are mapped, not read: pipelines loaded from one file share them.

    Args:
        path: the file, its bytes, or a binary file object.
        device: where ops of accelerators run: an int (n >= 0 accelerator n, -1 the CPU), ``"cpu"``, ``"cuda:1"``,
            ``"gpu:1"``, a torch.device, or None for accelerator 0. Ops scripted for the CPU stay there; where there are
            no others, a warning says that the device moves nothing.
        trust: allows what can run code: opaque TorchScript, for example, and engines that `Pipeline.optimize` chose.
            Without it the flat function runs in place of engines, and a warning says so; `signed_by` allows them, too.
        verify: ``"code"`` checks the hashes of all but large weights; ``"all"`` those of the weights too;
            ``"golden"`` also replays the golden examples, and warns where another kind of processor, or another
            torch, gives other bits within the tolerance.
        gpu_ops: ``"cpu"`` moves ops of accelerators to the CPU.
        cpu_ops: ``"gpu"`` moves ops of the CPU to the accelerator.
        convert: takes lists, numbers and columns of tables for tensors, and other dtypes where no value is lost: int32
            for int64, 2.0 for an integer. Python's floats, and those of a table, are rounded to the dtype of the
            input, as `torch.tensor` does. Nothing is converted for a pipeline that writes into its inputs.
        grad: keeps gradients, so that the pipeline trains on: its parameters become copies of its own, which
            `Pipeline.weights` gives to an optimizer, and `save` writes as they then are.
        budget: what each run may spend: ``{"seconds": 2.0, "bytes": 1 << 30}``, or one of the two. Bytes count all
            tensors that the operators of a run make. It is checked between operators, which costs some microseconds
            each; without a budget nothing is checked.
        signed_by: a public key (Ed25519: the path of a PEM file, its bytes, or the key itself), or several; the file
            must bear a signature by one of them, see `tracepack sign`.
        packages: modules whose operators of torch.library the file may call, ``["mypkg", "torchvision"]``: they are
            imported, and the file chooses what their operators are called with. No other module is imported for a
            file; with `trust`, torchvision and torchaudio need not be named.

    Raises:
        ArchiveError: the file is missing, truncated, altered, foreign or of a newer format.
        PlacementError: an op cannot run on the device; DeviceError: it is not a device of this machine.
        TrustError: the file holds an op that can run code, or an operator for trusted files only, or one of a package
            that is not named; or it bears no signature by `signed_by`.
        UnknownOperatorError: it needs an operator that this torch lacks, or that a package does not register so.
        MissingExtraError: a package that it needs is not installed.
        GoldenMismatchError: an example gives outputs that differ from those stored by more than their tolerance.

    Example:
        >>> import torch, tracepack, io
        >>> file = io.BytesIO()
        >>> tracepack.trace(lambda x: x + 1, torch.ones(3)).save(file)
        >>> tracepack.load(file.getvalue()).run({"x": torch.zeros(2)})
        tensor([1., 1.])
    """
    if verify not in VERIFY:
        raise ArchiveError("unknown value of verify", got=repr(verify), expected=f"one of {list(VERIFY)}")
    check_choices(gpu_ops, cpu_ops)
    wanted = None if device is None else parse_device(device, accelerator())
    limits, named = Budget.of(budget), _named(packages, trust)
    archive = Archive(path)
    archive.check_listing()
    if signed_by is not None:
        from ..serialization.container.signatures import require_signature

        require_signature(archive, signed_by)
    _check_placement(archive, wanted, gpu_ops, cpu_ops)
    if verify != "code" or archive.weights_size() <= ALWAYS_HASHED:
        archive.check(WEIGHTS)
    if verify != "code":
        for name in archive.names():
            archive.check(name)
    options = {
        "device": wanted,
        "gpu_ops": gpu_ops,
        "cpu_ops": cpu_ops,
        "convert": convert,
        "budget": limits and budget,
    }
    native = (trust or signed_by is not None) and not grad and limits is None
    if not native and archive.manifest.get("engines") and not grad:
        _say_left(archive, "its engines keep to no budget" if trust else "its engines need trust=True")
    pipeline = _read(archive, trust, named, grad, options, native)
    if verify == "golden":
        verify_golden(pipeline, archive).require()
    return pipeline


def _check_placement(archive: Archive, wanted: Any, gpu_ops: str, cpu_ops: str) -> None:
    """Places every op before any weight is read; warns where none goes to the device that was asked for."""
    here, placed = present(), set()
    for row in archive.manifest["bodies"]:
        if isinstance(row, dict):
            scripted = parse_device(row.get("device"))
            placed.add(place(scripted, wanted, here, gpu_ops=gpu_ops, cpu_ops=cpu_ops, op=str(row.get("name"))))
    if wanted is not None and not wanted.is_cpu and wanted not in placed and gpu_ops == "gpu":
        warnings.warn(
            f"{archive.label}: nothing runs on {wanted}: all ops were scripted for the CPU; cpu_ops='gpu' moves them",
            stacklevel=user_stacklevel(),
        )


def _named(packages: Sequence[str], trust: bool) -> tuple[str, ...]:
    """The packages that may be imported."""
    if isinstance(packages, str) or not all(isinstance(each, str) and each for each in packages):
        raise ArchiveError(
            "packages is no list of names", got=repr(packages), expected="a list such as ['torchvision']"
        )
    return (*packages, *(KNOWN if trust else ()))


def _say_left(archive: Archive, reason: str) -> None:
    from ..serialization.engine_rows import engine_names

    names = ", ".join(engine_names(archive.manifest))
    warnings.warn(f"{archive.label}: runs on aten in place of {names}: {reason}", stacklevel=user_stacklevel())


def _read(
    archive: Archive, trust: bool, packages: tuple[str, ...], grad: bool, options: dict[str, Any], native: bool
) -> Pipeline:
    prepare = _trained_on if grad else _left
    with one_error(archive.label):
        program = load_program(
            archive, trusted_build(trust, archive.label, kernel_class, packages), prepare, engines=native
        )
        admit(program.graph, trust=trust, label=archive.label)
        return Pipeline(program, grad=grad, **options)


def _trained_on(constants: Sequence[Constant], origins: Sequence[Any]) -> None:
    from .training import make_trainable

    make_trainable(constants, origins)


def _left(constants: Sequence[Constant], origins: Sequence[Any]) -> None:
    """Leaves the constants as the archive holds them."""


def verify_golden(pipeline: Pipeline, archive: Archive) -> Report:
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
    return replay(pipeline.session() if pipeline.stateful else pipeline, pairs, golden_terms(archive))
