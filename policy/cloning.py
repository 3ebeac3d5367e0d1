"""The warm start: demonstrations by experts that act only on what they have observed, and cloning of their behaviour.

A demonstration is played through a live environment, in the same tokens in which a policy will play. With some
probability the expert slips before its right call (a tool's name misspelt, an argument left out), reads the
environment's complaint, and goes on: the slip's tokens are not imitated, the recovery is.

This module knows environments by their Gymnasium ids only.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .batches import Batch, collate
from .bridge import Bridge, Conversation
from .rollout import Job, Workshop, domain_of

MOST_SLIPS = 2
"""Slips per demonstration; every family's limit of calls leaves room for so many."""


@dataclass(frozen=True)
class Script:
    """One demonstration as text, before there is a tokenizer.

    What was said to the policy and what the expert answered.
    """

    domain: str
    turns: tuple[tuple[str, str, str, bool], ...]
    """Per turn: what the environment said, the call's name, its arguments as JSON, and whether it is worth imitating.
    """

    def texts(self) -> Iterator[str]:
        """Yield everything that a tokenizer should have seen."""
        yield self.domain
        for said, name, arguments, _ in self.turns:
            yield said
            yield name + arguments

    def hasty(self) -> Script:
        """Return what a hasty expert would have done: the same, without the last call before handing in.

        Everything up to there is as it was, so nothing has to be played again.
        """
        (submit,), rest = self.turns[-1:], list(self.turns[:-1])
        said = submit[0]
        while rest:
            said, _, _, imitate = rest.pop()
            if imitate:
                break
        while rest and not rest[-1][3]:  # a slip before the call that is left out
            said = rest.pop()[0]
        return Script(self.domain, (*rest, (said, submit[1], "{}", True)))

    def tokens(self, bridge: Bridge) -> Conversation:
        """Return the demonstration as the conversation that a policy would have had."""
        out = Conversation.opened(bridge.prompt(self.domain, self.turns[0][0]))
        for number, (said, name, arguments, imitate) in enumerate(self.turns):
            if number:
                out.read(bridge.result(said))
            ids = bridge.call(name, json.loads(arguments))
            if imitate:
                out.say(ids)
            else:
                out.read(ids)
        return out


def demonstrate(job: Job, workshop: Workshop, slip_rate: float) -> Script:
    """Play one episode by its family's expert.

    Raises:
        RuntimeError: If the expert did not solve its own task: the family is broken.
    """
    rng = random.Random(f"slips {job.env_id} {sorted(job.options.items())}")
    env = workshop.lend(job.env_id)
    observation, info = env.reset(options=dict(job.options))
    said, slips, turns = observation["text"], 0, list[tuple[str, str, str, bool]]()

    def do(name: str, arguments: Mapping[str, Any], imitate: bool) -> None:
        nonlocal said, info
        written = json.dumps(dict(arguments), separators=(",", ":"), ensure_ascii=False)
        turns.append((said, name, written, imitate))
        observation, _, _, _, info = env.step(json.dumps({"name": name, "arguments": dict(arguments)}))
        said = observation["text"]

    solution: Iterable[str] = cast("Any", env.unwrapped).oracle()
    for action in solution:
        call: dict[str, Any] = json.loads(action)
        if rng.random() < slip_rate and slips < MOST_SLIPS:
            slips += 1
            do(*_slip(call["name"], call["arguments"], rng), False)
        do(call["name"], call["arguments"], True)
    if not info["is_success"]:
        raise RuntimeError(f"the expert failed at {info['task_id']}: {info['reward_terms']} {info['infra_error']}")
    workshop.take_back(job.env_id, env)
    return Script(domain_of(job.env_id), tuple(turns))


def _slip(name: str, arguments: Mapping[str, Any], rng: random.Random) -> tuple[str, Mapping[str, Any]]:
    """Return a version of the call that is refused and changes nothing."""
    if arguments and rng.random() < 0.5:
        wrong = dict(arguments)
        first = next(iter(wrong))
        wrong[f"{first}_"] = wrong.pop(first)
        return name, wrong
    place = rng.randrange(len(name))
    return name[:place] + name[place + 1 :] + "x", arguments


def gather(
    jobs: Sequence[Job],
    workshop: Workshop,
    slip_rate: float,
    threads: int = 4,
    on_done: Callable[[int], None] | None = None,
) -> list[Script]:
    """Play all jobs, several at a time; ``on_done`` hears how many are done."""

    def play(job: Job) -> Script:
        return demonstrate(job, workshop, slip_rate)

    scripts: list[Script] = []
    with ThreadPoolExecutor(threads) as pool:
        for script in pool.map(play, jobs):
            scripts.append(script)
            if on_done:
                on_done(len(scripts))
    return scripts


def save_scripts(path: Path, scripts: Iterable[Script]) -> None:
    """Write demonstrations, one JSON line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps([s.domain, s.turns]) + "\n" for s in scripts), encoding="utf-8")


def load_scripts(path: Path) -> list[Script]:
    """Read what ``save_scripts`` wrote."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Script(domain, tuple((a, b, c, d) for a, b, c, d in turns)) for domain, turns in rows]


@dataclass(frozen=True)
class Cloning:
    """Settings of behaviour cloning."""

    steps: int = 600
    batch: int = 32
    """Demonstrations per step."""
    learning_rate: float = 3e-3
    warmup: int = 30
    """Steps over which the learning rate rises; afterwards it falls to a tenth along a cosine."""
    reading_weight: float = 0.1
    """Weight of predicting what was read, beside what was done: a cheap model of the world."""


def clone(
    model: nn.Module,
    demonstrations: Sequence[Conversation],
    settings: Cloning,
    seed: int,
    on_step: Callable[[int, float], None] | None = None,
) -> None:
    """Fit the model to the demonstrations, in place.

    Args:
        model: Maps (B, T) ids to (B, T, V) logits.
        demonstrations: What to imitate.
        settings: See ``Cloning``.
        seed: Orders the demonstrations.
        on_step: Hears the step and the mean loss per imitated token, in nats.
    """
    optimizer = torch.optim.AdamW(model.parameters(), settings.learning_rate, betas=(0.9, 0.95), weight_decay=0.01)
    for step, batch in zip(range(settings.steps), _batches(demonstrations, settings.batch, seed), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * _schedule(step, settings)
        optimizer.zero_grad(set_to_none=True)
        loss, shown = imitation_loss(model, batch, settings.reading_weight)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if on_step:
            on_step(step, shown)


def imitation_loss(model: nn.Module, batch: Batch, reading_weight: float) -> tuple[Tensor, float]:
    """Return the loss, and the mean over imitated tokens alone, in nats."""
    logits: Tensor = model(batch.ids)[:, :-1]
    targets = batch.ids[:, 1:]
    losses = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
    done = batch.sampled[:, 1:]
    read = (targets != 0).float() * (1 - done)
    acted = (losses * done).sum() / done.sum()
    return acted + reading_weight * (losses * read).sum() / read.sum(), acted.item()


def _schedule(step: int, settings: Cloning) -> float:
    if step < settings.warmup:
        return (step + 1) / settings.warmup
    progress = (step - settings.warmup) / max(settings.steps - settings.warmup, 1)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))


def _batches(conversations: Sequence[Conversation], size: int, seed: int) -> Iterator[Batch]:
    """Yield batches for ever.

    Shuffled, then sorted by length within a window of eight batches, so that rows of a batch are alike.
    """
    rng = np.random.default_rng(seed)
    while True:
        order: list[int] = rng.permutation(len(conversations)).tolist()
        for start in range(0, len(order), 8 * size):
            window = sorted(order[start : start + 8 * size], key=lambda row: len(conversations[row].ids))
            parts = [window[i : i + size] for i in range(0, len(window), size)]
            for index in rng.permutation(len(parts)):
                yield collate(conversations, parts[int(index)])
