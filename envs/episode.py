"""One episode as data: the task, the last call and its result, the application's last view, how it ended.

It does nothing by itself.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..rewards.base import Outcome, Score
from ..simulators.base import Json, ToolCall, ToolResult
from ..simulators.tools import Tool
from .tasks.base import SUBMIT, Task

UNSCORED = -1.0
"""Stands in ``info["reward_terms"]`` for a term without a value, which is not 0. (NaN would be unequal to itself, and
two equal steps then differ.)"""
UNREADABLE = "?"
"""Stands among an outcome's calls for an action that could not be read."""
NO_VIEW: Json = {"text": "", "features": [], "image": None, "state_hash": ""}
READY = ToolResult(True, "")
LOST = ToolResult(False, "the sandbox was lost")


def submit(answer: str = "") -> None:
    """Hand in the work. This ends the episode.

    Args:
        answer: The answer, where the task asks for one.
    """


SUBMIT_TOOL = Tool(submit)
if SUBMIT_TOOL.name != SUBMIT:
    raise AssertionError(SUBMIT_TOOL.name)


@dataclass
class Episode:
    """What has happened since the reset."""

    task: Task
    max_steps: int
    view: Json = field(default_factory=lambda: dict(NO_VIEW))
    """The application's last view: ``text``, ``features``, ``image`` (base64 of a PNG file, or nothing),
    ``state_hash``."""
    step: int = 0
    calls: list[str] = field(default_factory=list[str])
    call: ToolCall | None = None
    result: ToolResult = READY
    answer: str = ""
    terminated: bool = False
    """Ended by ``submit``."""
    truncated: bool = False
    """Ended by the step limit or by a lost sandbox."""
    score: Score | None = None
    infra_error: str = ""
    """What failed of the sandbox or of the scorer; the agent is not to blame."""

    @property
    def over(self) -> bool:
        """Whether the next thing must be a reset."""
        return self.terminated or self.truncated

    @property
    def seed(self) -> int:
        """The application's seed: a digest of the task's id."""
        return int.from_bytes(hashlib.blake2b(self.task.id.encode(), digest_size=4).digest()) >> 1

    @property
    def reward(self) -> float:
        """The reward of the last step: the total at the end where there is one, else 0."""
        return 0.0 if self.score is None or self.score.total is None else float(self.score.total)

    @property
    def reward_valid(self) -> bool:
        """Whether the last step's reward says something about the agent."""
        return not self.infra_error and (not self.over or (self.score is not None and self.score.total is not None))

    def outcome(self, artifacts: dict[str, bytes]) -> Outcome:
        """Return what the verifier may look at."""
        return Outcome(artifacts, self.answer, self.terminated, tuple(self.calls))

    def info(self, terms: tuple[str, ...]) -> Json:
        """Return the info of the last step: one tree of scalars and strings for all steps of a family, made afresh.

        Args:
            terms: The names of the family's reward terms.
        """
        values: Mapping[str, float | None] = self.score.terms if self.score is not None else {}
        return {
            "task_id": self.task.id,
            "instruction": self.task.instruction,
            "step": self.step,
            "tool": self.call.name if self.call else "",
            "error": self.result.error.code if self.result.error else "",
            "state_hash": str(self.view["state_hash"]),
            "reward_terms": {name: _number(values.get(name)) for name in terms},
            "reward_valid": self.reward_valid,
            "is_success": self.score is not None and self.score.success,
            "infra_error": self.infra_error,
        }

    def to_json(self) -> Json:
        """Return plain JSON data from which ``from_json`` rebuilds the episode."""
        return {
            "task_id": self.task.id,
            "max_steps": self.max_steps,
            "view": self.view,
            "step": self.step,
            "calls": self.calls,
            "call": self.call.to_json() if self.call else None,
            "result": self.result.to_json(),
            "answer": self.answer,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "score": self.score.to_json() if self.score else None,
            "infra_error": self.infra_error,
        }

    @staticmethod
    def from_json(data: Json, task: Task) -> Episode:
        """Rebuild an episode of this task from ``to_json`` output."""
        parts: dict[str, Any] = {key: value for key, value in data.items() if key != "task_id"}
        parts["call"] = ToolCall.from_json(data["call"]) if data["call"] else None
        parts["result"] = ToolResult.from_json(data["result"])
        parts["score"] = Score.from_json(data["score"]) if data["score"] else None
        return Episode(task, **parts)


def _number(value: float | None) -> float:
    return UNSCORED if value is None or not math.isfinite(value) else float(value)
