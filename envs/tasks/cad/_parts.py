"""What the CAD families share: calls, goals, and numbers as instructions spell them."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import Any

from ....simulators.base import Json, ToolCall, ToolResult
from ..base import submit

Calls = list[ToolCall]


def call(name: str, **arguments: Any) -> ToolCall:
    """Return a call, its arguments by keyword."""
    return ToolCall(name, arguments)


def goal(calls: Calls, *baselines: Calls) -> Json:
    """Return the goal whose reference these calls build; a part no nearer to it than a baseline is worth nothing."""
    return {"calls": data(calls), "baselines": [data(b) for b in baselines]}


def data(calls: Calls) -> list[Json]:
    """Return calls as plain data."""
    return [c.to_json() for c in calls]


def and_submit(calls: Calls) -> Generator[ToolCall, ToolResult, None]:
    """Make calls one after the other, then hand in."""
    for each in (*calls, submit()):  # noqa: UP028 - a list takes no results
        yield each


def block(width: float, depth: float, thickness: float, plane: str = "XY") -> Calls:
    """Return the calls that make a block, centred on the origin and standing on the plane."""
    return [
        call("new_sketch", plane=plane),
        call("rectangle", width=width, height=depth),
        call("extrude", distance=thickness),
    ]


def disc(diameter: float, thickness: float) -> Calls:
    """Return the calls that make a disc on XY, centred on the origin."""
    return [call("new_sketch", plane="XY"), call("circle", diameter=diameter), call("extrude", distance=thickness)]


def scaled(calls: Calls, factor: float) -> Calls:
    """Return the calls with every length multiplied: a part in the wrong unit."""
    lengths = {"width", "height", "diameter", "distance", "depth", "x", "y", "radius", "size", "spacing", "offset"}
    return [ToolCall(c.name, {k: v * factor if k in lengths else v for k, v in c.arguments.items()}) for c in calls]


def chance(rng: random.Random, difficulty: float, start: float, end: float) -> bool:
    """Draw yes with a probability that rises from 0 to 1 while the difficulty rises from ``start`` to ``end``."""
    return rng.random() < (difficulty - start) / (end - start)


def listed(phrases: Sequence[str]) -> str:
    """Join phrases into a list as people write it."""
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"
