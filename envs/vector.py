"""Many environments in one process, their sandboxes working at the same time.

A step sends every call before it waits for the first answer, then takes the answers in the order in which they come, so
that the sandboxes compute side by side and one slow call delays nobody else's. There are no worker processes besides
the sandboxes, nothing is pickled, and text of any length costs nothing. How many are at work at once adapts to what the
machine can carry (``pacing.py``). ``step`` is the interface of Gymnasium;
``send`` and ``recv`` let a caller go on with those that are done while others still work (the interface of EnvPool,
Weng et al. 2022, arXiv:2206.10558).

Families may differ from environment to environment (``families=[...]``): observations are then padded to the longest
``features`` and batched as usual, while the action space is a ``Tuple`` of each environment's own, and
``single_action_space`` is the first one's.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Space, Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from ..simulators import application_class
from ..simulators.base import Json
from .env import ToolEnv
from .observation import STATED_NUMBERS
from .pacing import Pace
from .tasks import family as family_of

Batch = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Json]


@dataclass
class _Landed:
    """What one environment's step gave."""

    env_id: int
    observation: Json
    info: Json
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False


class ToolVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` copies of ``ToolEnv``, stepped together.

    Args:
        num_envs: How many.
        family: The task family of all; or
        families: one family for each environment in turn, repeated as often as needed.
        autoreset_mode: What follows an episode's end, as Gymnasium defines it: ``"NextStep"``, ``"SameStep"`` or
            ``"Disabled"``.
        max_episode_steps: Calls per episode, as ``gymnasium.make_vec`` names it.
        at_work: Most sandboxes that are at work at once; ``None``: all of them.
        arguments: Those of ``ToolEnv``.

    Raises:
        ValueError: If neither or both of ``family`` and ``families`` are given.
    """

    def __init__(
        self,
        num_envs: int = 1,
        family: str | None = None,
        families: Sequence[str] | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        at_work: int | None = None,
        **arguments: Any,
    ) -> None:
        if (family is None) == (families is None):
            raise ValueError("needs either family or families")
        names = [family] if family is not None else list(families or ())
        if max_episode_steps is not None:
            arguments["max_steps"] = max_episode_steps
        if len(set(names)) > 1:
            arguments.setdefault("features", max(map(_features, names)))
        self.envs = [ToolEnv(family=str(names[i % len(names)]), **arguments) for i in range(num_envs)]
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**ToolEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = arguments.get("render_mode")
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        alike = len(set(names)) == 1
        self.action_space = (
            batch_space(self.single_action_space, num_envs) if alike else Tuple([env.action_space for env in self.envs])
        )
        self._batched: dict[int, Space[Any]] = {num_envs: self.action_space}
        self._flying: dict[int, str] = {}
        """What each environment that is at work was asked: ``reset``, ``step`` or ``again`` (the reset within a
        step)."""
        self._waiting: deque[tuple[int, str, Json]] = deque()
        """Who will be asked what, and with which arguments, when there is room."""
        self._pace = Pace(min(at_work or num_envs, num_envs))
        self._final: dict[int, _Landed] = {}
        self._landed: list[_Landed] = []
        self._ended = np.zeros(num_envs, np.bool_)
        self._seen: list[Json | None] = [None] * num_envs

    # Gymnasium

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Json]:
        """Reset all environments, or those that ``options["reset_mask"]`` names (a boolean array, shape (num_envs,)).

        Args:
            seed: For all: environment ``i`` gets ``seed + i``; or one for each.
            options: Passed to every environment, without the mask. The caller's dictionary stays as it is.

        Returns:
            All observations, batched (unmasked environments show their last one), and the infos of those that were
            reset.
        """
        options = dict(options or {})
        mask = _checked_mask(options.pop("reset_mask", None), self.num_envs)
        chosen = [i for i in range(self.num_envs) if mask[i]]
        if unseen := [i for i in range(self.num_envs) if not mask[i] and self._seen[i] is None]:
            raise ResetNeeded(f"environment {unseen[0]} was never reset and the reset_mask leaves it out")
        self._forget(chosen)
        self._begin_resets(chosen, seed, options)
        infos = {one.env_id: one.info for one in self._collect(len(chosen))}
        return self._observations(cast("list[Json]", self._seen)), _stacked(
            [infos.get(i) for i in range(self.num_envs)]
        )

    def step(self, actions: Any) -> Batch:
        """Step all environments.

        Args:
            actions: A member of ``action_space``, or a list of one action for each environment.

        Raises:
            ResetNeeded: If an episode is over and the autoreset mode is ``"Disabled"``, or before the first reset.
        """
        self.send(actions)
        return self._batch(sorted(self._collect(self.num_envs), key=lambda one: one.env_id), rows=self.num_envs)

    def render(self) -> tuple[Any, ...]:
        """Return what each environment renders."""
        return tuple(env.render() for env in self.envs)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute."""
        found = [getattr(env, name) for env in self.envs]
        return tuple(value(*args, **kwargs) if callable(value) else value for value in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every environment."""
        return tuple(getattr(env, name) for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment."""
        for env in getattr(self, "envs", ()):
            env.close()

    # EnvPool

    def async_reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> None:
        """Ask all environments to reset; ``recv`` gives their first observations as they come."""
        self._forget(range(self.num_envs))
        self._begin_resets(range(self.num_envs), seed, dict(options or {}))

    def send(self, actions: Any, env_ids: Iterable[int] | None = None) -> None:
        """Send actions to some environments without waiting for what comes of them.

        Args:
            actions: One for each of ``env_ids``: a list, or batched as ``action_space`` is.
            env_ids: Which environments; all by default.

        Raises:
            ResetNeeded: If one of them is still at work, or must be reset by the caller.
        """
        ids = list(range(self.num_envs)) if env_ids is None else [int(i) for i in env_ids]
        for i in ids:
            self._refuse_if_not_ready(i)
        singles = self._singles(actions, len(ids))
        if len(singles) != len(ids):
            raise ValueError(f"{len(singles)} actions for {len(ids)} environments")
        for i, action in zip(ids, singles, strict=True):
            self._waiting.append((i, "reset", {}) if self._ended[i] else (i, "step", {"action": action}))
        self._launch()

    def recv(self, min_num: int = 1) -> Batch:
        """Wait until at least ``min_num`` environments are done, and return those that are.

        Returns:
            Observations, rewards, terminations, truncations and infos with one row for each environment that is done;
            ``infos["env_id"]`` says which they are, shape (rows,).

        Raises:
            ValueError: If fewer environments are at work.
        """
        done = self._collect(min_num)
        batch = self._batch(done, rows=len(done))
        batch[4]["env_id"] = np.array([one.env_id for one in done], np.int64)
        return batch

    # The parts

    def _singles(self, actions: Any, count: int) -> list[Any]:
        if isinstance(actions, list | tuple):
            return list(cast("Sequence[Any]", actions))
        if count not in self._batched:
            self._batched[count] = batch_space(self.single_action_space, count)
        return list(iterate(self._batched[count], actions))

    def _refuse_if_not_ready(self, i: int) -> None:
        if (
            i in self._flying
            or any(i == one[0] for one in self._waiting)
            or any(i == one.env_id for one in self._landed)
        ):
            raise ResetNeeded(f"environment {i} has an answer that was not taken: recv() first")
        if self._seen[i] is None:
            raise ResetNeeded(f"environment {i} was never reset: call reset() first")
        if self._ended[i] and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded(f"the episode of environment {i} is over: call reset() with a reset_mask")

    def _begin_resets(self, chosen: Iterable[int], seed: int | Sequence[int | None] | None, options: Json) -> None:
        seeds = _seeds(seed, self.num_envs)
        for i in chosen:
            self._waiting.append((i, "reset", {"seed": seeds[i], "options": options}))
        self._launch()

    def _launch(self) -> None:
        """Ask as many of those that wait as may be at work."""
        while self._waiting and len(self._flying) < self._pace.limit:
            i, kind, arguments = self._waiting.popleft()
            self._flying[i] = kind
            (self.envs[i].begin if kind == "step" else self.envs[i].begin_reset)(**arguments)

    def _forget(self, chosen: Iterable[int]) -> None:
        """Drop what environments that are about to be reset were asked before."""
        for i in chosen:
            if self._flying.pop(i, None) is not None:
                self.envs[i].abandon()
            self._final.pop(i, None)
            self._ended[i] = False
        dropped = set(chosen)
        self._landed = [one for one in self._landed if one.env_id not in dropped]
        self._waiting = deque(one for one in self._waiting if one[0] not in dropped)

    def _collect(self, least: int) -> list[_Landed]:
        """Wait until at least ``least`` environments have landed; return all that have."""
        if least > (asked := len(self._landed) + len(self._flying) + len(self._waiting)):
            raise ValueError(f"cannot wait for {least} environments: {asked} are at work")
        self._land(self._ready(wait=False))
        while len(self._landed) < least:
            self._land(self._ready(wait=True))
        done, self._landed = self._landed, []
        return done

    def _ready(self, wait: bool) -> list[int]:
        """Return who would not wait for a sandbox; with ``wait`` at least one."""
        descriptors = {i: self.envs[i].fileno() for i in self._flying}
        ready = [i for i, descriptor in descriptors.items() if descriptor is None or self.envs[i].seconds_left() <= 0]
        poll = select.poll()
        for descriptor in descriptors.values():
            if descriptor is not None:
                poll.register(descriptor, select.POLLIN)
        patience = min((self.envs[i].seconds_left() for i in self._flying), default=0.0) if wait and not ready else 0.0
        answered = {descriptor for descriptor, _ in poll.poll(max(0, int(1000 * patience) + (patience > 0)))}
        return ready + [i for i, descriptor in descriptors.items() if descriptor in answered and i not in ready]

    def _land(self, ready: Iterable[int]) -> None:
        for i in ready:
            kind = self._flying.pop(i)
            one = self._finished(i) if kind == "step" else self._restarted(i, kind)
            if one is not None:
                self._seen[i] = one.observation
                self._ended[i] = self.autoreset_mode != AutoresetMode.SAME_STEP and (one.terminated or one.truncated)
                self._landed.append(one)
                self._pace.note(str(one.info.get("infra_error") or ""))
        self._launch()

    def _finished(self, i: int) -> _Landed | None:
        observation, reward, terminated, truncated, info = self.envs[i].finish()
        one = _Landed(i, observation, info, reward, terminated, truncated)
        if self.autoreset_mode != AutoresetMode.SAME_STEP or not (terminated or truncated):
            return one
        self._final[i], self._flying[i] = one, "again"
        self.envs[i].begin_reset()
        return None

    def _restarted(self, i: int, kind: str) -> _Landed:
        observation, info = self.envs[i].finish_reset()
        if kind == "reset":
            return _Landed(i, observation, info)
        final = self._final.pop(i)
        info |= {"final_obs": final.observation, "final_info": final.info}
        return _Landed(i, observation, info, final.reward, final.terminated, final.truncated)

    def _observations(self, singles: Sequence[Json]) -> Any:
        space = cast("Any", self.single_observation_space)
        return concatenate(space, cast("Any", singles), create_empty_array(space, len(singles)))

    def _batch(self, done: Sequence[_Landed], rows: int) -> Batch:
        return (
            self._observations([one.observation for one in done]),
            np.array([one.reward for one in done], np.float64),
            np.array([one.terminated for one in done], np.bool_),
            np.array([one.truncated for one in done], np.bool_),
            _stacked([one.info for one in done][:rows]),
        )


class _Rows(VectorEnv[Any, Any, Any]):
    """Lends Gymnasium's way of stacking infos for any number of rows."""

    def __init__(self, rows: int) -> None:
        self.num_envs = rows

    def stack(self, infos: Sequence[Json | None]) -> Json:
        """Return one dictionary of arrays; rows without an info are masked out."""
        out: Json = {}
        for row, info in enumerate(infos):
            if info is not None:
                out = self._add_info(out, info, row)
        return out


def _stacked(infos: Sequence[Json | None]) -> Json:
    return _Rows(len(infos)).stack(infos)


def _features(family: str) -> int:
    return len(application_class(family_of(family).application).feature_names) + STATED_NUMBERS


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    if seed is None or isinstance(seed, int | np.integer):
        return [None if seed is None else int(seed) + i for i in range(count)]
    if len(seed) != count:
        raise ValueError(f"{len(seed)} seeds for {count} environments")
    return list(seed)


def _checked_mask(mask: Any, count: int) -> NDArray[np.bool_]:
    if mask is None:
        return np.ones(count, np.bool_)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (count,) or not mask.any():
        raise ValueError(
            f"options['reset_mask'] must be a boolean array of shape ({count},) with at least one True, not {mask!r}"
        )
    return cast("NDArray[np.bool_]", mask)
