"""Models that several threads lower at once, and what other threads see meanwhile."""

from __future__ import annotations

import logging
import threading
import warnings
from contextlib import suppress
from types import FunctionType

import numpy as np
import pytest
import torch
from torch import nn

import tracepack
from tests.campaigns.interrupts.process_state import ProcessState
from tracepack.ops.lowering.patches import lock, modules, silence
from tracepack.ops.lowering.patches.int_range import Asker, Lent, Noting

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")

ROUNDS = 20
PATIENCE = 300


class Recurrent(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, size, batch_first=True)

    def forward(self, x):
        return self.rnn(x.unsqueeze(1))[0].squeeze(1)


class Sized(nn.Module):
    """Asks a size for a plain integer, and keeps a note and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("runs", torch.zeros(()))

    def forward(self, x):
        self.last = x.shape
        return self.linear(x).reshape(int(x.shape[0]), 4) * 2


def models(number: int) -> list[nn.Module]:
    torch.manual_seed(number)
    found = [
        nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)),
        nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)),
        Recurrent(3),
        Sized(),
        nn.Sequential(nn.Unflatten(1, (1, 4)), nn.MaxPool1d(2), nn.Flatten()),
        torch.jit.trace(nn.Linear(4, 3), torch.rand(2, 4)),
        nn.Sequential(nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 4)).double().float(),
        nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    ]
    return [model.train(index % 2 == 0) for index, model in enumerate(found)]


def together(functions) -> None:
    """Runs all at the same time; raises what one of them raised."""
    begin, errors = threading.Barrier(len(functions)), []

    def one(function) -> None:
        try:
            begin.wait(PATIENCE)
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for another for ever"
    if errors:
        raise errors[0]


def reference(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    before = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad():
            return model.eval()(x)
    finally:
        for module, mode in before:
            module.training = mode


def require_right(op, model: nn.Module, rows: int) -> None:
    x = torch.rand(rows, 4)
    mod = tracepack.trace(lambda x: op(x) + 1, torch.rand(3, 4))
    torch.testing.assert_close(mod(x), reference(model, x) + 1)


def rounds(number: int, count: int) -> None:
    for index in range(count):
        found = models(number + index)
        ops: dict[int, object] = {}
        modes = [[module.training for module in model.modules()] for model in found]

        def lower(k: int, found=found, ops=ops) -> None:
            ops[k] = tracepack.script(found[k], example=torch.rand(3, 4))

        together([lambda k=k, lower=lower: lower(k) for k in range(len(found))])
        assert [[module.training for module in model.modules()] for model in found] == modes
        for k, model in enumerate(found):
            require_right(ops[k], model, 5)


def test_eight_threads_script_different_models() -> None:
    rounds(0, 1)  # imports what lowering needs
    before = ProcessState()
    rounds(1, 1)
    left = [name for name in before.differences(ProcessState()) if not name.startswith("torch.") and ":" in name]
    assert [name for name in left if not name.startswith("class torch._subclasses") and "random" not in name] == []


@pytest.mark.campaign
def test_eight_threads_script_different_models_for_twenty_rounds() -> None:
    rounds(100, ROUNDS)


def test_threads_that_script_the_same_model_leave_it_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).train()
    model[1].eval()
    held = dict((*model.named_parameters(), *model.named_buffers()))
    values = {name: tensor.detach().clone() for name, tensor in held.items()}
    op = tracepack.script(model)  # one op that all lower, and an op of each thread
    wanted = reference(model, torch.ones(3, 4))
    found = []

    def lower() -> None:
        own = tracepack.script(model, example=torch.rand(3, 4))
        found.append(own(torch.ones(3, 4)))
        found.append(tracepack.trace(lambda x: op(x), torch.rand(3, 4))(torch.ones(3, 4)))
        found.append(tracepack.script(model)(torch.ones(3, 4)))  # runs the model itself, while others lower it
        devices.update(str(tracepack.script(model).device) for _ in range(20))  # others have stand-ins in it meanwhile

    devices: set[str] = set()
    together([lower] * 6)
    assert devices == {"cpu"}
    assert len(found) == 18
    for got in found:
        torch.testing.assert_close(got, wanted)
    assert [module.training for module in model.modules()] == [True, True, False, True]
    now = dict((*model.named_parameters(), *model.named_buffers()))
    assert {name: id(tensor) for name, tensor in now.items()} == {name: id(tensor) for name, tensor in held.items()}
    assert all(torch.equal(tensor, values[name]) for name, tensor in held.items())
    assert len(op._lowered) == 1  # lowered once, and not by each thread


def elsewhere(function):
    """What a function gives in another thread."""
    found = []
    together([lambda: found.append(function())])
    return found[0]


def test_another_thread_sees_the_originals_while_a_model_is_lowered(capsys, caplog) -> None:
    to, absent = nn.Module.to, object()
    linear = nn.Linear(2, 2)
    from torch.export import _trace

    with modules.idle_moves(), modules.Missed() as missed, silence.Silence():
        assert nn.Module.to is not to
        assert getattr(linear, "nothing", absent) is absent
        assert elsewhere(lambda: getattr(linear, "other", absent)) is absent
        assert missed.found == {(id(linear), "nothing")}
        assert elsewhere(lambda: linear.to(torch.float64).weight.dtype) is torch.float64

        _trace.print("unheard")
        logging.getLogger("tracepack.test").error("unheard")
        warnings.warn("unheard", UserWarning, stacklevel=1)

        def speaks() -> list[str]:
            _trace.print("heard")
            logging.getLogger("tracepack.test").error("heard")
            with pytest.warns(UserWarning, match="heard") as got:
                warnings.warn("heard", UserWarning, stacklevel=1)
            return [str(each.message) for each in got]

        assert elsewhere(speaks) == ["heard"]
    assert capsys.readouterr().out == "heard\n"
    assert [record.message for record in caplog.records] == ["heard"]
    assert nn.Module.to is to
    assert "print" not in vars(_trace)


def test_patches_of_several_users_go_with_the_last_one() -> None:
    class Owner:
        value = "original"

    patch = lock.Patch(Owner, "value", lambda original, patch: f"not {original}")
    first, second = lock.Patched(patch), lock.Patched(patch)
    with first:
        with second:
            assert Owner.value == "not original"
        assert Owner.value == "not original"
    assert Owner.value == "original"
    with pytest.raises(KeyError), first:
        raise KeyError
    assert Owner.value == "original"
    first.undo()  # once more does no harm
    assert Owner.value == "original"


def test_integers_that_are_lent_are_taken_back() -> None:
    before = torch.SymInt.__int__
    scope: dict[str, object] = {"__name__": "a module", "range": "its own"}
    source = "def f(x):\n    return int(x), range, x.int(), [int(y) for y in (x,)], isinstance(3, int)"
    exec(source, scope)
    function, names = scope["f"], dict(scope)
    code = function.__code__
    with Noting() as noted, Lent([Asker(code, scope, type(None))]):
        assert "int" not in scope
        plain, its_own, method, listed, held = function(torch.tensor(2.5))
        assert (plain, its_own, method, listed, held) == (2, "its own", torch.tensor(2), [2], True)
        assert type(function.__globals__["tracepack int"]) is not type
        assert noted.found == []
        running = FunctionType(function.__code__, scope)  # in another thread, which goes on when nothing is lent
    assert {name: scope[name] for name in names} == names
    assert all(" " in name for name in scope.keys() - names.keys())
    assert running(torch.tensor(2.5))[0] == 2
    assert function.__code__ is code
    assert torch.SymInt.__int__ is before


def test_integers_are_lent_to_a_whole_module_where_no_function_is_found() -> None:
    scope: dict[str, object] = {"__name__": "a module"}
    exec("def f(x):\n    return int(x)", scope)
    asker = Asker(scope.pop("f").__code__, scope, type(None))
    names = dict(scope)
    with Lent([asker]):
        assert scope["int"](2.5) == 2
        assert isinstance(3, scope["int"])
    assert scope == names


class Halved(nn.Module):
    """Converts a size, which is free only with the `int` that is lent."""

    def forward(self, x):
        return x[: int(x.shape[0] / 2)] + sum(int(n) for n in x.shape[:1])


KINDS = {int: "an integer"}


def test_other_threads_see_pythons_own_int_while_a_model_is_lowered() -> None:
    done, wrong, rounds = threading.Event(), [], []

    def reads() -> None:
        while not done.is_set():
            rounds.append(1)
            if type(3) is not int or KINDS.get(int) is None:  # noqa: UP003 - `int` must be what `type` gives
                wrong.append("int")
            if torch.zeros(2, dtype=int).dtype is not torch.int64:
                wrong.append("dtype")

    thread = threading.Thread(target=reads)
    thread.start()
    try:
        for _ in range(5):
            op = tracepack.script(Halved(), example=torch.rand(6))
            mod = tracepack.trace(lambda x, op=op: op(x), torch.rand(6))
            x = torch.rand(9)
            assert torch.equal(mod(x), Halved()(x))
    finally:
        done.set()
        thread.join(PATIENCE)
    assert wrong == []
    assert len(rounds) > 100


def test_threads_that_record_see_numpy_patched_until_the_last_is_done() -> None:
    plain, begun = np.zeros, threading.Barrier(4)
    patched, results = [], []

    def process(x):
        with suppress(threading.BrokenBarrierError):  # how often each is called again is a question of time
            begun.wait(3)
        patched.append(np.zeros is not plain)
        return x + torch.from_numpy(np.asarray([1.0, 2.0], dtype=np.float32))

    together([lambda: results.append(tracepack.trace(process, torch.ones(2)))] * 4)
    assert all(patched)
    assert np.zeros is plain
    assert "__array_function__" not in vars(torch.Tensor)
    assert [mod(torch.zeros(2)).tolist() for mod in results] == [[1, 2]] * 4
