"""The core: running the seed cell and a chain of ten, loading 400 MB, and the first result in a fresh process.

python -m benchmarks.core
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

import tracepack
from benchmarks.interleaved import minima, save, show

Row = dict[str, object]


class MyCell(nn.Module):
    """The cell of the seed page."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, h):
        new_h = torch.tanh(self.linear(x) + h)
        return new_h, new_h


class Small(nn.Module):
    """One of ten small ops in a chain."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.linear(x))


def row(what: str, value: float, limit: float, unit: str = "ratio", note: str = "") -> Row:
    return {"what": what, "value": round(value, 4), "limit": limit, "unit": unit, "note": note}


def packed(function: Callable[..., object], *examples: object) -> tracepack.Pipeline:
    """The function after a save and a load."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.tpk")
        tracepack.trace(function, *examples).save(path)
        return tracepack.load(path)


def cell() -> list[Row]:
    model = MyCell().eval()
    op = tracepack.script(model)
    x, h = torch.rand(3, 4), torch.rand(3, 4)
    mod = packed(lambda x, h: op(x, h), x, h)
    frozen = torch.jit.freeze(torch.jit.trace(model, (x, h)))
    feed = {"x": x, "h": h}
    array, other = x.numpy(), h.numpy()

    def bare() -> object:
        with torch.inference_mode():
            a, b = model(torch.from_numpy(array), torch.from_numpy(other))
        return a.numpy(), b.numpy()

    def ours() -> object:
        a, b = mod.run({"x": array, "h": other})
        return a.numpy(), b.numpy()

    outside = minima({"mod": lambda: mod.run(feed), "frozen outside": lambda: frozen(x, h)})
    arrays = minima({"ours": ours, "bare": bare})
    with torch.inference_mode():
        best = minima({"mod": lambda: mod.run(feed), "eager": lambda: model(x, h), "frozen": lambda: frozen(x, h)})
    us = ", ".join(f"{name} {t * 1e6:.1f} us" for name, t in best.items())
    return [
        row("seed cell: mod.run / eager module under inference_mode", best["mod"] / best["eager"], 0.9, note=us),
        row("seed cell: mod.run / frozen TorchScript", best["mod"] / best["frozen"], 0.8),
        row("seed cell: the same without inference_mode", outside["mod"] / outside["frozen outside"], 0.8,
            note=f"mod {outside['mod'] * 1e6:.1f} us"),
        row("seed cell: numpy in and out / bare torch with numpy", arrays["ours"] / arrays["bare"], 1.2,
            note=f"ours {arrays['ours'] * 1e6:.1f} us"),
    ]  # fmt: skip


def chain() -> list[Row]:
    models = [Small().eval() for _ in range(10)]
    ops = [tracepack.script(model, name=f"small{i}") for i, model in enumerate(models)]
    x = torch.rand(3, 4)

    def run_chain(x):
        for op in ops:
            x = op(x)
        return x

    mod = packed(run_chain, x)
    frozen = [torch.jit.freeze(torch.jit.trace(model, x)) for model in models]
    whole = torch.jit.freeze(torch.jit.trace(nn.Sequential(*models).eval(), x))
    feed = {"x": x}

    def ten() -> object:
        y = x
        for one in frozen:
            y = one(y)
        return y

    with torch.inference_mode():
        best = minima({"mod": lambda: mod.run(feed), "ten": ten, "one": lambda: whole(x)}, calls=500)
    return [
        row("chain of ten small ops / ten frozen ScriptModules", best["mod"] / best["ten"], 0.5,
            note=f"mod {best['mod'] * 1e6:.1f} us"),
        row("chain of ten small ops / the chain as one frozen ScriptModule", best["mod"] / best["one"], 1.0),
    ]  # fmt: skip


_LOAD = """
import sys, time, torch, tracepack
def private():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty", "Private_Clean")))
kind, path = sys.argv[1:]
tracepack.load(sys.argv[2].replace(".pt", ".small.tpk") if kind == "jit" else path.replace(".tpk", ".small.tpk"))
torch.jit.load(path.replace(".tpk", ".small.pt") if kind == "tpk" else path.replace(".pt", ".small.pt"))
before, start = private(), time.perf_counter()
loaded = tracepack.load(path) if kind == "tpk" else torch.jit.load(path)
print(time.perf_counter() - start, (private() - before) / 1024)
"""


def loading() -> list[Row]:
    """400 MB of weights, page cache warm; each load in a process of its own, its imports and a small load done."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "big"
        for name, layers in (("", 25), (".small", 1)):
            model = nn.Sequential(*(nn.Linear(2000, 2000) for _ in range(layers))).eval()
            x = torch.rand(1, 2000)
            op = tracepack.script(model)
            tracepack.trace(lambda x, op=op: op(x), x).save(f"{base}{name}.tpk")
            torch.jit.save(torch.jit.trace(model, x), f"{base}{name}.pt")
        best = {"tpk": (float("inf"), 0.0), "jit": (float("inf"), 0.0)}
        for _ in range(5):
            for kind, suffix in (("tpk", ".tpk"), ("jit", ".pt")):
                out = subprocess.run(
                    [sys.executable, "-W", "ignore", "-c", _LOAD, kind, f"{base}{suffix}"],
                    capture_output=True, text=True, check=True,
                )  # fmt: skip
                seconds, megabytes = map(float, out.stdout.split())
                best[kind] = min(best[kind], (seconds, megabytes))
    (ours, memory), (theirs, _) = best["tpk"], best["jit"]
    note = f"{ours * 1000:.1f} ms against {theirs * 1000:.0f} ms"
    return [
        row("loading 400 MB / torch.jit.load", ours / theirs, 0.05, note=note),
        row("loading 400 MB: private memory", memory, 5, "MB"),
    ]


_FIRST = """
import sys, time, torch
x, h = torch.rand(3, 4), torch.rand(3, 4)
start = time.perf_counter()
import tracepack
imported = time.perf_counter()
result = tracepack.load(sys.argv[1]).run({"x": x, "h": h})
print((time.perf_counter() - start) * 1000, (imported - start) * 1000)
"""


def first_result() -> list[Row]:
    """A fresh process, from the end of `import torch` to the first result; and the import alone, without torch."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cell.tpk")
        op, x = tracepack.script(MyCell().eval()), torch.rand(3, 4)
        tracepack.trace(lambda x, h: op(x, h), x, x).save(path)
        first, alone = float("inf"), float("inf")
        # Compiled bytecode is part of every installation; without it the first import compiles instead.
        env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        for _ in range(10):
            command = [sys.executable, "-c", _FIRST, path]
            out = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
            first = min(first, float(out.stdout.split()[0]))
            code = "import time; s = time.perf_counter(); import tracepack; print((time.perf_counter() - s) * 1000)"
            out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
            alone = min(alone, float(out.stdout))
    return [
        row("first result of the seed cell after import torch", first, 30, "ms"),
        row("import tracepack, without torch's own import", alone, 50, "ms"),
    ]


def main() -> None:
    torch.set_num_threads(1)
    rows = [*cell(), *chain(), *loading(), *first_result()]
    show(rows)
    save("core", rows)


if __name__ == "__main__":
    main()
