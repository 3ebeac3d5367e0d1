"""The bridge: an episode as chat, chat as tokens, sampled tokens as a tool call.

1. A conversation is one growing list of token ids. What the environment says is encoded once, when it is said; what
   the policy samples is kept as it was sampled. Nothing is ever tokenised twice, so that the trainer sees exactly the
   tokens that the sampler saw.
2. Frames are special tokens that no text can produce: ``<|user|>instruction<|end|>``, then for every turn
   ``<|assistant|>`` (the cue), the sampled ``<|call|>name{"argument":value}<|end|>``, and ``<|tool|>result<|end|>``.
3. A turn that is no call is handed to the environment as it is: being misunderstood is the policy's mistake, and the
   environment says so.

The bridge knows no environment and no model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .tokenizer import Tokenizer


@dataclass(frozen=True)
class Bridge:
    """Turns text into prompt tokens and sampled tokens into actions of the environments' ``"text"`` view."""

    tokenizer: Tokenizer
    max_result_tokens: int = 64
    """Longest tool result that the policy reads; of a longer one it sees head and tail."""

    @cached_property
    def stop_ids(self) -> frozenset[int]:
        """The tokens that end a sampled turn."""
        return frozenset({self._special("<|end|>")})

    def prompt(self, domain: str, instruction: str) -> list[int]:
        """Return the tokens that open an episode, cue included.

        Args:
            domain: The application's name: the system line, shared by all episodes of the domain.
            instruction: The task as the environment words it.
        """
        return (
            self._frame("<|system|>", domain) + self._frame("<|user|>", instruction) + [self._special("<|assistant|>")]
        )

    def result(self, text: str) -> list[int]:
        """Return the tokens of a tool result, followed by the cue of the next turn."""
        return [*self._frame("<|tool|>", text), self._special("<|assistant|>")]

    def call(self, name: str, arguments: Mapping[str, Any]) -> list[int]:
        """Return the tokens of a turn that makes this call, as a policy would sample them."""
        text = name + json.dumps(dict(arguments), separators=(",", ":"), ensure_ascii=False)
        return [self._special("<|call|>"), *self.tokenizer.encode(text), self._special("<|end|>")]

    def action(self, sampled: Sequence[int]) -> str:
        """Return the sampled turn as an OpenAI-style call, or as the text that it is where it is no call."""
        ids = [i for i in sampled if i not in self.stop_ids]
        opening = self._special("<|call|>")
        if opening not in ids:
            return self.tokenizer.decode(ids)
        body = self.tokenizer.decode(ids[ids.index(opening) + 1 :])
        name, brace, rest = body.partition("{")
        return f'{{"name": {json.dumps(name.strip())}, "arguments": {brace}{rest}}}' if brace else body

    def _frame(self, role: str, text: str) -> list[int]:
        return [self._special(role), *self._shortened(self.tokenizer.encode(text), role), self._special("<|end|>")]

    def _shortened(self, ids: list[int], role: str) -> list[int]:
        if role != "<|tool|>" or len(ids) <= self.max_result_tokens:
            return ids
        half = self.max_result_tokens // 2
        return ids[:half] + self.tokenizer.encode("...") + ids[-half:]

    def _special(self, name: str) -> int:
        return self.tokenizer.id(name)


@dataclass
class Conversation:
    """One episode's tokens: what was read, what was sampled, with what probability."""

    ids: list[int]
    """Every token, in order."""
    sampled: list[bool]
    """For every token, whether the policy sampled it (the loss mask)."""
    logprobs: list[float]
    """For every token, the log-probability under the policy that sampled it; 0.0 for tokens that were read."""

    @staticmethod
    def opened(prompt: Sequence[int]) -> Conversation:
        """Return a conversation that holds only its prompt."""
        return Conversation(list(prompt), [False] * len(prompt), [0.0] * len(prompt))

    def read(self, ids: Sequence[int]) -> None:
        """Append tokens that came from the environment."""
        self._append(ids, False, [0.0] * len(ids))

    def say(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> None:
        """Append tokens that the policy (or a demonstrator) chose."""
        self._append(ids, True, [0.0] * len(ids) if logprobs is None else logprobs)

    def _append(self, ids: Sequence[int], sampled: bool, logprobs: Sequence[float]) -> None:
        self.ids += ids
        self.sampled += [sampled] * len(ids)
        self.logprobs += logprobs
