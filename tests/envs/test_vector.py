"""Many environments in one process: Gymnasium's three autoreset modes, and send and recv."""

from __future__ import annotations

import os
import signal

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from makerspace.envs.registration import env_id
from makerspace.envs.vector import ToolVectorEnv

SUBMIT = '{"name": "submit", "arguments": {}}'
MODES = [mode.value for mode in AutoresetMode]


def same(first, second):
    """Whether two results of a vector environment are equal, arrays and all."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, np.ndarray) and first.dtype == object:
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same, first, second))
    return np.array_equal(first, second)


@pytest.mark.parametrize("view", ["text", "tool", "discrete"])
@pytest.mark.parametrize("mode", MODES)
def test_it_does_what_gymnasiums_own_vector_env_does(vector, mode, view):
    arguments = {"action_view": view, "runtime": "inline", "max_steps": 2}
    ours = vector("terminal.config", **arguments, autoreset_mode=mode)
    theirs = SyncVectorEnv(
        [lambda: gymnasium.make(env_id("terminal.config"), **arguments).unwrapped for _ in range(3)],
        autoreset_mode=mode,
    )
    assert same(ours.reset(seed=3), theirs.reset(seed=3))
    ours.action_space.seed(1)
    for _ in range(7):
        action = ours.action_space.sample()
        assert action in ours.action_space
        mine, reference = ours.step(action), theirs.step(action)
        assert mine[0] in ours.observation_space
        assert same(mine, reference)
        over = mine[2] | mine[3]
        if mode == "Disabled" and over.any():
            mine, reference = (one.reset(options={"reset_mask": over.copy()}) for one in (ours, theirs))
            assert same(mine[0], reference[0])
            assert same(mine[1]["task_id"], reference[1]["task_id"])
    theirs.close()


def test_metadata_holds_the_mode_itself(vector):
    assert vector().metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert vector(autoreset_mode="SameStep").metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert ToolVectorEnv.metadata.get("autoreset_mode") is None


def test_same_step_tells_how_the_episode_ended(vector):
    envs = vector(num_envs=2, autoreset_mode="SameStep")
    envs.reset(seed=0)
    observations, rewards, terminated, _, infos = envs.step([SUBMIT, "hm"])
    assert list(terminated) == [True, False]
    assert rewards.dtype == np.float64
    assert list(infos["_final_obs"]) == [True, False]
    assert infos["final_obs"][0]["text"] == "submitted"
    assert infos["final_info"]["tool"][0] == "submit"
    assert list(infos["step"]) == [0, 1]
    assert observations["text"][0].startswith(infos["instruction"][0])


def test_next_step_ignores_the_action_after_the_end(vector):
    envs = vector(num_envs=2)
    envs.reset(seed=0)
    envs.step([SUBMIT, "hm"])
    observations, _, terminated, _, infos = envs.step([SUBMIT, SUBMIT])
    assert list(terminated) == [False, True]
    assert list(infos["step"]) == [0, 2]
    assert observations["text"][0].startswith(infos["instruction"][0])


def test_disabled_wants_a_reset_and_leaves_the_callers_options_alone(vector):
    envs = vector(num_envs=2, autoreset_mode="Disabled")
    envs.reset(seed=0)
    before = envs.step([SUBMIT, "hm"])[0]["text"]
    with pytest.raises(ResetNeeded, match="reset_mask"):
        envs.step(["hm", "hm"])
    options = {"reset_mask": np.array([True, False]), "index": 3}
    observations, infos = envs.reset(options=options)
    assert set(options) == {"reset_mask", "index"}
    assert "/3@" in infos["task_id"][0]
    assert list(infos["_task_id"]) == [True, False]
    assert observations["text"][1] == before[1]
    assert list(envs.step(["hm", "hm"])[4]["step"]) == [1, 2]


@pytest.mark.parametrize(
    "mask", [[True, False], np.array([1, 0]), np.array([False, False]), np.array([True]), "all"], ids=str
)
def test_a_wrong_mask_is_refused(vector, mask):
    envs = vector(num_envs=2, autoreset_mode="Disabled")
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="reset_mask"):
        envs.reset(options={"reset_mask": mask})


def test_seeds_count_up_or_are_listed(vector):
    envs = vector(num_envs=3)
    counted = envs.reset(seed=7)[1]["task_id"]
    assert list(envs.reset(seed=[9, 8, 7])[1]["task_id"]) == list(reversed(counted))
    assert len(set(envs.reset()[1]["task_id"])) == 3
    with pytest.raises(ValueError, match="2 seeds for 3"):
        envs.reset(seed=[1, 2])


@pytest.mark.parametrize("runtime", ["inline", "process"])
def test_recv_gives_who_is_done_and_they_go_on(vector, runtime):
    envs = vector(num_envs=4, runtime=runtime)
    with pytest.raises(ResetNeeded, match="never reset"):
        envs.send([SUBMIT])
    envs.async_reset(seed=0)
    steps = np.zeros(4, int)
    while steps.sum() < 24:
        observations, rewards, _, _, infos = envs.recv(min_num=2)
        ids = infos["env_id"]
        assert len(set(ids)) == len(ids) == len(rewards) == len(observations["text"]) >= 2
        steps[ids] += 1
        envs.send(['{"name": "submit"}' if steps[i] % 3 == 0 else "hm" for i in ids], ids)
    envs.recv(min_num=4)
    assert steps.min() > 0


def test_send_and_recv_refuse_what_makes_no_sense(vector):
    envs = vector(num_envs=2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="cannot wait for 1"):
        envs.recv()
    with pytest.raises(ValueError, match="1 actions for 2"):
        envs.send(["hm"])
    envs.send(["hm"], [1])
    with pytest.raises(ResetNeeded, match="environment 1"):
        envs.step(["hm", "hm"])
    assert list(envs.recv()[4]["env_id"]) == [1]
    envs.send(["hm"], [0])
    envs.reset(seed=0)
    assert list(envs.step(["hm", "hm"])[4]["step"]) == [1, 1]


def test_batched_actions_go_to_the_environments_that_are_named(vector):
    envs = vector(num_envs=3, action_view="discrete")
    envs.reset(seed=0)
    rows = envs.action_space.sample()[:2]
    envs.send(rows, [2, 0])
    assert sorted(envs.recv(2)[4]["env_id"]) == [0, 2]


def test_one_lost_sandbox_costs_one_episode(vector):
    envs = vector(num_envs=3, runtime="process")
    envs.reset(seed=0)
    actions = [next(env.oracle()) for env in envs.envs]
    os.kill(envs.envs[1]._workplace.session.pid, signal.SIGKILL)
    _, _, _, truncated, infos = envs.step(actions)
    assert list(truncated) == [False, True, False]
    assert list(infos["reward_valid"]) == [True, False, True]
    assert list(envs.step(actions)[4]["step"]) == [2, 0, 2]


def test_one_that_hangs_is_given_up_at_its_deadline(vector):
    envs = vector(num_envs=2, runtime="process")
    envs.reset(seed=0)
    actions = [next(env.oracle()) for env in envs.envs]
    os.kill(envs.envs[0]._workplace.session.pid, signal.SIGSTOP)
    envs.envs[0]._workplace._deadline = 0.5  # shortened for this one only: the other must have its time
    truncated = envs.step(actions)[3]
    assert list(truncated) == [True, False]


@pytest.mark.parametrize("view", ["text", "tool", "discrete"])
def test_families_may_differ(view):
    envs = ToolVectorEnv(3, families=["terminal.config", "terminal.csv"], action_view=view, runtime="inline")
    observations, infos = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert [name.partition("/")[0] for name in infos["task_id"]] == [
        "terminal.config",
        "terminal.csv",
        "terminal.config",
    ]
    action = envs.action_space.sample()
    assert action in envs.action_space
    assert list(envs.step(action)[4]["step"]) == [1, 1, 1]
    envs.close()


def test_applications_may_differ_and_features_are_padded():
    envs = ToolVectorEnv(2, families=["cad.plate", "terminal.config"], action_view="text", runtime="inline")
    observations, _ = envs.reset(seed=0)
    assert observations in envs.observation_space
    widths = {env.observation_space["features"].shape for env in envs.envs}
    assert len(widths) == 1
    envs.close()
    envs.close()


def test_family_and_families_exclude_each_other():
    with pytest.raises(ValueError, match="either"):
        ToolVectorEnv(2)
    with pytest.raises(ValueError, match="either"):
        ToolVectorEnv(2, family="terminal.config", families=["terminal.csv"])


def test_the_limit_of_make_vec_and_attributes(vector):
    envs = vector(num_envs=2, max_episode_steps=1, render_mode="ansi")
    envs.reset(seed=0)
    assert list(envs.step(["hm", "hm"])[3]) == [True, True]
    assert len(set(envs.call("state_hash"))) == 2
    assert envs.get_attr("render_mode") == ("ansi", "ansi")
    assert all(isinstance(text, str) for text in envs.render())
    assert "num_envs=2" in repr(envs)


def test_every_sampled_batch_of_tool_calls_fits_its_tools(vector):
    envs = vector(num_envs=3, action_view="tool")
    envs.action_space.seed(0)
    first = envs.action_space.sample()
    envs.action_space.seed(0)
    assert same(envs.action_space.sample(), first)
    singles = list(iterate(envs.action_space, first))
    assert all(single in envs.single_action_space for single in singles)
    assert len({str(single) for single in singles}) > 1


@pytest.mark.parametrize("at_work", [1, 2])
def test_few_at_work_give_the_same_as_all(vector, at_work):
    everyone, few = vector(num_envs=4), vector(num_envs=4, at_work=at_work)
    for envs in (everyone, few):
        envs.reset(seed=3)
        envs.action_space.seed(3)
    for _ in range(5):
        actions = everyone.action_space.sample()
        one, other = everyone.step(actions), few.step(actions)
        assert one[0]["text"] == other[0]["text"]
        assert one[1].tolist() == other[1].tolist()


def test_a_waiting_environment_can_be_reset(vector):
    envs = vector(num_envs=3, at_work=1)
    envs.async_reset(seed=0)
    observations, infos = envs.reset(seed=1)
    assert len(observations["text"]) == 3
    assert len(infos["task_id"]) == 3
