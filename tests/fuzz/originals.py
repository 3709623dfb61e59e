"""The archives that the fuzzer mutates: the nodes, constants and kernels that a file without trust may hold."""

from __future__ import annotations

import io
import re
import unicodedata
import warnings
import zipfile
from typing import Any

import msgpack
import torch

import tracepack
from tracepack.ops.comprehension import Options, define
from tracepack.ops.comprehension.loops.description import Schedule

Original = tuple[bytes, dict[str, Any]]


def originals() -> dict[str, Original]:
    """Archives to mutate, with inputs, by name."""
    warnings.simplefilter("ignore")
    makers = (_scalars, _model, _choices, _texts, _lists, _draws, _tokenizer, _pairs, _pieces, _comprehension)
    return {maker.__name__.removeprefix("_"): maker() for maker in makers}


def _saved(function: Any, **feed: Any) -> Original:
    file = io.BytesIO()
    tracepack.trace(function, **feed).save(file, examples=[feed])
    return file.getvalue(), feed


def _scalars() -> Original:
    def scalars(x: Any, n: int) -> Any:
        y = torch.zeros(n, x.shape[1], dtype=torch.float32)
        return {"a": (x.relu() + y[: x.shape[0]]).max(-1), "b": [x.shape[0] * n, (x * 2).sum()]}

    return _saved(scalars, x=torch.rand(3, 4), n=5)


def _model() -> Original:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)
            self.register_buffer("runs", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.runs += 1
            return torch.tanh(self.norm(self.linear(x))) * self.runs

    op = tracepack.script(Model().eval(), device="cpu")
    return _saved(lambda x: op(x), x=torch.rand(3, 4))


def _choices() -> Original:
    def choices(x: Any, n: int) -> Any:
        y = tracepack.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x)
        steps, y = tracepack.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 1.5), torch.tensor(0), y)
        return y, steps, torch.where(y > 1, y, y * 0), y.numpy().cumsum()

    return _saved(choices, x=torch.rand(4), n=3)


def _texts() -> Original:
    labels = {0: "none", 1: "one", 2: "two"}

    def texts(text: str, x: Any) -> Any:
        clean = unicodedata.normalize("NFC", text).strip().lower().replace("a", "bb")
        label = labels.get(int(x.argmax()), "many")
        found = re.sub(r"[0-9]+", "#", clean)
        return f"{label}: {x.max().item():.3f} of {found!s:>12}", len(clean.split(" ")), "b" in clean

    return _saved(texts, text="  A long 12 text ", x=torch.rand(3))


def _lists() -> Original:
    def lists(rows: Any, names: Any) -> Any:
        best, total = [], torch.zeros(())
        for row in rows:
            if row.sum() > 0.5:
                total = total + row.max()
            best.append(row.mean() * 2)
        upper = [name.upper() for name in names]
        return torch.stack(best), total, upper, sorted(upper)

    return _saved(lists, rows=torch.rand(5, 3), names=["x", "y"])


def _draws() -> Original:
    source = torch.Generator().manual_seed(7)

    def draws(x: Any) -> Any:
        return x + torch.rand(3, generator=source), torch.randn(x.shape[0], generator=source)

    return _saved(draws, x=torch.rand(3))


def _tokenizer() -> Original:
    import tokenizers

    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "hello": 4, "world": 5, "##s": 6}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.decoder = tokenizers.decoders.WordPiece()
    made.enable_padding(pad_token="[PAD]")
    made.enable_truncation(8)
    op = tracepack.script(made)
    return _saved(lambda texts: op(texts)["input_ids"], texts=["hello worlds", "Hello"])


def _pairs() -> Original:
    """A tokenizer of pairs of bytes, with GPT-2's pattern."""
    import tokenizers

    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: index for index, letter in enumerate(["<pad>", *letters, "he", "ll", "hell"])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [("h", "e"), ("l", "l"), ("he", "ll")]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.post_processor = tokenizers.processors.ByteLevel()
    made.decoder = tokenizers.decoders.ByteLevel()
    made.enable_padding(pad_token="<pad>", pad_to_multiple_of=4)
    op = tracepack.script(made)
    return _saved(lambda texts: op(texts)["input_ids"], texts=["hello", "hell 12"])


def _pieces() -> Original:
    """A tokenizer of pieces with scores, after replacements, with a template and a decoder that is called."""
    import tokenizers

    pieces = [("<pad>", 0.0), ("<unk>", 0.0), ("\u2581a", -1.0), ("b", -1.5), ("\u2581ab", -2.0), ("c", -3.0)]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 1, False))
    changes = (tokenizers.normalizers.NFKC(), tokenizers.normalizers.Replace("x", "ab"), tokenizers.normalizers.Strip())
    made.normalizer = tokenizers.normalizers.Sequence(list(changes))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    made.post_processor = tokenizers.processors.TemplateProcessing("$A </s>", "$A $B </s>", [("</s>", 1)])
    made.enable_padding(pad_token="<pad>")
    made.enable_truncation(6, stride=1)
    op = tracepack.script(made)

    def pieces_of(texts: Any) -> Any:
        ids = op(texts)["input_ids"]
        return ids, op.batch_decode(ids)

    return _saved(pieces_of, texts=["ab x", "a  c"])


def _comprehension() -> Original:
    """A layer with a sum, a read at indices, and a schedule that was tuned."""
    op = tracepack.script(
        define("""def layer(float(M,K) A, float(K,N) B, int32(M) I) -> (C, D) {
            C(m,n) +=! A(m,k) * B(k,n)
            D(m) max=! C(I(m) % 3, n) where n in 0:5 }""")
    )
    a, b, i = torch.rand(3, 4), torch.rand(4, 5), torch.tensor([2, 0, 1], dtype=torch.int32)
    data, feed = _saved(lambda a, b, i: op(a, b, i), a=a, b=b, i=i)
    nests = [Schedule("n", 2).to_plain(), Schedule("m", 1).to_plain()]
    tuned = {**Options().to_plain(), "schedule": {"fuse": False, "nests": nests}}
    return _changed(data, lambda manifest: manifest["kernels"][0]["description"].update(tuned={"3,4,5": [tuned]})), feed


def _changed(data: bytes, change: Any) -> bytes:
    """The archive with another manifest."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.msgpack":
                manifest = msgpack.unpackb(content, strict_map_key=False)
                change(manifest)
                content = msgpack.packb(manifest)
            new.writestr(name, content)
    return out.getvalue()
