"""What the verbs of the interrupt campaign work on, and what they answer when nobody interrupts them."""

from __future__ import annotations

import io
import os
import random
import tempfile
import threading
from typing import Any

import numpy as np
import torch

import tracepack


class Held(torch.nn.Module):
    """A model with all that lowering touches: modes, buffers, notes, recurrence, sizes as plain integers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)
        self.rnn = torch.nn.GRU(4, 4, batch_first=True)
        self.register_buffer("seen", torch.zeros(4))
        self.note: Any = None

    def forward(self, x):
        self.note = x.shape
        self.seen = self.seen + 1
        rows = int(x.shape[0])
        y = self.drop(self.norm(x)).reshape(rows, 4) + self.seen
        return self.rnn(y.unsqueeze(1))[0].squeeze(1).contiguous()


class Scripted(torch.nn.Module):
    """A model for TorchScript, with a loop whose end data decides."""

    def forward(self, x):
        while bool(x.sum() < 100):
            x = x * 2 + 1
        return x


class World:
    """What the verbs work on, and what they answer when nobody interrupts them."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = Held()
        self.linear = torch.nn.Linear(4, 4)
        self.scripted = torch.jit.script(Scripted())
        self.generator = torch.Generator().manual_seed(3)
        self.x = torch.rand(3, 4)
        self.op = tracepack.script(self.linear, example=self.x)
        self.plain = tracepack.trace(lambda x: self.op(x).relu(), self.x)
        self.drawn = tracepack.trace(self.draws, self.x)
        self.folder = tempfile.mkdtemp()
        file = io.BytesIO()
        self.plain.save(file, examples=[{"x": self.x}])
        self.bytes = file.getvalue()
        self.loaded = tracepack.load(self.bytes)
        self.wanted = self.linear(self.x).relu().detach()

    def draws(self, x):
        with tracepack.drawing(self.generator):
            return x + torch.rand(2, 1).sum()

    def process(self, x, n):
        """Uses what a recording replaces: numpy, print, builtins, control flow, random numbers, and an op with state."""
        y = self.op(x) * float(len(x))
        print(y.shape, end="", file=io.StringIO())
        z = torch.from_numpy(np.asarray([1.0, 2.0], dtype=np.float32)) * np.float32(n)
        y = tracepack.cond(y.sum() > 0, lambda t: t * 2, lambda t: -t, y)
        with tracepack.drawing(self.generator):
            return y + torch.rand(4) + z.sum()

    # -- the verbs ---------------------------------------------------------------------------------------------

    def script(self) -> Any:
        return tracepack.script(self.model, example=torch.rand(3, 4))

    def script_torchscript(self) -> Any:
        return tracepack.script(self.scripted, example=torch.rand(3, 4))

    def trace(self) -> Any:
        return tracepack.trace(self.process, torch.rand(3, 4), 2.0)

    def trace_lowering(self) -> Any:
        op = tracepack.script(torch.nn.Linear(4, 2))
        return tracepack.trace(lambda x: op(x) + 1, torch.rand(3, 4))

    def save(self) -> Any:
        self.plain.save(os.path.join(self.folder, "kept.tpk"), examples=[{"x": self.x}])

    def load(self) -> Any:
        return tracepack.load(self.bytes, verify="golden")

    def run(self) -> Any:
        return [self.loaded.run({"x": self.x}), self.loaded.run({"x": torch.rand(random.randrange(2, 99), 4)})]

    def run_first(self) -> Any:
        return tracepack.load(self.bytes).run({"x": self.x})

    def run_drawn(self) -> Any:
        return [self.drawn(self.x), self.drawn(self.x)]

    # -- afterwards --------------------------------------------------------------------------------------------

    def answers(self) -> list[str]:
        """What does not work any more."""
        bad = []
        for name, x in (("known", self.x), ("new", torch.rand(random.randrange(2, 999), 4))):
            got = self.loaded.run({"x": x})
            if (
                type(got) is not torch.Tensor
                or not torch.equal(got, self.linear(x).relu().detach())
                or got.requires_grad
            ):
                bad.append(f"the loaded pipeline is wrong for a {name} size")
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.extend([self.loaded.run({"x": self.x}), self.drawn(self.x)]))
        thread.start()
        thread.join(60)
        if len(found) != 2 or not torch.equal(found[0], self.wanted):
            bad.append("another thread gets no answer")
        if [name for name in os.listdir(self.folder) if name != "kept.tpk"]:
            bad.append(f"files are left: {os.listdir(self.folder)}")
        return bad

    def works(self) -> list[str]:
        """Whether all verbs still work together, in another thread too."""
        bad: list[str] = []

        def whole() -> None:
            model = torch.nn.Linear(4, 3)
            x = torch.rand(5, 4)
            op = tracepack.script(model)
            file = io.BytesIO()
            tracepack.trace(lambda x: op(x) * 2, torch.rand(3, 4)).save(file)
            if not torch.equal(tracepack.load(file.getvalue())(x), (model(x) * 2).detach()):
                bad.append("a new pipeline is wrong")
            bad.append("done")

        thread = threading.Thread(target=whole)
        thread.start()
        thread.join(120)
        whole()
        return ["a new pipeline in another thread gets no answer"] if bad != ["done", "done"] else []


VERBS = (
    "script", "script_torchscript", "trace", "trace_lowering", "save", "load", "run", "run_first", "run_drawn",
)  # fmt: skip
