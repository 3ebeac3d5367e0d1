"""Group-relative policy optimisation: which tokens to make likelier, and by how much.

1. Episodes of one group play the same task. The advantage of an episode is its reward less the group's mean; dividing
   by the standard deviation would favour tasks that are nearly solved or nearly hopeless (Liu et al. 2025, "Dr.
   GRPO", arXiv:2503.20783), so it is not done.
2. Groups whose members all got the same reward teach nothing and are left out of the normaliser.
3. The loss is the policy gradient with a clipped importance weight, "CISPO" (MiniMax 2025, arXiv:2506.13585):
   ``-mean_t( stop_gradient(min(p_new/p_old, clip)) * A * log p_new )``, the mean over all sampled tokens of the
   batch.

This module knows tensors and rewards; no environment, no text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .batches import Batch, micro_batches
from .bridge import Conversation


@dataclass(frozen=True)
class PolicyGradient:
    """Settings of one update."""

    clip: float = 5.0
    """Largest importance weight."""
    minibatches: int = 2
    """Optimiser steps per batch of episodes."""
    micro_tokens: int = 8192
    """Tokens of one forward and backward pass, padding included."""
    max_norm: float = 1.0
    """The gradient is scaled down to this norm."""
    negative_weight: float = 1.0
    """Factor on advantages below 0; below 1 the update leans on what went well."""
    entropy_bonus: float = 0.0
    """Weight of the mean token entropy, in nats, that is added to the objective."""


@dataclass(frozen=True)
class UpdateStats:
    """What one update did; means over sampled tokens."""

    loss: float
    entropy: float
    """Nats per sampled token."""
    mismatch: float
    """Mean of (p_old/p_new - 1 - log(p_old/p_new)): an estimate of KL(old, new) in nats that is never negative."""
    gradient_norm: float
    tokens: int


def group_advantages(rewards: Sequence[float], groups: Sequence[int]) -> list[float]:
    """Return each reward less the mean of its group."""
    members: dict[int, list[float]] = defaultdict(list)
    for reward, group in zip(rewards, groups, strict=True):
        members[group].append(reward)
    means = {group: sum(values) / len(values) for group, values in members.items()}
    return [reward - means[group] for reward, group in zip(rewards, groups, strict=True)]


def token_logprobs(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return log-probabilities and entropies, both (B, T-1): entry t belongs to token t + 1."""
    logits: Tensor = model(batch.ids)[:, :-1]
    targets = batch.ids[:, 1:]
    logprobs = -cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
    log_p = torch.log_softmax(logits.detach() if not logits.requires_grad else logits, -1)
    return logprobs, -(log_p.exp() * log_p).sum(-1)


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    conversations: Sequence[Conversation],
    advantages: Sequence[float],
    settings: PolicyGradient,
    generator: torch.Generator,
) -> UpdateStats:
    """Change the model's weights once per minibatch.

    Args:
        model: Maps (B, T) ids to (B, T, V) logits.
        optimizer: Holds the model's parameters.
        conversations: Episodes with the log-probabilities that they were sampled with.
        advantages: One number per conversation; those with 0 are left out.
        settings: See ``PolicyGradient``.
        generator: Shuffles episodes into minibatches.
    """
    kept = [row for row, advantage in enumerate(advantages) if advantage != 0.0]
    order = [kept[int(i)] for i in torch.randperm(len(kept), generator=generator)]
    parts = [order[i :: settings.minibatches] for i in range(settings.minibatches)]
    done = [_step(model, optimizer, conversations, advantages, part, settings) for part in parts if part]
    tokens = sum(stats.tokens for stats in done) or 1

    def mean(name: str) -> float:
        return sum(getattr(stats, name) * stats.tokens for stats in done) / tokens

    return UpdateStats(
        mean("loss"), mean("entropy"), mean("mismatch"), mean("gradient_norm"), sum(s.tokens for s in done)
    )


def _step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    conversations: Sequence[Conversation],
    advantages: Sequence[float],
    rows: Sequence[int],
    settings: PolicyGradient,
) -> UpdateStats:
    chosen = [conversations[row] for row in rows]
    tokens = sum(sum(c.sampled) for c in chosen)
    sums = torch.zeros(3)
    optimizer.zero_grad(set_to_none=True)
    for batch in micro_batches(chosen, settings.micro_tokens):
        advantage = torch.tensor([advantages[rows[row]] for row in batch.rows])
        advantage = torch.where(advantage < 0, settings.negative_weight * advantage, advantage)
        sums += _backward(model, batch, advantage, tokens, settings)
    norm = nn.utils.clip_grad_norm_(model.parameters(), settings.max_norm)
    optimizer.step()
    loss, entropy, mismatch = (float(value) for value in sums)
    return UpdateStats(loss, entropy, mismatch, float(norm), tokens)


def _backward(model: nn.Module, batch: Batch, advantage: Tensor, tokens: int, settings: PolicyGradient) -> Tensor:
    """Add the gradient of one micro-batch's share of the loss; return the shares of loss, entropy and mismatch."""
    new, entropy = token_logprobs(model, batch)
    mask, old = batch.sampled[:, 1:], batch.logprobs[:, 1:]
    log_ratio = (new.detach() - old) * mask
    weight = log_ratio.exp().clamp(max=settings.clip)
    objective = weight * advantage[:, None] * new + settings.entropy_bonus * entropy
    loss = -(objective * mask).sum() / tokens
    loss.backward()
    mismatch = (((-log_ratio).exp() - 1 + log_ratio) * mask).sum() / tokens
    return torch.stack([loss.detach(), (entropy.detach() * mask).sum() / tokens, mismatch])
