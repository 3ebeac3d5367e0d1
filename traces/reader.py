"""Reads traces back: everything up to the last record that can be trusted, and the reason why there is no more.

Damage is data: ``read`` raises only if there is no such file or not even its header survived. A trace is complete if
its last record is a footer that matches the file. The reader does not know how the episode was scored.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from . import log
from .blobs import BlobStore
from .log import Json, TraceError
from .records import Action, Fault, Footer, Header, Note, Record, Result, Start, Verdict, from_body
from .writer import BLOBS, SUFFIX

R = TypeVar("R", bound=Record)
_TAIL = 4096
"""Bytes from the end in which a footer's line lies whole."""


@dataclass(frozen=True)
class Step:
    """An action and what came of it."""

    action: Action
    result: Result | None
    """``None`` if the recorder ended before the result."""
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Trace:
    """One episode as far as it can be read."""

    path: Path
    header: Header
    records: tuple[Record, ...]
    """All of them, the header included."""
    bodies: tuple[Json, ...]
    """The records as they were written."""
    reason: str | None
    """Why the trace is not complete; ``None`` if it is."""

    @property
    def complete(self) -> bool:
        """Whether every record is there, footer included."""
        return self.reason is None

    @cached_property
    def start(self) -> Start | None:
        """What the agent saw first."""
        return next(iter(self.of(Start)), None)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Actions in order, each with its result and its notes."""
        results = {result.step: result for result in self.of(Result)}
        return tuple(
            Step(action, results.get(action.step), tuple(note for note in self.notes if note.step == action.step))
            for action in self.of(Action)
        )

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """All notes, those of step 0 included."""
        return self.of(Note)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """Failures of the machinery outside of calls."""
        return self.of(Fault)

    @cached_property
    def verdict(self) -> Verdict | None:
        """The score; ``None`` if the episode was not scored."""
        return next(iter(self.of(Verdict)), None)

    @cached_property
    def blobs(self) -> BlobStore:
        """The blobs that the trace refers to."""
        return BlobStore(next((p / BLOBS for p in self.path.parents if (p / BLOBS).is_dir()), self.path.parent / BLOBS))

    def of(self, kind: type[R]) -> tuple[R, ...]:
        """Return the records of one kind in order."""
        return tuple(record for record in self.records if isinstance(record, kind))

    def outcome(self) -> Json:
        """Return what the verdict was computed from, as ``rewards.base.Outcome.to_json`` does, to score it again.

        Raises:
            TraceError: If there is no verdict, or a blob is missing or damaged.
        """
        if self.verdict is None:
            raise TraceError(f"{self.path.name} holds no verdict")
        files = {
            name: base64.b64encode(self.blobs.get(digest)).decode() for name, digest in self.verdict.artifacts.items()
        }
        calls = [action.call["name"] for action in self.of(Action) if action.call is not None]
        return {"artifacts": files, "answer": self.verdict.answer, "submitted": self.verdict.submitted, "calls": calls}


@dataclass(frozen=True)
class TraceSummary:
    """One line of a listing."""

    path: Path
    env_id: str
    task_id: str
    family: str
    application: str
    seed: int
    steps: int
    total: float | None
    success: bool | None
    complete: bool
    """Whether there is a footer; ``read`` also verifies what lies before it."""
    wall_ns: int
    """When the episode began, nanoseconds since 1970."""

    def to_json(self) -> Json:
        """Return plain JSON data."""
        return {**vars(self), "path": str(self.path)}


def read(path: str | Path) -> Trace:
    """Read a trace up to the first record that cannot be trusted.

    Raises:
        OSError: If the file cannot be read.
        TraceError: If not even its header can be trusted.
    """
    path = Path(path)
    found = log.scan(path.read_bytes())
    records, reason = _records(found)
    if not records or not isinstance(records[0], Header):
        raise TraceError(f"{path.name} holds no header: {reason}")
    return Trace(path, records[0], records, found.bodies[: len(records)], reason)


def _records(found: log.Scan) -> tuple[tuple[Record, ...], str | None]:
    """Return the records up to the first that makes no sense, and why the rest is missing."""
    records: list[Record] = []
    for body in found.bodies:
        try:
            records.append(from_body(body))
        except TraceError as wrong:
            return tuple(records), f"line {len(records) + 1}: {wrong}"
    return tuple(records), found.reason


def canonical(trace: Trace) -> bytes:
    """Return a trace's content without what may differ between equal runs (times, processes, machine, runtime)."""
    return log.canonical(trace.bodies)


def list_traces(directory: str | Path) -> list[TraceSummary]:
    """Summarise every trace under a directory, oldest first.

    Reads the first and the last line of complete files only. Files without a whole header are passed over.
    """
    paths = sorted(Path(directory).rglob(f"*{SUFFIX}"))
    return sorted((found for path in paths for found in _summaries(path)), key=lambda one: (one.wall_ns, one.path))


def _summaries(path: Path) -> Iterator[TraceSummary]:
    try:
        header, footer = _ends(path)
        footer = footer or _recovered(path)
    except (TraceError, OSError):
        return
    wall = header.host.get("wall_ns", 0)
    what = (header.env_id, header.task_id, header.family, header.application, header.seed)
    complete = bool(footer.digest)
    yield TraceSummary(
        path, *what, footer.steps, footer.total, footer.success, complete, wall if isinstance(wall, int) else 0
    )


def _ends(path: Path) -> tuple[Header, Footer | None]:
    """Read header and footer."""
    with path.open("rb") as file:
        first = _record(file.readline())
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        last = _record(file.read().rpartition(b"\n")[0].rpartition(b"\n")[2] + b"\n")
    if not isinstance(first, Header):
        raise TraceError(f"{path.name} holds no header")
    return first, last if isinstance(last, Footer) else None


def _record(line: bytes) -> Record | None:
    body: Mapping[str, Any] | str = log.body_of(line[:-1]) if line.endswith(b"\n") else "is torn"
    try:
        return None if isinstance(body, str) else from_body(body)
    except TraceError:
        return None


def _recovered(path: Path) -> Footer:
    """Summarise a trace without footer."""
    trace = read(path)
    total, success = (trace.verdict.total, trace.verdict.success) if trace.verdict else (None, None)
    return Footer(len(trace.records), "", len(trace.of(Action)), total, success)
