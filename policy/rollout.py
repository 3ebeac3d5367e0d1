"""Rollouts: many episodes at once, one policy, live environments.

The engine samples all episodes that wait for words while the environments of the others work: a turn's environment
call runs in a thread that only waits for a sandbox, so the two overlap. An episode whose sandbox was lost is data
about the sandbox, not about the policy: its reward is ``None`` and the trainer leaves it out.

This module knows environments by their Gymnasium ids only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from .bridge import Bridge, Conversation
from .engine import Engine, Generation

Env = gymnasium.Env[Any, Any]


@dataclass(frozen=True)
class Job:
    """One episode to be played."""

    env_id: str
    options: Mapping[str, Any]
    """Options of ``reset``: ``split``, ``index``, ``difficulty``."""
    group: int = 0
    """Episodes of one group play the same task; their mean reward is each other's baseline."""
    seed: int = 0
    """Seed of the sampling."""


@dataclass
class Episode:
    """One episode as it was played."""

    job: Job
    conversation: Conversation
    reward: float | None = None
    """The final reward in [0, 1]; ``None`` if the sandbox or the scorer failed."""
    success: bool = False
    turns: int = 0
    errors: int = 0
    """Calls that the environment refused."""
    truncated: bool = False
    """Whether a limit ended it."""


class Workshop:
    """Environments on loan, by id: an episode takes one, plays, and brings it back for the next."""

    def __init__(self, most: int = 512, **make: Any) -> None:
        """Keep at most ``most`` idle environments; ``make`` (``runtime``, ...) goes to ``gymnasium.make``."""
        self._most, self._make = most, make
        self._idle: dict[str, list[Env]] = {}

    def lend(self, env_id: str) -> Env:
        """Return an idle environment of this id, or a new one."""
        idle = self._idle.get(env_id)
        return idle.pop() if idle else gymnasium.make(env_id, action_view="text", **self._make)

    def take_back(self, env_id: str, env: Env) -> None:
        """Keep an environment for the next episode."""
        if sum(map(len, self._idle.values())) < self._most:
            self._idle.setdefault(env_id, []).append(env)
        else:
            env.close()

    def close(self) -> None:
        """Close every idle environment."""
        for envs in self._idle.values():
            while envs:
                envs.pop().close()


@dataclass(eq=False)
class _Live:
    """An episode under way."""

    episode: Episode
    env: Env
    slot: int = -1
    pending: Future[Any] = field(default_factory=Future[Any])


class Rollout:
    """Plays jobs with an engine; keeps as many episodes alive as the engine has slots."""

    def __init__(
        self, engine: Engine, bridge: Bridge, workshop: Workshop, max_turn_tokens: int = 64, threads: int = 8
    ) -> None:
        self.engine, self.bridge, self.workshop = engine, bridge, workshop
        self.max_turn_tokens = max_turn_tokens
        self._threads = ThreadPoolExecutor(threads, "env")

    def play(self, jobs: Iterable[Job], temperature: float = 1.0) -> list[Episode]:
        """Play every job to its end and return the episodes in the order of the jobs.

        Args:
            jobs: What to play.
            temperature: Of the sampling; 0 takes the likeliest token.
        """
        self.engine.temperature = temperature
        waiting, acting, talking, done = deque(enumerate(jobs)), set[_Live](), dict[int, _Live](), dict[int, Episode]()
        order: dict[int, int] = {}
        while waiting or acting or talking:
            while waiting and len(acting) + len(talking) < self.engine.slots:
                index, job = waiting.popleft()
                live = self._begin(job)
                order[id(live.episode)] = index
                acting.add(live)
            for live in self._arrived(acting, block=not talking):
                acting.discard(live)
                if self._hear(live):
                    talking[live.slot] = live
                else:
                    done[order[id(live.episode)]] = live.episode
            for generation in self.engine.step() if talking else ():
                acting.add(self._act(talking.pop(generation.slot), generation))
        return [done[index] for index in sorted(done)]

    def close(self) -> None:
        """Stop the threads; environments belong to the workshop."""
        self._threads.shutdown()

    def _begin(self, job: Job) -> _Live:
        env = self.workshop.lend(job.env_id)
        live = _Live(Episode(job, Conversation.opened([])), env)
        live.pending = self._threads.submit(env.reset, options=dict(job.options))
        return live

    def _arrived(self, acting: set[_Live], block: bool) -> list[_Live]:
        if block and acting:
            wait([live.pending for live in acting], return_when=FIRST_COMPLETED)
        return [live for live in acting if live.pending.done()]

    def _hear(self, live: _Live) -> bool:
        """Take in what the environment said; return whether the episode goes on."""
        answer = live.pending.result()
        if live.slot < 0:
            return self._open(live, *answer)
        observation, reward, terminated, truncated, info = answer
        episode = live.episode
        episode.errors += bool(info["error"])
        if terminated or truncated:
            episode.reward = float(reward) if info["reward_valid"] else None
            episode.success, episode.truncated = bool(info["is_success"]), bool(truncated)
            return self._end(live)
        tokens = self.bridge.result(observation["text"])
        if len(episode.conversation.ids) + len(tokens) + self.max_turn_tokens > self.engine.max_length:
            episode.reward, episode.truncated = 0.0, True
            return self._end(live)
        episode.conversation.read(tokens)
        self.engine.extend(live.slot, tokens)
        self.engine.start(live.slot, self.max_turn_tokens)
        return True

    def _open(self, live: _Live, observation: Mapping[str, Any], info: Mapping[str, Any]) -> bool:
        if info["infra_error"]:
            return self._end(live)
        prompt = self.bridge.prompt(domain_of(live.episode.job.env_id), observation["text"])
        live.episode.conversation = Conversation.opened(prompt)
        live.slot = self.engine.open(prompt, seed=live.episode.job.seed)
        self.engine.start(live.slot, self.max_turn_tokens)
        return True

    def _act(self, live: _Live, generation: Generation) -> _Live:
        live.episode.conversation.say(generation.ids, generation.logprobs)
        live.episode.turns += 1
        live.pending = self._threads.submit(live.env.step, self.bridge.action(generation.ids))
        return live

    def _end(self, live: _Live) -> bool:
        if live.slot >= 0:
            self.engine.close(live.slot)
        self.workshop.take_back(live.episode.job.env_id, live.env)
        return False


def domain_of(env_id: str) -> str:
    """Return the domain in an id: ``"cad"`` of ``"makerspace/cad.plate-v0"``."""
    return env_id.rpartition("/")[2].partition(".")[0]


def scored(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the episodes that were scored."""
    return [episode for episode in episodes if episode.reward is not None]
