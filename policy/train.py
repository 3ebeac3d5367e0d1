"""Training, in the order in which things happen: warm start, examination, reinforcement, examination, report.

Everything random follows from the recipe's seed and the step's number, so that a run that was killed goes on from its
last checkpoint with the same tasks and the same sampling seeds as it would have had. What is written, all under the
run's folder: ``recipe.json``, ``metrics.jsonl`` (one line per event), ``checkpoints/``, ``policy/`` (weights that
``transformers`` loads too), ``traces/`` of the examinations, ``report.json`` and ``curve.png``.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from .checkpoint import load_checkpoint, save_checkpoint
from .evaluate import Evaluation, evaluate, evaluation_jobs
from .mixing import Curriculum, Mixer
from .player import Player, named_policy
from .pretrained import Policy, save_policy
from .recipe import Recipe
from .reinforce import PolicyGradient, UpdateStats, group_advantages, update
from .rollout import Episode, Job, scored
from .warmstart import warm_start

Listener = Callable[[str, Mapping[str, Any]], None]
"""Hears an event's name and its numbers."""

GREEDY, SAMPLED = 0.0, 1.0


def _silence(event: str, numbers: Mapping[str, Any]) -> None:
    """Hear nothing."""


@dataclass(frozen=True)
class Report:
    """What a run came to: success on held-out tasks before and after, greedy and sampled."""

    before: Mapping[str, Evaluation]
    after: Mapping[str, Evaluation]
    steps: int
    minutes: float
    """Minutes of reinforcement, examinations not counted."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        evaluations = {
            when: {how: e.to_json() for how, e in table.items()}
            for when, table in (("before", self.before), ("after", self.after))
        }
        return {**evaluations, "steps": self.steps, "minutes": self.minutes}


class Trainer:
    """One run of one recipe in one folder."""

    def __init__(self, recipe: Recipe, folder: Path, listener: Listener = _silence) -> None:
        torch.set_num_threads(recipe.engine.threads)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "recipe.json").write_text(recipe.model_dump_json(indent=2), encoding="utf-8")
        self.recipe, self.folder, self._listener = recipe, folder, listener
        self.player = Player(self._first_policy(), recipe)
        self.model = self.player.policy.model
        learning_rate = recipe.reinforce.learning_rate
        self.optimizer = torch.optim.AdamW(self.model.parameters(), learning_rate, betas=(0.9, 0.99), weight_decay=0.0)
        self.mixer = Mixer(dict.fromkeys(self.player.env_ids, 1.0))
        self.curriculum = Curriculum()
        self.step = 0
        self.seconds = 0.0

    def run(self, resume: bool = False) -> Report:
        """Do everything and return the report."""
        before = self.examine("before")
        if resume:
            self.resume()
        self.reinforce()
        after = self.examine("after") if self.step else before
        save_policy(self.player.policy, self.folder / "policy")
        report = Report(before, after, self.step, self.seconds / 60)
        (self.folder / "report.json").write_text(json.dumps(report.to_json(), indent=2), encoding="utf-8")
        return report

    def examine(self, when: str) -> dict[str, Evaluation]:
        """Play the held-out tasks, greedily and sampled, and leave their traces in ``traces/<when>``."""
        exam, out = self.recipe.examination, dict[str, Evaluation]()
        jobs = evaluation_jobs(self.player.env_ids, exam.tasks, exam.split, self.recipe.seed)
        for how, temperature in (("greedy", GREEDY), ("sampled", SAMPLED)):
            with self.player.rollout(self.folder / "traces" / when / how) as rollout:
                out[how] = evaluate(rollout, jobs, temperature)
            self._tell("examination", {"when": when, "how": how, **out[how].to_json()})
        return out

    def reinforce(self) -> None:
        """Take the recipe's steps of reinforcement learning, from where this run stands."""
        settings = self.recipe.reinforce
        with self.player.rollout() as rollout:
            while self.step < settings.steps and not 0 < settings.max_minutes * 60 < self.seconds:
                begun = time.monotonic()
                episodes = rollout.play(self._jobs(), settings.temperature)
                played = time.monotonic()
                stats = self._learn(episodes)
                self.step += 1
                self.seconds += time.monotonic() - begun
                timing = {"play_seconds": played - begun, "learn_seconds": time.monotonic() - played}
                self._tell("step", {"step": self.step, **summary(episodes), **asdict(stats), **timing})
                self._save()

    def resume(self) -> None:
        """Go on from the last checkpoint, if there is one."""
        state = load_checkpoint(self.folder / "checkpoints", self.model, self.optimizer)
        if state is not None:
            self.step, self.seconds = state["step"], state["seconds"]
            self.mixer.owed, self.curriculum.rates = state["owed"], state["rates"]
            self.player.refresh()

    def _jobs(self) -> list[Job]:
        """Draw one batch: every domain in its proportion, every group at a difficulty worth playing."""
        settings, rng = self.recipe.reinforce, random.Random(f"{self.recipe.seed}/{self.step}")
        jobs: list[Job] = []
        for group, name in enumerate(self.mixer.draw(settings.groups)):
            options = {"split": "train", "index": rng.randrange(2**31), "difficulty": self.curriculum.draw(name, rng)}
            jobs += [Job(name, options, group, rng.randrange(2**62)) for _ in range(settings.group_size)]
        return jobs

    def _learn(self, episodes: Sequence[Episode]) -> UpdateStats:
        settings, kept = self.recipe.reinforce, scored(episodes)
        for group in sorted({episode.job.group for episode in kept}):
            members = [episode for episode in kept if episode.job.group == group]
            self.curriculum.learn(
                members[0].job.env_id, members[0].job.options["difficulty"], [m.success for m in members]
            )
        rewards = [episode.reward or 0.0 for episode in kept]
        if settings.shuffle_rewards:
            random.Random(f"shuffle {self.recipe.seed}/{self.step}").shuffle(rewards)
        advantages = group_advantages(rewards, [episode.job.group for episode in kept])
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * min((self.step + 1) / max(settings.warmup, 1), 1.0)
        generator = torch.Generator().manual_seed(self.recipe.seed * 1_000_003 + self.step)
        how = PolicyGradient(
            clip=settings.clip,
            minibatches=settings.minibatches,
            negative_weight=settings.negative_weight,
            entropy_bonus=settings.entropy_bonus,
        )
        stats = update(self.model, self.optimizer, [e.conversation for e in kept], advantages, how, generator)
        self.player.refresh()
        return stats

    def _first_policy(self) -> Policy:
        if self.recipe.warm_start.weights == "clone":
            return warm_start(self.recipe, self.folder, self._tell)
        return named_policy(self.recipe.warm_start.weights)

    def _save(self) -> None:
        standing = {"step": self.step, "seconds": self.seconds, "owed": self.mixer.owed, "rates": self.curriculum.rates}
        save_checkpoint(self.folder / "checkpoints", self.model, self.optimizer, standing)

    def _tell(self, event: str, numbers: Mapping[str, Any]) -> None:
        with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **numbers}) + "\n")
        self._listener(event, numbers)


def summary(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the numbers that show how a batch went: means over scored episodes, and the share of groups that teach."""
    kept = scored(episodes)
    count = max(len(kept), 1)
    groups: dict[int, set[float]] = {}
    for episode in kept:
        groups.setdefault(episode.job.group, set()).add(episode.reward or 0.0)
    return {
        "reward": sum(e.reward or 0.0 for e in kept) / count,
        "success": sum(e.success for e in kept) / count,
        "turns": sum(e.turns for e in kept) / count,
        "errors": sum(e.errors for e in kept) / count,
        "truncated": sum(e.truncated for e in kept) / count,
        "unscored": len(episodes) - len(kept),
        "mixed_groups": sum(len(values) > 1 for values in groups.values()) / max(len(groups), 1),
    }
