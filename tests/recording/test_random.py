"""Random numbers: generators that live on or are seeded in each run, and draws that are refused."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.recording.cases import OTHER, TALL, X, right


def test_a_generator_that_lives_on_goes_on_in_the_pipeline(reloaded) -> None:
    source = torch.Generator().manual_seed(5)

    def process(x):
        with tracepack.drawing(source):
            y = torch.nn.functional.dropout(x)
        return y, torch.rand(x.shape, generator=source)

    state = source.get_state()
    mod = tracepack.trace(process, X)
    assert torch.equal(source.get_state(), state)  # tracing draws nothing from the user's generator
    loaded = reloaded(mod)
    for x in (X, TALL, OTHER):
        wanted = process(x)
        assert difference(wanted, mod(x)) == ""
        assert difference(wanted, loaded(x)) == ""
    source.manual_seed(11)
    loaded.seed(11)
    assert difference(process(X), loaded(X)) == ""
    assert difference(process(X), mod(X)) != ""  # every pipeline has its own


def test_a_pipeline_that_is_called_twice_has_one_generator_to_seed(reloaded) -> None:
    source = torch.Generator().manual_seed(1)
    draw = tracepack.trace(lambda x: x + torch.rand(x.shape[0], generator=source), torch.zeros(3))

    def twice(x):
        return draw(x), draw(x)

    mod = tracepack.trace(twice, torch.zeros(3))
    for pipeline in (mod, reloaded(mod)):
        draw.seed(5)
        pipeline.seed(5)
        assert difference(twice(torch.zeros(4)), pipeline(torch.zeros(4))) == ""


def test_a_generator_that_is_seeded_in_each_run_gives_the_same_numbers() -> None:
    def process(x):
        source = torch.Generator().manual_seed(3)
        with tracepack.drawing(source):
            first = torch.randn_like(x)
        source.manual_seed(4)
        return first, torch.randperm(4, generator=source), x.clone().normal_(generator=source)

    right(process, X, others=[[OTHER], [TALL]])


def test_a_seed_may_be_an_argument_or_come_from_data() -> None:
    def process(x, seed):
        first, second = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(5)
        a = torch.rand(x.shape, generator=first)
        b = torch.randint(0, 9, (3,), generator=second)
        with tracepack.drawing(first):
            c = torch.nn.functional.dropout(x)
        first.manual_seed(int(x.sum().item()) + seed)
        return a, b, c, torch.randperm(9, generator=first), torch.rand(2, generator=second)

    others = [(X, 4), (TALL, 3), (OTHER, 2**40)]
    right(process, X, 3, others=others)


def test_a_seed_of_run_time_leaves_the_generator_of_the_user_and_is_no_state() -> None:
    source = torch.Generator().manual_seed(5)

    def process(x, seed):
        return x + torch.rand(2, generator=source.manual_seed(seed))

    mod = tracepack.trace(process, torch.zeros(2), 3)
    state = source.get_state()
    assert not mod.stateful
    for seed in (3, 4, 3):
        assert torch.equal(mod(torch.zeros(2), seed), torch.rand(2, generator=torch.Generator().manual_seed(seed)))
    assert torch.equal(source.get_state(), state)
    with pytest.raises(tracepack.NodeError, match="seed"):
        mod(torch.zeros(2), 2**70)


def test_unseeded_generators_and_foreign_randomness_are_refused() -> None:
    def unseeded(x):
        source = torch.Generator()
        source.seed()
        return torch.rand(2, generator=source) + x

    with pytest.raises(tracepack.RecordError, match="a second recording on other data differs"):
        tracepack.trace(unseeded, X)
    state = torch.get_rng_state()
    with pytest.raises(tracepack.RecordError, match="Draw inside `with tracepack.drawing\\(generator\\):`"):
        tracepack.trace(lambda x: x + torch.rand(2), X)
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(tracepack.RecordError, match="drawing takes a generator of the CPU; got 3; expected torch.Gen"):
        tracepack.drawing(3).__enter__()


def test_a_draw_that_nothing_uses_still_moves_the_generator() -> None:
    source = torch.Generator().manual_seed(5)

    def process(x):
        with tracepack.drawing(source):
            torch.rand(3)
            return x + torch.rand(2)

    mod = tracepack.trace(process, X)
    for _ in range(2):
        assert difference(process(X), mod(X)) == ""


GENERATOR = torch.Generator()


def drawn_before_a_block(x):
    noise, found = torch.rand(2, generator=GENERATOR), []
    for i in range(x.shape[0]):
        if x[i] > 0.9 and len(found) < 5:
            found.append(i)
    return noise, found


def drawn_on_a_side(x):
    with tracepack.drawing(GENERATOR):
        return torch.randn(2) if x.shape[0] > 2 else torch.rand(2)


def drawn_for_each_row(x):
    with tracepack.drawing(GENERATOR):
        return [torch.rand(1) * row for row in x]


def drawn_and_refused(x):
    noise = torch.rand(2, generator=GENERATOR)
    return noise if x.tolist() == sorted(x.tolist(), key=id) else None


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("process", [drawn_before_a_block, drawn_on_a_side, drawn_for_each_row, drawn_and_refused])
def test_trace_leaves_a_generator_alone_however_often_it_records(process, reloaded) -> None:
    x = torch.tensor([0.1, 0.95, 0.2])
    state = GENERATOR.manual_seed(3).get_state()
    wanted = [process(x) for _ in range(3)]
    GENERATOR.set_state(state)
    try:
        mod = tracepack.trace(process, x)
    except tracepack.RecordError:
        assert torch.equal(GENERATOR.get_state(), state)
        return
    assert torch.equal(GENERATOR.get_state(), state)
    for pipeline in (reloaded(mod), mod):
        for each in wanted:
            torch.testing.assert_close(pipeline(x), each, rtol=0, atol=0)
