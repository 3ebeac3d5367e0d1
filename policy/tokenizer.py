"""Text to token ids and back, so that a value looks the same wherever it stands.

A small model learns a tool's language by copying: a number in an observation must become the *same ids* in a call.
Byte-level BPE is therefore trained behind a pre-tokenizer whose pieces never depend on their neighbours: one digit, a
run of letters without the space before it, one `-` or `.`, one whitespace character, or a run of other punctuation
(`":"`, `}}`), which may become one token. Any byte encodes, and `decode(encode(text)) == text`.

The frame of a conversation is made of special ids (`<|assistant|>` and so on) that no text can produce: their spelling
inside a text encodes to ordinary ids. This module does not know how a conversation is framed.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

PAD: Final = "<|pad|>"
SYSTEM: Final = "<|system|>"
USER: Final = "<|user|>"
TOOL: Final = "<|tool|>"
ASSISTANT: Final = "<|assistant|>"
CALL: Final = "<|call|>"
END: Final = "<|end|>"
SPECIALS: Final = (PAD, SYSTEM, USER, TOOL, ASSISTANT, CALL, END)
"""The control tokens, in the order of their ids from 0; roles, the start of a tool call, and the end of a turn."""

PIECES: Final = r"\p{L}+|\p{N}|[-.]|\s|[^\p{L}\p{N}\s.\-]+"
"""What a piece is; BPE never merges across two pieces."""

_FILE: Final = "tokenizer.json"


class Tokenizer:
    """A trained, frozen byte-level BPE.

    Example:
        >>> from makerspace.policy.tokenizer import Tokenizer
        >>> tokenizer = Tokenizer.train(["plate 40 mm", "hole 4 mm"], vocab_size=300)
        >>> tokenizer.decode(tokenizer.encode("hole -4.5 mm"))
        'hole -4.5 mm'
        >>> tokenizer.id("<|end|>") in tokenizer.encode("<|end|>")
        False
    """

    def __init__(self, core: tokenizers.Tokenizer) -> None:
        """Wraps a trained core; use `train` or `load`."""
        core.encode_special_tokens = True  # text never becomes a control token
        self._core = core
        ids = {name: core.token_to_id(name) for name in SPECIALS}
        if missing := [name for name, index in ids.items() if index is None]:
            raise ValueError(f"the tokenizer lacks the control tokens {missing}")
        self._ids = {name: index for name, index in ids.items() if index is not None}

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int) -> "Tokenizer":
        """Learns merges from texts.

        Args:
            texts: what the policy will read and write.
            vocab_size: upper bound on the number of ids, control tokens and the 256 bytes included.

        Raises:
            ValueError: the bound leaves no room for control tokens and bytes.
        """
        if vocab_size < 256 + len(SPECIALS):
            raise ValueError(f"vocab_size must be at least {256 + len(SPECIALS)}, not {vocab_size}")
        core = tokenizers.Tokenizer(models.BPE())
        core.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(PIECES), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        core.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=2,
            special_tokens=list(SPECIALS),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        core.train_from_iterator(texts, trainer)
        return cls(core)

    def encode(self, text: str) -> list[int]:
        """Returns the ids of a text; no control token is ever among them.

        Half of a surrogate pair, which UTF-8 cannot hold, becomes `?`.
        """
        return self._core.encode(_valid(text), add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text, faster than one by one."""
        encoded = self._core.encode_batch([_valid(text) for text in texts], add_special_tokens=False)
        return [item.ids for item in encoded]

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of ids; control tokens appear by their spelling, broken UTF-8 as U+FFFD."""
        return self._core.decode(list(ids), skip_special_tokens=False)

    def id(self, special: str) -> int:
        """Returns the id of a control token.

        Raises:
            KeyError: there is no control token of that name.
        """
        return self._ids[special]

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids that no text produces."""
        return frozenset(self._ids.values())

    @property
    def vocab_size(self) -> int:
        """Number of ids, control tokens included."""
        return self._core.get_vocab_size()

    @property
    def digest(self) -> str:
        """SHA-256 of the tokenizer's own file: two tokenizers with one digest give equal ids."""
        return hashlib.sha256(self._core.to_str().encode()).hexdigest()

    def save(self, directory: Path | str) -> None:
        """Writes `tokenizer.json`, and the small file with which `transformers` reads it."""
        path = Path(directory)
        path.mkdir(parents=True, exist_ok=True)
        self._core.save(str(path / _FILE))
        (path / "tokenizer_config.json").write_text(json.dumps(_TRANSFORMERS, indent=2) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> "Tokenizer":
        """Reads what `save` wrote, given the directory or the `tokenizer.json` in it.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no tokenizer of this kind.
        """
        file = Path(path) / _FILE if Path(path).is_dir() else Path(path)
        if not file.is_file():
            raise FileNotFoundError(file)
        return cls(tokenizers.Tokenizer.from_file(str(file)))


_TRANSFORMERS: Final = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "pad_token": PAD,
    "eos_token": END,
    "additional_special_tokens": [SYSTEM, USER, TOOL, ASSISTANT, CALL],
    "split_special_tokens": True,
    "clean_up_tokenization_spaces": False,
    "model_input_names": ["input_ids", "attention_mask"],
}


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
