"""Sandboxes that crash or hang, scorers that fail: data for the trainer, never an exception; the next episode works."""

from __future__ import annotations

import os
import signal

import pytest

from makerspace.containers.session import DEADLINE, SandboxLost
from makerspace.envs import scoring
from makerspace.envs.env import ToolEnv
from makerspace.envs.observation import STATUSES
from makerspace.envs.oracle import play_oracle
from makerspace.envs.scoring import Scorer, shared_scorer
from makerspace.rewards.base import Outcome
from makerspace.simulators import application_class
from makerspace.traces.reader import read

SUBMIT = '{"name": "submit", "arguments": {}}'


@pytest.fixture
def env(make, tmp_path):
    return make(runtime="process", trace=tmp_path)


def pid_of(env):
    return env._workplace.session.pid


def call_of(env):
    """Return an action that the application itself must answer."""
    return next(env.oracle())


def assert_lost(answer):
    observation, reward, terminated, truncated, info = answer
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["infra_error"]
    assert not info["reward_valid"]
    assert not info["is_success"]
    assert STATUSES[observation["status"]] == "lost"


def test_a_killed_sandbox_ends_the_episode_and_the_next_one_works(env):
    env.reset(seed=0)
    os.kill(pid_of(env), signal.SIGKILL)
    assert_lost(env.step(call_of(env)))
    env.close()
    trace = read(env.trace_path)
    assert trace.faults
    assert trace.verdict is None
    assert trace.steps[-1].result.infra_error
    assert play_oracle(env, seed=0)[1] == 1.0


def test_a_sandbox_that_dies_before_scoring_ends_the_episode_unscored(env):
    env.reset(seed=0)
    os.kill(pid_of(env), signal.SIGKILL)
    assert_lost(env.step(SUBMIT))
    assert play_oracle(env, seed=0)[4]["is_success"]


def test_a_sandbox_that_hangs_is_lost_at_its_deadline(make):
    env = make(runtime="process")
    env.reset(seed=0)
    action = call_of(env)
    os.kill(pid_of(env), signal.SIGSTOP)
    env._workplace._deadline = 0.5  # shortened here only, so that a busy machine cannot fail the reset
    answer = env.step(action)
    env._workplace._deadline = DEADLINE
    assert_lost(answer)
    assert "Timeout" in answer[4]["infra_error"]
    assert env.reset(seed=0)[1]["infra_error"] == ""


def test_a_mistake_after_the_sandbox_died_is_still_the_agents_mistake(env):
    env.reset(seed=0)
    os.kill(pid_of(env), signal.SIGKILL)
    _, _, _, truncated, info = env.step("hm")
    assert (truncated, info["error"], info["infra_error"]) == (False, "malformed", "")
    assert_lost(env.step(call_of(env)))


def test_a_snapshot_of_a_lost_sandbox_is_an_error(env):
    env.reset(seed=0)
    os.kill(pid_of(env), signal.SIGKILL)
    with pytest.raises(SandboxLost):
        env.snapshot()


def test_a_sandbox_that_cannot_be_had_is_told_at_reset_and_truncates_the_first_step(make, monkeypatch):
    env = make()

    def none(self, task, seed):
        raise SandboxLost("no more room")

    with monkeypatch.context() as patch:
        patch.setattr("makerspace.envs.workplace.Workplace.ask_reset", none)
        observation, info = env.reset(seed=0)
        assert info["infra_error"] == "SandboxLost: no more room"
        assert STATUSES[observation["status"]] == "lost"
        assert_lost(env.step(SUBMIT))
    assert play_oracle(env, seed=0)[1] == 1.0


def test_a_reset_whose_sandbox_dies_is_tried_once_more(make, monkeypatch):
    env = make()
    env.reset(seed=0)
    env.begin_reset(seed=1)
    env._workplace.close()
    assert env.finish_reset()[1]["infra_error"] == ""


class Refusing:
    """A scoring service that always raises."""

    def __init__(self, application):
        self.application = application

    def warm(self):
        pass

    def handle(self, operation, payload):
        raise ZeroDivisionError("the verifier is broken")


def test_work_that_cannot_be_scored_has_no_reward_instead_of_zero(make, monkeypatch):
    monkeypatch.setattr(scoring, "ScoringService", Refusing)
    monkeypatch.setattr(scoring, "_shared", {})
    env = make()
    _, reward, terminated, truncated, info = play_oracle(env, seed=0)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert not info["reward_valid"]
    assert "the verifier is broken" in info["infra_error"]
    assert set(info["reward_terms"].values()) == {-1.0}


def test_a_scorer_that_was_killed_scores_in_a_fresh_sandbox(make):
    env = make()
    play_oracle(env, seed=0)
    scorer = Scorer("terminal", "process")
    expected = scorer.score(env.task.id, env.outcome)
    os.kill(scorer._session.pid, signal.SIGKILL)
    assert scorer.score(env.task.id, env.outcome) == expected
    assert expected[0].total == 1.0
    scorer.close()
    scorer.close()


def test_a_scorers_sandbox_is_replaced_after_many_scores(make, monkeypatch):
    monkeypatch.setattr(scoring, "SCORES_PER_SANDBOX", 2)
    env, scorer, sessions = make(), Scorer("terminal", "inline"), set()
    env.reset(seed=0)
    for _ in range(5):
        assert scorer.score(env.task.id, Outcome())[1] == ""
        sessions.add(scorer._session)
    assert len(sessions) == 3


def test_one_process_shares_one_scorer_per_application_and_runtime():
    assert shared_scorer("terminal", "inline") is shared_scorer("terminal", "inline")
    assert shared_scorer("terminal", "inline") is not shared_scorer("cad", "inline")


def test_a_child_of_fork_gets_a_scorer_of_its_own():
    ours = shared_scorer("terminal", "inline")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, b"1" if shared_scorer("terminal", "inline") is not ours else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 1) == b"1"
    os.close(read_end)
    os.close(write_end)


def test_an_unknown_operation_of_the_scorer_is_refused():
    with pytest.raises(KeyError):
        scoring.ScoringService("terminal").handle("grade", {})


@pytest.mark.parametrize("arguments", [{"runtime": "inline"}, {"runtime": "process", "runtime_options": {"reuse": 8}}])
def test_an_application_that_runs_code_shares_no_process(monkeypatch, arguments):
    monkeypatch.setattr(application_class("terminal"), "runs_code", True)
    with pytest.raises(ValueError, match="use runtime='docker'"):
        ToolEnv("terminal.logs", **arguments)
    ToolEnv("terminal.logs", runtime="process").close()
