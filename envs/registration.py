"""Registers every task family with Gymnasium, without importing one: the file's place gives the id."""

from __future__ import annotations

import gymnasium

from .tasks import family_names

NAMESPACE = "makerspace"


def env_id(family: str) -> str:
    """Return the Gymnasium id of a family: ``makerspace/<domain>.<name>-v0``."""
    return f"{NAMESPACE}/{family}-v0"


def env_ids() -> tuple[str, ...]:
    """Return all ids, sorted."""
    return tuple(env_id(name) for name in family_names())


def register_all() -> None:
    """Register every family that is not yet registered."""
    for name in family_names():
        if env_id(name) not in gymnasium.registry:
            gymnasium.register(
                env_id(name),
                entry_point="makerspace.envs.env:ToolEnv",
                vector_entry_point="makerspace.envs.vector:ToolVectorEnv",
                kwargs={"family": name},
                order_enforce=True,
            )
