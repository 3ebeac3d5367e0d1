"""A policy at its place of work: its engine, its bridge, and the environments of a recipe."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..envs.registration import env_id, env_ids
from .bridge import Bridge
from .engine import Engine
from .pretrained import Policy, load_policy
from .recipe import BUNDLED, Recipe
from .rollout import Rollout, Workshop


class Player:
    """Plays the environments of a recipe with one policy."""

    def __init__(self, policy: Policy, recipe: Recipe) -> None:
        how = recipe.engine
        self.policy, self.recipe = policy, recipe
        self.env_ids = recipe_env_ids(recipe)
        self.bridge = Bridge(policy.tokenizer, how.max_result_tokens)
        self.engine = Engine(policy.model, self.bridge.stop_ids, slots=how.slots, max_length=how.max_length)

    def refresh(self) -> None:
        """Give the engine the model's present weights."""
        self.engine.load_weights(self.policy.model.state_dict())

    @contextmanager
    def rollout(self, trace: Path | None = None) -> Generator[Rollout]:
        """Lend a ``Rollout`` over fresh environments, which are closed afterwards.

        Args:
            trace: Folder for the traces of all episodes; none are written without it.
        """
        workshop = open_workshop(self.recipe, trace)
        rollout = Rollout(self.engine, self.bridge, workshop, self.recipe.engine.max_turn_tokens)
        try:
            yield rollout
        finally:
            rollout.close()
            workshop.close()


def recipe_env_ids(recipe: Recipe) -> list[str]:
    """Return the ids of a recipe's families; all ids if it names none."""
    return [env_id(name) for name in recipe.tasks.families] or list(env_ids())


def open_workshop(recipe: Recipe, trace: Path | None = None) -> Workshop:
    """Return a workshop whose environments run as the recipe says."""
    tasks = recipe.tasks
    options = {} if tasks.runtime == "inline" else {"reuse": tasks.reuse}
    return Workshop(runtime=tasks.runtime, runtime_options=options, trace=None if trace is None else str(trace))


def named_policy(name: str) -> Policy:
    """Return the policy in a folder; ``"bundled"`` is the warm start that the package ships."""
    return load_policy(BUNDLED if name == "bundled" else Path(name))
