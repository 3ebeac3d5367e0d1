"""The records of an episode: frozen data, one class per kind, in the order in which they are written.

    header, start, (action, [note ...], result, [note ...]) ..., [fault], [verdict], footer

An action is written before it is sent, its result after: a step that the recorder did not survive is an action without
a result. Steps count from 1; step 0 is the reset. A task's hidden goal is in no record: a trace may be given to whoever
trains on it. ``host`` holds what may differ between equal runs and takes no part in comparisons.
"""

from __future__ import annotations

import hashlib
import platform
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import metadata
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from ..simulators.tools import Tool
from .log import Json, TraceError, encode

SCHEMA = 1
"""Version of these records. A reader refuses a newer one."""


def versions() -> Json:
    """Return the versions of the software that records; ``unknown`` for a checkout that was never installed."""
    return {"makerspace": _installed(), "python": platform.python_version()}


@cache
def _installed() -> str:
    try:
        return metadata.version("makerspace")
    except metadata.PackageNotFoundError:
        return "unknown"


def tools_digest(tools: Iterable[Tool]) -> str:
    """Return a digest of the tools' names, descriptions and schemas."""
    return hashlib.blake2b(encode([tool.mcp() for tool in tools]), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Header:
    """What is about to happen, and all that a replay needs."""

    env_id: str
    task_id: str
    family: str
    application: str
    seed: int
    """The seed that the application is reset with."""
    instruction: str
    scene: Json
    """The state that the application is reset to."""
    max_steps: int
    tools: str = ""
    """``tools_digest`` of the application's tools."""
    options: Json = field(default_factory=dict[str, Any])
    """What else decides the course, such as the action view. The runtime does not: it stands under ``host``."""
    versions: Json = field(default_factory=versions)
    schema: int = SCHEMA
    host: Json = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True)
class Start:
    """What the agent saw first."""

    text: str
    features: tuple[float, ...]
    state_hash: str
    image: str | None = None
    """Digest of a PNG file among the blobs."""
    host: Json = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True)
class Action:
    """What the agent did, written before it was carried out."""

    step: int
    raw: Any
    """The action as the env was given it: text, or numbers of another action view."""
    call: Json | None
    """The call read from it: ``{"name", "arguments"}``; ``None`` if it could not be read."""
    error: Json | None = None
    """Why it could not be read: ``{"code", "message", "hint", "nearest"}``."""
    host: Json = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True)
class Result:
    """What came of the action of the same step."""

    step: int
    result: Json | None
    """``ToolResult.to_json()``, its image replaced by the digest of a blob; ``None`` if there was none."""
    text: str
    """The application's view after the call."""
    features: tuple[float, ...]
    state_hash: str
    image: str | None
    """The view's image: digest of a PNG file among the blobs."""
    reward: float | None
    terms: Json
    terminated: bool
    truncated: bool
    infra_error: str | None = None
    """What failed of the sandbox; the agent is not to blame for such a step."""
    host: Json = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True)
class Note:
    """What a policy, or anyone, wants to keep beside a step, such as token ids and log-probabilities."""

    topic: str
    step: int
    """The step whose action came last."""
    data: Any
    host: Json = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True)
class Fault:
    """A failure of the machinery outside of a call: at reset, while scoring ..."""

    step: int
    error: str
    """The class of the exception."""
    message: str
    host: Json = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True)
class Verdict:
    """The score and all that it was computed from, so that another verifier may score again."""

    total: float | None
    """In [0, 1]; ``None``: was not scored."""
    terms: Json
    success: bool
    artifacts: Json
    """Digests of blobs by the artifacts' names."""
    answer: str
    submitted: bool
    host: Json = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True)
class Footer:
    """The end of a complete trace, and its summary."""

    count: int
    """Records before this one."""
    digest: str
    """Of every byte before this record's line."""
    steps: int
    total: float | None
    success: bool | None
    """``None`` if there was no verdict."""
    host: Json = field(default_factory=dict[str, Any], compare=False)


Record = Header | Start | Action | Result | Note | Fault | Verdict | Footer

KINDS: dict[str, type[Record]] = {
    "header": Header,
    "start": Start,
    "action": Action,
    "result": Result,
    "note": Note,
    "fault": Fault,
    "verdict": Verdict,
    "footer": Footer,
}


def from_body(body: Mapping[str, Any]) -> Record:
    """Rebuild a record from a log's body. Fields that this version does not know are passed over.

    Raises:
        TraceError: If the kind is unknown, a field is missing or has the wrong type, or the schema is newer.
    """
    kind = KINDS.get(body["kind"])
    if kind is None:
        raise TraceError(f"unknown kind of record {body['kind']!r}")
    if kind is Header and isinstance(schema := body.get("schema"), int) and schema > SCHEMA:
        raise TraceError(f"written by a newer version: schema {schema}, known up to {SCHEMA}")
    present = ((name, accepted) for name, accepted, needed in _layout(kind) if needed or name in body)
    return kind(**{name: _checked(body, name, accepted) for name, accepted in present})


def _checked(body: Mapping[str, Any], name: str, accepted: tuple[type, ...]) -> Any:
    if name not in body:
        raise TraceError(f"{body['kind']} without {name!r}")
    value: Any = body[name]
    number = isinstance(value, bool) and bool not in accepted and object not in accepted  # True is an int to Python
    if number or not isinstance(value, accepted):
        raise TraceError(f"{body['kind']}: {name} is of type {type(value).__name__}")
    return tuple(cast("list[float]", value)) if name == "features" else value


@cache
def _layout(kind: type[Record]) -> tuple[tuple[str, tuple[type, ...], bool], ...]:
    """Return name, accepted JSON types and whether it is needed, for every field."""
    hints = get_type_hints(kind)
    needed = {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(kind)}
    return tuple((name, _accepted(hints[name]), needed[name]) for name in needed)


def _accepted(hint: Any) -> tuple[type, ...]:
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(one for part in get_args(hint) for one in _accepted(part))
    if hint is Any:
        return (object,)
    origin = get_origin(hint) or hint
    return {tuple: (list,), float: (float, int)}.get(origin, (origin,))
