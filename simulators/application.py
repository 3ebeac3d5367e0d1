"""The common part of every application: it finds its tools by their mark and turns each call into a result.

A subclass writes tools (methods under ``@tool`` that return a ``ToolResult`` or raise ``ToolFault``) and the six
methods of its state.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from .base import ToolCall, ToolResult, View
from .tools import Tool, nearest, shown


class Application(ABC):
    """Base class of applications; see ``Simulator`` for the contract of each method."""

    name: ClassVar[str]
    feature_names: ClassVar[tuple[str, ...]]
    runs_code: ClassVar[bool] = False
    """Whether calls can make this process run arbitrary code, so that it belongs into a sandbox of its own."""

    @staticmethod  # noqa: B027 - a default, not a gap
    def warm() -> None:
        """Import what calls will need; the default needs nothing."""

    @classmethod
    def tools(cls) -> Sequence[Tool]:
        """List the marked methods in the order of their definition."""
        return tuple(_tools_of(cls).values())

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out one call; see ``Simulator.call``."""
        tools = _tools_of(type(self))
        found = tools.get(call.name) if isinstance(call.name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if found is None:
            return ToolResult.failure(
                "unknown_tool",
                f"there is no tool {shown(call.name)}",
                f"tools: {', '.join(tools)}",
                nearest(call.name, tools),
            )
        return found(self, call.arguments)

    @abstractmethod
    def reset(self, scene: Mapping[str, Any], seed: int) -> View:
        """See ``Simulator.reset``."""

    @abstractmethod
    def observe(self) -> View:
        """See ``Simulator.observe``."""

    @abstractmethod
    def artifacts(self) -> dict[str, bytes]:
        """See ``Simulator.artifacts``."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """See ``Simulator.snapshot``."""

    @abstractmethod
    def restore(self, snapshot: bytes) -> None:
        """See ``Simulator.restore``."""

    def state_hash(self) -> str:
        """Digest the snapshot; override where the snapshot is costly or holds more than the state."""
        return hashlib.blake2b(self.snapshot(), digest_size=16).hexdigest()


@cache
def _tools_of(cls: type[Application]) -> dict[str, Tool]:
    methods = [
        value for base in reversed(cls.__mro__) for value in vars(base).values() if getattr(value, "__tool__", False)
    ]
    return {method.__name__: Tool(method) for method in methods}
