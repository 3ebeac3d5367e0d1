"""Carries out a trace's calls again and names the first step at which the world answers differently.

The application of the header is opened in this process and reset with the recorded scene and seed. A call to one of its
tools is carried out; anything else (``submit``, unknown tools, actions that could not be read) was answered by the env
and must not have changed the state. Compared are: whether the call was accepted, the result's text, the view's text,
and the state hash. What the task was, and what it was worth, plays no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..simulators import open_application
from ..simulators.base import Simulator, ToolCall
from .log import Json
from .reader import Step, Trace
from .records import Start, tools_digest


@dataclass(frozen=True)
class Divergence:
    """The first difference."""

    step: int
    """Number of the action; 0 is the reset."""
    field: str
    """``ok``, ``text``, ``view`` or ``state_hash``."""
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"step {self.step}: {self.field} was {self.expected!r}, is {self.got!r}"


@dataclass(frozen=True)
class Replay:
    """What became of a replay."""

    steps: int
    """Actions that agreed."""
    divergence: Divergence | None
    stopped: str | None = None
    """Why the replay could not go to the trace's end, such as a sandbox that was lost."""
    tools_changed: bool = False
    """Whether the application's tools are others than those recorded."""

    @property
    def agrees(self) -> bool:
        """Whether every recorded action was repeated with the same outcome."""
        return self.divergence is None and self.stopped is None


def replay(trace: Trace, world: Simulator | None = None) -> Replay:
    """Repeat a trace.

    Args:
        trace: The trace; it need not be complete.
        world: The application to use; by default the one that the header names.

    Raises:
        TraceError: If the trace has no header.
        KeyError: If there is no such application.
    """
    header = trace.header
    world = world or open_application(header.application)
    changed = header.tools not in ("", tools_digest(world.tools()))
    view = world.reset(header.scene, header.seed)
    if trace.start is not None and (found := _at_reset(trace.start, view.text, world.state_hash())):
        return Replay(0, found, None, changed)
    for done, step in enumerate(trace.steps):
        stopped, divergence = _repeat(step, world)
        if stopped or divergence:
            return Replay(done, divergence, stopped, changed)
    return Replay(len(trace.steps), None, None if trace.complete else f"the trace ends here: {trace.reason}", changed)


def _at_reset(start: Start, text: str, state_hash: str) -> Divergence | None:
    return _difference(
        0, {"view": start.text, "state_hash": start.state_hash}, {"view": text, "state_hash": state_hash}
    )


def _repeat(step: Step, world: Simulator) -> tuple[str | None, Divergence | None]:
    """Repeat one step: why it cannot be, or how it differs."""
    action, recorded = step.action, step.result
    if recorded is None:
        return f"step {action.step} has no result: recording ended during the call", None
    if recorded.infra_error:
        return f"the sandbox failed at step {action.step}: {recorded.infra_error}", None
    expected: Json = {"view": recorded.text, "state_hash": recorded.state_hash}
    got: Json = {}
    if action.call is not None and action.call["name"] in [tool.name for tool in world.tools()]:
        result = world.call(ToolCall.from_json(action.call))
        got = {"ok": result.ok, "text": result.text}
        expected = {**{key: (recorded.result or {}).get(key) for key in got}, **expected}
    got |= {"view": world.observe().text, "state_hash": world.state_hash()}
    return None, _difference(action.step, expected, got)


def _difference(step: int, expected: Json, got: Json) -> Divergence | None:
    """Compare field by field; a view or a hash that was not recorded is passed over."""
    for name, value in got.items():
        if expected[name] != value and not (name in ("view", "state_hash") and expected[name] == ""):
            return Divergence(step, name, expected[name], value)
    return None
