"""How often a simulated shell does what bash does, and how long it takes.

Model of the world: a corpus of command lines (`shell_corpus.json`) and programs made from a grammar
(`shell_programs.py`), each run alone over the same small tree of files, in real bash (a fresh directory, `LC_ALL=C`, a
clean environment) and in each candidate. A line *agrees* when standard output, exit code and the resulting files (path
and bytes) are all equal. Standard error is not compared: its wording belongs to the program, not to the behaviour. Run

    python -m benchmarks.shell_agreement [--write] [--show CANDIDATE] [--programs COUNT] [--seed FIRST]

It does not know what a line is for, and it does not judge lines that bash itself may answer in several ways.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CORPUS = HERE / "shell_corpus.json"
RESULT = HERE / "results" / "shell_agreement.json"
WORK = "/work"
ENV = {"HOME": "/home/user", "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
# Seconds after which a line counts as hung, in any shell.
DEADLINE = 10.0


@dataclass(frozen=True)
class Outcome:
    """What a line left behind: standard output, exit code, files below the working directory, wall seconds."""

    stdout: str
    code: int
    tree: dict[str, bytes]
    create_s: float = 0.0
    run_s: float = 0.0


Shell = Callable[[dict[str, str], str], Outcome]


def run_bash(files: dict[str, str], command: str) -> Outcome:
    """Run one line in the real thing; paths of the temporary root are taken out of its output."""
    with tempfile.TemporaryDirectory() as root:
        work, home = Path(root + WORK), Path(root + ENV["HOME"])
        home.mkdir(parents=True)
        for name, text in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)
        start = time.perf_counter()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=work,
            env=ENV | {"HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
        run_s = time.perf_counter() - start
        tree = {str(p.relative_to(work)): p.read_bytes() for p in work.rglob("*") if p.is_file()}
        return Outcome(done.stdout.decode(errors="replace").replace(root, ""), done.returncode, tree, 0.0, run_s)


def run_strands(files: dict[str, str], command: str) -> Outcome:
    """Run one line in `strands-shell`, whose root folder is closed: the work lies below `/tmp`."""
    import strands_shell

    work = "/tmp" + WORK
    start = time.perf_counter()
    shell = strands_shell.Shell(env=ENV, timeout=DEADLINE)
    shell.run("mkdir -p " + " ".join(sorted({str(Path(work, n).parent) for n in files})))
    for name, text in files.items():
        shell.write_file(f"{work}/{name}", text.encode())
    shell.run(f"cd {work}")
    ready = time.perf_counter()
    out = shell.run(command)
    run_s = time.perf_counter() - ready

    def walk(folder: str) -> Iterator[tuple[str, bytes]]:
        for entry in shell.list_files(folder):
            path = f"{folder}/{entry.name}"
            if entry.is_dir:
                yield from walk(path)
            else:
                yield path.removeprefix(work + "/"), shell.read_file(path)

    text = out.stdout if isinstance(out.stdout, str) else out.stdout.decode(errors="replace")
    return Outcome(text.replace(work, WORK), out.status, dict(walk(work)), ready - start, run_s)


def run_just_bash(files: dict[str, str], command: str) -> Outcome:
    """Run one line in `just-bash` as it comes, over its own in-memory file system."""
    from just_bash import Bash

    start = time.perf_counter()
    shell = Bash(files={f"{WORK}/{name}": text for name, text in files.items()}, cwd=WORK, env=ENV)
    ready = time.perf_counter()
    out = shell.run(command)
    run_s = time.perf_counter() - ready
    data: dict[str, Any] = shell.fs._data  # type: ignore[attr-defined]
    tree = {p.removeprefix(WORK + "/"): e.content for p, e in data.items() if e.type == "file" and p.startswith(WORK)}
    return Outcome(out.stdout, out.exit_code, tree, ready - start, run_s)


def run_makerspace(files: dict[str, str], command: str) -> Outcome:
    """Run one line in this project's own shell."""
    from makerspace.simulators.terminal.files import File, Files
    from makerspace.simulators.terminal.shell import Shell as OwnShell

    start = time.perf_counter()
    tree = Files(lambda: 1_704_067_200)
    for folder in ("/dev", "/tmp", WORK, ENV["HOME"]):
        tree.mkdir(folder, parents=True)
    tree.add("/dev/null", File(device=True))
    for name, text in files.items():
        tree.mkdir(str(Path(WORK, name).parent), parents=True)
        tree.write(f"{WORK}/{name}", text.encode())
    shell = OwnShell(tree, WORK, ENV)
    ready = time.perf_counter()
    out = shell.run(command)
    run_s = time.perf_counter() - ready
    left = {p.removeprefix(WORK + "/"): tree.read(p) for p, node in tree.walk(WORK) if isinstance(tree.find(p), File)}
    return Outcome(out.stdout, out.code, left, ready - start, run_s)


CANDIDATES: dict[str, Shell] = {"strands-shell": run_strands, "just-bash": run_just_bash, "makerspace": run_makerspace}


def differences(want: Outcome, got: Outcome) -> list[str]:
    """Return the names of the parts in which two outcomes differ (symbolic links are compared by what they hold)."""
    parts = {"stdout": want.stdout == got.stdout, "code": want.code == got.code, "tree": want.tree == got.tree}
    return [name for name, same in parts.items() if not same]


def compare(shell: Shell, corpus: dict[str, Any], truth: list[Outcome]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the figures of one candidate and its disagreements, each with both outcomes."""
    create, run, wrong = [], [], []
    for line, want in zip(corpus["lines"], truth, strict=True):
        try:
            got = shell(corpus["tree"], line["command"])
        except Exception as error:  # noqa: BLE001  a candidate that raises has failed the line, not the benchmark
            got = Outcome(f"{type(error).__name__}: {error}", -1, {})
        create.append(got.create_s)
        run.append(got.run_s)
        if parts := differences(want, got):
            wrong.append({**line, "differs": parts, "want": want, "got": got})
    total = len(truth)
    by_part = {p: 1 - sum(p in w["differs"] for w in wrong) / total for p in ("stdout", "code", "tree")}
    figures = {
        "agree": round(1 - len(wrong) / total, 4),
        **{f"agree_{part}": round(share, 4) for part, share in by_part.items()},
        "create_ms": round(1e3 * statistics.median(create), 3),
        "command_ms": round(1e3 * statistics.median(run), 3),
        "disagreements": [w["command"] for w in wrong],
    }
    return figures, wrong


def show(wrong: list[dict[str, Any]]) -> None:
    """Print each disagreement with both outcomes."""
    for w in wrong:
        print(f"--- {w['command']}\n    differs: {', '.join(w['differs'])}")
        for who in ("want", "got"):
            print(f"    {who}: {w[who].code} {w[who].stdout[:300]!r}")
        if "tree" in w["differs"]:
            keys = {k for k in w["want"].tree | w["got"].tree if w["want"].tree.get(k) != w["got"].tree.get(k)}
            print("    tree:", {k: (w["want"].tree.get(k), w["got"].tree.get(k)) for k in sorted(keys)})


def main() -> None:
    """Compare the candidates and print the figures as JSON."""
    from .shell_programs import program

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"store the figures in {RESULT.name}")
    parser.add_argument("--show", choices=sorted(CANDIDATES), help="print this candidate's disagreements and stop")
    parser.add_argument("--programs", type=int, default=500, help="how many generated programs are run too")
    parser.add_argument("--seed", type=int, default=20_000, help="the seed of the first of them")
    args = parser.parse_args()
    corpus = json.loads(CORPUS.read_text())
    seeds = range(args.seed, args.seed + args.programs)
    programs = {**corpus, "lines": [{"group": "generated", "command": program(seed)} for seed in seeds]}
    chosen = [args.show] if args.show else sorted(CANDIDATES)
    report: dict[str, Any] = {"python": platform.python_version(), "bash": version("bash"), "awk": version("awk", "-W")}
    for title, lines in (("corpus", corpus), ("programs", programs)):
        truth = [run_bash(lines["tree"], line["command"]) for line in lines["lines"]]
        bash_ms = round(1e3 * statistics.median(t.run_s for t in truth), 3)
        report[title] = {"lines": len(truth), "bash_command_ms": bash_ms}
        for name in chosen:
            report[title][name], wrong = compare(CANDIDATES[name], lines, truth)
            if args.show:
                show(wrong)
    if args.show:
        return
    text = json.dumps(report, indent=1)
    print(text)
    if args.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text + "\n")


def version(name: str, option: str = "--version") -> str:
    """Return the first line of what a program says about its version."""
    argv = [name, option, "version"] if option == "-W" else [name, option]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).split("\n")[0]


if __name__ == "__main__":
    main()
