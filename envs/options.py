"""What may be asked of an environment: the arguments of ``gymnasium.make``, the options of ``reset``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..simulators.base import Json, Simulator
from ..simulators.tools import nearest
from .observation import MOST_STEPS
from .tasks.base import SPLITS, Family, Task

INDICES = 1 << 31
"""Tasks are drawn with an index below this."""
OPTIONS = ("task_id", "split", "index", "difficulty")
"""What ``reset`` understands in its ``options``."""
RENDER_MODES = ("ansi",)


def choose_task(
    family: Family, options: Json, split: str, difficulty: float | None, random: np.random.Generator
) -> Task:
    """Return the task that the options of ``reset`` ask for; what they leave open is the environment's or drawn.

    Args:
        family: Whose tasks.
        options: ``task_id`` alone, or any of ``split``, ``index`` and ``difficulty``.
        split: The environment's split.
        difficulty: The environment's difficulty; ``None``: drawn uniformly in [0, 1].
        random: Draws what is left open: the index first, then the difficulty.

    Raises:
        ValueError: If an option is unknown or out of range.
    """
    for key in options:
        _one_of("option of reset", key, OPTIONS)
    given = {key: value for key, value in options.items() if value is not None}
    if "task_id" in given:
        return family.from_id(given["task_id"])
    index = given["index"] if "index" in given else random.integers(INDICES)
    difficulty = given.get("difficulty", difficulty)
    return family.task(
        int(index), given.get("split", split), float(random.uniform() if difficulty is None else difficulty)
    )


def check_arguments(
    views: Iterable[str],
    action_view: str,
    split: str,
    difficulty: float | None,
    render_mode: str | None,
    max_steps: int | None,
) -> None:
    """Refuse arguments of an environment that make no sense.

    Raises:
        ValueError: With the choices and the nearest of them.
    """
    _one_of("action view", action_view, views)
    _one_of("split", split, SPLITS)
    if render_mode is not None:
        _one_of("render mode", render_mode, RENDER_MODES)
    if difficulty is not None and not 0.0 <= difficulty <= 1.0:
        raise ValueError(f"difficulty is in [0, 1], not {difficulty}")
    if max_steps is not None and not 1 <= max_steps <= MOST_STEPS:
        raise ValueError(f"max_steps is in 1 .. {MOST_STEPS}, not {max_steps}")


def check_isolation(application: type[Simulator], runtime: str, options: Json | None) -> None:
    """Refuse to run an agent's code where nothing keeps it apart.

    Raises:
        ValueError: If the application runs code and would share a process with the caller, or with other episodes.
    """
    if application.runs_code and (runtime == "inline" or (options or {}).get("reuse", 1) > 1):
        raise ValueError(
            f"{application.name} runs the agent's code: use runtime='docker' (or 'process'), without reuse; "
            f"`makerspace doctor` tells what protects you here"
        )


def _one_of(what: str, value: Any, choices: Iterable[str]) -> None:
    known = list(choices)
    if value not in known:
        raise ValueError(f"no {what} {value!r}; there are: {', '.join(known)}; nearest: {nearest(value, known)}")
