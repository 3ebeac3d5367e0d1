"""Whole multi-turn rollouts: ours against TRL's tool loop, in episodes per second.

Model of the world: one policy (the same files), one list of tasks, one temperature, one limit of turns and of tokens
per turn. Both sides step the same environments in this process and end with a scored episode, all of them live at once,
in single precision, on one thread of one core. They take turns, in changing order, and medians are compared. Both play
greedily, where luck has no say: how many conversations are equal token by token shows that they do the same work. And
both sample, as training does; what an episode took is printed beside, since luck differs. Run it as

    python -m benchmarks.rollouts [--write] [--weights FOLDER] [--env ID] [--episodes 128] [--repeats 3]

It measures neither loading nor learning, nor TRL with vLLM, which keeps a cache of its own and wants other hardware.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from makerspace.envs.registration import env_ids
from makerspace.policy.bridge import Bridge
from makerspace.policy.engine import Engine
from makerspace.policy.pretrained import Policy, load_policy
from makerspace.policy.recipe import BUNDLED, Recipe
from makerspace.policy.rollout import Episode, Job, Rollout, Workshop

REQUIRED = "trl==1.16.0"
RESULT = Path(__file__).parent / "results" / "rollouts.json"

DIFFERENCES = (
    "TRL sends the whole conversation through the model at every turn and keeps nothing of it; ours computes a token "
    "once, and the prompt of a group once for all of its episodes",
    "TRL samples turn by turn for the whole batch, which waits for the longest turn; ours lets an episode go on alone",
    "ours returns the log-probability of every sampled token; TRL without vLLM does not",
    "TRL's parser of calls is replaced by the bridge's, which is cheaper and answers unreadable turns on both sides",
    "submit ends an episode on both sides; were it a tool to TRL, each episode would cost it one more turn",
    "TRL's time includes what its trainer does beside playing: padding, advantages, its log (under 2 %)",
)

Play = Callable[[float, int], list[Episode]]


@dataclass
class Side:
    """One of the two: how it plays (temperature, seed), and what it has played so far."""

    play: Play
    episodes: list[Episode] = field(default_factory=list[Episode])
    wall: list[float] = field(default_factory=list[float])
    """Seconds by the clock, per repeat."""
    cpu: list[float] = field(default_factory=list[float])
    """Seconds of the processor, per repeat: they tell the truth on a busy machine, too."""

    def measure(self, temperature: float, seed: int) -> None:
        """Play once more."""
        wall, cpu = time.perf_counter(), time.process_time()
        self.episodes += self.play(temperature, seed)
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)

    def figures(self) -> dict[str, Any]:
        """Return medians over repeats and means over episodes."""
        number, repeats = len(self.episodes), len(self.wall)
        sampled = sum(sum(each.conversation.sampled) for each in self.episodes) / number
        rate = number / repeats / statistics.median(self.wall)
        return {
            "episodes_per_second": round(rate, 3),
            "sampled_tokens_per_second": round(sampled * rate, 1),
            "seconds": [round(each, 3) for each in self.wall],
            "cpu_seconds": [round(each, 3) for each in self.cpu],
            "turns_per_episode": round(sum(each.turns for each in self.episodes) / number, 2),
            "sampled_tokens_per_episode": round(sampled, 1),
            "tokens_per_episode": round(sum(len(each.conversation.ids) for each in self.episodes) / number, 1),
            "success": round(sum(each.success for each in self.episodes) / number, 3),
        }


class Ours:
    """Our engine and our rollout."""

    def __init__(self, policy: Policy, jobs: Sequence[Job], bridge: Bridge, workshop: Workshop, how: Any) -> None:
        self._policy, self._jobs = policy, jobs
        engine = Engine(policy.model, bridge.stop_ids, slots=len(jobs), max_length=how.length)
        self._rollout = Rollout(engine, bridge, workshop, how.turn_tokens)

    def play(self, temperature: float, seed: int) -> list[Episode]:
        """Play every job once, with weights loaded anew as after a step of learning: no prefix outlives a rollout."""
        self._rollout.engine.load_weights(self._policy.model.state_dict())
        jobs = [replace(job, seed=seed * 1_000_003 + number) for number, job in enumerate(self._jobs)]
        return self._rollout.play(jobs, temperature)


def main() -> None:
    """Measure, print JSON, and with ``--write`` keep it."""
    how = _arguments()
    if importlib.util.find_spec("trl") is None:
        sys.exit(f"TRL is not a dependency of makerspace; for this benchmark: pip install {REQUIRED}")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cores = _on_one_core()
    policy = load_policy(how.weights)
    with tempfile.TemporaryDirectory() as out:
        result = compare(policy, how, Path(out))
    result["setting"] |= {"parameters": policy.model.config.parameters(), "dtype": "float32", "threads": 1}
    result["setting"] |= {"cores": cores, "runtime": "inline"}
    result |= {"differences": DIFFERENCES, "versions": _versions(), "command": shown_command()}
    text = json.dumps(result, indent=2)
    print(text)
    if how.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text + "\n")


def compare(policy: Policy, how: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Play on both sides and return the figures."""
    from .rollouts_trl import Peer, settings

    jobs = tasks(how)
    bridge = Bridge(policy.tokenizer, Recipe().engine.max_result_tokens)
    make: dict[str, Any] = {"runtime": "inline", "max_steps": how.turns}
    config = settings(len(jobs), how.group, how.turns, how.turn_tokens, how.length, out)
    peer = Peer(how.weights, jobs, bridge, Workshop(**make), config)
    players = {"ours": Ours(policy, jobs, bridge, Workshop(**make), how).play, "trl": peer.play}
    for play in players.values():
        play(how.temperature, 0)  # the first rollout is slow, and not measured
    greedy, sampled = ({name: Side(play) for name, play in players.items()} for _ in range(2))
    for repeat in range(how.repeats):
        for sides, temperature in ((greedy, 0.0), (sampled, how.temperature)):
            for side in list(sides.values())[:: -1 if repeat % 2 else 1]:
                side.measure(temperature, repeat + 1)
    computed = {"prefilled_tokens_per_episode": round(peer.prefilled / len(jobs), 1), "generate_calls": peer.passes}
    return {
        **beside(sampled),
        "greedy": {"equal_conversations": equal(*(side.episodes for side in greedy.values())), **beside(greedy)},
        "trl_last_rollout": computed,
        "setting": {key: value for key, value in vars(how).items() if key not in ("write", "weights")},
    }


def equal(ours: Sequence[Episode], theirs: Sequence[Episode]) -> str:
    """Return how many conversations are the same, token by token."""
    same = sum(a.conversation.ids == b.conversation.ids for a, b in zip(ours, theirs, strict=True))
    return f"{same} of {len(ours)}"


def beside(sides: Mapping[str, Side]) -> dict[str, Any]:
    """Return both sides' figures, and how many times as fast ours is: by episodes, by tokens, by processor time."""
    ours, trl = (sides[name].figures() for name in ("ours", "trl"))
    worked = statistics.median(sides["trl"].cpu) / statistics.median(sides["ours"].cpu)
    return {
        "ours": ours,
        "trl": trl,
        "ratio": round(ours["episodes_per_second"] / trl["episodes_per_second"], 2),
        "ratio_of_tokens": round(ours["sampled_tokens_per_second"] / trl["sampled_tokens_per_second"], 2),
        "ratio_of_cpu_time": round(worked, 2),
    }


def tasks(how: argparse.Namespace) -> list[Job]:
    """Return one job per episode: groups of one task each, environments in turn, difficulties spread over [0, 1]."""
    number = how.episodes // how.group
    return [
        Job(
            how.env[task % len(how.env)],
            {"split": "train", "index": task, "difficulty": round((task + 0.5) / number, 3)},
            group=task,
        )
        for task in range(number)
        for _ in range(how.group)
    ]


def _on_one_core() -> int:
    """Keep this process on one core, where the system lets us; return on how many it may run."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return len(os.sched_getaffinity(0))


def _versions() -> Mapping[str, str]:
    names = ("trl", "transformers", "accelerate", "torch")
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in names}


def shown_command() -> str:
    """Return the command that makes this run again."""
    return " ".join(["python -m benchmarks.rollouts", *sys.argv[1:]])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.rollouts", description="Our rollouts beside TRL's tool loop."
    )
    parser.add_argument("--write", action="store_true", help=f"keep the result in results/{RESULT.name}")
    parser.add_argument("--weights", type=Path, default=BUNDLED, help="a policy's folder; default: the bundled one")
    parser.add_argument("--env", action="append", help="an environment's id; default: all of the terminal")
    parser.add_argument("--episodes", type=int, default=128)
    parser.add_argument("--group", type=int, default=8, help="episodes per task")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=8, help="most turns per episode")
    parser.add_argument("--turn-tokens", type=int, default=64, help="most sampled tokens per turn")
    parser.add_argument("--length", type=int, default=1024, help="most tokens per episode")
    how = parser.parse_args()
    how.env = how.env or [each for each in env_ids() if "/terminal." in each]
    if how.episodes % how.group or how.group < 2:
        parser.error("--episodes must be a multiple of --group, and --group at least 2")
    return how


if __name__ == "__main__":
    main()
