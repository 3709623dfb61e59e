"""Models: what they leave beside their result, what they write, and weights that change after the trace."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import tracepack
from tests.models import Counter
from tests.trust.trials import refused, trial

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
X, OTHER = torch.randn(2, 3), torch.randn(2, 3)


def hooked() -> Any:
    model: Any = torch.nn.Linear(3, 3)
    seen: dict[str, torch.Tensor] = {}
    model.register_forward_hook(lambda module, args, out: seen.update(out=out))
    model(OTHER)
    op = tracepack.script(model)

    def process(x: torch.Tensor) -> torch.Tensor:
        return op(x) + seen["out"]

    return process


class Leaves(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x * 2
        return x + 1


def left_behind() -> Any:
    model = Leaves()
    model(OTHER)
    op = tracepack.script(model)

    def process(x: torch.Tensor) -> torch.Tensor:
        return op(x) + model.last

    return process


def read_before() -> Any:
    model: Any = torch.nn.Linear(3, 3)
    seen = {"out": torch.zeros(())}
    model.register_forward_hook(lambda module, args, out: seen.update(out=out))
    op = tracepack.script(model)

    def process(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        before = seen["out"] * 1
        return op(x), before

    return process


def read_before_with_buffers() -> Any:
    inner, counts = read_before(), tracepack.script(Counter())

    def process(x: torch.Tensor) -> Any:
        return inner(counts(x))

    return process


def rows_of_a_side_output() -> Any:
    """Outside of a recording the op runs its graph, no hook, and the loop meets a tensor without rows."""
    model: Any = torch.nn.Linear(3, 3)
    seen = {"out": torch.zeros(())}
    model.register_forward_hook(lambda module, args, out: seen.update(out=out))
    op, other = tracepack.script(model), tracepack.script(torch.nn.Linear(3, 3))

    def process(x: torch.Tensor) -> torch.Tensor:
        op(x)
        return [other(row) for row in seen["out"]][-1]

    return process


@pytest.mark.parametrize("make", [hooked, left_behind, read_before, read_before_with_buffers, rows_of_a_side_output])
def test_side_outputs_are_refused(make: Any) -> None:
    with pytest.raises(tracepack.TracepackError) as caught:
        tracepack.trace(make(), X)
    assert "test_models.py" in str(caught.value), caught.value


def test_a_function_that_fails_on_its_example_when_it_is_called_again_is_refused() -> None:
    left = {"n": 2}

    def process(x: torch.Tensor) -> torch.Tensor:
        left["n"] -= 1
        if left["n"] < 0:
            raise RuntimeError("used up")
        return x * 2

    with pytest.raises(tracepack.RecordError, match="raises RuntimeError: used up"):
        tracepack.trace(process, X)


def test_an_error_that_only_a_recording_meets_names_the_line() -> None:
    model = Leaves()
    model.last = torch.zeros(())
    op = tracepack.script(model)

    def process(x: torch.Tensor) -> torch.Tensor:
        return op(x) * model.last.shape[0] if x.shape[0] else x

    with pytest.raises(tracepack.RecordError, match="test_models.py.*in process"):
        tracepack.trace(process, X)


class WritesParameter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.weight.add_(1)
        return x * self.weight


class WritesData(WritesParameter):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.weight.data.add_(1)
        return x * self.weight


class WritesPlain(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.total = torch.zeros(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x.sum(0))
        return x + self.total


class WritesHeld(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept = [torch.zeros(3)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.kept[0] += 1
        return x + self.kept[0]


@pytest.mark.parametrize("model", [WritesParameter, WritesData, WritesPlain, WritesHeld])
def test_a_model_that_writes_what_is_no_buffer_is_refused_and_left(model: Any) -> None:
    made = model()
    before = copy.deepcopy({**made.__dict__["_parameters"], **{k: v for k, v in vars(made).items() if k[0] != "_"}})
    op = tracepack.script(made)
    with pytest.raises(tracepack.LoweringError, match="writes to its"):
        tracepack.trace(lambda x: op(x), X)
    for name, value in before.items():
        now = getattr(made, name)
        assert str(now) == str(value), name


def test_a_script_module_written_after_the_trace() -> None:
    model = torch.jit.script(torch.nn.Linear(3, 3))
    op = tracepack.script(model)
    traced = tracepack.trace(lambda x: op(x), X)
    torch.testing.assert_close(traced(X), model(X))
    with torch.no_grad():
        model.weight.add_(1)
    try:
        got = traced(X)
    except tracepack.TracepackError as error:
        assert "changed" in str(error)  # noqa: PT017  # both ways are right
    else:
        torch.testing.assert_close(got, model(X))


def test_a_number_read_off_a_weight_follows_it() -> None:
    weight = torch.tensor(2.0)

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * weight.item() + float(weight)

    traced = tracepack.trace(process, X)
    assert torch.equal(traced(X), process(X))
    weight.add_(3)
    try:
        got = traced(X)
    except tracepack.TracepackError as error:
        assert "changed" in str(error)  # noqa: PT017  # both ways are right
    else:
        assert torch.equal(got, process(X))


def test_a_branch_on_a_weight_is_taken_and_follows_it() -> None:
    weight = torch.tensor(2.0)

    def process(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if weight.item() > 1 else x

    traced = tracepack.trace(process, X)
    assert torch.equal(traced(X), X * 2)
    weight.zero_()
    try:
        got = traced(X)
    except tracepack.TracepackError as error:
        assert "changed" in str(error) or "2.0" in str(error) or "True" in str(error)  # noqa: PT017  # both are right
    else:
        assert torch.equal(got, X)


def test_a_torchscript_function_that_reads_sizes() -> None:
    @torch.jit.script
    def rows(x: torch.Tensor) -> int:
        return x.size(0) * 10

    found = trial(lambda: lambda x: x * rows(x), X, others=[(torch.randn(5, 3),)])
    refused(found, "differs|does not answer", "test_models.py")


def test_a_buffer_that_an_op_changes_is_not_read_off_its_model() -> None:
    model = Counter()
    op, name = tracepack.script(model), next(name for name, _ in model.named_buffers())

    def process(x: torch.Tensor) -> Any:
        return op(x), getattr(model, name) * 1

    with pytest.raises(
        tracepack.RecordError,
        match=f"getattr.*reads '{name}' of the model of op 'Counter', which changes in the op only",
    ):
        tracepack.trace(process, torch.rand(2))


class Sums(torch.nn.Module):
    """Makes its buffer of the first input, and adds the others."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total = x if self.total is None else self.total + x
        return self.total * 1


class Places(Sums):
    """Makes its table when it is first needed."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.total is None:
            self.total = torch.arange(3.0)
        return x + self.total


def test_a_buffer_that_the_first_call_makes_is_a_table_or_refused() -> None:
    model = Sums()
    op = tracepack.script(model)
    with pytest.raises(
        tracepack.LoweringError, match="the first call of the model fills its buffer 'total', and answers"
    ):
        tracepack.trace(lambda x: op(x), X)
    assert model.total is None

    def make() -> Any:
        op = tracepack.script(Places())
        return lambda x: op(x)

    assert trial(make, X, others=[(torch.randn(5, 3),), (OTHER,)]) == "right"


class Delayed(torch.nn.Module):
    """Makes its counter when it is first called, and answers alike in its first three calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rounds", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.rounds is None:
            self.rounds = torch.zeros(())
        result = x + self.rounds.clamp(2)
        self.rounds += 1
        return result


def test_a_buffer_that_the_first_call_makes_and_later_ones_write_to_is_refused() -> None:
    model = Delayed()
    op = tracepack.script(model)
    with pytest.raises(
        tracepack.LoweringError, match="the first call of the model fills its buffer 'rounds', and later ones write"
    ):
        tracepack.trace(lambda x: op(x), X)
    assert model.rounds is None
