"""ScriptModules that ATen cannot express: opaque ops behind `trust=True`, with their state and any values."""

import io
import sys
from pathlib import Path

import pytest
import torch

import tracepack

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")
SAMPLES = Path(__file__).parents[2] / "samples"


def archive(pipeline: tracepack.Pipeline) -> bytes:
    file = io.BytesIO()
    pipeline.save(file)
    return file.getvalue()


class Tally(torch.nn.Module):
    """Strings, a dict and a list in, all three out, and a state that no buffer holds."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.last = ""

    def forward(self, word: str, x: torch.Tensor, weights: list[float]) -> tuple[str, dict[str, torch.Tensor], int]:
        self.calls += 1
        self.last = word
        total = 0.0
        for weight in weights:
            total += weight
        return word.upper() + "!", {"scaled": x * total, "raised": x + float(len(word))}, self.calls


class Pair:
    """A class of the user's, in TorchScript."""

    def __init__(self, left: torch.Tensor, right: torch.Tensor) -> None:
        self.left = left
        self.right = right

    def total(self) -> torch.Tensor:
        return self.left + self.right


class UsesClass(torch.nn.Module):
    def forward(self, x: torch.Tensor, name: str) -> torch.Tensor:
        pair = Pair(x, x * 2)
        return pair.total() if name == "sum" else pair.left


def test_what_is_no_tensor_crosses_the_graph() -> None:
    module = torch.jit.script(Tally())
    op = tracepack.script(module, name="tally")

    def process(word: str, x: torch.Tensor, weight: float) -> tuple[str, torch.Tensor, torch.Tensor, int]:
        shout, found, calls = op(word, x, [weight, 1.0])
        return shout, found["scaled"], found["raised"], calls

    pipeline = tracepack.trace(process, "one", torch.ones(2), 2.0)
    loaded = tracepack.load(archive(pipeline), trust=True)
    for mod in (pipeline, loaded):
        shout, scaled, raised, calls = mod("three", torch.ones(3), 4.0)
        assert shout == "THREE!"
        assert scaled.tolist() == [5.0] * 3
        assert raised.tolist() == [6.0] * 3
        assert calls == 1
        assert mod("x", torch.ones(1), 0.0)[3] == 2
        assert mod.state() == {"tally.calls": 2, "tally.last": "x"}
        mod.reset()
        assert mod("x", torch.ones(1), 0.0)[3] == 1
    assert module.calls == 0


def test_a_class_of_the_users() -> None:
    op = tracepack.script(torch.jit.script(UsesClass()), name="uses_class")
    pipeline = tracepack.trace(lambda x, name: op(x, name), torch.ones(2), "sum")
    loaded = tracepack.load(archive(pipeline), trust=True)
    assert loaded(torch.ones(3), "sum").tolist() == [3.0] * 3
    assert loaded(torch.ones(3), "left").tolist() == [1.0] * 3


def test_trust_is_asked_for() -> None:
    op = tracepack.script(torch.jit.script(UsesClass()), name="uses_class")
    data = archive(tracepack.trace(lambda x, name: op(x, name), torch.ones(2), "sum"))
    with pytest.raises(tracepack.TrustError, match="op 'uses_class' is kept as torchscript, which can run code"):
        tracepack.load(data)


def test_device_constants_are_rewritten_before_the_first_call() -> None:
    from tracepack.ops.torchscript.inspect import own_copy

    class Makes(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.ones(x.shape[0], device=x.device)

    traced = torch.jit.trace(Makes(), torch.zeros(3))
    assert 'Device = prim::Constant[value="cpu"]' in str(traced.graph)
    moved = own_copy(traced, "meta")
    assert 'Device = prim::Constant[value="meta"]' in str(moved.graph)
    assert moved(torch.zeros(3, device="meta")).device.type == "meta"


def test_sessions_of_an_opaque_op_are_apart() -> None:
    op = tracepack.script(torch.jit.script(Tally()), name="tally")
    pipeline = tracepack.trace(lambda word, x: op(word, x, [1.0])[2], "one", torch.ones(2))
    first, second = pipeline.session(), pipeline.session()
    assert [first("a", torch.ones(1)), first("a", torch.ones(1)), second("a", torch.ones(1))] == [1, 2, 1]
    second.load_state(first.state())
    assert second("a", torch.ones(1)) == 3


def test_voice_activity_in_a_fresh_process(tmp_path: Path) -> None:
    """The sample compares every chunk; here its spans are looked at too."""
    pytest.importorskip("silero_vad", reason="the demo extra is not installed")
    sys.path.insert(0, str(SAMPLES))
    try:
        import voice_activity
    finally:
        sys.path.remove(str(SAMPLES))
    voice_activity.main()
    voice_activity.pack(tmp_path / "vad.tpk")
    found = voice_activity.detect(tmp_path / "vad.tpk")
    spans = voice_activity.spans(found)
    assert [round(second) for span in spans for second in span] == [1, 2, 3, 4]


class LoopsOnData(torch.nn.Module):
    """As many steps as the largest value says, up to seven: the remainder is what torch cannot convert."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for step in range(int(x.abs().max().item()) % 8):
            x = x * 0.5 + step
        return x


def test_a_loop_whose_steps_data_decides_survives_as_a_node() -> None:
    op = tracepack.script(torch.jit.script(LoopsOnData()), name="loops")
    with pytest.warns(tracepack.OpaqueOpWarning, match="op 'loops' is kept as TorchScript"):
        pipeline = tracepack.trace(lambda x: op(x) + 1, torch.tensor([3.0, 1.0]))
    assert "loops(" in str(pipeline.graph)
    loaded = tracepack.load(archive(pipeline), trust=True)
    for values in ([3.0, 1.0], [0.5, 0.2], [-7.0, 2.0, 1.0]):
        expected = torch.tensor(values)
        for step in range(int(max(map(abs, values)))):
            expected = expected * 0.5 + step
        assert torch.equal(loaded(torch.tensor(values)), expected + 1)


class Chooses(torch.nn.Module):
    """Both branches give back what came from outside, as it is."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        chosen = x if bool(x.sum() > 0) else y
        return chosen * 2


def test_a_branch_that_passes_a_tensor_on_needs_no_trust(recwarn: pytest.WarningsRecorder) -> None:
    op = tracepack.script(torch.jit.script(Chooses()))
    pipeline = tracepack.trace(lambda x, y: op(x, y), torch.ones(2), torch.ones(2))
    assert not [w for w in recwarn if w.category is tracepack.OpaqueOpWarning]
    loaded = tracepack.load(archive(pipeline))
    assert loaded(torch.tensor([3.0, 1.0]), torch.tensor([5.0, 6.0])).tolist() == [6.0, 2.0]
    assert loaded(torch.tensor([-3.0, 1.0]), torch.tensor([5.0, 6.0])).tolist() == [10.0, 12.0]


class WritesPastABranch(torch.nn.Module):
    """Writes into what a branch gave back, which may be the input itself."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 1
        z = y + 1 if bool(x.sum() > 0) else y
        z.mul_(2)
        return y, z


def test_a_write_into_what_a_branch_gave_back_is_not_lost() -> None:
    op = tracepack.script(torch.jit.script(WritesPastABranch()))
    with pytest.warns(
        tracepack.OpaqueOpWarning, match="the ScriptModule changes a tensor in place that a branch may return"
    ):
        pipeline = tracepack.trace(lambda x: op(x), torch.ones(2))
    loaded = tracepack.load(archive(pipeline), trust=True)
    for values in ([3.0, 1.0], [-3.0, 1.0]):
        y, z = loaded(torch.tensor(values))
        assert y.tolist() == [2 * v if sum(values) <= 0 else v for v in values]
        assert z.tolist() == [2 * v if sum(values) <= 0 else 2 * (v + 1) for v in values]


def choosing(x, way: str = "double", factor: float = 3.0):
    if way == "double":
        return x * 2
    return x * factor


@pytest.mark.filterwarnings("ignore:.*is kept as TorchScript:tracepack.OpaqueOpWarning")
@pytest.mark.parametrize("given", [{}, {"way": "scale"}, {"way": "scale", "factor": 5.0}])
def test_a_scripted_function_keeps_its_defaults(given) -> None:
    op = tracepack.script(torch.jit.script(choosing), name="choosing")
    loaded = tracepack.load(archive(tracepack.trace(lambda x: op(x, **given), torch.ones(2))), trust=True)
    assert torch.equal(loaded(torch.ones(3)), choosing(torch.ones(3), **given))


class Strided(torch.nn.Module):
    """Reads strides, writes into its input, and hands that on beside a text."""

    def forward(self, x: torch.Tensor) -> tuple[str, torch.Tensor, float]:
        x.add_(1)
        x.contiguous().mul_(2)
        return ("rows" if bool(x.sum() > 0) else "none"), x * 2, float(x.stride(0))


class HandsOn(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):
            return x
        return x * 2


def test_an_opaque_op_gets_tensors_as_they_lie() -> None:
    op = tracepack.script(torch.jit.script(Strided()))
    with pytest.warns(tracepack.OpaqueOpWarning):
        traced = tracepack.trace(lambda x: op(x), torch.ones(2, 3))
    for pipeline in (traced, tracepack.load(archive(traced), trust=True), op):
        for step in (1, 2):
            x, handed = torch.ones(2, 3 * step)[:, ::step], torch.ones(2, 3 * step)[:, ::step]
            wanted, got = Strided()(handed), pipeline(x)
            assert (got[0], got[2]) == (wanted[0], wanted[2])
            assert torch.equal(got[1], wanted[1])
            assert torch.equal(x, handed)


def test_a_branch_hands_on_its_input_itself() -> None:
    op = tracepack.script(torch.jit.script(HandsOn()))

    def process(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = op(x)
        y.add_(1)
        return x, y

    traced = tracepack.trace(process, -torch.ones(2, 3))
    for pipeline in (traced, tracepack.load(archive(traced))):
        for value in (1.0, -1.0):
            x, y = pipeline(torch.full((2, 3), value))
            assert torch.equal(x, torch.full((2, 3), 2.0 if value > 0 else -1.0))
            assert torch.equal(y, torch.full((2, 3), 2.0 if value > 0 else -1.0))
        with pytest.raises(tracepack.NonContiguousOutputError):
            pipeline(torch.ones(3, 2).t())


class Counts(torch.nn.Module):
    """Counts its calls in a number."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n = (self.n + 1) % 6
        if self.n == 0:
            return -x
        return x * self.n


class Collects(torch.nn.Module):
    """Keeps a list of numbers."""

    seen: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.seen = [0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(1)
        if len(self.seen) > 50:
            return -x
        return x * 1


class Sum:
    """An object that counts."""

    def __init__(self) -> None:
        self.n = 0

    def add(self, more: int) -> int:
        """Adds a number, and gives the sum."""
        self.n += more
        return self.n


class Sums(torch.nn.Module):
    """Keeps an object that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.sum = torch.jit.script(Sum)()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.sum.add(1) > 9:
            return -x
        return x * 1


@pytest.mark.filterwarnings("ignore:.*is kept as TorchScript:tracepack.OpaqueOpWarning")
def test_a_number_that_a_module_counts_in_is_state(tmp_path) -> None:
    op, plain = tracepack.script(torch.jit.script(Counts())), torch.jit.script(Counts())
    traced = tracepack.trace(lambda x: op(x), torch.ones(2))
    traced.save(tmp_path / "a.tpk")
    loaded = tracepack.load(tmp_path / "a.tpk", trust=True)
    assert traced.stateful
    for n in range(14):
        x = torch.full((3,), float(n + 1))
        wanted = plain(x)
        assert torch.equal(traced(x), wanted)
        assert torch.equal(loaded(x), wanted)


@pytest.mark.parametrize(("model", "name"), [(Collects, "seen"), (Sums, "sum")])
def test_what_a_module_fills_or_counts_in_is_refused(model: type[torch.nn.Module], name: str) -> None:
    op = tracepack.script(torch.jit.script(model()))
    with pytest.raises(tracepack.LoweringError, match=f"the ScriptModule changes what its attribute '{name}' holds"):
        tracepack.trace(lambda x: op(x), torch.ones(2))


def test_a_frozen_module_is_an_op() -> None:
    frozen, x = torch.jit.freeze(torch.jit.script(torch.nn.Conv1d(2, 3, 3).eval())), torch.rand(1, 2, 8)
    op = tracepack.script(frozen)
    assert torch.equal(op(x), frozen(x))
    assert torch.equal(tracepack.trace(lambda x: op(x), x)(x + 1), frozen(x + 1))


def test_a_module_that_torch_cannot_load_again_is_refused_with_what_to_do() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU()).eval()
    optimised = torch.jit.optimize_for_inference(torch.jit.script(model))
    with pytest.raises(tracepack.ScriptError, match=r"cannot save a ScriptModule.*before torch.jit.optimize_for_infer"):
        tracepack.script(optimised)(torch.rand(1, 2, 8, 8))
