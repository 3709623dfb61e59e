"""State: initial values saved, advanced by runs only, reset, read and set by name, and never mixed."""

from __future__ import annotations

import copy
import io
import threading

import pytest
import torch
from torch.nn import functional

import tracepack
from tests.models import Counter


def reloaded(pipeline: tracepack.Pipeline, **saving: object) -> tracepack.Pipeline:
    file = io.BytesIO()
    pipeline.save(file, **saving)
    return tracepack.load(file.getvalue(), trust=True)


class BatchStatistics(torch.nn.Module):
    """Batch norm with the statistics of the batch, whatever the mode."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, var = self.norm.running_mean, self.norm.running_var
        return functional.batch_norm(functional.batch_norm(x, mean, var, training=True), mean, var)


class KeepsTraining(torch.nn.BatchNorm1d):
    """Stays in training mode."""

    def train(self, mode: bool = True) -> KeepsTraining:
        return super().train(True)


class MixedModes(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.training_one, self.other = KeepsTraining(3), torch.nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.other(self.training_one(x)) + self.training_one.running_mean


class Streaming(torch.nn.Module):
    """A recurrent network that replaces its buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 4)
        self.register_buffer("h", torch.zeros(1, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.h = self.cell(x[:1], self.h)
        return self.h * 1


class Cached(torch.nn.Module):
    """Attention over the keys of all runs so far."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(16, 3))
        self.register_buffer("used", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(0, self.used.reshape(1), x[:1])
        self.used += 1
        scores = torch.where(torch.arange(16) < self.used, self.keys @ x[0], torch.tensor(-1e9))
        return torch.softmax(scores, 0)[None] @ self.keys


MODELS = [Counter, BatchStatistics, MixedModes, Streaming, Cached]


@pytest.mark.parametrize("kind", MODELS)
def test_traced_loaded_and_eager_agree_over_a_sequence(kind: type[torch.nn.Module]) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    modes = [module.training for module in model.modules()]
    eager, before = copy.deepcopy(model), copy.deepcopy(model.state_dict())
    op = tracepack.script(model)
    traced = tracepack.trace(lambda x: op(x), torch.randn(4, 3))
    batches = [torch.randn(4, 3) for _ in range(5)]
    with torch.no_grad():
        wanted = [eager(x).clone() for x in batches]
    loaded = reloaded(traced)
    runners = {"traced": traced, "loaded": loaded, "op": op, "op not traced": tracepack.script(copy.deepcopy(model))}
    for name, run in runners.items():
        for a, b in zip(wanted, [run(x).clone() for x in batches], strict=True):
            torch.testing.assert_close(b, a, msg=name)
    loaded.reset()
    torch.testing.assert_close(loaded(batches[0]), wanted[0])
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [module.training for module in model.modules()] == modes


def test_state_is_read_and_set_by_name() -> None:
    op = tracepack.script(Counter())
    pipeline = tracepack.trace(lambda x: op(x), torch.ones(2))
    assert pipeline.state() == {"Counter.runs": torch.tensor(0.0)}
    pipeline(torch.ones(2))
    saved = pipeline.state()
    assert pipeline(torch.ones(2)).tolist() == [2.0, 2.0]
    pipeline.load_state(saved)
    assert pipeline(torch.ones(2)).tolist() == [2.0, 2.0]
    pipeline.load_state({"Counter.runs": torch.tensor(9.0)})
    assert pipeline(torch.ones(2)).tolist() == [10.0, 10.0]


def test_a_foreign_state_is_refused() -> None:
    op = tracepack.script(Counter())
    pipeline = tracepack.trace(lambda x: op(x), torch.ones(2))
    with pytest.raises(
        tracepack.SignatureError, match=r"the names are not those of this pipeline's state; got \['n'\]; expected"
    ):
        pipeline.load_state({"n": torch.tensor(1.0)})
    with pytest.raises(
        tracepack.SignatureError, match=r"state 'Counter.runs': the tensor has another dtype or shape; got torch.int64"
    ):
        pipeline.load_state({"Counter.runs": torch.tensor(1)})


def test_a_pipeline_without_state_has_an_empty_one() -> None:
    pipeline = tracepack.trace(lambda x: x * 2, torch.ones(2))
    assert pipeline.state() == {}
    assert not pipeline.stateful


def test_one_op_called_twice_has_one_state() -> None:
    op = tracepack.script(Counter())
    pipeline = reloaded(tracepack.trace(lambda x, y: (op(x), op(y)), torch.ones(2), torch.ones(3, 4)))
    first, second = pipeline(torch.ones(2), torch.ones(3, 4))
    assert (first[0].item(), second[0, 0].item()) == (1.0, 2.0)
    assert pipeline.state() == {"Counter.runs": torch.tensor(2.0)}


def test_two_ops_of_one_model_have_a_state_each() -> None:
    model = Counter()
    one, other = tracepack.script(model, name="one"), tracepack.script(model, name="other")
    pipeline = reloaded(tracepack.trace(lambda x: (one(x), one(x), other(x)), torch.ones(2)))
    assert [result[0].item() for result in pipeline(torch.ones(2))] == [1.0, 2.0, 1.0]
    assert pipeline.state() == {"one.runs": torch.tensor(2.0), "other.runs": torch.tensor(1.0)}


def test_golden_examples_start_from_the_initial_state() -> None:
    op = tracepack.script(Counter())
    pipeline = tracepack.trace(lambda x: op(x), torch.ones(2))
    pipeline(torch.ones(2))
    file = io.BytesIO()
    pipeline.save(file, examples=[{"x": torch.ones(2)}, {"x": torch.ones(2)}])
    assert pipeline.state() == {"Counter.runs": torch.tensor(1.0)}
    loaded = tracepack.load(file.getvalue(), verify="golden")
    assert loaded(torch.ones(2)).tolist() == [1.0, 1.0]


def test_checked_and_fast_runs_share_one_state() -> None:
    op = tracepack.script(Counter())
    pipeline = tracepack.trace(lambda x: op(x), torch.ones(2))
    sizes = [2, 2, 5, 2, 5]
    assert [pipeline(torch.ones(n))[0].item() for n in sizes] == [1, 2, 3, 4, 5]


def test_threads_do_not_mix() -> None:
    """Runs of one pipeline follow each other; sessions keep streams apart."""
    op = tracepack.script(Counter())
    pipeline = tracepack.trace(lambda x: op(x), torch.ones(2))
    seen: list[float] = []
    apart: dict[int, list[float]] = {}

    def work(number: int) -> None:
        session = pipeline.session()
        apart[number] = [session(torch.ones(2))[0].item() for _ in range(20)]
        seen.extend(pipeline(torch.ones(2))[0].item() for _ in range(20))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [float(n) for n in range(1, 81)]
    assert all(values == [float(n) for n in range(1, 21)] for values in apart.values())


def test_state_that_is_no_buffer_is_refused() -> None:
    class Plain(torch.nn.Module):
        calls = 0

        def __init__(self) -> None:
            super().__init__()
            self.history: list[int] = []

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.history.append(1)
            return x * len(self.history)

    model = Plain()
    op = tracepack.script(model)
    with pytest.raises(tracepack.LoweringError, match="the model changes its attribute 'history' while it runs"):
        tracepack.trace(lambda x: op(x), torch.ones(2))
    assert model.history == []


def test_a_buffer_that_changes_its_shape_is_refused() -> None:
    class Grows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(0, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = torch.cat([self.seen, x])
            return self.seen.sum(0)

    op = tracepack.script(Grows())
    with pytest.raises(
        tracepack.LoweringError,
        match=r"Grows: the model replaces its buffer 'seen' .*Give it its largest",
    ):
        tracepack.trace(lambda x: op(x), torch.ones(2, 3))


class Notes(torch.nn.Module):
    """Keeps the width of each call for a helper of its own: written before it is read, so no state."""

    def __init__(self) -> None:
        super().__init__()
        self.width = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.width = x.shape[1]
        return self.scaled(x)

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x / self.width


class Remembers(Notes):
    """Reads the width of the call before."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.width is None:
            self.width = x.shape[1]
        return self.scaled(x)


def test_an_attribute_that_each_call_writes_before_it_reads_it_is_no_state() -> None:
    model = Notes()
    pipeline = reloaded(tracepack.trace(tracepack.script(model), torch.rand(2, 3)))
    for shape in ((2, 3), (4, 7)):
        x = torch.rand(*shape)
        assert torch.equal(pipeline(x), x / shape[1])
    assert model.width is None


def test_an_attribute_that_a_call_reads_before_it_writes_it_is_refused() -> None:
    with pytest.raises(tracepack.LoweringError, match="Remembers: the model changes its attribute 'width'"):
        tracepack.trace(tracepack.script(Remembers()), torch.rand(2, 3))


def test_a_model_packed_in_training_mode_goes_on_with_its_statistics() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).train().requires_grad_(False)
    before, eager = copy.deepcopy(model.state_dict()), copy.deepcopy(model)
    batches = [torch.randn(count, 3) for count in (4, 4, 7)]
    op = tracepack.script(model, training=True, name="net")
    loaded = reloaded(tracepack.trace(lambda x: op(x), batches[0]))
    for x in batches:
        torch.testing.assert_close(loaded(x), eager(x))
    for name, value in eager.named_buffers():
        torch.testing.assert_close(loaded.state()[f"net.{name}"], value)
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    by_default = tracepack.script(model)
    assert torch.equal(by_default(batches[0]), copy.deepcopy(model).eval()(batches[0]))


def test_dropout_in_training_mode_is_refused() -> None:
    op = tracepack.script(torch.nn.Dropout().train(), training=True)
    with pytest.raises(tracepack.LoweringError, match="the model draws random numbers"):
        tracepack.trace(lambda x: op(x), torch.ones(3))


def test_only_a_module_has_a_mode_to_keep() -> None:
    words = "^training=True needs a model with a mode; got function; expected an nn.Module"
    with pytest.raises(tracepack.ScriptError, match=words):
        tracepack.script(lambda x: x, training=True)


def drawn_with(x):
    return x + torch.rand(2, generator=DRAWN)


def drawn_within(x):
    with tracepack.drawing(DRAWN):
        return x + torch.rand(2)


DRAWN = torch.Generator()


@pytest.mark.parametrize("function", [drawn_with, drawn_within])
def test_the_state_of_a_generator_is_that_after_the_last_run(function) -> None:
    x = torch.zeros(2)
    mod = reloaded(tracepack.trace(function, x))
    wanted = torch.Generator()
    mod.seed(5)
    wanted.manual_seed(5)
    assert torch.equal(mod(x), torch.rand(2, generator=wanted))
    kept = mod.state()
    assert [state.tolist() for state in kept.values()] == [wanted.get_state().tolist()]
    second = torch.rand(2, generator=wanted)
    assert torch.equal(mod(x), second)
    mod.profile({"x": x})
    assert torch.equal(mod(x), torch.rand(2, generator=wanted))
    for pipeline in (mod, mod.session()):
        pipeline.load_state(kept)
        assert torch.equal(pipeline(x), second)
