"""Every registered family keeps every rule, and the rules can be broken."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from makerspace.envs import conformance
from makerspace.envs.conformance import CHECKS, Effort, check_family, mutate, run_check
from makerspace.envs.registration import env_ids
from makerspace.envs.tasks import family as family_of
from makerspace.envs.tasks import family_names
from makerspace.simulators.base import ToolCall


@pytest.mark.parametrize("rule", CHECKS)
def test_a_family_keeps_the_rule(family, rule):
    check = run_check(family, rule)
    assert check.passed, check.detail


def test_ten_families_are_registered_and_no_id_is_forgotten():
    assert len(family_names()) >= 10
    assert [name.partition("/")[2].removesuffix("-v0") for name in env_ids()] == list(family_names())


def test_an_unknown_family_is_named_with_the_nearest():
    with pytest.raises(KeyError, match=r"terminal\.config"):
        check_family("terminal.confg")


def test_all_rules_are_reported_by_name():
    checks = check_family("terminal.lookup", Effort(drawn=2, random_episodes=1, mutants=4), only=["tasks", "floor"])
    assert [(check.name, check.passed) for check in checks] == [("tasks", True), ("floor", True)]


class Altered:
    """A family with one thing changed."""

    def __init__(self, name, **changes):
        self._family, self._changes = family_of(name), changes

    def __getattr__(self, name):
        return self._changes.get(name, getattr(self._family, name))


def broken(monkeypatch, rule, name="terminal.config", **changes):
    family = Altered(name, **changes)
    for module in ("conformance", "env", "oracle", "scoring"):
        attribute = "family" if module in ("oracle", "scoring") else "family_of"
        monkeypatch.setattr(f"makerspace.envs.{module}.{attribute}", lambda _: family)
    return run_check(name, rule, Effort(drawn=3, random_episodes=1, mutants=8))


def lazy(task):
    yield ToolCall("submit")


def test_a_solution_that_does_nothing_breaks_the_oracle_rule(monkeypatch):
    check = broken(monkeypatch, "oracle", oracle=lazy)
    assert not check.passed
    assert "the oracle scores 0.000" in check.detail


def test_a_solution_that_peeks_at_the_goal_breaks_the_blind_rule(monkeypatch):
    def peeking(task):
        yield ToolCall("submit", {"answer": str(sorted(task.goal))})

    assert "without" in broken(monkeypatch, "blind", oracle=peeking).detail


def test_a_reward_for_nothing_breaks_the_floor(monkeypatch):
    from makerspace.rewards.base import Reward, Term

    generous = Reward((Term("there", 1.0, lambda goal, outcome: 1.0),))
    assert "handing in at once scores 1.000" in broken(monkeypatch, "floor", reward=generous).detail
    assert "still score 1.0" in broken(monkeypatch, "mutants", reward=generous).detail


def test_a_cheat_that_pays_breaks_the_exploit_rule(monkeypatch):
    def honest(task):
        return {"honest work": list(recorded(task))}

    def recorded(task):
        from makerspace.envs.env import ToolEnv

        env = ToolEnv("terminal.tidy", runtime="inline")
        calls, _ = conformance.recorded_oracle(env, {"task_id": task.id})
        env.close()
        return calls

    assert "'honest work' scores 1.000" in broken(monkeypatch, "exploits", "terminal.tidy", exploits=honest).detail


def test_a_family_that_says_always_the_same_breaks_the_task_rule(monkeypatch):
    assert "1 different wordings" in broken(monkeypatch, "tasks", templates=("same",) * 5).detail


def test_whatever_a_broken_family_raises_is_a_verdict(monkeypatch):
    def failing(task):
        raise ZeroDivisionError("oracle")
        yield

    check = broken(monkeypatch, "oracle", oracle=failing)
    assert check.detail == "ZeroDivisionError: oracle"


CALLS = [ToolCall("cut", {"at": [1, 2.5], "who": "ann"}), ToolCall("glue", {"deep": {"n": 7}}), ToolCall("submit", {})]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", range(4))
def test_a_mutant_differs_in_one_place_and_still_hands_in(kind, seed):
    before = [call.to_json() for call in CALLS]
    what, mutant = mutate(CALLS, random.Random(seed), kind)
    assert what
    assert mutant != CALLS
    assert mutant[-1].name == "submit"
    assert [call.to_json() for call in CALLS] == before, "the solution itself was changed"
    if kind == 0:
        assert len(mutant) == len(CALLS) - 1
    if kind == 1:
        assert sorted(call.name for call in mutant) == sorted(call.name for call in CALLS)


def test_a_solution_without_numbers_loses_a_call_instead():
    what, mutant = mutate([ToolCall("go"), ToolCall("submit")], random.Random(0), 2)
    assert what == "call 1 (go) dropped"
    assert [call.name for call in mutant] == ["submit"]


def test_differences_are_named():
    assert conformance._difference([1, 2], [1, 3]) == "2 against 3"
    assert conformance._difference([1], [1, 2]) == "one stops before the other"
    assert conformance._left(SimpleNamespace(outcome=None)) is None
