"""Saving and loading pipelines, and replaying their golden examples."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .. import __version__
from ..ops.device import parse_device, place
from ..ops.devices import accelerator, present
from ..ops.errors import ArchiveError, GoldenMismatchError, SignatureError
from ..ops.graph import Constant, Record
from ..ops.placement import check_gpu_ops
from ..ops.records import is_record, to_record
from ..serialization.archive import Archive, write
from ..serialization.codec import Decoder, decode_tree, encode_tree, encode_type, expect, malformed
from ..serialization.contents import Contents, decode, encode, input_types, trusted_build
from ..serialization.schema import EXAMPLES, WEIGHTS
from ..serialization.weights import MappedTensors, TensorTable, mapped_weights, tensors_of
from .golden import Report, replay
from .inputs import Parameter, Parameters, Slot, as_tensor
from .pipeline import Pipeline
from .program import Program
from .training import make_trainable

ALWAYS_HASHED = 8 << 20  # bytes of weights that are hashed on every load: about 7 ms
VERIFY = ("code", "all", "golden")


def save(pipeline: Pipeline, target: Any, examples: Sequence[Mapping[str, Any]] = ()) -> None:
    """Writes a pipeline; see `Pipeline.save`."""
    program = pipeline.program
    contents = Contents(program.name, program.graph, _encode_parameters(program.parameters), program.facts)
    producer = {"tracepack": __version__, "torch": torch.__version__, "python": platform.python_version()}
    manifest, members, tables = encode(contents, producer)
    weights = TensorTable()
    for constant in tables.constants:
        weights.add(constant.name, constant.tensor, mutable=constant.mutable, parameter=constant.parameter)
    rows, golden = _encode_examples(pipeline, examples)
    manifest |= {"constants": weights.rows, "examples": rows, "example_tensors": golden.rows}
    members.append(weights.member(WEIGHTS))
    if rows:
        members.append(golden.member(EXAMPLES))
    write(target, manifest, members)


def load(
    path: Any,
    device: Any = None,
    *,
    trust: bool = False,
    verify: str = "code",
    gpu_ops: str = "gpu",
    grad: bool = False,
) -> Pipeline:
    """Reads a pipeline from a file, ready to run on a device.

    Needs neither the source of the function nor that of the models, and runs no code from the file unless trusted.
    Weights are mapped, not read: pipelines loaded from one file share them.

    Args:
        path: the file, its bytes, or a binary file object.
        device: where ops of accelerators run: an int (n >= 0 accelerator n, -1 the CPU), ``"cpu"``, ``"cuda:1"``,
            ``"gpu:1"``, a torch.device, or None for accelerator 0. Ops scripted for the CPU stay there.
        trust: allows ops that can run code, such as opaque TorchScript.
        verify: ``"code"`` checks the hashes of all but large weights; ``"all"`` those of the weights too;
            ``"golden"`` also replays the golden examples.
        gpu_ops: ``"cpu"`` moves ops of accelerators to the CPU.
        grad: keeps gradients, so that the pipeline trains on: its parameters become copies of its own, which
            `Pipeline.weights` gives to an optimizer, and `save` writes as they then are.

    Raises:
        ArchiveError: the file is missing, truncated, altered, foreign or of a newer format.
        PlacementError: an op cannot run on the device; DeviceError: it is not a device of this machine.
        TrustError: the file holds an op that can run code.
        UnknownOperatorError: it needs an operator that this torch lacks.
        GoldenMismatchError: an example gives other outputs than were stored.

    Example:
        >>> import torch, tracepack, io
        >>> file = io.BytesIO()
        >>> tracepack.trace(lambda x: x + 1, torch.ones(3)).save(file)
        >>> tracepack.load(file.getvalue()).run({"x": torch.zeros(2)})
        tensor([1., 1.])
    """
    if verify not in VERIFY:
        raise ArchiveError("not a way to verify", got=repr(verify), expected=f"one of {list(VERIFY)}")
    check_gpu_ops(gpu_ops)
    wanted = None if device is None else parse_device(device, accelerator())
    archive = Archive(path)
    archive.check_listing()
    _check_placement(archive, wanted, gpu_ops)
    if verify != "code" or archive.weights_size() <= ALWAYS_HASHED:
        archive.check(WEIGHTS)
    if verify != "code":
        for name in archive.names():
            archive.check(name)
    pipeline = _read(archive, trust, wanted, gpu_ops, grad)
    if verify == "golden":
        verify_golden(pipeline, archive).require()
    return pipeline


def _check_placement(archive: Archive, wanted: Any, gpu_ops: str) -> None:
    """Places every op before any weight is read."""
    for row in archive.manifest["bodies"]:
        if isinstance(row, dict):
            scripted = parse_device(row.get("device"))
            place(scripted, wanted, present(), gpu_ops=gpu_ops, op=str(row.get("name")))


def _read(archive: Archive, trust: bool, wanted: Any, gpu_ops: str, grad: bool) -> Pipeline:
    weights = mapped_weights(archive)
    rows = archive.manifest["constants"]
    tensors = tensors_of(rows, weights, "constants")
    constants = [
        Constant(tensor, str(row.get("name")), bool(row.get("mutable")), bool(row.get("parameter")))
        for row, tensor in zip(rows, tensors, strict=True)
    ]
    if grad:
        make_trainable(constants, [row.get("origin") for row in rows])
    contents = decode(archive, constants, trusted_build(trust, archive.label))
    parameters = _decode_parameters(archive.manifest, len(contents.graph.inputs))
    program = Program(contents.name, contents.graph, parameters, contents.facts, source=weights)
    return Pipeline(program, device=wanted, gpu_ops=gpu_ops, grad=grad)


# -- the calling convention ------------------------------------------------------------------------------------


def _encode_parameters(parameters: Parameters) -> dict[str, Any]:
    return {
        "items": [[item.name, item.kind, _encode_slots(item.tree)] for item in parameters.items],
        "names": list(parameters.names),
        "types": [encode_type(kind) for kind in parameters.types],
    }


def _encode_slots(tree: Any) -> Any:
    return {"p": tree.index} if isinstance(tree, Slot) else encode_tree(tree, _encode_slots)


def _decode_parameters(manifest: dict[str, Any], count: int) -> Parameters:
    data, path = manifest["parameters"], "$.parameters"
    names = tuple(expect(n, str, f"{path}.names") for n in expect(data.get("names"), list, f"{path}.names"))
    kinds = tuple(input_types(manifest))
    if not len(names) == len(kinds) == count:
        raise malformed(path, f"{len(names)} names and {len(kinds)} types", f"{count} of each")
    items = []
    for index, item in enumerate(expect(data.get("items"), list, f"{path}.items")):
        match item:
            case [str(name), "positional" | "keyword" | "variadic" as kind, tree]:
                items.append(Parameter(name, kind, _decode_slots(tree, f"{path}.items[{index}]", count)))
            case _:
                raise malformed(f"{path}.items[{index}]", item, "a parameter")
    return Parameters(tuple(items), names, kinds)


def _decode_slots(tree: Any, path: str, count: int) -> Any:
    match tree:
        case {"p": int(index), **rest} if not rest and 0 <= index < count:
            return Slot(index)
    return decode_tree(tree, path, lambda item, where: _decode_slots(item, where, count))


# -- golden examples -------------------------------------------------------------------------------------------


def _encode_examples(pipeline: Pipeline, examples: Sequence[Mapping[str, Any]]) -> tuple[list[Any], TensorTable]:
    table = TensorTable()

    def leaf(value: Any) -> Any:
        tensor = as_tensor(value)
        if tensor is not None:
            return {"c": table.add(f"example{len(table.rows)}", tensor.clone())}
        if is_record(value):
            return encode_tree(to_record(value, tuple(value)), leaf)
        return encode_tree(value, leaf)

    rows = []
    if isinstance(examples, Mapping) or not all(isinstance(example, Mapping) for example in examples):
        got = type(examples).__name__
        raise SignatureError("examples are a list of dicts like run's", got=got, expected="[{'x': …}, …]")
    pipeline = pipeline.session() if pipeline.stateful else pipeline  # examples follow each other from the start
    for example in examples:
        inputs = {name: leaf(value) for name, value in example.items()}  # before a run that may write into them
        rows.append({"inputs": inputs, "output": leaf(pipeline.run(example))})
    return rows, table


def golden_examples(archive: Archive) -> list[tuple[dict[str, Any], Any]]:
    """The feed dicts and outputs that an archive stores as golden examples, their bytes checked.

    Raises:
        ArchiveError: they are altered or malformed.
    """
    manifest = archive.manifest
    if not manifest["examples"]:
        return []
    archive.check(EXAMPLES)
    tensors = list(tensors_of(manifest["example_tensors"], MappedTensors(archive, EXAMPLES), "example_tensors"))
    decoder = Decoder([Constant(tensor, "") for tensor in tensors], [], [], "$.examples")
    pairs = []
    for index, row in enumerate(manifest["examples"]):
        path = f"$.examples[{index}]"
        match row:
            case {"inputs": dict(inputs), "output": output}:
                feed = {name: _live(decoder.tree(tree, f"{path}.inputs")) for name, tree in inputs.items()}
                pairs.append((feed, _live(decoder.tree(output, f"{path}.output"))))
            case _:
                raise malformed(path, row, "inputs and an output")
    return pairs


def verify_golden(pipeline: Pipeline, archive: Archive) -> Report:
    """Replays the golden examples of an archive and compares.

    Raises:
        GoldenMismatchError: it has none.
    """
    pairs = golden_examples(archive)
    if not pairs:
        raise GoldenMismatchError(
            "the archive has no golden examples", where=archive.label, fix="Save it with save(path, examples=[...])."
        )
    return replay(pipeline.session() if pipeline.stateful else pipeline, pairs)


def _live(tree: Any) -> Any:
    """A decoded tree with tensors of its own in place of constants."""
    match tree:
        case Constant():
            return tree.tensor.clone()
        case tuple():
            return tuple(map(_live, tree))
        case Record():
            return tuple(map(_live, tree.items))
        case list():
            return [_live(item) for item in tree]
        case dict():
            return {key: _live(item) for key, item in tree.items()}
    return tree
