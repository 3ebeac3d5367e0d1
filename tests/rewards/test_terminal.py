"""Rewards of terminal tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from makerspace.rewards.base import Outcome
from makerspace.rewards.terminal import answer_reward, files_are, files_reward

START = {"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n"}


def left(files: dict[str, str], **elsewhere: str) -> Outcome:
    artifacts = {f"/work/{path}": text.encode() for path, text in files.items()}
    return Outcome({**artifacts, **{path: text.encode() for path, text in elsewhere.items()}})


def score(goal_files: dict[str, str], found: dict[str, str]) -> float | None:
    return files_reward().score({"start": START, "files": goal_files}, left(found)).total


def test_an_answer_counts_without_the_blanks_around_it() -> None:
    reward = answer_reward()
    assert reward.score({"answer": "42"}, Outcome(answer=" 42\n")).total == 1.0
    for wrong in ("", "4", "42 43", "answer 42", "042"):
        assert reward.score({"answer": "42"}, Outcome(answer=wrong)).total == 0.0


def test_the_wanted_files_score_one_and_the_start_scores_zero() -> None:
    goal = {**START, "a.txt": "changed\n", "new.txt": "5\n"}
    assert score(goal, goal) == 1.0
    assert score(goal, START) == 0.0


def test_half_the_changes_are_worth_a_quarter() -> None:
    goal = {**START, "a.txt": "changed\n", "new.txt": "5\n"}
    assert score(goal, {**START, "new.txt": "5\n"}) == 0.25


def test_trailing_blanks_of_a_report_do_not_matter_but_its_lines_do() -> None:
    goal = {**START, "new.txt": "1\n2\n"}
    assert score(goal, {**START, "new.txt": "1 \n2"}) == 1.0
    assert score(goal, {**START, "new.txt": "1\n2\n3\n"}) == 0.0
    assert score(goal, {**START, "new.txt": "2\n1\n"}) == 0.0


def test_a_protected_file_must_keep_every_byte() -> None:
    goal = {**START, "new.txt": "5\n"}
    for damaged in (
        {**goal, "a.txt": "one"},
        {**goal, "a.txt": "one \n"},
        {k: v for k, v in goal.items() if k != "b.txt"},
    ):
        assert score(goal, damaged) == 0.0


def test_litter_counts_against_the_work() -> None:
    goal = {**START, "a.txt": "1\n", "b.txt": "2\n"}
    assert score(goal, {**goal, "litter": "x"}) == 0.25
    assert score(goal, {**goal, "litter": "x", "more": "y"}) == 0.0


def test_a_removed_file_must_be_gone() -> None:
    goal = {k: v for k, v in START.items() if k != "c.txt"}
    assert score(goal, goal) == 1.0
    assert score(goal, {**START, "c.txt": ""}) == 0.0


def test_what_lies_outside_the_working_folder_is_not_looked_at() -> None:
    goal = {**START, "new.txt": "5\n"}
    outcome = left(goal, **{"/home/user/scratch": "x"})
    assert files_reward().score({"start": START, "files": goal}, outcome).total == 1.0


TREES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["", "1\n", "2\n"]))


@given(start=TREES, goal=TREES, found=TREES)
def test_only_the_wanted_tree_scores_one(start: dict[str, str], goal: dict[str, str], found: dict[str, str]) -> None:
    task = {"start": start, "files": goal}
    if start != goal:
        share = files_are(task, left(found))
        assert 0.0 <= share <= 1.0
        assert (share == 1.0) == (found == goal)
        assert files_are(task, left(start)) == 0.0
