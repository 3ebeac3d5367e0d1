"""The shell against bash, and against everything one can throw at it."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makerspace.simulators.base import ToolCall, ToolResult
from makerspace.simulators.terminal.app import Terminal

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
CORPUS = json.loads((BENCHMARKS / "shell_corpus.json").read_text())
LINES = [line["command"] for line in CORPUS["lines"]]


def benchmark(name: str) -> ModuleType:
    """Load a benchmark by its file, since the folder is no package."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(command: str, files: dict[str, str] | None = None) -> ToolResult:
    terminal = Terminal()
    terminal.reset({"files": CORPUS["tree"] if files is None else files}, 0)
    return terminal.call(ToolCall("run", {"command": command}))


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is the reference, and it is not here")


@needs_bash
@pytest.mark.parametrize("group", sorted({line["group"] for line in CORPUS["lines"]}))
def test_the_corpus_behaves_as_in_bash(group: str) -> None:
    agreement = benchmark("shell_agreement")
    for line in CORPUS["lines"]:
        if line["group"] == group:
            want = agreement.run_bash(CORPUS["tree"], line["command"])
            got = agreement.run_makerspace(CORPUS["tree"], line["command"])
            assert (got.stdout, got.code, got.tree) == (want.stdout, want.code, want.tree), line["command"]


@needs_bash
def test_generated_programs_behave_as_in_bash() -> None:
    agreement, programs = benchmark("shell_agreement"), benchmark("shell_programs")
    wrong = []
    for seed in range(10_000, 10_060):
        program = programs.program(seed)
        want, got = (shell(CORPUS["tree"], program) for shell in (agreement.run_bash, agreement.run_makerspace))
        wrong += [program] if agreement.differences(want, got) else []
    assert len(wrong) <= 1, wrong


ENDLESS = [
    "while true; do :; done",
    "while :; do while :; do echo; done; done",
    ":(){ :|:& };:",
    "f() { f; }; f",
    "f() { $(f); }; f",
    "a='bash -c \"$a\"'; export a; eval $a",
    "x=aaaa; for i in {1..40}; do x=$x$x; done",
    "x=$(seq 1 9000 | tr -d '\\n'); echo ${x##*9*9*9*9*9z}",
    "echo {1..100000000}",
    "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
    "printf '%99999999d' 1",
    "seq 1 10000000",
    "while true; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >> f; done",
    "seq 100000 > f; for i in 1 2 3 4 5 6 7 8 9; do cat f f > g; mv g f; done",
    "awk 'BEGIN { while (1) x++ }'",
    "awk 'BEGIN { x = \"a\"; while (1) x = x x }'",
    "awk 'function f(n) { return f(n + 1) } BEGIN { f(1) }'",
    "sed ':a;s/x/xx/;ta' <<< x",
    "sed ':a;ba' <<< x",
    "seq 1 20000 | xargs -n1 echo",
    "touch s; chmod +x s; echo ./s > s; ./s",
]


@pytest.mark.parametrize("command", ENDLESS)
def test_what_never_ends_is_stopped(command: str) -> None:
    result = run(command)
    assert result.ok
    assert result.data["exit_code"] in (2, 137)
    assert len(result.text) < 3_000


PATHOLOGICAL = [
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -E '(a+)+$'",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -E '(a|a)*$'",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -E '(a|aa)+c'",
    "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -P '(a|aa)+c'",
    "[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa =~ ^(a+)+b$ ]]",
    "case aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa in *a*a*a*a*a*a*a*a*a*a*b) ;; esac",
    "x=$(seq 1 2000 | tr -d '\\n'); echo ${x//*1*2*3*4*5/a} | wc -c",
    "echo $((9**9**9**9)) $((1<<99999999))",
    "diff <(seq 1 3000) <(seq 3000 -1 1) | wc -l",
    "yes | head -c 10000000 | wc -c",
    "echo 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' | sed -E 's/(a*)*b/x/'",
    "echo 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' | awk '/^(a?){25}a{25}$/'",
]


@pytest.mark.parametrize("command", PATHOLOGICAL)
def test_what_takes_other_shells_ages_ends(command: str) -> None:
    assert run(command).ok


NESTED = [
    "(" * 500 + "echo" + ")" * 500,
    "$(" * 300,
    "if " * 300,
    "{ " * 300,
    "echo " + "$((" * 200 + "1" + "))" * 200,
    "`" * 99,
    "[[ " + "( " * 300,
    "! " * 5000 + "true",
    "a=" * 3000,
]


@pytest.mark.parametrize("command", NESTED)
def test_deep_nesting_is_an_answer(command: str) -> None:
    assert run(command).ok


BROKEN = [
    "${",
    "$(",
    "a=(",
    "[[",
    "[[ a",
    "((",
    "case x in",
    "for",
    "for x in",
    "while",
    "f()",
    "<<",
    "cat <<",
    ">",
    "| a",
    "&& a",
    ";;",
    ")",
    "}",
    "fi",
    "'",
    '"',
    "`",
    "echo ${x!y}",
]


@pytest.mark.parametrize("command", BROKEN)
def test_a_syntax_error_is_exit_code_2(command: str) -> None:
    assert run(command).data["exit_code"] == 2


@given(st.text(min_size=1, max_size=200))
@settings(deadline=None, max_examples=200)
def test_any_text_is_answered(command: str) -> None:
    assert run(command, {}).text


@given(
    st.lists(
        st.sampled_from(
            [
                "if",
                "then",
                "fi",
                "do",
                "done",
                "for",
                "in",
                "case",
                "esac",
                "{",
                "}",
                "(",
                ")",
                ";",
                "&&",
                "|",
                "$(",
                "`",
                '"',
                "'",
                "x",
                "=",
                "<<E",
                "\n",
                "E",
                "[[",
                "]]",
                "((",
                "))",
                "!",
                ">",
                "&",
                "2>&1",
                "$",
                "*",
                "\\",
            ]
        ),
        max_size=25,
    )
)
@settings(deadline=None, max_examples=200)
def test_any_row_of_shell_words_is_answered(words: list[str]) -> None:
    if command := " ".join(words):
        assert run(command, {"x": "1\n"}).text


@given(seed=st.integers(0, 10**9))
@settings(deadline=None, max_examples=150)
def test_damaged_lines_of_the_corpus_are_answered(seed: int) -> None:
    rng = random.Random(seed)
    text = list(rng.choice(LINES))
    for _ in range(rng.randint(1, 5)):
        place = rng.randrange(len(text) + 1)
        text[place : place + rng.randint(0, 2)] = rng.choice(
            ["", "$", "(", ")", "'", '"', "|", "{", "}", "\\", "*", "9", ";", "<", "[", *LINES[:5]]
        )
    if command := "".join(text):
        assert run(command).text


def test_bytes_that_are_no_text_pass_through() -> None:
    terminal = Terminal()
    terminal.reset({}, 0)
    terminal.call(
        ToolCall("run", {"command": r"printf '\377\0\200a\n' > b; cat b > c; cp c d; sed s/a/A/ d > e; grep -c A e"})
    )
    files = terminal.artifacts()
    assert files["/work/c"] == files["/work/d"] == b"\xff\x00\x80a\n"
    assert files["/work/e"] == b"\xff\x00\x80A\n"
    assert terminal.call(ToolCall("read_file", {"path": "b"})).text == "\ufffd\x00\ufffda"


def test_the_disk_has_an_end() -> None:
    result = run("seq 1 100000 > f; while cat f >> g; do :; done; ls -l g | wc -l", {})
    assert "No space left on device" in result.text
    assert "No space left on device" in run("touch f{1..6000}", {}).text


DIVERGENCES = json.loads((BENCHMARKS / "shell_divergences.json").read_text())


@pytest.mark.parametrize("entry", DIVERGENCES, ids=[entry["why"] for entry in DIVERGENCES])
def test_known_divergences_are_as_described(entry: dict[str, str]) -> None:
    agreement = benchmark("shell_agreement")
    assert agreement.run_makerspace({}, entry["command"]).stdout == entry["here"]
