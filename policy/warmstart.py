"""The warm start from nothing: demonstrations, a tokenizer that has read them, a model that imitates them.

The model imitates careful experts first, and then, for a while, a crowd in which most are hasty and hand in too
early. What is a good habit and what is not, reinforcement has to find out from the reward.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .bridge import Bridge
from .cloning import Cloning, Script, clone, gather, load_scripts, save_scripts
from .config import TIERS
from .model import Apprentice
from .player import open_workshop, recipe_env_ids
from .pretrained import Policy, save_policy
from .recipe import Recipe
from .rollout import Job
from .tokenizer import Tokenizer

Tell = Callable[[str, Mapping[str, Any]], None]


def warm_start(recipe: Recipe, folder: Path, tell: Tell) -> Policy:
    """Return a policy cloned from the experts of the recipe's environments.

    Demonstrations are kept in ``folder/demonstrations.jsonl`` and used again if they are there; the policy is written
    to ``folder/warmstart``.
    """
    settings = recipe.warm_start
    scripts = demonstrations(recipe, folder, tell)
    tokenizer = Tokenizer.train((text for script in scripts for text in script.texts()), settings.vocab_size)
    bridge = Bridge(tokenizer, recipe.engine.max_result_tokens)
    conversations = [script.tokens(bridge) for script in scripts]
    fitting = [c for c in conversations if len(c.ids) <= recipe.engine.max_length]
    tell(
        "demonstrations",
        {
            "count": len(fitting),
            "tokens": sum(len(c.ids) for c in fitting),
            "longest": max(len(c.ids) for c in conversations),
        },
    )
    model = Apprentice(TIERS[settings.tier].with_vocab(tokenizer.vocab_size), seed=recipe.seed)
    told = _every_tenth(tell)
    clone(model, fitting, Cloning(settings.steps, settings.batch, settings.learning_rate), recipe.seed, told)
    among = [script.tokens(bridge) for script in crowd(scripts, settings.hasty_share, recipe.seed)]
    habits = Cloning(settings.hasty_steps, settings.batch, settings.hasty_learning_rate, warmup=10)
    clone(model, among, habits, recipe.seed + 1, told)
    policy = Policy(model, tokenizer)
    save_policy(policy, folder / "warmstart")
    return policy


def _every_tenth(tell: Tell) -> Callable[[int, float], None]:
    def told(step: int, loss: float) -> None:
        if step % 10 == 0:
            tell("cloning", {"step": step, "loss": loss})

    return told


def crowd(scripts: Sequence[Script], hasty_share: float, seed: int) -> list[Script]:
    """Return the demonstrations of a crowd in which some are hasty."""
    rng = random.Random(f"crowd {seed}")
    return [script.hasty() if rng.random() < hasty_share else script for script in scripts]


def demonstrations(recipe: Recipe, folder: Path, tell: Tell) -> list[Script]:
    """Return the recipe's demonstrations: as many for every id, difficulties uniform in the recipe's range."""
    path, settings = folder / "demonstrations.jsonl", recipe.warm_start
    if path.exists():
        return load_scripts(path)
    env_ids = recipe_env_ids(recipe)
    rng = random.Random(f"demonstrations {recipe.seed}")
    jobs = [
        _job(env_ids[number % len(env_ids)], number // len(env_ids), settings.difficulty, rng)
        for number in range(settings.demonstrations)
    ]
    workshop = open_workshop(recipe)
    scripts = gather(
        jobs,
        workshop,
        settings.slip_rate,
        on_done=lambda done: tell("gathering", {"done": done, "of": len(jobs)}) if done % 100 == 0 else None,
    )
    workshop.close()
    save_scripts(path, scripts)
    return scripts


def _job(env_id: str, index: int, difficulty: tuple[float, float], rng: random.Random) -> Job:
    return Job(env_id, {"split": "train", "index": index, "difficulty": round(rng.uniform(*difficulty), 3)})
