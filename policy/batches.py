"""Conversations as padded tensors: rows of similar length together, so that little is computed for padding.

Shapes: B rows, T tokens of the longest row. Rows are padded at the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .bridge import Conversation


@dataclass(frozen=True)
class Batch:
    """Some conversations, side by side."""

    ids: Tensor
    """(B, T) int64"""
    sampled: Tensor
    """(B, T) float32: 1 where the policy chose the token."""
    logprobs: Tensor
    """(B, T) float32: log-probabilities under the policy that sampled."""
    rows: list[int]
    """Index of each row's conversation in the list that was given."""


def collate(conversations: Sequence[Conversation], rows: Sequence[int], pad: int = 0) -> Batch:
    """Return the given rows as one batch."""
    width = max(len(conversations[row].ids) for row in rows)

    def padded(row: Sequence[float], fill: float) -> list[float]:
        return [*row, *[fill] * (width - len(row))]

    chosen = [conversations[row] for row in rows]
    return Batch(
        torch.tensor([padded(c.ids, pad) for c in chosen]),
        torch.tensor([padded(c.sampled, 0.0) for c in chosen], dtype=torch.float32),
        torch.tensor([padded(c.logprobs, 0.0) for c in chosen], dtype=torch.float32),
        list(rows),
    )


def micro_batches(conversations: Sequence[Conversation], tokens: int, pad: int = 0) -> Iterator[Batch]:
    """Yield all conversations in batches of at most ``tokens`` tokens, padding included, shortest rows first."""
    order = sorted(range(len(conversations)), key=lambda row: len(conversations[row].ids))
    rows: list[int] = []
    for row in order:
        if rows and (len(rows) + 1) * len(conversations[row].ids) > tokens:
            yield collate(conversations, rows, pad)
            rows = []
        rows.append(row)
    if rows:
        yield collate(conversations, rows, pad)
