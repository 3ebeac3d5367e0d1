"""The command line as a person meets it: a process, or the same function within this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from makerspace.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command printed and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def makerspace(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run ``makerspace WORD...`` in this process."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words: str) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main(words)
        printed = capsys.readouterr()
        return Answer(int(ended.value.code or 0), printed.out, printed.err)

    return run
