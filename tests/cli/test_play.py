"""A person at the bench, typing or piping lines."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from makerspace.cli.braille import draw
from makerspace.envs.tasks import family, family_names
from makerspace.simulators.base import ToolCall, ToolResult
from makerspace.traces.reader import list_traces

from .conftest import Answer

Play = Callable[..., Answer]
pytestmark = pytest.mark.skipif("cad.plate" not in family_names(), reason="there is no family cad.plate")
TASK = "cad.plate/train/0@0"


@pytest.fixture
def play(makerspace: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Play:
    """Play the task with these lines piped in."""
    pytest.importorskip("cadquery", reason="needs the extra 'cad'")

    def run(*lines: str, task: str = TASK) -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return makerspace(
            "play", task, "--runtime", "inline", "--out", str(tmp_path / "drawn"), "--trace", str(tmp_path / "traces")
        )

    return run


def solution() -> list[str]:
    """Return the oracle's calls as a person would type them."""
    return [" ".join([call.name, *(f"{k}={v}" for k, v in call.arguments.items())]) for call in calls()]


def calls() -> list[ToolCall]:
    """Return the oracle's calls; it does not look at results here."""
    return list(family("cad.plate").oracle(family("cad.plate").from_id(TASK)))


def test_a_person_who_knows_how_solves_the_task(play: Play) -> None:
    answer = play(*solution())
    assert answer.code == 0, answer.out
    assert family("cad.plate").from_id(TASK).instruction in answer.out
    assert "solved, reward 1.00" in answer.out


def test_handing_in_nothing_is_told_and_is_exit_code_1(play: Play) -> None:
    answer = play("submit")
    assert answer.code == 1
    assert "not solved, reward 0.00" in answer.out


def test_leaving_is_no_failure(play: Play) -> None:
    assert play("quit").code == 0
    assert play().code == 0


def test_the_oracle_tells_call_after_call_whatever_else_was_tried(play: Play) -> None:
    first, second, *_ = solution()
    shown = [
        line
        for line in play("oracle", "measure", "oracle", first, "oracle").out.splitlines()
        if line.startswith('{"name"')
    ]
    names = [call.name for call in calls()]
    assert [names[0] in line for line in shown[:2]] == [True, True]
    assert shown[0] == shown[1]
    assert names[1] in shown[2]
    assert second.split()[0] == names[1]


def test_undo_takes_back_calls_and_what_they_cost(play: Play) -> None:
    answer = play("undo", "new_sketch XY", "circle 20", "undo", "undo", *solution())
    assert "nothing to undo" in answer.out
    assert "took back circle" in answer.out
    assert "took back new_sketch: empty document" in answer.out
    assert "solved, reward 1.00" in answer.out


def test_slips_are_answered_and_cost_nothing(play: Play) -> None:
    answer = play("rectangel 10 20", "help nothing", "circle 1 2 3 4 5", "", "new_sketch XY")
    assert "did you mean rectangle" in answer.out
    assert "there is no tool 'nothing'" in answer.out
    assert "no argument left for '4'" in answer.out
    assert "1/12 Sketch1 ok" in answer.out


def test_help_explains_every_tool(play: Play) -> None:
    everything = play("help").out
    for tool in ("new_sketch", "extrude", "submit", "oracle", "draw"):
        assert tool in everything
    assert "Diameter in mm." in play("help hole").out


def test_what_was_made_is_drawn(play: Play, tmp_path: Path) -> None:
    answer = play(*solution()[:-1], "draw")
    (drawing,) = (tmp_path / "drawn").rglob("drawing.svg")
    assert str(drawing) in answer.out
    assert draw(drawing.read_bytes(), 80).splitlines()[0] in answer.out
    assert list((tmp_path / "drawn").rglob("part.brep"))


def test_an_episode_can_be_recorded(play: Play, tmp_path: Path) -> None:
    play(*solution())
    (found,) = list_traces(tmp_path / "traces")
    assert (found.task_id, found.success) == (TASK, True)


@pytest.mark.parametrize(
    ("task", "says"), [("cad.plate/nowhere/0@0", "ids look like"), ("cad.plat", "did you mean cad.plate")]
)
def test_a_wrong_name_is_one_line_and_exit_code_2(play: Play, task: str, says: str) -> None:
    answer = play(task=task)
    assert answer.code == 2
    assert says in answer.err
    assert len(answer.err.splitlines()) == 1


def test_a_wrong_option_names_the_choices(makerspace: Play) -> None:
    answer = makerspace("play", "cad.plate", "--runtime", "dockr")
    assert (answer.code, "runtimes: inline, process" in answer.err) == (2, True)
    answer = makerspace("play", "cad.plate", "--split", "tests")
    assert (answer.code, "did you mean test" in answer.err) == (2, True)


def test_the_installed_command_reads_a_pipe(tmp_path: Path) -> None:
    pytest.importorskip("cadquery", reason="needs the extra 'cad'")
    command = [sys.executable, "-c", "from makerspace.cli import main; main()", "play", TASK]
    done = subprocess.run(
        command, input="new_sketch XY\nquit\n", capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "1/12 Sketch1 ok: Sketch1 open" in done.stdout


def test_results_are_shown_as_they_are() -> None:
    """Square brackets in a result must not be taken for markup."""
    from rich.markup import escape
    from rich.text import Text

    text = ToolResult(True, "[bold] a[0] [/]").text
    assert Text.from_markup(escape(text)).plain == text
