"""Which tasks come next: domains in fixed proportion in every batch, difficulties where there is most to learn.

1. ``Mixer`` apportions each batch exactly: after any number of batches no entry is one whole group away from its
   share.
2. ``Curriculum`` keeps, for every entry and difficulty band, a running success rate p, and draws bands in proportion
   to sqrt(p (1 - p)), the spread of a success-or-failure reward: bands that are always or never solved teach nothing
   to a group baseline.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Mixer:
    """Hands out names in proportion to their weights, by error diffusion."""

    weights: Mapping[str, float]
    """Any positive numbers."""
    owed: dict[str, float] = field(default_factory=dict[str, float])
    """What each name is short of its share so far, in groups; part of a checkpoint."""

    def draw(self, count: int) -> list[str]:
        """Return ``count`` names, those with the largest debt first."""
        total = sum(self.weights.values())
        out: list[str] = []
        for _ in range(count):
            for name, weight in self.weights.items():
                self.owed[name] = self.owed.get(name, 0.0) + weight / total
            name = max(self.weights, key=lambda n: self.owed[n])
            self.owed[name] -= 1.0
            out.append(name)
        return out


@dataclass
class Curriculum:
    """Draws a difficulty in [0, 1] for a name, from the band at the edge of competence."""

    bands: int = 5
    memory: float = 0.8
    """How much of a band's running rate survives one new group."""
    floor: float = 0.08
    """Weight of a band with nothing to learn, so that it is looked at again."""
    rates: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Running success rate of each band of each name; starts at 0.5: unknown is worth a look."""

    def draw(self, name: str, rng: random.Random) -> float:
        """Return a difficulty for the next group of ``name``."""
        weights = [math.sqrt(p * (1 - p)) + self.floor for p in self._rates(name)]
        (band,) = rng.choices(range(self.bands), weights)
        return round((band + rng.random()) / self.bands, 3)

    def learn(self, name: str, difficulty: float, successes: Sequence[bool]) -> None:
        """Take in how a group fared."""
        rates = self._rates(name)
        band = min(int(difficulty * self.bands), self.bands - 1)
        rates[band] = self.memory * rates[band] + (1 - self.memory) * sum(successes) / len(successes)

    def _rates(self, name: str) -> list[float]:
        return self.rates.setdefault(name, [0.5] * self.bands)
