"""Files whose hashes are right and whose content is not: no code from a file runs, and what is malformed is named."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch

import tracepack
from tests.archive.files import rewritten, with_graph
from tracepack.serialization.container.schema import MANIFEST, WEIGHTS


@pytest.mark.parametrize(
    "name", ["aten.from_file.default", "aten.set_.source_Storage", "aten.as_strided_copy.out", "aten.save.default",
             "torch.load", "torch.Tensor.data_ptr", "torch.hub.load", "os.system", "py.__import__",
             "torch.Tensor.set_"],
)  # fmt: skip
def test_an_operator_that_is_not_allowed_is_refused(cell_file, name):
    def change(graph):
        graph["nodes"] = [{"target": ["operator", name], "args": [{"v": 0}], "output": {"o": ["float32", [3, 4]]}}]
        graph["output"] = {"v": 2}

    with pytest.raises(
        tracepack.UnknownOperatorError, match=f"operator '{name}' is not on the list of allowed operators"
    ):
        tracepack.load(with_graph(cell_file[0], change))


def test_an_operator_that_this_torch_lacks_says_so(cell_file, monkeypatch):
    from tracepack.ops.graph.operators import names as operators

    table = operators._text() + "torch.not_there_yet proven fresh 300\n"
    monkeypatch.setattr(operators, "_text", lambda: table)
    monkeypatch.setattr(operators, "row", operators.row.__wrapped__)

    def change(graph):
        graph["nodes"] = [
            {"target": ["operator", "torch.not_there_yet"], "args": [{"v": 0}], "output": {"o": ["float32", [3]]}}
        ]
        graph["output"] = {"v": 2}

    data = with_graph(cell_file[0], change)
    monkeypatch.setattr("tracepack.serialization.contents._body", lambda *args: None)
    with pytest.raises(
        tracepack.UnknownOperatorError, match=r"operator 'torch.not_there_yet' does not exist in torch 2"
    ):
        tracepack.load(data)(*cell_file[2:])


def nested(depth):
    tree = 1
    for _ in range(depth):
        tree = {"t": [tree]}
    for _ in range(200):
        tree = [tree]
    return tree


MALFORMED = {
    "a value from nowhere": (lambda g: g.update(output={"v": 99}), r"graphs/main.msgpack.output: malformed; got 99"),
    "a value too early": (
        lambda g: g["nodes"][0]["args"].insert(0, {"v": 3}),
        "malformed; got 3; expected a number below 2",
    ),
    "no nodes": (lambda g: g.pop("nodes"), "graphs/main.msgpack.nodes: malformed; got 'NoneType'; expected list"),
    "another target": (lambda g: g["nodes"][0].update(target=["eval", "1"]), r"nodes\[0\].target: malformed"),
    "a body from nowhere": (lambda g: g["nodes"][0].update(target=["body", 7]), "expected a number below 1"),
    "a keyword with code": (
        lambda g: g["nodes"].append(
            {"target": ["operator", "torch.add"], "args": [{"v": 0}], "kwargs": {"x=exit()": 1}}
        ),
        "the name of a keyword argument is no identifier; got 'x=exit",
    ),
    "endless nesting": (lambda g: g.update(output=nested(150)), "malformed; got 'more than|a member cannot be decoded"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_graph_is_refused_with_its_path(cell_file, name):
    change, text = MALFORMED[name]
    with pytest.raises((tracepack.ArchiveError, tracepack.GraphError), match=text):
        tracepack.load(with_graph(cell_file[0], change))(*cell_file[2:])


@pytest.mark.parametrize(
    "guard", ["__import__('os').system('true')", "N.__class__", "9**9**9", "(lambda: 1)()", "[1]", "f'{N}'"]
)
def test_a_guard_that_is_no_guard_is_refused(cell_file, guard):
    with pytest.raises(tracepack.GraphError, match="a guard expression"):
        tracepack.load(rewritten(cell_file[0], lambda m: m["facts"].update(guards=[guard])))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_an_opaque_op_needs_trust(reloaded):
    @torch.jit.script
    def shout(x: torch.Tensor, word: str):
        return x + len(word)

    op = tracepack.script(shout, name="shout")
    with pytest.warns(tracepack.OpaqueOpWarning, match="op 'shout' is kept as TorchScript, so that its archive"):
        mod = tracepack.trace(lambda x: op(x, "abc"), torch.ones(2))
    with pytest.raises(
        tracepack.TrustError, match=r"op 'shout' is kept as torchscript, which can run code. Pass trust=True"
    ):
        reloaded(mod)
    assert torch.equal(reloaded(mod, trust=True)(torch.ones(2)), torch.full((2,), 4.0))


def test_no_pickle_and_no_unlisted_path(cell_file):
    with zipfile.ZipFile(cell_file[0]) as archive:
        names = archive.namelist()
        content = b"".join(archive.read(name) for name in names)
    assert set(names) == {MANIFEST, "graphs/main.msgpack", "graphs/op0.msgpack", WEIGHTS, "examples.safetensors"}
    assert str(cell_file[0].parent).encode() not in content
    assert str(Path(__file__).parents[1]).encode() not in content
