"""Scoring where the agent never was: the task is made again from its id, in a sandbox that sees finished work only.

The sandbox in which the agent works never holds the hidden goal. With the ``process`` runtime the scorer is a child of
its own, with a deadline, replaced after any failure and after ``SCORES_PER_SANDBOX`` scores; with ``inline`` it is the
calling process, in which a hostile tool could reach it: ``inline`` is for trusted policies and tests. An outcome that
could not be scored has the total ``None``; it is never a silent 0.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

from ..containers.frames import dumps
from ..containers.runtimes import open_runtime
from ..containers.session import SandboxError, Session, Target
from ..rewards.base import Outcome, Score
from ..simulators import application_class
from .tasks import family, task_from_id

Json = dict[str, Any]

SCORES_PER_SANDBOX = 1000
"""After so many scores the scorer's sandbox is replaced, so that no leak of a geometry library grows for ever."""
SCORING_DEADLINE = 60.0
"""Seconds that one score may take."""


class ScoringService:
    """Runs inside the scorer's sandbox. Operation: ``score {task_id, outcome}``."""

    def __init__(self, application: str) -> None:
        self._application = application

    def warm(self) -> None:
        """Import what the application's verifiers need."""
        application_class(self._application).warm()

    def handle(self, operation: str, payload: Mapping[str, Any]) -> Json:
        """Score one outcome; the answer is ``Score.to_json()``."""
        if operation != "score":
            raise KeyError(operation)
        task = task_from_id(payload["task_id"])
        return family(task.family).reward.score(task.goal, Outcome.from_json(payload["outcome"])).to_json()


class Scorer:
    """Scores outcomes of one application's tasks. Safe to share among threads: one outcome at a time.

    Args:
        application: Whose libraries the verifiers need.
        runtime: Where it runs: ``inline``, ``process`` or ``docker``.
        options: Options of the runtime.
    """

    def __init__(self, application: str, runtime: str = "process", options: Json | None = None) -> None:
        self._target = Target("makerspace.envs.scoring:ScoringService", {"application": application}, application)
        self._runtime, self._options = runtime, dict(options or {})
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._scores = 0

    def score(self, task_id: str, outcome: Outcome) -> tuple[Score, str]:
        """Return the score and, if there is none, why. A failure is tried once more in a fresh sandbox."""
        payload = {"task_id": task_id, "outcome": outcome.to_json()}
        problem = ""
        with self._lock:
            for _ in range(2):
                try:
                    return Score.from_json(self._fresh_enough().request("score", payload, SCORING_DEADLINE)), ""
                except SandboxError as failure:
                    problem = f"{type(failure).__name__}: {failure}"
                    self._end()
        return Score(None, {}), problem

    def close(self) -> None:
        """End the sandbox; the next score opens another."""
        with self._lock:
            self._end()

    def _fresh_enough(self) -> Session:
        if self._scores >= SCORES_PER_SANDBOX:
            self._end()
        if self._session is None:
            self._session = open_runtime(self._runtime, **self._options).open(self._target)
            self._session.renew()
        self._scores += 1
        return self._session

    def _end(self) -> None:
        session, self._session, self._scores = self._session, None, 0
        if session is not None:
            session.close()


_shared: dict[tuple[int, str, str, bytes], Scorer] = {}
_sharing = threading.Lock()


def shared_scorer(application: str, runtime: str, options: Json | None = None) -> Scorer:
    """Return this process's scorer for an application; a forked child gets one of its own."""
    key = os.getpid(), application, runtime, dumps(options or {})
    with _sharing:
        return _shared.setdefault(key, Scorer(application, runtime, options))
