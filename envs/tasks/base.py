"""Tasks and the families that make them.

A *task* is frozen data. A *family* makes it from ``(split, index, difficulty)`` alone, knows the reward, and ships
its own proof: an oracle that solves every task through the public tools, and exploits that must not pay. One family
is one file ``envs/tasks/<domain>/<name>.py`` with one subclass of ``Family``; being there is being registered as
``makerspace/<domain>.<name>-v0``.

Splits are disjoint by content: a drawn task belongs to the split into which the digest of its content (not its
wording) falls, so that no training task can ever be a test task.
"""

from __future__ import annotations

import hashlib
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...rewards.base import Reward
from ...simulators.base import ToolCall, ToolResult

Json = dict[str, Any]
Solution = Generator[ToolCall, ToolResult, None]
"""Yields calls, is sent their results."""

SPLITS = {"train": range(80), "validation": range(80, 90), "test": range(90, 100)}
"""Which percentiles of content digests belong to which split."""

SUBMIT = "submit"
"""The tool that every environment adds to its application's: ``submit(answer="")`` ends the episode."""


@dataclass(frozen=True)
class Draft:
    """What a family draws: everything about a task but its wording and its identity."""

    stated: Json
    """The values that the instruction tells; templates are filled from it, and an oracle may read nothing else."""
    goal: Json = field(default_factory=dict[str, Any])
    """What the reward compares with. Hidden: it never enters a sandbox, an observation or a trace."""
    scene: Json = field(default_factory=dict[str, Any])
    """The state in which the application starts."""


@dataclass(frozen=True)
class Task:
    """One task."""

    id: str
    """``"<family>/<split>/<index>@<difficulty>"``: from it the family makes the same task again."""
    family: str
    application: str
    split: str
    index: int
    difficulty: float
    instruction: str
    scene: Json
    stated: Json
    goal: Json
    max_steps: int


class Family(ABC):
    """A generator of tasks with its proof. Subclasses set the class variables and write ``draw`` and ``oracle``."""

    name: ClassVar[str]
    """``"<domain>.<file name>"``"""
    application: ClassVar[str]
    summary: ClassVar[str]
    """One sentence for listings: what the agent has to do."""
    reward: ClassVar[Reward]
    templates: ClassVar[tuple[str, ...]]
    """At least five wordings of the instruction, filled by ``str.format(**words(stated))``."""
    max_steps: ClassVar[int] = 12
    """Calls that an agent may make, ``submit`` included."""

    @abstractmethod
    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw one task's content; ``difficulty`` is in [0, 1]. All randomness comes from ``rng``."""

    @abstractmethod
    def oracle(self, task: Task) -> Solution:
        """Solve the task through the public tools, ending with ``submit``.

        Reads ``task.stated`` and the results it is sent, never the goal.
        """

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return cheats by name, each a list of calls; all must score at the floor."""
        return {}

    def words(self, stated: Json) -> Json:
        """Return what the templates are filled with; override to turn lists into phrases."""
        return stated

    def task(self, index: int, split: str = "train", difficulty: float = 0.5) -> Task:
        """Make one task; the same arguments give the same task everywhere.

        Raises:
            ValueError: If the split is unknown, the index negative or the difficulty outside [0, 1].
        """
        if split not in SPLITS or index < 0 or not 0.0 <= difficulty <= 1.0:
            raise ValueError(
                f"needs a split of {list(SPLITS)}, index >= 0 and difficulty in [0, 1], "
                f"not {split!r}, {index}, {difficulty}"
            )
        difficulty = round(difficulty, 3)
        identity = f"{self.name}/{split}/{index}@{difficulty:g}"
        draft, rng = self._draw_in(split, identity, difficulty)
        instruction = rng.choice(self.templates).format(**self.words(draft.stated))
        return Task(
            identity,
            self.name,
            self.application,
            split,
            index,
            difficulty,
            instruction,
            draft.scene,
            draft.stated,
            draft.goal,
            self.max_steps,
        )

    def _draw_in(self, split: str, identity: str, difficulty: float) -> tuple[Draft, random.Random]:
        for attempt in range(10_000):
            rng = random.Random(f"{identity}#{attempt}")
            draft = self.draw(rng, difficulty)
            if percentile(draft) in SPLITS[split]:
                return draft, rng
        raise RuntimeError(
            f"{self.name} has no task of split {split!r} at difficulty {difficulty}: it draws too few different ones"
        )

    def from_id(self, task_id: str) -> Task:
        """Make the task of an id again.

        Raises:
            ValueError: If the id is not one of this family's.
        """
        try:
            name, split, rest = task_id.split("/")
            index, _, difficulty = rest.partition("@")
            if name != self.name:
                raise ValueError(name)
            return self.task(int(index), split, float(difficulty))
        except ValueError as problem:
            raise ValueError(
                f"{task_id!r} is not a task of {self.name}: ids look like '{self.name}/test/17@0.5'"
            ) from problem


def percentile(draft: Draft) -> int:
    """Return the content's place in [0, 100): the same for the same content, whatever its wording."""
    content = json.dumps([draft.stated, draft.scene], sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest()) % 100


def submit(answer: str = "") -> ToolCall:
    """Return the call that ends an episode."""
    return ToolCall(SUBMIT, {"answer": answer} if answer else {})
