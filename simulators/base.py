"""What an application is, and the three things that cross its border: a call, a result, a view.

1. An application (``Simulator``) is a stateful, deterministic world with typed tools. Its clock and its randomness
   are its own.
2. The agent's mistake is data: ``call`` answers every ``ToolCall``, however malformed, with a ``ToolResult`` whose
   ``error`` says what was wrong.
3. An exception out of ``call`` means that the application itself failed; whoever runs it treats the sandbox as lost.

This module knows no task, no reward and no transport.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from .tools import Tool

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to one tool: its name and its arguments as plain JSON data."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> Json:
        """Return the call in the form ``{"name": ..., "arguments": {...}}``."""
        return {"name": self.name, "arguments": dict(self.arguments)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ToolCall:
        """Rebuild a call from ``to_json`` output."""
        return ToolCall(data["name"], data.get("arguments", {}))


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a call was refused."""

    code: str
    """One word for programs: ``unknown_tool``, ``bad_argument``, ``not_found``, ``precondition``, ``limit``,
    ``kernel``, ``malformed``.
    """
    message: str
    """One sentence for the agent: what was wrong, with the value."""
    hint: str = ""
    """What would work, where it is known."""
    nearest: tuple[str, ...] = ()
    """The nearest valid choices, best first."""

    def to_text(self) -> str:
        """Return the error as the agent reads it."""
        parts = [
            f"error: {self.message}",
            self.hint,
            f"did you mean: {', '.join(self.nearest)}" if self.nearest else "",
        ]
        return " | ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave back: short text for the agent, data for programs, an image where there is one."""

    ok: bool
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: ToolError | None = None
    image: bytes | None = None
    """A PNG file."""

    def to_json(self) -> Json:
        """Return plain JSON data; the image travels as base64."""
        out: Json = {"ok": self.ok, "text": self.text, "data": dict(self.data)}
        if self.error is not None:
            error = self.error
            out["error"] = {
                "code": error.code,
                "message": error.message,
                "hint": error.hint,
                "nearest": list(error.nearest),
            }
        if self.image is not None:
            out["image"] = base64.b64encode(self.image).decode()
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ToolResult:
        """Rebuild a result from ``to_json`` output."""
        error, image = data.get("error"), data.get("image")
        return ToolResult(
            data["ok"],
            data["text"],
            data.get("data", {}),
            ToolError(error["code"], error["message"], error["hint"], tuple(error["nearest"])) if error else None,
            base64.b64decode(image) if image else None,
        )

    @staticmethod
    def failure(code: str, message: str, hint: str = "", nearest: Sequence[str] = ()) -> ToolResult:
        """Return the result of a refused call; its text is the error's text."""
        error = ToolError(code, message, hint, tuple(nearest))
        return ToolResult(False, error.to_text(), {}, error)


class ToolFault(Exception):
    """Raised *inside* a tool to refuse a call; the application turns it into an error result.

    It never leaves ``call``.
    """

    def __init__(self, code: str, message: str, hint: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.result = ToolResult.failure(code, message, hint, nearest)


@dataclass(frozen=True, slots=True)
class View:
    """What the application shows without being asked: a short text, numbers, perhaps a picture."""

    text: str
    features: tuple[float, ...]
    """One finite number per name in ``Simulator.feature_names``, in that order."""
    image: bytes | None = None
    """A PNG file."""


class Simulator(Protocol):
    """An application. Everything it is asked and everything it answers is plain data.

    The module that defines it imports its heavy libraries lazily: tools must be listable without them.
    """

    name: ClassVar[str]
    feature_names: ClassVar[tuple[str, ...]]
    runs_code: ClassVar[bool]
    """Whether calls can make the process that runs it run arbitrary code."""

    @staticmethod
    def warm() -> None:
        """Import all that calls will need, and compute nothing: a parent process calls this before it forks."""
        ...

    @classmethod
    def tools(cls) -> Sequence[Tool]:
        """List the tools, in a fixed order."""
        ...

    def reset(self, scene: Mapping[str, Any], seed: int) -> View:
        """Put the world into the scene's state, whatever happened before."""
        ...

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out one call. Never raises for a mistake of the caller."""
        ...

    def observe(self) -> View:
        """Show the present state."""
        ...

    def artifacts(self) -> dict[str, bytes]:
        """Return what the agent made, by name, as files whose formats are documented by the application."""
        ...

    def snapshot(self) -> bytes:
        """Return the whole state as data from which ``restore`` rebuilds it, also in another process."""
        ...

    def restore(self, snapshot: bytes) -> None:
        """Put the world into the state of a snapshot."""
        ...

    def state_hash(self) -> str:
        """Return a hexadecimal digest that is equal for equal states, in every process."""
        ...
