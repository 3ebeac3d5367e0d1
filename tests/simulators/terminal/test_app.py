"""The terminal as an agent uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makerspace.simulators.base import ToolCall, ToolResult
from makerspace.simulators.terminal.app import MAX_SHOWN, Terminal

SCENE = {
    "files": {
        "app.cfg": "port = 80\nhost = local\n",
        "logs/app.log": "ERROR disk\nINFO start\nERROR net\n",
        "/home/user/notes.txt": "hello\n",
    },
    "env": {"STAGE": "test"},
}


@pytest.fixture
def terminal() -> Terminal:
    terminal = Terminal()
    terminal.reset(SCENE, 0)
    return terminal


def run(terminal: Terminal, command: str) -> ToolResult:
    return terminal.call(ToolCall("run", {"command": command}))


def test_what_a_command_prints_is_the_text_of_its_result(terminal: Terminal) -> None:
    assert run(terminal, "grep -c ERROR logs/app.log").text == "2"
    assert run(terminal, "true").text == "(no output)"
    assert run(terminal, "echo $STAGE; echo $HOME").text == "test\n/home/user"


def test_a_failed_command_is_a_result_and_no_error(terminal: Terminal) -> None:
    result = run(terminal, "echo before; false")
    assert result.ok
    assert result.text == "before\n[exit 1]"
    assert result.data["exit_code"] == 1
    assert run(terminal, "nosuch").text == "bash: nosuch: command not found\n[exit 127]"
    assert run(terminal, "cat missing").text == "cat: missing: No such file or directory\n[exit 1]"


def test_the_folder_and_exported_variables_stay_but_nothing_else_does(terminal: Terminal) -> None:
    run(terminal, "cd logs; export KEPT=1; lost=1; f() { echo lost; }; set -e")
    assert run(terminal, "pwd; echo [$KEPT] [$lost]; f").text.startswith(
        "/work/logs\n[1] []\nbash: f: command not found"
    )
    assert terminal.observe().text == "/work/logs: app.log"


def test_long_output_keeps_head_and_tail(terminal: Terminal) -> None:
    result = run(terminal, "seq 1 5000")
    assert result.text.startswith("1\n2\n")
    assert result.text.endswith("\n5000")
    assert f"... {result.data['left_out']} characters left out ..." in result.text
    assert len(result.text) < MAX_SHOWN + 100
    assert result.data["left_out"] == len("\n".join(map(str, range(1, 5001)))) - MAX_SHOWN


def test_the_editor_reads_writes_edits_and_lists(terminal: Terminal) -> None:
    call = lambda name, **arguments: terminal.call(ToolCall(name, arguments))  # noqa: E731
    assert call("read_file", path="app.cfg").text == "port = 80\nhost = local"
    assert call("edit_file", path="app.cfg", old="port = 80", new="port = 81").text == "edited line 1"
    assert call("write_file", path="new/deep/x.txt", content="one\n").text == "wrote 4 bytes"
    assert call("list_files").text == "app.cfg\nlogs/\nnew/"
    assert terminal.artifacts() == {
        "/work/app.cfg": b"port = 81\nhost = local\n",
        "/work/logs/app.log": b"ERROR disk\nINFO start\nERROR net\n",
        "/work/new/deep/x.txt": b"one\n",
        "/home/user/notes.txt": b"hello\n",
    }


@pytest.mark.parametrize(
    ("name", "arguments", "code", "nearest"),
    [
        ("read_file", {"path": "ap.cfg"}, "not_found", "app.cfg"),
        ("read_file", {"path": "logs"}, "precondition", None),
        ("edit_file", {"path": "app.cfg", "old": "prt = 80", "new": "x"}, "not_found", "port = 80"),
        ("edit_file", {"path": "logs/app.log", "old": "ERROR", "new": "x"}, "precondition", "ERROR net"),
        ("list_files", {"path": "app.cfg"}, "precondition", None),
        ("write_file", {"path": "app.cfg/x", "content": ""}, "precondition", None),
        ("write_file", {"path": "logs", "content": ""}, "precondition", None),
        ("run", {"command": "a\0b"}, "bad_argument", None),
        ("run", {"command": ""}, "bad_argument", None),
        ("run", {"command": 7}, "bad_argument", None),
        ("write_file", {"path": "x", "content": "\ud800"}, "bad_argument", None),
        ("write_file", {"path": "x", "content": "y" * 1_000_000}, "limit", None),
    ],
)
def test_mistakes_are_told_with_the_nearest_choice(
    terminal: Terminal, name: str, arguments: dict, code: str, nearest: str | None
) -> None:
    result = terminal.call(ToolCall(name, arguments))
    assert not result.ok
    assert result.error is not None
    assert result.error.code == code
    assert nearest is None or nearest in result.error.nearest


def test_the_clock_is_the_simulations_own(terminal: Terminal) -> None:
    assert run(terminal, "date -u +%F_%T; sleep 100; date -u +%F_%T").text == "2024-01-01_00:00:01\n2024-01-01_00:00:01"
    assert run(terminal, "date +%s; touch x; stat -c %Y x").text == "1704067202\n1704067202"


def test_features_have_a_number_for_each_name(terminal: Terminal) -> None:
    run(terminal, "mkdir d; printf 'a\\nb\\n'; exit 3")
    features = dict(zip(Terminal.feature_names, terminal.observe().features, strict=True))
    assert features["files"] == 3
    assert features["folders"] == 4
    assert features["exit_code"] == 3
    assert features["output_lines"] == 2
    assert features["calls"] == 1


COMMANDS = st.sampled_from(
    [
        "cd logs",
        "cd ..",
        "echo x >> a",
        "rm -rf logs",
        "mkdir -p p/q",
        "mv app.cfg b.cfg",
        "ln -s app.cfg l",
        "date > d",
        "export A=$RANDOM",
        "chmod 600 app.cfg",
        "cp -r logs copy",
        "printf '\\377\\0' > bin",
        "sed -i s/80/90/ app.cfg",
        "unset STAGE",
        "touch -d @5 app.cfg",
    ]
)


@given(before=st.lists(COMMANDS, max_size=4), after=st.lists(COMMANDS, max_size=4))
@settings(deadline=None, max_examples=40)
def test_a_restored_snapshot_goes_on_as_the_original(before: list[str], after: list[str]) -> None:
    one, two = Terminal(), Terminal()
    one.reset(SCENE, 0)
    for command in before:
        run(one, command)
    two.restore(one.snapshot())
    assert two.snapshot() == one.snapshot()
    for command in after:
        assert run(one, command) == run(two, command)
    assert one.state_hash() == two.state_hash()
    assert one.observe() == two.observe()


def test_the_hash_sees_content_mode_path_folder_and_environment(terminal: Terminal) -> None:
    hashes = [terminal.state_hash()]
    for command in (
        "true",
        "echo >> app.cfg",
        "chmod +x app.cfg",
        "mv app.cfg b",
        "cd logs",
        "export B=1",
        "mkdir e",
        "ln -s b l",
    ):
        run(terminal, command)
        hashes.append(terminal.state_hash())
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == len(hashes) - 1


PROGRAM = """
import json, sys
from makerspace.simulators.base import ToolCall
from makerspace.simulators.terminal.app import Terminal
terminal = Terminal()
terminal.reset({"files": {"a.txt": "b\\na\\n"}}, 0)
lines = [
    "echo $RANDOM $$ $PPID; env; ls -la; date; mktemp",
    "shuf a.txt; find / | sort; awk '{c[$1]++} END {for (k in c) print k}' a.txt",
    "set; declare -p",
]
print(json.dumps([terminal.call(ToolCall("run", {"command": line})).text for line in lines] + [terminal.state_hash()]))
"""


def test_two_processes_agree_whatever_their_hash_seed_and_environment() -> None:
    outputs = []
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "LEAK": f"secret{seed}", "TZ": f"UTC+{seed}"}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert "secret" not in outputs[0]


GUARDED = """
import json, sys
from makerspace.simulators.base import ToolCall
from makerspace.simulators.terminal.app import Terminal
Terminal.warm()
terminal = Terminal()
terminal.reset({}, 0)
terminal.call(ToolCall("run", {"command": "grep a /dev/null; awk 1 /dev/null; date"}))
seen = []
watched = ("open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.", "pty.", "import")
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith(watched) else None)
for line in json.loads(sys.argv[1]):
    terminal.call(ToolCall("run", {"command": line}))
print(json.dumps([event for event in seen if event != "import"]))
"""


def test_no_command_reaches_the_machine_beneath() -> None:
    corpus = json.loads((Path(__file__).parents[3] / "benchmarks" / "shell_corpus.json").read_text())
    lines = [line["command"] for line in corpus["lines"]]
    lines += [
        "cat /etc/passwd /proc/self/environ",
        "curl http://localhost",
        "ls /root /sys",
        "bash -c 'cat < /etc/hosts'",
        "source /etc/profile",
        "echo x > /tmp/leak",
    ]
    done = subprocess.run(
        [sys.executable, "-c", GUARDED, json.dumps(lines)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_the_hosts_files_do_not_exist(terminal: Terminal) -> None:
    assert run(terminal, "cat /etc/passwd").text == "cat: /etc/passwd: No such file or directory\n[exit 1]"
    assert run(terminal, "ls /proc").data["exit_code"] == 2
    assert run(terminal, "curl http://example.com").text == "curl: network is unreachable\n[exit 6]"
