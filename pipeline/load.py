"""`load`: a pipeline from its archive, ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ops.runtime.interrupts.modes import outside
from ..ops.runtime.interrupts.verbs import undisturbed
from .opening import Terms, open_pipeline
from .pipeline import Pipeline


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
            input, as `torch.tensor` does. Nothing is converted for a pipeline that may
            write into its inputs; a warning says so.
        grad: keeps gradients, so that the pipeline trains on: its parameters become copies of its own, which
            `Pipeline.weights` gives to an optimizer, and `save` writes as they then are, together with what runs have
            changed in buffers, such as the running statistics of a batch normalisation (`script(training=True)`).
        budget: what each run may spend: ``{"seconds": 2.0, "bytes": 1 << 30}``, or one of the two. Bytes count all
            tensors, arrays, texts and lists that the operators of a run make. It is checked between operators, which
            costs some microseconds each; without a budget nothing is checked.
        signed_by: a public key (Ed25519: the path of a PEM file, its bytes, or the key itself), or several; the file
            must bear a signature by one of them, see `tracepack sign`.
        packages: modules whose operators of torch.library the file may call, ``["mypkg", "torchvision"]``: they are
            imported, and the file chooses what their operators are called with. No other module is imported for a
            file, but for torchvision where it is installed: ``torchvision::nms`` takes any arguments, so it needs no
            name. With `trust` the others of torchvision and torchaudio need none either.

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
    terms = Terms(
        device, trust, verify, gpu_ops, cpu_ops, convert, grad, budget,
        packages=packages, signed_by=signed_by,
    )  # fmt: skip
    return open_pipeline(Pipeline, path, terms)
