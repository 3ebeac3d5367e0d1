"""Plays a family's own solution through an environment. It sees what an agent sees: the results of its calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gymnasium

from ..simulators.base import Json
from .tasks import family

if TYPE_CHECKING:
    from .env import StepReturn, ToolEnv


def playback(env: ToolEnv) -> Iterator[Any]:
    """Yield the solution of the running task as actions of the environment's view; see ``ToolEnv.oracle``."""
    solution = family(env.task.family).oracle(env.task)
    try:
        call = next(solution)
        while True:
            yield env.encode(call)
            if env.episode.over:
                return
            call = solution.send(env.episode.result)
    except StopIteration:
        return
    finally:
        solution.close()


def play_oracle(env: gymnasium.Env[Any, Any], seed: int | None = None, options: Json | None = None) -> StepReturn:
    """Reset, play the family's own solution to its end, and return what the last step returned.

    Raises:
        RuntimeError: If the solution stops before the episode does.
    """
    env.reset(seed=seed, options=options)
    last: Any = None
    for action in env.unwrapped.oracle():  # type: ignore[attr-defined]
        last = env.step(action)
    if last is None or not (last[2] or last[3]):
        raise RuntimeError("the solution stopped before the episode was over")
    return last
