"""Every id and action view under Gymnasium's own vector environment, with fork and with spawn.

Each runs in a Python of its own: a test process that has computed with a geometry kernel must not be forked again.
"""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

from makerspace.envs.registration import env_ids, register_all
from makerspace.envs.tasks import family_names

APPLICATIONS = sorted({name.partition(".")[0] for name in family_names()})

SCRIPT = """
import sys, warnings, gymnasium, makerspace
from gymnasium.vector import AsyncVectorEnv
view, runtime, context, *ids = sys.argv[1:]
warnings.simplefilter("error", UserWarning)
def maker(env_id):
    return lambda: gymnasium.make("makerspace:" + env_id, action_view=view, runtime=runtime, difficulty=0.5)
envs = AsyncVectorEnv([maker(i) for i in ids], **({} if context == "default" else {"context": context}))
observations, infos = envs.reset(seed=0)
assert observations in envs.observation_space
if view != "discrete":
    assert all(text.startswith(told) for text, told in zip(observations["text"], infos["instruction"])), observations
envs.action_space.seed(0)
for _ in range(4):
    observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    assert observations in envs.observation_space
    assert not any(infos["infra_error"]), infos["infra_error"]
if view == "text":
    envs.reset(seed=0)
    told = envs.step(["\\u00fc \\U0001f600"] * len(ids))[0]["text"]
    assert all("\\u00fc \\U0001f600" in text for text in told), told
envs.close()
print("done", len(ids))
"""


def ids_of(application):
    return [name for name in env_ids() if name.startswith(f"makerspace/{application}.")]


@pytest.mark.parametrize("context", ["default", "spawn"])
@pytest.mark.parametrize("view", ["text", "tool", "discrete"])
@pytest.mark.parametrize("application", APPLICATIONS)
def test_async_vector_env_runs_every_id(application, view, context):
    ids = ids_of(application)
    arguments = [sys.executable, "-c", SCRIPT, view, "inline", context, *ids]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=1200)
    assert done.stdout.split() == ["done", str(len(ids))], done.stderr[-2000:]


def test_async_vector_env_runs_with_the_default_runtime():
    arguments = [sys.executable, "-c", SCRIPT, "text", "process", "default", *ids_of("terminal")[:2]]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=1200)
    assert done.stdout.split() == ["done", "2"], done.stderr[-2000:]


def test_registering_again_changes_nothing():
    before = {name: gymnasium.registry[name] for name in env_ids()}
    register_all()
    assert {name: gymnasium.registry[name] for name in env_ids()} == before


def test_specs_are_plain_data():
    for name in env_ids():
        assert gymnasium.envs.registration.EnvSpec.from_json(gymnasium.spec(name).to_json()).id == name
