"""Writes an episode as it happens. An env owns one writer for its whole life; each ``start`` opens the next file.

    <directory>/<family>/<rest of the task id>.<n>.trace        n counts the episodes of that task
    <directory>/blobs/ab/<digest>                               images and artifacts

Names depend on the tasks only, and files are made with ``O_EXCL``: any number of processes may write into one
directory. The writer does not know how to score, and it is never shown a task's goal.

    writer = TraceWriter("runs/first")
    writer.start(Header(...), text=..., features=..., state_hash=...)
    writer.action(1, raw, call)                 # before the call is sent
    writer.result(1, answer["result"], ...)     # after it
    writer.verdict(score, outcome)
    writer.close()
"""

from __future__ import annotations

import base64
import os
import platform
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from ..simulators.base import ToolCall, ToolError, ToolResult
from .blobs import BlobStore
from .log import EpisodeLog, Json, TraceError, TraceWriteError, write_error
from .records import KINDS, Action, Fault, Header, Note, Record, Result, Start, Verdict

BLOBS = "blobs"
SUFFIX = ".trace"
_KIND = {record: kind for kind, record in KINDS.items()}
_NOTHING: Json = {}


class Scored(Protocol):
    """A score: ``rewards.base.Score`` is one."""

    @property
    def total(self) -> float | None:
        """In [0, 1]; ``None``: was not scored."""
        ...

    @property
    def terms(self) -> Mapping[str, float | None]:
        """Every term by name."""
        ...

    @property
    def success(self) -> bool:
        """Whether the task counts as solved."""
        ...


class Left(Protocol):
    """What was scored: ``rewards.base.Outcome`` is one."""

    @property
    def artifacts(self) -> Mapping[str, bytes]:
        """Files by name."""
        ...

    @property
    def answer(self) -> str:
        """The text handed in."""
        ...

    @property
    def submitted(self) -> bool:
        """Whether the agent ended the episode itself."""
        ...


class TraceWriter:
    """Writes episodes into a directory, one at a time.

    Args:
        directory: Made if it is missing.
        durable: Whether ``close`` waits until the episode is on disk (about 0.3 ms on an SSD); without it, a power cut
            may cost the last episodes, a killed process still nothing.
        sync_every: Wait for the disk also after every so many records; 0: never.

    Every method that writes raises ``TraceWriteError`` if the disk is full or fails; the episode is then given up: what
    was written stays readable, ``close`` does nothing, and the next ``start`` may be tried. Called without an open
    episode, they raise ``TraceError``.
    """

    def __init__(self, directory: str | Path, *, durable: bool = True, sync_every: int = 0) -> None:
        self.directory = Path(directory)
        self.blobs = BlobStore(self.directory / BLOBS)
        self._durable, self._sync_every = durable, sync_every
        self._log: EpisodeLog | None = None
        self._next: Counter[str] = Counter()
        self._summary: Json = {}

    @property
    def path(self) -> Path | None:
        """The file of the open episode."""
        return self._log.path if self._log else None

    def start(
        self,
        header: Header,
        *,
        text: str,
        features: Sequence[float],
        state_hash: str,
        image: bytes | None = None,
        host: Json | None = None,
    ) -> Path:
        """Open the next episode's file and write its header and first view; an episode still open is closed first.

        Args:
            header: What is about to happen.
            text: The first view's text.
            features: The first view's numbers.
            state_hash: The application's state after the reset.
            image: The first view's image, a PNG file.
            host: What may differ between equal runs, such as the runtime's name.
        """
        self.close()
        self._log = self._open(header)
        self._summary = {"steps": 0, "total": None, "success": None}
        self._append(replace(header, host={**_facts(), **header.host, **(host or {})}))
        self._append(Start(text, _numbers(features), state_hash, self._blob(image), _now(None)))
        return self._log.path

    def action(
        self, step: int, raw: Any, call: ToolCall | None, error: ToolError | None = None, host: Json | None = None
    ) -> None:
        """Write what the agent did, before it is carried out.

        Args:
            step: Number of the action, from 1.
            raw: The action as it was given: text, numbers, NumPy arrays or a dict of these.
            call: The call read from it; ``None`` if it could not be read.
            error: Why it could not be read.
            host: What may differ between equal runs.
        """
        self._summary["steps"] = step
        problem = None if error is None else asdict(error)
        self._append(Action(step, raw, None if call is None else call.to_json(), problem, _now(host)))

    def result(
        self,
        step: int,
        result: ToolResult | Mapping[str, Any] | None,
        *,
        text: str = "",
        features: Sequence[float] = (),
        state_hash: str = "",
        image: bytes | None = None,
        reward: float | None = 0.0,
        terms: Mapping[str, float | None] = _NOTHING,
        terminated: bool = False,
        truncated: bool = False,
        infra_error: str | None = None,
        host: Json | None = None,
    ) -> None:
        """Write what came of the action of the same step.

        Args:
            step: Number of the action.
            result: The tool's answer, also in the form of ``ToolResult.to_json()``; ``None`` if there was none.
            text: The view's text after the call.
            features: The view's numbers after the call.
            state_hash: The application's state after the call.
            image: The view's image after the call, a PNG file.
            reward: The step's reward; ``None``: was not scored.
            terms: The reward's terms by name.
            terminated: As Gymnasium defines it.
            truncated: As Gymnasium defines it.
            infra_error: What failed of the sandbox.
            host: What may differ between equal runs, such as latencies.
        """
        answer = None if result is None else self._answer(result)
        view = (text, _numbers(features), state_hash, self._blob(image))
        self._append(Result(step, answer, *view, reward, dict(terms), terminated, truncated, infra_error, _now(host)))

    def note(self, topic: str, data: Any, host: Json | None = None) -> None:
        """Keep JSON data beside the step whose action came last (0: the reset)."""
        self._append(Note(topic, self._summary.get("steps", 0), data, _now(host)))

    def fault(self, error: BaseException, host: Json | None = None) -> None:
        """Write that the machinery failed outside of a call."""
        self._append(Fault(self._summary.get("steps", 0), type(error).__name__, str(error), _now(host)))

    def verdict(self, score: Scored, outcome: Left, host: Json | None = None) -> None:
        """Write the score and, as blobs, the artifacts that it was computed from."""
        self._summary.update(total=score.total, success=score.success)
        artifacts: Json = {name: self._blob(data) for name, data in sorted(outcome.artifacts.items())}
        judged = (score.total, dict(score.terms), score.success)
        self._append(Verdict(*judged, artifacts, outcome.answer, outcome.submitted, _now(host)))

    def close(self) -> None:
        """Write the footer and close the episode's file. May be called again; does nothing without an open episode."""
        log, self._log = self._log, None
        if log is None:
            return
        try:
            if self._durable:
                self.blobs.sync()
            log.finish({**self._summary, "host": _now(None)})
            if self._durable:
                log.sync()
        finally:
            log.close()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, header: Header) -> EpisodeLog:
        name = _safe(header.task_id.removeprefix(header.family + "/"))
        stem = f"{_safe(header.family)}/{name}"
        folder = self.directory / _safe(header.family)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as failed:
            raise write_error(failed, folder) from failed
        while True:
            number, self._next[stem] = self._next[stem], self._next[stem] + 1
            try:
                return EpisodeLog(folder / f"{name}.{number}{SUFFIX}", self._sync_every)
            except FileExistsError:
                continue

    def _append(self, record: Record) -> None:
        if self._log is None:
            raise TraceError(f"no episode is open: a {_KIND[type(record)]} comes after start() and before close()")
        try:
            self._log.append(_KIND[type(record)], vars(record))
        except TraceWriteError:
            self._give_up()
            raise

    def _answer(self, result: ToolResult | Mapping[str, Any]) -> Json:
        answer = result.to_json() if isinstance(result, ToolResult) else dict(result)
        if answer.get("image"):
            answer["image"] = self._blob(base64.b64decode(answer["image"]))
        return answer

    def _blob(self, data: bytes | None) -> str | None:
        try:
            return None if data is None else self.blobs.put(data)
        except TraceWriteError:
            self._give_up()
            raise

    def _give_up(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.close()


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(values.tolist() if hasattr(values, "tolist") else values)  # an array's own scalars are slow to write


def _facts() -> Json:
    where = {"pid": os.getpid(), "system": platform.system(), "machine": platform.machine()}
    return {"wall_ns": time.time_ns(), **where, **_now(None)}


def _now(host: Json | None) -> Json:
    return {"ns": time.monotonic_ns(), **host} if host else {"ns": time.monotonic_ns()}


def _safe(text: str) -> str:
    """Return a name that is a single, harmless part of a path."""
    return re.sub(r"[^A-Za-z0-9@._+=-]+", "-", text).strip(".-")[:120] or "task"
