"""The commands that look: list, info, traces, and the help."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from makerspace import __version__
from makerspace.cli import COMMANDS
from makerspace.envs.registration import env_id
from makerspace.envs.tasks import family, family_names
from makerspace.traces.reader import read
from makerspace.traces.records import Header
from makerspace.traces.writer import TraceWriter

from .conftest import Answer

Run = Callable[..., Answer]


def test_the_help_names_every_command_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom makerspace.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'torch', 'cadquery', 'OCP', 'transformers', 'matplotlib', 'rich.progress'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert all(f" {command} " in done.stdout for command in COMMANDS)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, makerspace: Run) -> None:
    answer = makerspace(command, "--help")
    assert answer.code == 0
    assert f"makerspace {command}" in answer.out


def test_version(makerspace: Run) -> None:
    assert makerspace("--version").out == f"makerspace {__version__}\n"


def test_an_unknown_command_is_exit_code_2(makerspace: Run) -> None:
    answer = makerspace("lst")
    assert answer.code == 2
    assert "list" in answer.err


def test_list_names_every_environment(makerspace: Run) -> None:
    rows = json.loads(makerspace("list", "--json").out)
    assert [row["id"] for row in rows] == [env_id(name) for name in family_names()]
    table = makerspace("list").out
    assert all(row["id"] in table for row in rows)


def test_list_of_one_domain(makerspace: Run) -> None:
    rows = json.loads(makerspace("list", "--domain", "cad", "--json").out)
    assert {row["application"] for row in rows} == {"cad"}
    wrong = makerspace("list", "--domain", "poetry")
    assert wrong.code == 2
    assert "domains: cad" in wrong.err


@pytest.mark.parametrize("name", family_names())
def test_info_tells_everything_about_every_environment(name: str, makerspace: Run) -> None:
    facts = json.loads(makerspace("info", name, "--json").out)
    one = family(name)
    assert facts["id"] == env_id(name)
    assert [part["name"] for part in facts["reward"]] == list(one.reward.names)
    assert set(facts["spaces"]) == {"tool", "text", "discrete"}
    assert facts["tools"][-1]["function"]["name"] == "submit"
    assert facts["instructions"]["0.5"] == one.task(0, difficulty=0.5).instruction
    text = makerspace("info", name).out
    for tool in facts["tools"]:
        assert tool["function"]["name"] in text
    assert one.task(0, difficulty=1.0).instruction in text


def test_info_on_an_unknown_environment(makerspace: Run) -> None:
    answer = makerspace("info", "cad.nothing")
    assert answer.code == 2
    assert answer.err.startswith("makerspace: there is no environment 'cad.nothing'")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Record an episode of the terminal that can be replayed: only its reset."""
    from makerspace.simulators import open_application
    from makerspace.simulators.base import ToolCall

    app = open_application("terminal")
    view = app.reset({}, 3)
    call = ToolCall("run", {"command": "echo hello > file; cat file"})
    writer = TraceWriter(tmp_path / "traces")
    header = Header(
        "makerspace/terminal.x-v0", "terminal.x/train/0@0", "terminal.x", "terminal", 3, "Say hello.", {}, 5
    )
    path = writer.start(header, text=view.text, features=view.features, state_hash=app.state_hash(), image=None)
    writer.action(1, "raw", call)
    result = app.call(call)
    after = app.observe()
    writer.result(
        1,
        result,
        text=after.text,
        features=after.features,
        state_hash=app.state_hash(),
        reward=0.0,
        terms={},
        terminated=False,
        truncated=False,
    )
    writer.close()
    assert read(path).complete
    return path


def test_traces_are_listed(recorded: Path, makerspace: Run) -> None:
    (row,) = json.loads(makerspace("traces", "list", str(recorded.parents[1]), "--json").out)
    assert (row["task_id"], row["steps"], row["path"]) == ("terminal.x/train/0@0", 1, str(recorded))
    assert "1 episode\n" in makerspace("traces", "list", str(recorded.parents[1])).out


def test_a_trace_is_shown(recorded: Path, makerspace: Run) -> None:
    shown = makerspace("traces", "show", str(recorded)).out
    assert "Say hello." in shown
    assert "echo hello" in shown


def test_a_trace_is_replayed(recorded: Path, makerspace: Run) -> None:
    answer = makerspace("traces", "replay", str(recorded))
    assert (answer.code, answer.out) == (0, "all 1 steps agree\n")
    assert json.loads(makerspace("traces", "replay", str(recorded), "--json").out)["divergence"] is None


def test_a_divergence_names_its_step_and_is_exit_code_1(recorded: Path, makerspace: Run, tmp_path: Path) -> None:
    """The same record with another command: what it left is not what was recorded."""
    trace = read(recorded)
    writer = TraceWriter(tmp_path / "other")
    start, step = trace.start, trace.steps[0]
    assert start is not None
    assert step.result is not None
    path = writer.start(trace.header, text=start.text, features=start.features, state_hash=start.state_hash, image=None)
    from makerspace.simulators.base import ToolCall

    writer.action(1, "raw", ToolCall("run", {"command": "echo goodbye > file; cat file"}))
    was = step.result
    writer.result(
        1,
        was.result,
        text=was.text,
        features=was.features,
        state_hash=was.state_hash,
        reward=0.0,
        terms={},
        terminated=False,
        truncated=False,
    )
    writer.close()
    answer = makerspace("traces", "replay", str(path))
    assert answer.code == 1
    assert "differs at step 1" in answer.out


@pytest.mark.parametrize("sub", ["show", "replay"])
def test_what_is_no_trace_is_one_line_and_exit_code_2(sub: str, makerspace: Run, tmp_path: Path) -> None:
    other = tmp_path / "note.txt"
    other.write_text("not a trace\n")
    for path in (other, tmp_path / "nowhere.trace"):
        answer = makerspace("traces", sub, str(path))
        assert answer.code == 2
        assert len(answer.err.splitlines()) == 1


def test_a_folder_without_traces(makerspace: Run, tmp_path: Path) -> None:
    assert makerspace("traces", "list", str(tmp_path)).code == 0
    assert makerspace("traces", "list", str(tmp_path / "nowhere")).code == 2


def test_a_missing_extra_is_named(makerspace: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "makerspace.policy.train", raising=False)
    answer = makerspace("train", "--preset", "demo", "--steps", "0")
    assert answer.code == 2
    assert "pip install 'makerspace[train]'" in answer.err


def test_check_tells_every_verdict(makerspace: Run) -> None:
    rows = json.loads(makerspace("check", "plate", "--only", "tasks", "--only", "blind", "--json").out)
    assert [(row["id"], row["name"], row["passed"]) for row in rows] == [
        ("makerspace/cad.plate-v0", "tasks", True),
        ("makerspace/cad.plate-v0", "blind", True),
    ]
    table = makerspace("check", "cad.plate", "--only", "tasks")
    assert table.code == 0
    assert "all passed (1 check on 1 environment)" in table.out


def test_a_broken_rule_is_exit_code_1(makerspace: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(family("cad.plate")), "templates", ("Make a plate.",))
    answer = makerspace("check", "cad.plate", "--only", "tasks")
    assert answer.code == 1
    assert "at least 5 are needed" in answer.out
    assert "1 of 1 check failed" in answer.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--all"),
        (("cad.plate", "--only", "task"), "did you mean tasks"),
        (("cad.plate", "--runtime", "dokcer"), "did you mean docker"),
        (("cad.plat",), "did you mean cad.plate"),
    ],
)
def test_check_asked_wrongly(words: tuple[str, ...], says: str, makerspace: Run) -> None:
    answer = makerspace("check", *words)
    assert answer.code == 2
    assert says in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("train", "--preset", "nothing"), "presets: demo"),
        (("train", "--preset", "wrong.toml"), "recipe: reinforce.step = 3: extra inputs"),
        (("train", "--preset", "broken.toml"), "recipe: "),
        (("train", "--weights", "nowhere"), "no policy in nowhere"),
        (("eval", "nowhere"), "no policy in nowhere"),
        (("eval", "--family", "cad.plat"), "did you mean cad.plate"),
        (("eval", "--split", "tests"), "did you mean test"),
    ],
)
def test_training_asked_wrongly(
    words: tuple[str, ...], says: str, makerspace: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs the extra 'train'")
    monkeypatch.chdir(tmp_path)
    Path("wrong.toml").write_text("[reinforce]\nstep = 3\n")
    Path("broken.toml").write_text("reinforce = [\n")
    answer = makerspace(*words)
    assert answer.code == 2, answer.err
    assert says in answer.err
    assert len(answer.err.splitlines()) == 1
