"""What the terminal families share: words to name things with, calls, and lists as people write them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from ....simulators.base import Json, ToolCall
from ..base import Draft, submit

SERVICES = ("billing", "search", "mail", "auth", "cache", "queue", "store", "video", "chat", "maps", "feed", "print")
KEYS = ("port", "limit", "timeout", "workers", "retries", "level", "size", "delay")
NAMES = ("alpha", "delta", "omega", "north", "south", "lake", "river", "stone", "cedar", "maple", "ember", "frost")


def run(command: str) -> ToolCall:
    """Return the call of a shell command."""
    return ToolCall("run", {"command": command})


def draft(stated: Json, start: Mapping[str, str], files: Mapping[str, str] | None = None, **goal: Any) -> Draft:
    """Return a draft whose scene holds ``start`` and whose goal compares with ``files``."""
    wanted = {} if files is None else {"files": dict(files), "start": dict(start)}
    return Draft(stated, {**wanted, **goal}, {"files": {f"/work/{path}": text for path, text in start.items()}})


def count(rng: random.Random, difficulty: float, low: int, high: int) -> int:
    """Draw how many of something: near ``low`` at difficulty 0, near ``high`` at 1."""
    middle = low + difficulty * (high - low)
    return max(low, min(high, round(middle + rng.uniform(-0.7, 0.7))))


def and_then(commands: Sequence[str], answer: str = "") -> list[ToolCall]:
    """Return the calls of some commands, and of handing in."""
    return [*(run(command) for command in commands), submit(answer)]
