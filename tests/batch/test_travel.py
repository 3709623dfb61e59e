"""Pipelines that go to other processes by pickle, and forks of a process that has run one."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import tracepack
from tests.models import Branching
from tracepack.pipeline.opening import carried

FEEDS = [{"x": torch.full((2, 4), float(row))} for row in range(5)]
SPAWN = multiprocessing.get_context("spawn")


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("runs", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.runs += 1
        return x * self.runs


def traced(model: nn.Module | None = None) -> tracepack.Pipeline:
    op = tracepack.script(model or nn.Linear(4, 3))
    return tracepack.trace(lambda x: op(x), torch.rand(2, 4))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    traced().save(tmp_path / "linear.tpk", examples=FEEDS[:1])
    return tmp_path / "linear.tpk"


@pytest.fixture(params=["traced", "path", "bytes"])
def mod(request: pytest.FixtureRequest, file: Path) -> tracepack.Pipeline:
    if request.param == "traced":
        return traced()
    return tracepack.load(file if request.param == "path" else file.read_bytes())


def same(found: list[torch.Tensor], mod: tracepack.Pipeline) -> bool:
    return all(torch.equal(a, mod.run(feed)) for a, feed in zip(found, FEEDS, strict=True))


# -- what is carried -------------------------------------------------------------------------------------------


def test_every_pipeline_pickles_and_copies(mod: tracepack.Pipeline) -> None:
    for way in (lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy):
        again = way(way(mod))
        assert again is not mod
        assert again.signature == mod.signature
        assert same([again.run(feed) for feed in FEEDS], mod)


def test_a_loaded_file_goes_as_its_path_and_hash_and_shares_the_mapped_weights(file: Path, monkeypatch) -> None:
    monkeypatch.chdir(file.parent)
    mod = tracepack.load(file.name)
    assert carried(mod)[0] == os.path.realpath(file)
    assert len(pickle.dumps(mod)) < 1000 < file.stat().st_size
    monkeypatch.chdir("/")
    again = copy.deepcopy(pickle.loads(pickle.dumps(mod)))
    assert again.program.source is mod.program.source


def test_the_bytes_of_an_archive_go_as_they_were_loaded(file: Path) -> None:
    assert carried(tracepack.load(file.read_bytes()))[0] == file.read_bytes()


def test_a_file_that_changed_or_is_gone_is_refused_by_name(file: Path) -> None:
    data = pickle.dumps(tracepack.load(file))
    traced().save(file)
    with pytest.raises(
        tracepack.ArchiveError,
        match=r"linear.tpk': the file is another one than the pipeline was loaded from; got sha256 [0-9a-f]{16} of its "
        r"manifest; expected [0-9a-f]{16}. Load the file, and pickle or deploy the pipeline again.",
    ):
        pickle.loads(data)
    file.unlink()
    with pytest.raises(tracepack.ArchiveError, match=r"linear.tpk'?: there is no such file"):
        pickle.loads(data)


def test_the_options_of_load_go_with_it(file: Path) -> None:
    mod = tracepack.load(file, convert=True, verify="golden", budget={"seconds": 100.0})
    again = pickle.loads(pickle.dumps(mod))
    assert torch.equal(again.run({"x": [[1, 2, 3, 4]]}), mod.run({"x": [[1, 2, 3, 4]]}))
    assert again._options == mod._options
    assert vars(again.origin.terms) == vars(mod.origin.terms)


def test_what_was_trained_goes_as_it_is(file: Path) -> None:
    mod = tracepack.load(file, grad=True)
    with torch.no_grad():
        for weight in mod.weights().values():
            weight.add_(1)
    again = pickle.loads(pickle.dumps(mod))
    assert same([again.run(feed).detach() for feed in FEEDS], mod)
    assert again.weights().keys() == mod.weights().keys()
    assert not same([tracepack.load(file).run(feed) for feed in FEEDS], mod)


def test_the_state_goes_with_it_and_is_its_own_afterwards() -> None:
    mod, one = traced(Counter()), torch.ones(2, 4)
    mod(one)
    copies = [pickle.loads(pickle.dumps(mod)), copy.deepcopy(mod), copy.deepcopy(mod.session())]
    assert [int(each(one)[0, 0]) for each in copies] == [2, 2, 1]
    assert int(mod(one)[0, 0]) == 2
    copies[0].reset()
    assert int(copies[0](one)[0, 0]) == 1


# -- trust -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:op .* is kept as TorchScript", "ignore:`torch.jit:DeprecationWarning")
def test_trust_is_carried_and_never_gained(tmp_path: Path) -> None:
    op = tracepack.script(torch.jit.script(Branching()))
    mod = tracepack.trace(lambda x: op(x), torch.rand(2, 4))
    mod.save(tmp_path / "opaque.tpk")
    for trusted in (mod, tracepack.load(tmp_path / "opaque.tpk", trust=True)):
        again = pickle.loads(pickle.dumps(trusted))
        assert torch.equal(again(FEEDS[1]["x"]), mod(FEEDS[1]["x"]))
    traced().save(tmp_path / "plain.tpk")
    plain = tracepack.load(tmp_path / "plain.tpk")
    _, _, terms, _ = carried(plain)
    assert terms.trust is False
    data = pickle.dumps(plain)
    mod.save(tmp_path / "plain.tpk")  # a file that needs trust takes its place
    with pytest.raises(tracepack.ArchiveError, match="another one than the pipeline was loaded from"):
        pickle.loads(data)


def test_what_is_made_of_an_untrusted_file_stays_untrusted(file: Path) -> None:
    mod = tracepack.load(file, grad=True)
    source, _, terms, _ = carried(mod)
    assert isinstance(source, bytes)
    assert terms.trust is False


def test_a_signature_is_checked_again(file: Path, tmp_path: Path) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519", reason="the extra 'sign'")
    from tracepack.serialization.container.signatures import sign

    key = ed25519.Ed25519PrivateKey.generate()
    unsigned = file.read_bytes()
    sign(file, key)
    mod = tracepack.load(file, signed_by=key.public_key())
    data = pickle.dumps(mod)
    assert same([pickle.loads(data).run(feed) for feed in FEEDS], mod)
    file.write_bytes(unsigned)  # the same manifest, so the same hash
    with pytest.raises(tracepack.TrustError, match="no signature by the given key"):
        pickle.loads(data)


# -- processes -------------------------------------------------------------------------------------------------


def test_a_pool_that_spawns() -> None:
    mod = traced()
    with SPAWN.Pool(1) as pool:
        assert same(pool.map(mod.run, FEEDS), mod)


def test_concurrent_futures(file: Path) -> None:
    mod = tracepack.load(file)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        assert same(list(pool.map(mod.run, FEEDS)), mod)


def test_an_error_comes_back_from_a_worker_as_it_is(file: Path) -> None:
    mod = tracepack.load(file)
    with (
        concurrent.futures.ProcessPoolExecutor(1, mp_context=SPAWN) as pool,
        pytest.raises(tracepack.SignatureError, match="input 'x'") as caught,
    ):
        pool.submit(mod.run, {"x": torch.rand(2, 5)}).result()
    assert caught.value.where
    assert pickle.loads(pickle.dumps(caught.value)).__dict__.keys() == caught.value.__dict__.keys()


@pytest.mark.campaign
def test_joblib(file: Path) -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    mod = tracepack.load(file)
    assert same(joblib.Parallel(n_jobs=2)(joblib.delayed(mod.run)(feed) for feed in FEEDS), mod)


@pytest.mark.campaign
def test_dask(file: Path) -> None:
    dask = pytest.importorskip("dask", reason="dask is not installed")
    mod = tracepack.load(file)
    tasks = [dask.delayed(mod.run)(feed) for feed in FEEDS]
    assert same(list(dask.compute(*tasks, scheduler="processes", num_workers=1)), mod)


class Rows(torch.utils.data.Dataset):
    """A data set that a pipeline prepares, in the worker."""

    def __init__(self, mod: tracepack.Pipeline) -> None:
        self.mod = mod

    def __len__(self) -> int:
        return len(FEEDS)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.mod.run(FEEDS[index])


@pytest.mark.campaign
@pytest.mark.parametrize("method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()])
def test_the_workers_of_a_data_loader(file: Path, method: str) -> None:
    mod = tracepack.load(file)
    wanted = torch.cat([mod.run(feed) for feed in FEEDS])
    loader = torch.utils.data.DataLoader(Rows(mod), None, num_workers=1, multiprocessing_context=method)
    assert torch.equal(torch.cat(list(loader)), wanted)


# -- forks -----------------------------------------------------------------------------------------------------

FORK = """
import os, signal, sys, torch, tracepack, warnings
warnings.simplefilter("ignore")
torch.set_num_threads(2)
engine = None if sys.argv[1] == "aten" else sys.argv[1]
op = tracepack.script(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Tanh()), engine=engine)
mod = tracepack.trace(lambda x: op(x).softmax(-1), torch.rand(2, 256))
x = torch.rand(2048, 256)
assert sys.argv[1] in mod.engines.values(), mod.engines
wanted = mod(x)
for _ in range(3):
    process = os.fork()
    if not process:
        signal.alarm(60)
        code = 0 if torch.allclose(mod(x), wanted, atol=1e-6) and torch.allclose(mod(x), wanted, atol=1e-6) else 3
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
print(torch.equal(mod(x), wanted))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("engine", ["aten", "onnxruntime"])
def test_a_fork_after_use_answers(engine: str) -> None:
    if engine != "aten":
        pytest.importorskip(engine, reason="the extra 'onnx' is not installed")
        pytest.importorskip("onnxscript", reason="the extra 'onnx' is not installed")
    done = subprocess.run([sys.executable, "-c", FORK, engine], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", "0", "0", "True"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_of_a_process_that_ran_no_pipeline_keeps_its_threads() -> None:
    code = (
        "import os, torch, tracepack.pipeline.load\ntorch.set_num_threads(2)\n"
        "if not os.fork(): os._exit(torch.get_num_threads())\nprint(os.wait()[1] >> 8)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2"], done.stderr
