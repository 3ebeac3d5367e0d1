"""Rewards: named terms in [0, 1], their weights, and gates. A pure function of (goal, outcome).

Scoring sees what the agent left (``Outcome``) and what the task hid (``goal``), nothing else; it runs in a process
that the agent's code never touched. A term that could not be computed is ``None``, "was not scored", which is not 0:
its weight leaves the sum, and a gate that could not be computed leaves the whole score ``None``.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Goal = Mapping[str, Any]

SUCCESS = 0.999
"""A total from here on counts as a solved task."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verifier may look at."""

    artifacts: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """The files that the agent left, by name, as the application exports them."""
    answer: str = ""
    """The text handed in with ``submit``."""
    submitted: bool = False
    """Whether the agent ended the episode itself."""
    calls: tuple[str, ...] = ()
    """The names of the tools called, in order, refused calls included."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data; artifacts travel as base64."""
        files = {name: base64.b64encode(data).decode() for name, data in self.artifacts.items()}
        return {"artifacts": files, "answer": self.answer, "submitted": self.submitted, "calls": list(self.calls)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Outcome:
        """Rebuild an outcome from ``to_json`` output."""
        files = {name: base64.b64decode(text) for name, text in data["artifacts"].items()}
        return Outcome(files, data["answer"], data["submitted"], tuple(data["calls"]))


Measure = Callable[[Goal, Outcome], float | None]


@dataclass(frozen=True, slots=True)
class Term:
    """One named part of a reward."""

    name: str
    weight: float
    measure: Measure


@dataclass(frozen=True, slots=True)
class Score:
    """The result of scoring one outcome."""

    total: float | None
    """In [0, 1], or ``None`` where the outcome was not scored."""
    terms: Mapping[str, float | None]
    """Every gate and term by name."""

    @property
    def success(self) -> bool:
        """Whether the task counts as solved."""
        return self.total is not None and self.total >= SUCCESS

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"total": self.total, "terms": dict(self.terms)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Score:
        """Rebuild a score from ``to_json`` output."""
        return Score(data["total"], data["terms"])


@dataclass(frozen=True)
class Reward:
    """Terms under gates: ``total = prod(gates) * sum(weight * term) / sum(weight of scored terms)``.

    Gates come first and in order: a measure after a closed gate is not computed (its value is recorded as 0), so that
    a term may rely on the gates before it, and so that nothing costly looks at a broken artifact.
    """

    terms: tuple[Term, ...]
    gates: tuple[Term, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of gates and terms in order."""
        return tuple(part.name for part in (*self.gates, *self.terms))

    def score(self, goal: Goal, outcome: Outcome) -> Score:
        """Score one outcome."""
        values: dict[str, float | None] = {}
        opened: float | None = 1.0
        for gate in self.gates:
            values[gate.name] = 0.0 if opened == 0.0 else _checked(gate, goal, outcome)
            opened = _times(opened, values[gate.name])
        for term in self.terms:
            values[term.name] = 0.0 if opened == 0.0 else _checked(term, goal, outcome)
        return Score(_times(opened, self._mean(values)), values)

    def _mean(self, values: Mapping[str, float | None]) -> float | None:
        scored = [(term.weight, value) for term in self.terms if (value := values[term.name]) is not None]
        weight = sum(w for w, _ in scored)
        return sum(w * v for w, v in scored) / weight if weight > 0 else None


def _times(a: float | None, b: float | None) -> float | None:
    if a == 0.0 or b == 0.0:
        return 0.0
    return None if a is None or b is None else a * b


def _checked(term: Term, goal: Goal, outcome: Outcome) -> float | None:
    value = term.measure(goal, outcome)
    if value is not None and not (math.isfinite(value) and 0.0 <= value <= 1.0):
        raise ValueError(f"reward term {term.name!r} gave {value}, which is not in [0, 1]")
    return value
