"""What a terminal session left behind: files by path, and an answer.

A goal holds some of:

    {"files": {path: text}}      the files that should exist in the end, and what they should say
    {"start": {path: text}}      the files as the episode began
    {"answer": text}             what should be handed in

Paths are relative to the working directory ``/work``. Texts are compared line by line without trailing blanks, since
whether a report ends in a newline is nobody's mistake; files that must stay as they were are compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Mapping

from .base import Goal, Outcome, Reward, Term

WORK = "/work/"


def work_files(outcome: Outcome) -> dict[str, bytes]:
    """Return the files under the working directory, by path relative to it."""
    return {name.removeprefix(WORK): data for name, data in outcome.artifacts.items() if name.startswith(WORK)}


def answer_is(goal: Goal, outcome: Outcome) -> float:
    """Return 1.0 if the answer is the wanted one, blanks around it aside."""
    return float(outcome.answer.strip() == goal["answer"])


def files_are(goal: Goal, outcome: Outcome) -> float:
    """Return the share of wanted changes that were made: 0 for the start state, 1 only if nothing else differs either.

    A *change* is a path whose text differs between start and goal (made, changed or removed). Wanted changes count
    for, unwanted ones against: ``(made - unwanted) / wanted``, not below 0.
    """
    wanted_files, start, found = goal["files"], goal["start"], work_files(outcome)
    wanted = [path for path in {*wanted_files, *start} if _said(wanted_files.get(path)) != _said(start.get(path))]
    made = sum(_said(found.get(path)) == _said(wanted_files.get(path)) for path in wanted)
    unwanted = sum(not _same(found.get(path), start.get(path)) for path in {*found, *start} - {*wanted})
    return max(0.0, (made - unwanted) / len(wanted))


def start_intact(goal: Goal, outcome: Outcome) -> float:
    """Return 1.0 if every file of the start that the goal keeps still has its bytes."""
    found = work_files(outcome)
    kept = {path: text for path, text in goal["start"].items() if goal["files"].get(path) == text}
    return float(all(_same(found.get(path), text) for path, text in kept.items()))


def answer_reward() -> Reward:
    """Return the reward of questions."""
    return Reward((Term("answer", 1.0, answer_is),))


def files_reward() -> Reward:
    """Return the reward of tasks that change files.

    The share of changes, squared so that half the work is worth a quarter.
    """
    return Reward(
        (Term("changes", 1.0, lambda goal, outcome: files_are(goal, outcome) ** 2),),
        (Term("intact", 1.0, start_intact),),
    )


def _said(text: str | bytes | None) -> list[str] | None:
    if text is None:
        return None
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _same(found: bytes | None, text: str | None) -> bool:
    return found == (None if text is None else text.encode())


def changed(start: Mapping[str, str], **files: str | None) -> dict[str, str]:
    """Return the start's files with some replaced, added, or (``None``) removed."""
    return {path: text for path, text in {**start, **files}.items() if text is not None}
