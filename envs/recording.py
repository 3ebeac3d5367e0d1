"""Writes an environment's episodes into traces, if it was given a directory, and does nothing if not.

It keeps the records of the running episode, so that a copy of the environment (``fork``, ``restore``) writes a whole
trace of its own that replays from the start.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..rewards.base import Outcome
from ..simulators.base import Json, ToolCall, ToolError
from ..simulators.tools import Tool
from ..traces.records import Header, tools_digest
from ..traces.writer import TraceWriter
from .episode import Episode


class Recorder:
    """The trace of one environment.

    Args:
        directory: Where traces go; ``None``: nowhere.
        env_id: The Gymnasium id.
        tools: The application's tools.
        options: What else decides an episode's course.
        runtime: Where the application runs.
    """

    def __init__(
        self, directory: str | Path | None, env_id: str, tools: Sequence[Tool], options: Json, runtime: str
    ) -> None:
        self._writer = TraceWriter(directory) if directory is not None else None
        self._env_id, self._options = env_id, options
        self._tools = tools_digest(tools) if self._writer else ""
        self._host: Json = {"runtime": runtime}
        self.history: list[Json] = []
        """The records of the running episode as keyword arguments of this class's methods, JSON data."""
        self.path: Path | None = None
        """The file of the running episode, or of the last one."""

    def start(self, episode: Episode, facts: Json) -> None:
        """Open the trace of an episode that has just been reset.

        Args:
            episode: The episode.
            facts: What there is to tell of its sandbox.
        """
        self._host = {"runtime": self._host["runtime"], **facts}
        self.history = []
        self._begin(episode, episode.view)

    def restart(self, episode: Episode, history: list[Json]) -> None:
        """Open the trace of an episode that is restored from the middle, by writing its past again."""
        self.history = []
        if self._writer is None or not history:
            return
        self._begin(episode, history[0]["view"])
        for past in history[1:]:
            error = ToolError(**past["error"]) if past.get("error") else None
            if "raw" in past:
                self.action(
                    past["step"], past["raw"], ToolCall.from_json(past["call"]) if past["call"] else None, error
                )
            else:
                self._result(**past)

    def action(self, step: int, raw: Any, call: ToolCall | None, error: ToolError | None) -> None:
        """Write an action before it is sent."""
        if self._writer is None or self._writer.path is None:
            return
        problem = (
            {"code": error.code, "message": error.message, "hint": error.hint, "nearest": list(error.nearest)}
            if error
            else None
        )
        self.history.append(
            {"step": step, "raw": plain(raw), "call": call.to_json() if call else None, "error": problem}
        )
        self._writer.action(step, raw, call, error)

    def result(self, episode: Episode, milliseconds: float) -> None:
        """Write what came of the last action."""
        if self._writer is None or self._writer.path is None:
            return
        scored = episode.score
        self._result(
            step=episode.step,
            result=episode.result.to_json(),
            view=episode.view,
            reward=None if episode.over and not episode.reward_valid else episode.reward,
            terms=dict(scored.terms) if scored else {},
            terminated=episode.terminated,
            truncated=episode.truncated,
            infra_error=episode.infra_error or None,
            milliseconds=milliseconds,
        )

    def verdict(self, episode: Episode, outcome: Outcome) -> None:
        """Write the score and what it was computed from."""
        if self._writer is not None and self._writer.path is not None and episode.score is not None:
            self._writer.verdict(episode.score, outcome)

    def fault(self, error: BaseException) -> None:
        """Write that the sandbox failed outside of a call."""
        if self._writer is not None and self._writer.path is not None:
            self._writer.fault(error)

    def note(self, topic: str, data: Any) -> None:
        """Keep data beside the last step."""
        if self._writer is not None and self._writer.path is not None:
            self._writer.note(topic, data)

    def close(self) -> None:
        """Finish the trace of the running episode."""
        if self._writer is not None:
            self._writer.close()

    def _begin(self, episode: Episode, view: Json) -> None:
        if self._writer is None:
            return
        task = episode.task
        header = Header(
            task_id=task.id,
            family=task.family,
            application=task.application,
            seed=episode.seed,
            instruction=task.instruction,
            scene=task.scene,
            max_steps=episode.max_steps,
            env_id=self._env_id,
            tools=self._tools,
            options=self._options,
        )
        self.history.append({"view": view})
        self.path = self._writer.start(header, **_seen(view), host=self._host)

    def _result(self, step: int, result: Json, view: Json, milliseconds: float, **rest: Any) -> None:
        if self._writer is not None:
            self.history.append({"step": step, "result": result, "view": view, "milliseconds": milliseconds, **rest})
            self._writer.result(step, result, **_seen(view), **rest, host={"ms": milliseconds})


def _seen(view: Json) -> dict[str, Any]:
    image = base64.b64decode(view["image"]) if view.get("image") else None
    return {"text": view["text"], "features": view["features"], "state_hash": view["state_hash"], "image": image}


def plain(value: Any) -> Any:
    """Return an action as JSON data."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in cast("Json", value).items()}
    if isinstance(value, np.ndarray | np.generic):
        return cast("Any", value).tolist()
    return cast("Any", value) if isinstance(value, str | int | float | list | None) else str(value)
