"""Environments for tests: made by id, closed at the end."""

from __future__ import annotations

import gymnasium
import pytest

from makerspace.envs.registration import env_id
from makerspace.envs.tasks import family_names

TEXT = {"action_view": "text", "runtime": "inline"}


@pytest.fixture
def make():
    """Return a function that makes an unwrapped environment of a family; the fixture closes all of them."""
    made = []

    def make(family="terminal.config", **arguments):
        env = gymnasium.make(env_id(family), **{**TEXT, **arguments}).unwrapped
        made.append(env)
        return env

    yield make
    for env in made:
        env.close()


@pytest.fixture
def vector():
    """Return a function that makes a vector environment of a family; the fixture closes all of them."""
    made = []

    def make(family="terminal.config", num_envs=3, **arguments):
        envs = gymnasium.make_vec(env_id(family), num_envs=num_envs, **{**TEXT, **arguments})
        made.append(envs)
        return envs

    yield make
    for envs in made:
        envs.close()


@pytest.fixture(params=family_names())
def family(request):
    """Every registered family."""
    return request.param
