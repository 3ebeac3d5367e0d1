"""Learners that know nothing of this library train on the discrete view."""

from __future__ import annotations

import warnings

import numpy as np
import pytest


@pytest.fixture
def ppo():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other packages deprecate is not on trial here
        return pytest.importorskip("stable_baselines3", reason="stable-baselines3 comes with the dev extra").PPO


@pytest.mark.filterwarnings("default")
def test_stable_baselines3_ppo_trains_for_2000_steps(make, ppo):
    env = make(action_view="discrete")
    model = ppo("MultiInputPolicy", env, n_steps=500, batch_size=100, n_epochs=2, seed=0, device="cpu")
    model.learn(2000)
    assert model.num_timesteps == 2000
    observation, _ = env.reset(seed=0)
    action, _ = model.predict(observation)
    assert action in env.action_space
    assert len(model.ep_info_buffer) > 0


@pytest.mark.filterwarnings("default")
def test_stable_baselines3_finds_no_fault_with_the_environment(make, ppo):
    from stable_baselines3.common.env_checker import check_env

    check_env(make(action_view="discrete"))


@pytest.mark.filterwarnings("default")
def test_maskable_ppo_takes_the_mask(make, ppo):
    contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    env = make(action_view="discrete")
    model = contrib.MaskablePPO("MultiInputPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(128)
    observation, info = env.reset(seed=0)
    sizes = np.cumsum(env.action_space.nvec)[:-1]
    masks = np.split(info["action_mask"], sizes)
    for _ in range(20):
        action, _ = model.predict(observation, action_masks=info["action_mask"])
        assert all(mask[choice] for mask, choice in zip(masks, action, strict=True))
