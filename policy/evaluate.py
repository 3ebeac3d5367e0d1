"""Evaluation: success on held-out tasks, with an interval, greedily and sampled.

The tasks of an evaluation are fixed by their number and split, so that two policies are compared on the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .rollout import Episode, Job, Rollout, scored

Z95 = 1.959964
"""Two-sided 95 % quantile of the standard normal distribution."""


@dataclass(frozen=True)
class Rate:
    """A success rate with its 95 % interval."""

    successes: int
    tasks: int
    """Scored tasks; those whose sandbox failed are not among them."""

    @property
    def mean(self) -> float:
        """Successes per task."""
        return self.successes / self.tasks if self.tasks else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The score interval (Wilson 1927, "Probable inference, the law of succession", J.

        Am. Stat. Assoc. 22, 209-212).
        """
        if not self.tasks:
            return math.nan, math.nan
        n, p, z = self.tasks, self.mean, Z95
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, min(centre - half, p)), min(1.0, max(centre + half, p))

    def __str__(self) -> str:
        low, high = self.interval
        return f"{100 * self.mean:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


@dataclass(frozen=True)
class Evaluation:
    """How a policy fared."""

    overall: Rate
    families: Mapping[str, Rate]
    reward: float
    """Mean reward of scored tasks."""
    unscored: int
    """Episodes whose sandbox or scorer failed."""
    turns: float
    """Mean turns per episode."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data, intervals included."""
        rates = {"overall": self.overall, **self.families}
        table = {name: {**asdict(rate), "mean": rate.mean, "interval": rate.interval} for name, rate in rates.items()}
        return {"success": table, "reward": self.reward, "unscored": self.unscored, "turns": self.turns}


def evaluation_jobs(env_ids: Sequence[str], tasks: int, split: str, seed: int = 0) -> list[Job]:
    """Return ``tasks`` jobs, as many for every id as for the next, difficulties spread evenly over [0, 1].

    The tasks depend on ``env_ids``, ``tasks`` and ``split`` only; ``seed`` is that of the sampling.
    """
    jobs: list[Job] = []
    for number in range(tasks):
        index, which = divmod(number, len(env_ids))
        rounds = max(math.ceil(tasks / len(env_ids)) - 1, 1)
        options = {"split": split, "index": index, "difficulty": round(index / rounds, 3)}
        jobs.append(Job(env_ids[which], options, group=number, seed=seed * 1_000_003 + number))
    return jobs


def evaluate(rollout: Rollout, jobs: Sequence[Job], temperature: float) -> Evaluation:
    """Play the jobs and summarise them."""
    return summarise(rollout.play(jobs, temperature))


def summarise(episodes: Sequence[Episode]) -> Evaluation:
    """Return the success rates of played episodes."""
    kept = scored(episodes)
    names = sorted({episode.job.env_id for episode in kept})
    families = {name: _rate([e for e in kept if e.job.env_id == name]) for name in names}
    reward = sum(e.reward or 0.0 for e in kept) / max(len(kept), 1)
    turns = sum(e.turns for e in kept) / max(len(kept), 1)
    return Evaluation(_rate(kept), families, reward, len(episodes) - len(kept), turns)


def _rate(episodes: Sequence[Episode]) -> Rate:
    return Rate(sum(e.success for e in episodes), len(episodes))
