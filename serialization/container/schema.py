"""The wire schema of an archive: its version, its members and the fields of its manifest.

`docs/format.md` describes the same in prose. The version is a pair: a reader takes every minor version of its major
one that is not newer than itself; a change that an older reader would misread raises the major number.

Changes:
    1.0 (2026-11-21): the first format.
    1.1 (2026-11-22): `golden`: the tolerance of golden examples, and the processor that gave their outputs. Limits and
        signatures are written down; readers refuse hostile files that they took before, see "Limits" in
        `docs/format.md`.
    1.2 (2026-11-22): `metadata`, what the user wrote about the pipeline; a parameter may have a default. Operators on
        texts, tables and lists, and `map`, which an older reader refuses by name.
    1.3 (2026-11-22): a call of a tokenizer may have a second text and settings, and may decode. Operators that
        sort and choose by keys, and more of math. Inputs that are lists of any length.
    1.4 (2026-11-22): `engines`, which run parts of the pipeline in place of its nodes. Results that are a torch.Size.
        More operators on texts, and seeds that are decided at run time. `some_float`, a mark of inputs.
"""

from __future__ import annotations

FORMAT = "tracepack"
VERSION = (1, 4)

MANIFEST = "manifest.msgpack"
MAIN_GRAPH = "graphs/main.msgpack"
WEIGHTS = "weights.safetensors"
EXAMPLES = "examples.safetensors"
ALIGNMENT = 64  # bytes, of the weights in the file and of each tensor in them, as torch's allocator aligns

MOST_MEMBERS = 100_000
LARGEST_MANIFEST = 64 << 20  # bytes; also of each graph
DEEPEST = 200  # levels of nested trees
LEVELS_OF_SUBGRAPH = 10  # that a subgraph counts as
MOST_NODES = 250_000  # in all graphs of a file
MOST_ADDED = 32_768  # nodes that ops add which are called more than once: each call is written out
MOST_ROWS = 100_000  # of each list in the manifest: bodies, kernels, constants, examples
MOST_SYMBOLS = 1_000  # of a signature, and of an op's
MOST_DIMENSIONS = 64  # of a tensor
MOST_ELEMENTS = (1 << 62) - 1  # of a tensor, a dimension of 0 counted as 1
MOST_DIGITS = 99  # of an integer that needs more than 64 bits
DEEPEST_CALLS = 50  # nested calls of ops
LEAST_STATE = 1 << 30  # bytes that copies of state, and golden examples, may always take,
STATE_TIMES = 64  # and as a multiple of the bytes that the file stores for them

# Manifest fields that came after 1.0, with the minor version that brought them.
LATER = {"golden": 1, "metadata": 2, "engines": 4}

# Manifest fields, each with its type.
FIELDS: dict[str, type | tuple[type, ...]] = {
    "format": str,
    "version": list,  # [major, minor]
    "producer": dict,  # names and versions of the software that wrote the file, for people
    "name": str,
    "parameters": dict,  # {"items": [[name, kind, tree(, default)]], "names": [...], "types": [...]}
    "facts": dict,  # {"symbols": {name: [input, dim]}, "guards": [text]}
    "bodies": list,  # [{name, device, graph, facts, inputs, contiguous}]
    "kernels": list,  # [{kind, name, description, assets: {name: member}, runs_code}]
    "constants": list,  # [{name, tensor, dtype, shape, strides, mutable, parameter, origin}]
    "examples": list,  # [{"inputs": {name: tree}, "output": tree}]
    "example_tensors": list,  # like "constants", in examples.safetensors
    "golden": dict,  # {"tolerance", "precisions": {output: precision}, "processor": {...}}, {} without examples
    "metadata": dict,  # text, numbers, booleans, nil, and arrays and maps of them
    "engines": list,  # [{engine, body, nodes, package, processor, description, assets: {name: member}, constants}]
    "members": dict,  # {member: {"sha256": hex, "size": bytes}} of every member but the manifest
}
