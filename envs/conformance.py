"""What every task family is held to, as plain functions: ``check_family("cad.plate")`` gives one ``Check`` per rule.

    spaces       Gymnasium's own checker has no complaint, in any action view
    tasks        an id makes its task again; wordings are complete; splits share neither content nor instruction
    oracle       the family's solution scores 1.0 in every split at every difficulty
    blind        ... and makes the same calls if it is shown neither goal nor scene
    floor        doing nothing, and random calls, score at most 0.1
    exploits     so does every cheat that the family knows of
    mutants      a solution with one call dropped, moved or changed loses what it should
    fork         a copy in mid-episode goes on exactly as the original
    replay       the trace of an episode replays, is the same for the same seed, and scores the same again

Used by ``makerspace check`` and by the tests, which add what needs other processes. It knows no domain.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import gymnasium
from gymnasium.utils.env_checker import check_env

from ..rewards.base import SUCCESS, Outcome
from ..simulators.base import Json, ToolCall, ToolResult
from ..traces.reader import canonical, read
from ..traces.replay import replay
from .env import VIEWS, StepReturn, ToolEnv
from .oracle import play_oracle
from .registration import env_id
from .tasks import family as family_of
from .tasks import task_from_id
from .tasks.base import SPLITS, SUBMIT, Task, submit

FLOOR = 0.1
"""Most that doing nothing, random calls and cheats may score."""
DIFFICULTIES = (0.0, 0.25, 0.5, 0.75, 1.0)
MUTANTS_CAUGHT = 0.9
"""Least share of the mutants with other artifacts that must lose."""


@dataclass(frozen=True)
class Check:
    """The verdict on one rule."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Effort:
    """How much is tried."""

    tasks: int = 1
    """Tasks per split and difficulty that the oracle solves."""
    drawn: int = 40
    """Tasks per split that are compared with each other."""
    random_episodes: int = 50
    mutants: int = 20
    runtime: str = "inline"
    """Where the application and the scorer run."""


class Broken(AssertionError):
    """A rule is broken; the message says how."""


def check_family(name: str, effort: Effort | None = None, only: Sequence[str] = ()) -> list[Check]:
    """Return the verdict on every rule.

    Args:
        name: The family, such as ``"cad.plate"``.
        effort: How much is tried.
        only: Names of rules; all by default.

    Raises:
        KeyError: If there is no such family or rule.
    """
    family_of(name)
    return [run_check(name, rule, effort) for rule in only or CHECKS]


def run_check(name: str, rule: str, effort: Effort | None = None) -> Check:
    """Return the verdict on one rule; whatever a broken family raises is a verdict too."""
    try:
        return Check(rule, True, CHECKS[rule](name, effort or Effort()))
    except Broken as broken:
        return Check(rule, False, str(broken))
    except Exception as failure:  # noqa: BLE001 - the family is what is on trial, and an exception is its failure
        return Check(rule, False, f"{type(failure).__name__}: {failure}")


def check_spaces(name: str, effort: Effort) -> str:
    """Gymnasium's checker passes without a warning in every action view."""
    for view in VIEWS:
        env = gymnasium.make(env_id(name), action_view=view, runtime=effort.runtime)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                check_env(env.unwrapped)
        except (AssertionError, Warning) as complaint:
            raise Broken(f"view {view!r}: {complaint}") from complaint
        finally:
            env.close()
    return f"views {', '.join(VIEWS)}"


def check_tasks(name: str, effort: Effort) -> str:
    """Ids make their tasks again, wordings are complete and different, splits are disjoint."""
    family = family_of(name)
    _require(len(set(family.templates)) >= 5, f"{len(set(family.templates))} different wordings, at least 5 are needed")
    seen: dict[str, tuple[str, str]] = {}
    count = 0
    for split in SPLITS:
        for index in range(effort.drawn):
            task = family.task(index, split, DIFFICULTIES[index % len(DIFFICULTIES)])
            _require(task_from_id(task.id) == task, f"{task.id} makes another task the second time")
            _require(
                not re.search(r"[{}]", task.instruction) or "{" in json.dumps(task.stated),
                f"{task.id}: unfilled wording: {task.instruction}",
            )
            for key in (_content(task), json.dumps([task.instruction, task.scene], sort_keys=True)):
                other = seen.setdefault(key, (split, task.id))
                _require(
                    other[0] == split,
                    f"{task.id} ({split}) and {other[1]} ({other[0]}) are the same task: {task.instruction}",
                )
            count += 1
    return f"{count} tasks, {len(family.templates)} wordings"


def check_oracle(name: str, effort: Effort) -> str:
    """The family's solution scores 1.0 everywhere."""
    with _env(name, effort) as env:
        solved = [_solved(env, options) for options in _everywhere(effort)]
    return f"{len(solved)} tasks, {min(solved)} to {max(solved)} calls"


def _solved(env: ToolEnv, options: Json) -> int:
    _, reward, _, _, info = play_oracle(env, options=options)
    _require(
        reward >= SUCCESS,
        f"{info['task_id']}: the oracle scores {reward:.3f} {info['reward_terms']}: {info['instruction']}",
    )
    return int(info["step"])


def check_blind(name: str, effort: Effort) -> str:
    """The solution depends on what is stated and on results, not on the goal or the scene."""
    count = 0
    with _env(name, effort) as env:
        for options in _everywhere(replace(effort, tasks=1)):
            calls, results = recorded_oracle(env, options)
            blind = family_of(name).oracle(replace(env.task, goal={}, scene={}))
            for number, call in enumerate(calls):
                shown = next(blind) if number == 0 else blind.send(results[number - 1])
                _require(shown == call, f"{env.task.id}: call {number + 1} is {call} with the goal and {shown} without")
            blind.close()
            count += len(calls)
    return f"{count} calls"


def check_floor(name: str, effort: Effort) -> str:
    """Handing in at once, idling until the limit, and random calls score at most ``FLOOR``."""
    with _env(name, effort) as env:
        worst = max(_played(env, [submit()], {"difficulty": d}) for d in DIFFICULTIES)
        _require(worst <= FLOOR, f"handing in at once scores {worst:.3f}")
        idle = max(_played(env, [ToolCall("", {})] * 1000, {"difficulty": d}) for d in DIFFICULTIES)
        _require(idle <= FLOOR, f"doing nothing until the limit scores {idle:.3f}")
        env.action_space.seed(0)
        for episode in range(effort.random_episodes):
            env.reset(seed=episode)
            reward = _random_episode(env)
            _require(reward <= FLOOR, f"random calls score {reward:.3f} on {env.task.id}")
            worst = max(worst, reward)
    return f"{effort.random_episodes} random episodes, at most {worst:.3f}"


def _random_episode(env: ToolEnv) -> float:
    while True:
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        if terminated or truncated:
            _require(info["reward_valid"], f"the sandbox failed: {info['infra_error']}")
            return reward


def check_exploits(name: str, effort: Effort) -> str:
    """Every cheat scores at most ``FLOOR``."""
    family, tried = family_of(name), dict[str, float]()
    with _env(name, effort) as env:
        for difficulty in DIFFICULTIES:
            env.reset(options={"index": 0, "difficulty": difficulty})
            for cheat, calls in family.exploits(env.task).items():
                reward = _played(env, calls, {"index": 0, "difficulty": difficulty})
                _require(reward <= FLOOR, f"{env.task.id}: the cheat {cheat!r} scores {reward:.3f}")
                tried[cheat] = max(reward, tried.get(cheat, 0.0))
    _require(bool(tried), "the family knows no exploit")
    return f"{len(tried)} cheats, at most {max(tried.values()):.3f}"


def check_mutants(name: str, effort: Effort) -> str:
    """Of the mutants of the solution that leave something else, nearly all score less."""
    rng, caught, escaped = random.Random(0), 0, list[str]()
    with _env(name, effort) as env:
        for number in range(effort.mutants):
            options = {"index": number // 4, "difficulty": DIFFICULTIES[number // 4 % len(DIFFICULTIES)]}
            calls, _ = recorded_oracle(env, options)
            wanted = _left(env)
            what, mutant = mutate(calls, rng, number)
            reward = _played(env, mutant, options)
            if _left(env) == wanted:
                continue
            caught += reward < SUCCESS
            if reward >= SUCCESS:
                escaped.append(f"{env.task.id}: {what}")
    changed = caught + len(escaped)
    _require(changed > 0, "no mutant changes the artifacts")
    _require(
        caught >= MUTANTS_CAUGHT * changed,
        f"{len(escaped)} of {changed} mutants still score 1.0: {'; '.join(escaped[:4])}",
    )
    return f"{caught} of {changed} mutants with other artifacts lose"


def check_fork(name: str, effort: Effort) -> str:
    """A copy in mid-episode goes on as the original does, and so does a snapshot that is restored later."""
    with _env(name, effort) as env:
        calls, _ = recorded_oracle(env, {"index": 1})
        env.reset(options={"index": 1})
        half = len(calls) // 2
        for call in calls[:half]:
            env.step(env.encode(call))
        snapshot, there = env.snapshot(), env.state_hash()
        copy = env.fork()
        try:
            _require(copy.state_hash() == there, "the copy starts in another state")
            first, second = _rest(env, calls[half:]), _rest(copy, calls[half:])
            env.restore(snapshot)
            third = _rest(env, calls[half:])
        finally:
            copy.close()
        _require(first == second, f"the copy goes on differently: {_difference(first, second)}")
        _require(first == third, f"the restored one goes on differently: {_difference(first, third)}")
    return f"copied after {half} of {len(calls)} calls"


def check_replay(name: str, effort: Effort) -> str:
    """A trace replays, is the same for the same seed, and its outcome scores the same again."""
    with tempfile.TemporaryDirectory() as folder, _env(name, effort, trace=folder) as env:
        traces, reward = list[Any](), 0.0
        for _ in range(2):
            reward = play_oracle(env, seed=5)[1]
            env.close()
            traces.append(read(str(env.trace_path)))
        again = replay(traces[0])
        _require(again.agrees, f"the trace does not replay: {again.divergence or again.stopped}")
        _require(canonical(traces[0]) == canonical(traces[1]), "two episodes of one seed leave different traces")
        score = family_of(name).reward.score(env.task.goal, Outcome.from_json(traces[0].outcome()))
        _require(score.total == reward, f"the trace scores {score.total}, the episode scored {reward}")
    return f"{again.steps} steps"


CHECKS: dict[str, Callable[[str, Effort], str]] = {
    "spaces": check_spaces,
    "tasks": check_tasks,
    "oracle": check_oracle,
    "blind": check_blind,
    "floor": check_floor,
    "exploits": check_exploits,
    "mutants": check_mutants,
    "fork": check_fork,
    "replay": check_replay,
}
"""The rules by name."""


class _env:  # noqa: N801 - reads as a verb where it is used
    """An environment of a family for a ``with`` block."""

    def __init__(self, name: str, effort: Effort, **arguments: Any) -> None:
        self._env = ToolEnv(name, runtime=effort.runtime, **arguments)

    def __enter__(self) -> ToolEnv:
        return self._env

    def __exit__(self, *failure: object) -> None:
        self._env.close()


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


def _content(task: Task) -> str:
    return json.dumps([task.stated, task.scene], sort_keys=True)


def _everywhere(effort: Effort) -> Iterator[Json]:
    return (
        {"split": s, "index": i, "difficulty": d} for s in SPLITS for d in DIFFICULTIES for i in range(effort.tasks)
    )


def recorded_oracle(env: ToolEnv, options: Json) -> tuple[list[ToolCall], list[ToolResult]]:
    """Play the family's solution; return its calls and what came of them."""
    env.reset(options=options)
    calls, results = list[ToolCall](), list[ToolResult]()
    solution = family_of(env.task.family).oracle(env.task)
    call = next(solution)
    while True:
        calls.append(call)
        over = any(env.step(env.encode(call))[2:4])
        results.append(env.episode.result)
        if over:
            solution.close()
            return calls, results
        call = solution.send(env.episode.result)


def _played(env: ToolEnv, calls: Sequence[ToolCall], options: Json) -> float:
    """Play fixed calls, hand in if they do not, and return the reward."""
    env.reset(seed=0, options=options)
    last: StepReturn | None = None
    for call in (*calls, submit()):
        last = env.step(env.encode(call) if call.name else {"tool": -1, "arguments": ""})
        if last[2] or last[3]:
            break
    if last is None or not last[4]["reward_valid"]:
        raise Broken(f"{env.task.id}: the episode was not scored: {last[4]['infra_error'] if last else ''}")
    return last[1]


def _rest(env: ToolEnv, calls: Sequence[ToolCall]) -> list[Any]:
    """Play the rest of an episode; return what can be seen of it."""
    seen: list[Any] = []
    for call in calls:
        observation, *rest = env.step(env.encode(call))
        seen.append([observation["text"], observation["features"].tolist(), *rest])
    return seen


def _difference(first: Sequence[Any], second: Sequence[Any]) -> str:
    return next(
        (f"{a} against {b}" for a, b in zip(first, second, strict=False) if a != b), "one stops before the other"
    )


def _left(env: ToolEnv) -> Any:
    return (env.outcome.artifacts, env.outcome.answer) if env.outcome else None


def mutate(calls: Sequence[ToolCall], rng: random.Random, kind: int) -> tuple[str, list[ToolCall]]:
    """Return a solution with one fault, and what it is.

    Args:
        calls: The solution.
        rng: Chooses the place.
        kind: Chooses the fault, modulo 4: a call dropped, two neighbours swapped, a number changed, a word changed.
            Where there is no place for it, a call is dropped.
    """
    work = [i for i, call in enumerate(calls) if call.name != SUBMIT] or [0]
    place = rng.choice(work)
    mutant = list(calls)
    if kind % 4 == 1 and len(work) > 1:
        a = rng.choice(work[:-1])
        mutant[a], mutant[a + 1] = mutant[a + 1], mutant[a]
        return f"calls {a + 1} and {a + 2} swapped", mutant
    if kind % 4 > 1:
        spots = list(_spots(calls, int | float if kind % 4 == 2 else str))
        if spots:
            i, path, value = rng.choice(spots)
            changed = _changed(value, rng)
            mutant[i] = ToolCall(calls[i].name, _with(dict(calls[i].arguments), path, changed))
            return f"call {i + 1} says {changed!r} instead of {value!r}", mutant
    del mutant[place]
    return f"call {place + 1} ({calls[place].name}) dropped", mutant


def _spots(calls: Sequence[ToolCall], kind: Any) -> Iterator[tuple[int, tuple[Any, ...], Any]]:
    """Yield every argument value of a type, with its call and its place in the arguments."""
    for i, call in enumerate(calls):
        stack: list[tuple[tuple[Any, ...], Any]] = [((), dict(call.arguments))]
        while stack:
            path, value = stack.pop()
            if isinstance(value, dict | list):
                inner: Any = value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType]
                stack += [((*path, key), below) for key, below in inner]
            elif isinstance(value, kind) and not isinstance(value, bool):
                yield i, path, value


def _changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, str):
        letters = [i for i, c in enumerate(value) if c.isalnum()] or [0]
        i = rng.choice(letters)
        return value[:i] + ("q" if value[i : i + 1] != "q" else "z") + value[i + 1 :]
    return value + rng.choice((1, 2, 3)) if isinstance(value, int) else round(value * 1.1 + 0.5, 3)


def _with(value: Any, path: tuple[Any, ...], changed: Any) -> Any:
    """Return a copy of nested data with another value at a path."""
    if not path:
        return changed
    if isinstance(value, dict):
        return cast("Json", {**value, path[0]: _with(value[path[0]], path[1:], changed)})
    return [_with(inner, path[1:], changed) if i == path[0] else inner for i, inner in enumerate(value)]
