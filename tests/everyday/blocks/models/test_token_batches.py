"""Decoding loops that begin with a tokenizer op: with its numbers as a list that they fill, or with its batch."""

from __future__ import annotations

import pytest
import tokenizers
import torch

import tracepack

WORDS = "[PAD] [UNK] [CLS] [SEP] the cat a dog good".split()
END = 3


def _made_tokenizer() -> tokenizers.Tokenizer:
    model = tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(["[PAD]"])
    return made


class Decoder(torch.nn.Module):
    """Logits for the words decoded so far, around the mean of the words of a source."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9)

    def forward(self, decoded, input_ids=None, attention_mask=None, token_type_ids=None):
        h = self.words(decoded)
        if input_ids is not None:
            h = h + (self.words(input_ids) * attention_mask[..., None]).mean(1, keepdim=True)
        return self.out(h)


torch.manual_seed(0)
tok, lm = tracepack.script(_made_tokenizer()), tracepack.script(Decoder().eval())


def in_place(prompt: str, limit: int):
    ids = tok(prompt).input_ids[0].tolist()
    while len(ids) < limit:
        nxt = lm(torch.tensor([ids]))[0, -1].argmax().item()
        if nxt == END:
            break
        ids.append(nxt)
    return ids


def in_a_copy(prompt: str, limit: int):
    ids = list(tok(prompt, return_tensors="pt")["input_ids"][0].tolist())
    for _ in range(limit):
        nxt = lm(torch.tensor([ids]))[0, -1].argmax().item()
        if nxt == END:
            break
        ids.append(nxt)
    return tok.decode(ids)


def behind_the_first_words(prompt: str, limit: int):
    ids, words = tok(prompt).input_ids[0].tolist()[:2], []
    while len(words) < limit:
        nxt = lm(torch.tensor([ids]))[0, -1].argmax().item()
        if nxt == END:
            break
        ids.append(nxt)
        words.append(WORDS[nxt])
    return prompt + " " + " ".join(words)


def of_a_batch(prompt: str, limit: int):
    enc = tok(prompt)
    ids, mask = enc.input_ids[0].tolist(), enc["attention_mask"][0].tolist()
    while len(ids) < limit:
        nxt = lm(torch.tensor([ids]), torch.tensor([ids]), torch.tensor([mask]))[0, -1].argmax().item()
        if nxt == END:
            break
        ids.append(nxt)
        mask.append(1)
    return ids, mask


def by_attributes(text: str, limit: int):
    enc = tok(text)
    decoded = torch.zeros(1, 1, dtype=torch.long)
    for _ in range(limit):
        logits = lm(decoded, enc.input_ids, attention_mask=enc.attention_mask)
        decoded = torch.cat([decoded, logits[:, -1:].argmax(-1)], 1)
        if decoded[0, -1] == END:
            break
    return decoded


def by_keys(text: str, limit: int):
    decoded = [0]
    enc = tok(text)
    while len(decoded) < limit:
        logits = lm(torch.tensor([decoded]), input_ids=enc["input_ids"], attention_mask=enc["attention_mask"])
        nxt = logits[0, -1].argmax().item()
        if nxt == END:
            break
        decoded.append(nxt)
    return decoded, enc.input_ids


def by_keywords(text: str, limit: int):
    enc = tok(text, return_tensors="pt")
    decoded = torch.zeros(1, 1, dtype=torch.long)
    for _ in range(limit):
        decoded = torch.cat([decoded, lm(**enc, decoded=decoded)[:, -1:].argmax(-1)], 1)
        if decoded[0, -1] == END:
            break
    return decoded


@pytest.mark.parametrize(
    "process", [in_place, in_a_copy, behind_the_first_words, of_a_batch, by_attributes, by_keys, by_keywords]
)
def test_a_decoding_loop_takes_what_a_tokenizer_gives(process, reloaded):
    loaded = reloaded(tracepack.trace(process, "the cat", 4))
    for text, limit in (("the cat", 4), ("a", 2), ("good a is", 7), ("dog", 1)):
        wanted, got = process(text, limit), loaded(text, limit)
        assert repr(got) == repr(wanted)


def test_a_loop_that_changes_a_batch_is_refused():
    def process(text: str, limit: int):
        decoded = [0]
        enc = tok(text)
        while len(decoded) < limit:
            enc["input_ids"] = torch.cat([enc["input_ids"], torch.tensor([[len(decoded)]])], 1)
            if lm(enc.input_ids)[0, -1].argmax().item() == END:
                break
            decoded.append(1)
        return enc.input_ids

    with pytest.raises(tracepack.RecordError, match="a branch was taken on it"):
        tracepack.trace(process, "the cat", 4)
