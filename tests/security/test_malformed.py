"""One class for what is malformed: whatever a file makes Python raise, the caller sees an error of ours."""

from __future__ import annotations

import json

import msgpack
import pytest
import torch

import tracepack
from tests.archive.files import rewritten, with_graph
from tests.security.forge import apply, archive_of, one_node, tensor
from tracepack.ops.graph.errors import ArchiveError, printable
from tracepack.ops.graph.graph import Graph, Literal, Node, Operator, Record, SourceLine, Value
from tracepack.ops.graph.text import graph_text
from tracepack.ops.graph.types import ANY

X = torch.arange(4.0)


def node(**fields):
    return lambda graph: graph["nodes"][0].update(fields)


GRAPHS = {
    "a number of digits that are none": node(args=[{"i": "²"}]),
    "a number of signs": node(args=[{"i": "--5"}]),
    "an integer that a double cannot hold": node(args=[{"x": [1e308, 1]}]),
    "a dict with a list for a key": node(args=[{"d": [[[1], 2]]}]),
    "a dict without pairs": node(args=[{"d": [1, 2]}]),
    "an output of nothing": node(output={"d": [[1]]}),
    "a slice of two": node(args=[{"s": [1, 2]}]),
    "a value that is true": node(args=[{"v": True}]),
    "a value below zero": node(args=[{"v": -1}]),
    "a line of no number": node(line=["f", "1", "g", "c"]),
    "a list for keywords": node(kwargs=[1]),
    "a number for a keyword": node(kwargs={5: 1}),
    "a target of nothing": node(target=[]),
    "a body that is none": node(target=["body", 2**40]),
    "a guard of maps": node(target=["guard", {}, "r"]),
    "inputs of numbers": lambda graph: graph.update(inputs=[1, 2]),
    "a dtype that is none": lambda graph: graph.update(inputs=[["float33", [1]], ["float32", [1]]]),
    "a size of a truth value": lambda graph: graph.update(inputs=[["float32", ["N", True]], ["float32", ["N", 3]]]),
    "a graph that is a list": lambda graph: (graph.clear(), graph.update(inputs=[])),
    "many levels": lambda graph: graph.update(output=nested(210)),
    "subgraphs in subgraphs": lambda graph: graph.update(output=subgraphs(30)),
}


def nested(depth):
    tree = 1
    for _ in range(depth):
        tree = {"t": [tree]}
    return tree


def subgraphs(depth):
    graph = {"inputs": [], "nodes": [], "output": 1}
    for _ in range(depth):
        graph = {"inputs": [], "nodes": [], "output": {"g": graph}}
    return {"g": graph}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_malformed_graph_raises_errors_of_ours_only(cell_file, name):
    with pytest.raises(tracepack.TracepackError) as caught:
        tracepack.load(with_graph(cell_file[0], GRAPHS[name]))(*cell_file[2:])
    assert len(str(caught.value)) < 800
    assert "\n" not in str(caught.value)


MANIFESTS = {
    "a row of text": lambda m: m["bodies"].append("text"),
    "a device that is none": lambda m: m["bodies"][0].update(device="cpu:\0"),
    "a device of a list": lambda m: m["bodies"][0].update(device=["cpu"]),
    "facts of text": lambda m: m.update(facts={"symbols": "x", "guards": []}),
    "a symbol nobody may write": lambda m: m["facts"]["symbols"].update({"__debug__": [0, 0]}),
    "a ligature": lambda m: m["facts"]["symbols"].update({"\ufb01": [0, 0]}),
    "a function for a symbol": lambda m: m["facts"]["symbols"].update({"min": [0, 0]}),
    "a place of text": lambda m: m["facts"]["symbols"].update({"K": ["0", 0]}),
    "a place of a truth value": lambda m: m["facts"]["symbols"].update({"K": [0, True]}),
    "a guard of levels": lambda m: m["facts"].update(guards=["(" * 90 + "1" + ")" * 90 + "-" * 400 + "1"]),
    "a guard of signs": lambda m: m["facts"].update(guards=["-" * 3000 + "1"]),
    "a guard of brackets": lambda m: m["facts"].update(guards=["(" * 3000 + "1" + ")" * 3000]),
    "a guard that calls wrongly": lambda m: m["facts"].update(guards=["min(1) == 1"]),
    "a guard in other digits": lambda m: m["facts"].update(guards=["\ufb01 == 1"]),
    "a parameter of numbers": lambda m: m["parameters"].update(items=[[1, 2, 3]]),
    "a parameter that is not there": lambda m: m["parameters"].update(items=[["x", "positional", {"p": 9}]]),
    "types without end": lambda m: m["parameters"].update(types=["int"] * 100),
    "constants of numbers": lambda m: m.update(constants=[7]),
    "a shape of text": lambda m: m["constants"][0].update(shape=["4"]),
    "strides of nothing": lambda m: m["constants"][0].update(strides=[None]),
    "a kernel that nobody knows": lambda m: m["kernels"].append(
        {"kind": "none", "name": "k", "description": {}, "assets": {}, "runs_code": False}
    ),
    "an asset that is not there": lambda m: m["kernels"].append(
        {"kind": "tokenizer", "name": "k", "description": {}, "assets": {"a": "b"}, "runs_code": False}
    ),
    "a name of a number": lambda m: m.update(name=5),
    "members of a list": lambda m: m.update(members=[]),
    "a version of text": lambda m: m.update(version="1.0"),
    "a version of large numbers": lambda m: m.update(version=[1, 2**62]),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_malformed_manifest_raises_errors_of_ours_only(cell_file, name):
    with pytest.raises(tracepack.TracepackError) as caught:
        tracepack.load(rewritten(cell_file[0], MANIFESTS[name]))(*cell_file[2:])
    assert len(str(caught.value)) < 800
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keyword", ["\ufb01ll", "__debug__", "if", "a b", "x=1", "", "n\u0000"])
def test_a_keyword_that_python_would_not_take_is_refused(keyword):
    with pytest.raises(tracepack.GraphError, match="the name of a keyword argument is no identifier|wrong arguments"):
        tracepack.load(one_node("torch.zeros", 2, **{keyword: 1}))(X)


@pytest.mark.parametrize("names", [("\ufb01", "fi"), ("__debug__",), ("a", "a"), ("class",), ("",)])
def test_a_record_that_python_would_not_take_is_refused(names):
    x = tensor()
    with pytest.raises(tracepack.GraphError, match="not a named tuple"):
        tracepack.load(archive_of(Graph((x,), (), Record("made", names, (x,) * len(names)))))(X)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: one_node("numpy.zeros", 2**45), "node numpy.zeros: .*MemoryError"),
        (lambda: one_node("py.getitem", [1, 2], 5), "node py.getitem: IndexError"),
        (lambda: one_node("py.getitem", {}, "key"), "node py.getitem: the dict has no such key; got 'key'"),
        (lambda: one_node("py.exp", 1e6), "node py.exp: OverflowError"),
        (lambda: one_node("py.int", "9" * 5000), "node py.int: ValueError"),
        (lambda: one_node("py.size", "x0", 2**62), "node py.size"),
        (lambda: one_node("torch.zeros", 2**62), "node torch.zeros"),
        (
            lambda: archive_of(Graph((x := tensor(),), (), Record("torch.return_types.max", ("values",), (x,)))),
            "outputs",
        ),
    ],
)
def test_what_fails_in_a_run_is_an_error_of_the_node(made, text):
    with pytest.raises(tracepack.TracepackError, match=text):
        tracepack.load(made())(X)


def test_a_graph_that_python_cannot_compile_is_an_error_of_ours():
    tree = 1
    for _ in range(195):
        tree = (tree,)
    # Python 3.12, and a process whose limit of recursion a library has raised, take this depth, and torch does not.
    said = (
        "the graph cannot be compiled; got (SyntaxError|RecursionError)"
        "|node torch.as_tensor: ValueError: too many dimensions|the file is malformed; got RecursionError"
    )
    with pytest.raises((tracepack.GraphError, tracepack.NodeError, tracepack.ArchiveError), match=said):
        tracepack.load(one_node("torch.as_tensor", tree))(X)


def test_a_guard_node_of_no_arguments_is_refused():
    from tracepack.ops.graph.graph import Guard

    x = tensor()
    with pytest.raises(tracepack.GraphError, match="a guard takes one argument; got 0"):
        tracepack.load(archive_of(Graph((x,), (Node(Guard(1, "r"), ()),), x)))


def test_a_result_that_cannot_be_taken_apart_is_an_error_of_the_node():
    x, parts = tensor(), (Value(ANY), Value(ANY))
    made = apply("torch.abs", x, output={"a": parts[0], "b": parts[1]})
    with pytest.raises(tracepack.TracepackError, match="node torch.abs"):
        tracepack.load(archive_of(Graph((x,), (made,), parts[0])))(X)


def test_texts_of_a_file_lose_what_is_not_shown(capsys, tmp_path):
    from tracepack.cli import main

    name = "a\u202e\x1b[31m\x9bb"
    assert printable(name) == r"a\u202e\x1b[31m\x9bb"
    assert str(ArchiveError("wrong", where=name)) == r"a\u202e\x1b[31m\x9bb: wrong"
    x = tensor()
    literal = Literal("dtype", name)
    with pytest.raises(tracepack.GraphError) as caught:
        tracepack.load(one_node("torch.zeros", 2, dtype=literal))(X)
    assert str(caught.value).isprintable()
    path = tmp_path / "x.tpk"
    path.write_bytes(rewritten_bytes(archive_of(Graph((x,), (), x)), tmp_path, name))
    assert main(["inspect", "--json", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)["name"] == name


EVIL = "\x1b]0;evil\x07\u202e\nall is well"


def an_engine(name):
    def change(manifest):
        manifest["engines"].append({
            "engine": name, "body": None, "nodes": [0, 1], "package": EVIL, "processor": {"machine": EVIL},
            "tolerance": 1.0, "description": {}, "assets": {}, "constants": {},
        })  # fmt: skip

    return change


@pytest.mark.parametrize("terms", [{}, {"trust": True}, {"trust": True, "budget": {"seconds": 9}}])
@pytest.mark.parametrize("name", [EVIL, "openvino", EVIL * 500])
def test_warnings_about_a_file_show_its_texts_no_other_way_than_errors(cell_file, name, terms):
    with pytest.warns(UserWarning, match="runs on aten") as caught:
        tracepack.load(rewritten(cell_file[0], an_engine(name)), **terms)
    for each in caught:
        assert str(each.message).isprintable()
        assert len(str(each.message)) < 5000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"def f(float(N) A) -> (C) {{ C(i) = {EVIL} A(i) }}", "unexpected character"),
        (f"def f(float(N) A) -> (C) {{ C(i) = B(i) }} # {EVIL[:-12]}", "B"),
        ("def f(float(N) A) -> (C) { C(i) = " + "A(i) + " * 9000 + "A(i) }", "nested deeper than 128"),
        ("def f(float(N) A) -> (C) { C(i) = A(i) + " + "9" * 9000 + " }", "the number does not fit"),
    ],
)
def test_an_error_in_the_text_of_a_comprehension_is_short_and_shows_no_controls(text, said):
    """A packed text is parsed where it is loaded, as here."""
    with pytest.raises(tracepack.TracepackError, match=said) as caught:
        tracepack.comprehension.define(text)
    assert str(caught.value).replace("\n", "").isprintable()
    assert len(str(caught.value)) < 2500


def evil_names(manifest):
    manifest["name"] = EVIL
    manifest["parameters"]["names"] = [EVIL + name for name in manifest["parameters"]["names"]]
    for row in manifest["bodies"]:
        row["name"] = EVIL


def test_no_name_of_a_file_begins_a_line(cell_file):
    """A line of its own in an error, or in what people print of a pipeline, would look like one of tracepack's."""
    loaded, feed = tracepack.load(rewritten(cell_file[0], evil_names)), dict(zip("xh", cell_file[2:], strict=True))
    with pytest.raises(tracepack.SignatureError) as caught:
        loaded.run({"nobody": 1})
    texts = [str(caught.value), loaded.signature, repr(loaded), *str(loaded.profile(feed, 1)).split("\n")]
    assert all(text.isprintable() for text in texts)
    assert not any(text.startswith("all is well") for text in texts)
    assert sum("all is well" in text for text in texts) > 3


def test_a_name_in_a_file_makes_no_long_error(cell_file):
    data = rewritten(cell_file[0], lambda m: m["facts"]["symbols"].update({"\ufb01" + "x" * 70_000: [0, 0]}))
    with pytest.raises(tracepack.TracepackError, match=r"xxxx…") as caught:
        tracepack.load(data)
    assert len(str(caught.value)) < 4500


def rewritten_bytes(data, tmp_path, name):
    source = tmp_path / "source.tpk"
    source.write_bytes(data)
    return rewritten(source, lambda m: m.update(name=name))


def test_a_member_that_is_no_msgpack_is_named(cell_file):
    for value in (b"\xc1", b"", msgpack.packb([1]) + b"x", b"\xdd\xff\xff\xff\xff", b"\x81" * 3000):
        with pytest.raises(tracepack.ArchiveError, match=r"member 'graphs/main.msgpack'|graphs/main.msgpack:"):
            tracepack.load(with_bytes(cell_file[0], value))


def with_bytes(path, data):
    import hashlib
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            content = data if entry.filename == "graphs/main.msgpack" else old.read(entry)
            if entry.filename == "manifest.msgpack":
                manifest = msgpack.unpackb(content, strict_map_key=False)
                row = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
                manifest["members"]["graphs/main.msgpack"] = row
                content = msgpack.packb(manifest)
            new.writestr(entry.filename, content)
    return out.getvalue()


def test_a_printed_graph_shows_the_texts_of_a_file_as_escapes():
    """Sizes that are no expression, the names of records and lines of source are texts of the file's author."""
    x = tensor("N\x1b[2J\u202e\n  %9 = torch.abs(%0)")
    line = SourceLine("a\u2066.py", 3, "f\x07", "x\r\n  return")
    made = Node(Operator("torch.abs"), (x,), {}, tensor("M\x1b"), line=line)
    graph = Graph((x,), (made,), Record("T\x9b", ("a",), (x,)))
    text = graph_text(graph, lines=True)
    assert text.replace("\n", "").isprintable()
    assert len(text.splitlines()) == 3
    assert r"%0: f32[N\x1b[2J\u202e\n  %9" in text
    assert str(graph).replace("\n", "").isprintable()
