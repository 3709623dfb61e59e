"""A pipeline in the workers of others: torch's DataLoader, joblib, concurrent.futures and Dask.

    python samples/batch/workers.py

A pipeline that was loaded from a path goes to a worker as this path and the hash of the file, which is mapped there.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

import tracepack


class Prepared(torch.utils.data.Dataset):
    """Rows that a pipeline prepares in the worker."""

    def __init__(self, mod, rows):
        self.mod, self.rows = mod, rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.mod.run({"x": self.rows[index]})


def main() -> None:
    """Runs the same rows in the workers of each."""
    path = Path(tempfile.mkdtemp()) / "scale.tpk"
    tracepack.trace(lambda x: (x - x.mean()).softmax(-1), torch.rand(8)).save(path)
    mod = tracepack.load(path)
    rows = torch.rand(6, 8)
    wanted = torch.stack([mod.run({"x": row}) for row in rows])

    def say(name, found):
        print(f"{name}: {'equal' if torch.equal(torch.stack(list(found)), wanted) else 'different'}")

    loader = torch.utils.data.DataLoader(Prepared(mod, rows), batch_size=None, num_workers=1)
    say("DataLoader", loader)
    feeds = [{"x": row} for row in rows]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        say("concurrent.futures", pool.map(mod.run, feeds))
    try:
        import joblib

        say("joblib", joblib.Parallel(n_jobs=2)(joblib.delayed(mod.run)(feed) for feed in feeds))
    except ImportError:
        print("joblib is not installed")
    try:
        import dask

        tasks = [dask.delayed(mod.run)(feed) for feed in feeds]
        say("Dask", dask.compute(*tasks, scheduler="processes", num_workers=1))
    except ImportError:
        print("dask is not installed")


if __name__ == "__main__":  # a worker that is spawned imports this file
    main()
