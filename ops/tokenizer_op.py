"""TokenizerOp: what `tokenizer` and `script` make of a tokenizer, with the calls that `transformers` gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .graph.device import CPU
from .graph.errors import ScriptError, SignatureError
from .graph.graph import KernelCall, Target
from .op import KernelOp
from .runtime.state import State
from .runtime.user_code import user_line
from .tokenizer.batch import TokenBatch
from .tokenizer.call_settings import NUMBERS, TokenizerAttributeError, canonical, settings_of, wrong
from .tokenizer.kernel import TokenizerKernel
from .tokenizer.origin import habits_of, json_of, padding_of, truncation_of
from .tokenizer.tokenizers_package import tokenizers
from .tracing_hook import current


@dataclass
class _TokenizerApplication:
    """One call of a tokenizer, as a graph records it."""

    target: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    state: State
    kernel: TokenizerKernel

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.kernel(*args, **kwargs)

    def rebuild(self, result: Any) -> Any:
        return TokenBatch(result) if type(result) is dict else result


class TokenizerOp(KernelOp):
    """A tokenizer: strings in, token ids and masks out, and back by `decode` and `batch_decode`.

    A call takes what one of `transformers` takes: a text or a list, a second text for each (``text_pair``),
    ``padding``, ``truncation``, ``max_length``, ``stride``, ``pad_to_multiple_of``, ``padding_side``,
    ``add_special_tokens``, ``is_split_into_words`` and ``return_…`` of ``attention_mask``, ``token_type_ids``,
    ``special_tokens_mask``, ``offsets_mapping``, ``length`` and ``overflowing_tokens``. Results are tensors. Without
    ``padding`` and ``truncation`` the op does what it was made for: it pads to the longest text, and truncates to the
    limit of the tokenizer.

    Example:
        >>> import tracepack, tokenizers
        >>> words = {"[PAD]": 0, "[UNK]": 1, "hello": 2, "there": 3}
        >>> made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
        >>> made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        >>> op = tracepack.tokenizer(made)
        >>> batch = op(["hello", "there"], ["there there", "x"], padding="max_length", max_length=4)
        >>> batch.input_ids
        tensor([[2, 3, 3, 0],
                [3, 1, 0, 0]])
        >>> op.batch_decode(batch["input_ids"][:, :2])
        ['hello there', 'there [UNK]']
    """

    kernel: TokenizerKernel

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Tokenizes texts; see the class."""
        args = tuple(each.tolist() if type(each).__module__.startswith(_TABLES) else each for each in args)
        return super().__call__(*args, **kwargs)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the tokenizer."""
        texts, given = self._canonical(*args, **kwargs)
        found = self.kernel(*texts, **given)
        return TokenBatch(found) if type(found) is dict else found

    def application(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as one node of a kernel."""
        texts, given = self._canonical(*args, **kwargs)
        return _TokenizerApplication(KernelCall(self.kernel), texts, given, self.state, self.kernel)

    def _canonical(
        self, text: Any = None, text_pair: Any = None, *rest: Any, task: str = "", **given: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The texts and the settings of a call, the latter plain; only lengths may be numbers of run time."""
        if rest:
            fix = "Pass padding=…, truncation=… and the like by name."
            raise SignatureError("a tokenizer op takes two arguments by position", got=2 + len(rest), fix=fix)
        given = _plain(given)
        texts = (text,) if text_pair is None else (text, text_pair)
        if task:
            return texts, {"task": task, **given}
        found = canonical(given, self.kernel.habits.encoding)
        settings_of(_concrete(found))
        return texts, found

    # -- back to texts -----------------------------------------------------------------------------------------

    def decode(
        self, token_ids: Any, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool | None = None
    ) -> Any:
        """The text of token ids, also inside a processing function.

        Args:
            token_ids: integers, a tensor [L] or a list; of [N, L] come N texts.
            skip_special_tokens: leaves special tokens out.
            clean_up_tokenization_spaces: removes spaces before punctuation; None for what the tokenizer does.

        Raises:
            SignatureError: they are no ids.
        """
        cleans = self._cleans(clean_up_tokenization_spaces)
        return self(
            token_ids,
            task="decode",
            skip_special_tokens=skip_special_tokens,
            clean_up_tokenization_spaces=cleans,
        )

    def batch_decode(
        self, sequences: Any, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool | None = None
    ) -> Any:
        """The texts of several rows of token ids, as a list; see `decode`."""
        cleans = self._cleans(clean_up_tokenization_spaces)
        return self(
            sequences,
            task="batch_decode",
            skip_special_tokens=skip_special_tokens,
            clean_up_tokenization_spaces=cleans,
        )

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """The tokens of the ids of one text, as a list; of a single id its token."""
        if isinstance(ids, int):
            return self([ids], task="tokens")[0]
        return self(ids, task="tokens", skip_special_tokens=skip_special_tokens)

    def _cleans(self, given: bool | None) -> bool:
        wanted = self.kernel.habits.cleans if given is None else given
        return bool(wanted) and not self.kernel.is_bpe

    # -- constants of the tokenizer ----------------------------------------------------------------------------

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """The id of a token that the program knows, such as ``"[MASK]"``, or the ids of several.

        Raises:
            SignatureError: the vocabulary lacks it.
        """
        if isinstance(tokens, list | tuple):
            return [self.convert_tokens_to_ids(token) for token in tokens]
        if type(tokens) is not str:
            fix = "Write tracepack.lookup(op.get_vocab(), tokens, default=op.unk_token_id) for tokens of run time."
            raise wrong("tokens", type(tokens).__name__, "a constant text", what="this is no constant token", fix=fix)
        found = self.kernel.plain.token_to_id(tokens)
        if found is None:
            raise wrong("tokens", tokens, "a token of the vocabulary")
        return found

    @property
    def vocab_size(self) -> int:
        """The number of tokens, without added ones."""
        return int(self.kernel.plain.get_vocab_size(with_added_tokens=False))

    def get_vocab(self) -> dict[str, int]:
        """The id of each token, added ones among them, by id: the library gives another order in each call."""
        return dict(sorted(self.kernel.plain.get_vocab().items(), key=lambda pair: pair[1]))

    @property
    def vocab(self) -> dict[str, int]:
        """The id of each token, as `get_vocab` gives it."""
        return self.get_vocab()

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """How many special tokens stand around a text, or around a pair of texts."""
        return int(self.kernel.plain.num_special_tokens_to_add(pair))

    def __len__(self) -> int:
        return int(self.kernel.plain.get_vocab_size())

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        kernel = self.__dict__.get("kernel")
        if kernel is not None and name in kernel.habits.tokens:
            return kernel.habits.tokens[name]
        fix = _INSTEAD.get(name, "")
        if name.startswith("__"):  # Python and its libraries ask for these
            raise AttributeError(name)
        if not fix and name.removesuffix("_id").endswith("_token"):
            fix = "Write convert_tokens_to_ids('[MASK]') with the token itself."
        raise TokenizerAttributeError(f"a tokenizer op has no {name!r}", where=str(user_line() or ""), fix=fix)


_TABLES = ("numpy", "pandas", "polars")
_BEFORE = "Do it to the tokenizer before script()."
_IDS = "Write op(text, truncation=False)['input_ids'][0], and .tolist() for a list."
_INSTEAD = {
    "encode": _IDS,
    "encode_plus": "Call the op itself.",
    "batch_encode_plus": "Call the op itself.",
    "encode_batch": "Call the op itself.",
    "tokenize": "Write op.convert_ids_to_tokens(op(text, add_special_tokens=False, truncation=False)['input_ids'][0]).",
    "pad": "Call the op with padding=True on the texts, or use torch.nn.utils.rnn.pad_sequence.",
    "apply_chat_template": "Write the template as an f-string, and tokenize that.",
    "convert_tokens_to_string": "Write op.decode(ids).",
    "decode_batch": "Write op.batch_decode(ids).",
    "token_to_id": "Write op.convert_tokens_to_ids('[MASK]') with the token itself.",
    "id_to_token": "Write op.convert_ids_to_tokens(ids).",
    "get_vocab_size": "Write len(op).",
    "get_special_tokens_mask": "Call the op with return_special_tokens_mask=True.",
    "build_inputs_with_special_tokens": "Call the op with two texts: op(text, text_pair).",
    "prepare_for_model": "Call the op on the texts.",
    "truncate_sequences": "Call the op with truncation=True and a max_length.",
    "padding_side": "Call the op with padding_side=….",
    "truncation_side": "Call the op with truncation_side=….",
    "save_pretrained": "Save the pipeline, or the tokenizer that the op was made from.",
    "chat_template": "Write the template as an f-string, and tokenize that.",
    **dict.fromkeys(("add_tokens", "add_special_tokens", "enable_padding", "enable_truncation", "no_padding"), _BEFORE),
}


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with numbers of run time only where a length is; a trace fixes all others."""
    recorder = current()
    if recorder is None:
        return dict(given)
    return {name: value if name in NUMBERS else recorder.plain(value) for name, value in given.items()}


def _concrete(given: Mapping[str, Any]) -> Any:
    recorder = current()
    return given if recorder is None else recorder.concrete(dict(given))


def tokenizer(source: Any, *, max_length: int | None = None, pad_token: str = "[PAD]") -> TokenizerOp:
    """Makes a tokenizer op: strings in, token ids and masks out.

    Args:
        source: a `tokenizers.Tokenizer`, a fast tokenizer of `transformers`, or the path of a ``tokenizer.json``.
        max_length: truncates texts to this many tokens; by default to as many as the source does.
        pad_token: the token that pads short texts, where the source has none.

    Returns:
        The op. It is called as a tokenizer of transformers: with texts [N], or two such lists for pairs, ``padding``,
        ``truncation``, ``max_length``, ``return_offsets_mapping`` and the like; it gives int64 tensors [N, L]. Its
        ``decode`` and ``batch_decode`` make texts of ids.

    Raises:
        ScriptError: the source is none of these, or has no such padding token.
        MissingExtraError: the `tokenizers` package is not installed.

    Example:
        >>> import tracepack, tokenizers
        >>> words = tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "hello": 2}, unk_token="[UNK]")
        >>> made = tokenizers.Tokenizer(words)
        >>> made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        >>> tracepack.tokenizer(made)(["hello there", "hello"])["input_ids"]
        tensor([[2, 1],
                [2, 0]])
    """
    made = tokenizers().Tokenizer.from_str(json_of(source))
    padding = padding_of(source, made, pad_token)
    identity = made.token_to_id(padding["pad_token"])
    if identity is None:
        raise ScriptError(
            "the tokenizer has no such padding token", got=repr(padding["pad_token"]),
            fix="Pass pad_token='…': tracepack.tokenizer(source, pad_token='…').",
        )  # fmt: skip
    made.enable_padding(pad_id=identity, **padding)
    truncation = truncation_of(source, made, max_length)
    if truncation is None:
        made.no_truncation()
    else:
        made.enable_truncation(**truncation)
    return TokenizerOp(TokenizerKernel(made.to_str(), habits_of(source)), "tokenizer", CPU)
