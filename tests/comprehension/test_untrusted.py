"""A schedule of a file is data: whole numbers within bounds, names of axes, flags. Nothing of it is run."""

import json

import pytest
import torch

import tracepack as tp
from tracepack.cli import main
from tracepack.ops.comprehension import ComprehensionKernel, Options, define
from tracepack.ops.comprehension.expr.errors import OptionsError
from tracepack.ops.comprehension.loops.description import ProgramSchedule, Schedule
from tracepack.ops.comprehension.tune.cache import TuningCache

ADD = "def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }"
N = 1 << 16  # enough for threads


def plain_schedule(**changes):
    nest = Schedule("i", 2).to_plain() | changes
    return {**Options().to_plain(), "schedule": {"fuse": True, "nests": [nest]}}


def shell(path):
    """What a compiler takes for a number of threads, and a shell for a command."""
    return f'system("touch {path}")'


@pytest.fixture
def forged(tmp_path, monkeypatch):
    """Saves a pipeline whose layer says that these options were tuned, with hashes that fit."""

    def save(options):
        def description(self):
            return {"name": "add", "backward": None, "gather": "check", "tuned": {f"{N},{N}": [options]}}

        with monkeypatch.context() as patch:
            patch.setattr(ComprehensionKernel, "description", description)
            op = tp.script(define(ADD))
            a = torch.randn(N)
            tp.trace(lambda a, b: op(a, b), a, a).save(tmp_path / "forged.tpk")
        return tmp_path / "forged.tpk"

    return save


WAYS = {
    "run": lambda path: tp.load(path).run({"a": torch.ones(N), "b": torch.ones(N)}),
    "verified load": lambda path: tp.load(path, verify="golden"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", ["threads", "vectors", "lanes", "vector", "order", "unroll axis", "unroll"])
def test_an_archive_runs_no_command(forged, tmp_path, way, where):
    mark = tmp_path / "mark"
    text = shell(mark)
    value = {"order": [text], "unroll": [["i", text]], "unroll axis": [[text, 2]]}.get(where, text)
    path = forged(plain_schedule(**{where.split()[0]: value}))
    with pytest.raises(OptionsError, match=r"a schedule's .* is no (name|whole number|power)"):
        WAYS[way](path)
    assert not mark.exists()


@pytest.mark.parametrize("command", ["verify", "bench"])
def test_the_command_line_runs_no_command(forged, tmp_path, capsys, command):
    mark = tmp_path / "mark"
    path = forged(plain_schedule(threads=shell(mark)))
    assert main([command, str(path)]) != 0
    assert "schedule" in capsys.readouterr().err
    assert not mark.exists()


@pytest.mark.parametrize("field", ["threads", "vectors", "lanes", "unroll"])
@pytest.mark.parametrize("number", [-1, 4096, 1 << 31, 1.5, True, None])
def test_wild_numbers_are_refused(forged, field, number):
    value = [["i", number]] if field == "unroll" else number
    with pytest.raises(OptionsError, match=r"a schedule's .* is no (whole number of [01] to \d+|power of two); got "):
        tp.load(forged(plain_schedule(**{field: value})))


@pytest.mark.parametrize("make", [
    lambda n: Options(tile={"i": n}),
    lambda n: Options(unroll={"i": n}),
    lambda n: Options().with_tile(i=n),
    lambda n: Options().with_unroll(i=n),
    lambda n: Schedule(vectors=n),
    lambda n: Schedule(unroll=(("i", n),)),
])  # fmt: skip
@pytest.mark.parametrize("number", [-1, 0, 4096, 1 << 31, "2", 2.0])
def test_wild_numbers_of_options_are_refused(make, number):
    with pytest.raises(OptionsError, match=r"'?i?'? is no whole number of 1 to \d+; got"):
        make(number)


@pytest.mark.parametrize("number", [-1, 4096, 1 << 31, "2"])
def test_wild_numbers_of_threads_are_refused(number):
    for make in (Options().with_threads, lambda n: Options(threads=n), lambda n: Schedule(threads=n)):
        with pytest.raises(OptionsError, match=r"number of threads is no whole number of 0 to 1024; got"):
            make(number)


def test_tiles_that_take_minutes_to_compile_are_refused():
    with pytest.raises(OptionsError, match="computes at once is no whole number of 1 to 256; got 512"):
        Schedule("i", 8, (("j", 64),))


@pytest.mark.parametrize(("data", "what"), [
    ([], "options is no mapping; got list"),
    ({"preset": "default", "run": "this"}, "options of another version; got the key 'run'"),
    ({"preset": ["default"]}, r"unknown options \['default'\]"),
    ({"tile": [["i", 2]]}, "the tile is no mapping of axes to numbers; got list"),
    ({"tile": {"i": "2"}}, "the tile of 'i' is no whole number of 1 to 64; got '2'"),
    ({"tile": {3: 2}}, "an axis of the tile is no name of an axis; got 3"),
    ({"order": "ij"}, "the order is no tuple of axes; got str"),
    ({"order": [["i"]]}, r"an axis of the order is no name of an axis; got \['i'\]"),
    ({"pack": 1}, "'pack' is neither True nor False; got 1"),
    ({"vectorise": 7}, "the axis to vectorise is no name of an axis; got 7"),
    ({"schedule": {"nests": 3}}, "a program's schedules is no list; got int"),
    ({"schedule": {"nests": [{"colour": 1}]}}, "a schedule of another version; got the key 'colour'"),
    ({"schedule": {"nests": [{"unroll": [["i"]]}]}}, r"no pair of axis and number; got \('i',\)"),
    ({"schedule": {"nests": [], "fuse": "yes"}}, "a schedule's 'fuse' is neither True nor False; got 'yes'"),
])  # fmt: skip
def test_other_data_are_refused(data, what):
    with pytest.raises(OptionsError, match=what):
        Options.from_plain(data)


@pytest.mark.parametrize(("changes", "what"), [
    ({"name": 3}, "has no 'name'; got int"),
    ({"gather": None}, "has no 'gather'; got NoneType"),
    ({"tuned": []}, "has no 'tuned'; got list"),
    ({"tuned": {"4,4": []}}, "the options of a size are no list of one or two; got list"),
    ({"tuned": {"4,4": {"preset": "conv"}}}, "the options of a size are no list of one or two; got dict"),
])  # fmt: skip
def test_other_descriptions_are_refused(changes, what):
    packed = define(ADD).kernel()
    with pytest.raises(tp.TracepackError, match=what):
        ComprehensionKernel.build(packed.description() | changes, packed.assets())
    with pytest.raises(tp.TracepackError, match="'comprehension.tc' is no UTF-8"):
        ComprehensionKernel.build(packed.description(), {"comprehension.tc": b"\xff"})


def test_a_cache_file_runs_no_command(tmp_path):
    layer, cache, mark = define(ADD), str(tmp_path / "add.tc"), tmp_path / "mark"
    a = torch.randn(N)
    TuningCache(cache).store(layer.key, [(N,), (N,)], [(1.0, Options("naive"))])
    path = tmp_path / "add.tc.options"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["entries"][0]["best"][0]["options"] = plain_schedule(threads=shell(mark))
    path.write_text(json.dumps(data))
    with pytest.warns(
        UserWarning, match=r"an entry \(a schedule's number of threads is no whole number .* was ignored"
    ):
        torch.testing.assert_close(layer(a, a, cache=cache), a + a)
    assert not mark.exists()
    path.write_text("[" * 100_000)
    with pytest.warns(UserWarning, match="a file of another version was ignored"):
        torch.testing.assert_close(layer(a, a, cache=cache), a + a)


def test_schedules_name_axes_of_their_program():
    plan = define(ADD).plan([torch.ones(N), torch.ones(N)])
    for nest in (Schedule("j"), Schedule(unroll=(("j", 2),)), Schedule(order=("j",)), Schedule(order=("i", "k"))):
        with pytest.raises(OptionsError, match="the schedule is of another program than 'add'"):
            Options(schedule=ProgramSchedule((nest,))).resolve(plan.program)
    with pytest.raises(OptionsError, match="the schedule is of another program than 'add'"):
        Options(schedule=ProgramSchedule((Schedule(), Schedule()))).resolve(plan.program)


def test_schedules_do_not_compute_at_once_what_is_added_one_by_one():
    grad = define("def g(float(V) T, int32(N) I) -> (O) { O(i) = T(I(i)) }")
    t = torch.randn(5, requires_grad=True)
    index = torch.randint(0, 5, (4096,), dtype=torch.int32)
    expected = torch.autograd.grad(t[index.long()].sum(), t)
    for options in (Options(vectorise="i", tile={"i": 4}), Options(tile={"i": 8})):
        torch.testing.assert_close(torch.autograd.grad(grad(t, index, options=options).sum(), t), expected)


def test_no_name_of_a_text_or_a_file_comes_into_generated_code():
    layer = define("def secret(float(Rows,Cols) Matrix) -> (Result) { Result(outer) +=! Matrix(outer,inner) }")
    run = layer.plan([torch.ones(3, 4)]).forward
    for name in ("secret", "Rows", "Cols", "Matrix", "Result", "outer", "inner"):
        assert name not in run.generated.text
