"""Builtins that change the shell itself: its folder, its options and parameters, its flow.

Each is a function of the machine and the arguments that returns an exit code.
"""

from __future__ import annotations

import re

from ..files import Folder, normal
from ..text import to_text
from .arithmetic import calculate
from .jumps import Jump, Leave, Return
from .machine import Command, Machine
from .registry import BUILTINS, builtin, fault

OPTIONS = {
    "e": "errexit",
    "u": "nounset",
    "f": "noglob",
    "C": "noclobber",
    "a": "allexport",
    "x": "xtrace",
    "v": "verbose",
    "n": "noexec",
    "h": "hashall",
    "b": "notify",
    "m": "monitor",
}


@builtin(":", "true")
def true(_sh: Machine, _args: list[str]) -> int:
    """Succeed."""
    return 0


@builtin("false")
def false(_sh: Machine, _args: list[str]) -> int:
    """Fail."""
    return 1


@builtin(
    "trap",
    "umask",
    "wait",
    "hash",
    "ulimit",
    "jobs",
    "shopt",
    "disown",
    "times",
    "alias",
    "unalias",
    "bind",
    "history",
    "fg",
    "bg",
)
def accepted(_sh: Machine, _args: list[str]) -> int:
    """Do nothing: these have no meaning in a shell without jobs, signals and history."""
    return 0


@builtin("cd")
def cd(sh: Machine, args: list[str]) -> int:
    """Change the folder."""
    args = [a for a in args if a not in ("--", "-L", "-P")]
    if len(args) > 1:
        return fault(sh, "cd: too many arguments")
    target = args[0] if args else sh.variables.get("HOME") or ""
    if args and target == "-":
        target = sh.variables.get("OLDPWD") or ""
        if not target:
            return fault(sh, "cd: OLDPWD not set")
        sh.stdout.write(target + "\n")
    path = normal(target, sh.cwd)
    node = sh.files.find(path)
    if not isinstance(node, Folder) and target:
        return fault(sh, f"cd: {target}: {'No such file or directory' if node is None else 'Not a directory'}")
    sh.variables.set("OLDPWD", sh.cwd)
    sh.cwd = path
    sh.variables.set("PWD", path)
    return 0


@builtin("pwd")
def pwd(sh: Machine, args: list[str]) -> int:
    """Print the folder."""
    sh.stdout.write((sh.files.real(sh.cwd) if "-P" in args else sh.cwd) + "\n")
    return 0


@builtin("exit")
def exit_(sh: Machine, args: list[str]) -> int:
    """End the shell."""
    raise Leave(_code(sh, args, "exit"))


@builtin("return")
def return_(sh: Machine, args: list[str]) -> int:
    """End a function."""
    raise Return(_code(sh, args, "return"))


def _code(sh: Machine, args: list[str], name: str) -> int:
    if not args:
        return sh.status
    if not re.fullmatch(r"[+-]?\d{1,18}", args[0]):
        return fault(sh, f"{name}: {args[0]}: numeric argument required", 2)
    return int(args[0]) & 255


def jump(again: bool) -> Command:
    """Return `break` or `continue`."""

    def run(sh: Machine, args: list[str]) -> int:
        if not sh.loops:
            return 0
        raise Jump(int(args[0]) if args and args[0].isdigit() and len(args[0]) < 9 else 1, again)

    return run


BUILTINS["break"], BUILTINS["continue"] = jump(False), jump(True)


@builtin("eval")
def eval_(sh: Machine, args: list[str]) -> int:
    """Run words as a program."""
    sh.calls += 1
    sh.status = 0
    try:
        return sh.run_source(" ".join(args))
    finally:
        sh.calls -= 1


@builtin("source", ".")
def source(sh: Machine, args: list[str]) -> int:
    """Run a file in this shell."""
    if not args:
        return fault(sh, "source: filename argument required", 2)
    try:
        text = to_text(sh.read_file(normal(args[0], sh.cwd)))
    except OSError as error:
        return fault(sh, f"{args[0]}: {error.strerror}")
    before = sh.arguments
    sh.arguments = args[1:] or before
    sh.calls += 1
    try:
        return sh.run_source(text)
    except Return as back:
        return back.code
    finally:
        sh.calls -= 1
        sh.arguments = before


@builtin("exec")
def exec_(sh: Machine, args: list[str]) -> int:
    """Run a command instead of the shell."""
    raise Leave(sh.start(args, functions=False) if args else 0)


@builtin("command")
def command(sh: Machine, args: list[str]) -> int:
    """Run a builtin or program, or tell what a name is (`-v`)."""
    if args and args[0] in ("-v", "-V"):
        return max([_describe(sh, name, args[0] == "-V") for name in args[1:]], default=0)
    args = [a for i, a in enumerate(args) if i or a not in ("-p", "--")]
    return sh.start(args, functions=False) if args else 0


@builtin("builtin")
def builtin_(sh: Machine, args: list[str]) -> int:
    """Run a builtin."""
    if args and args[0] in BUILTINS:
        return BUILTINS[args[0]](sh, args[1:])
    return fault(sh, f"builtin: {args[0] if args else ''}: not a shell builtin") if args else 0


@builtin("type")
def type_(sh: Machine, args: list[str]) -> int:
    """Tell what a name is."""
    if args[:1] == ["-t"]:
        return max([_kind(sh, name) for name in args[1:]], default=0)
    return max([_describe(sh, name, True) for name in args], default=0)


def _kind(sh: Machine, name: str) -> int:
    kind = (
        "function"
        if name in sh.functions
        else "builtin"
        if name in sh.builtins
        else "file"
        if name in sh.programs or sh.which(name)
        else ""
    )
    sh.stdout.write(kind + "\n" if kind else "")
    return int(not kind)


def _describe(sh: Machine, name: str, verbose: bool) -> int:
    path = f"/usr/bin/{name}" if name in sh.programs else sh.which(name) if "/" not in name else ""
    if name in sh.functions:
        sh.stdout.write(f"{name} is a function\n" if verbose else f"{name}\n")
    elif name in sh.builtins:
        sh.stdout.write(f"{name} is a shell builtin\n" if verbose else f"{name}\n")
    elif path:
        sh.stdout.write(f"{name} is {path}\n" if verbose else f"{path}\n")
    else:
        return fault(sh, f"type: {name}: not found") if verbose else 1
    return 0


@builtin("set")
def set_(sh: Machine, args: list[str]) -> int:
    """Set options and positional parameters; alone, list the variables."""
    if not args:
        for name in sorted(sh.variables.values):
            if isinstance(value := sh.variables.values[name], str):
                sh.stdout.write(f"{name}={value}\n")
        return 0
    i = 0
    while i < len(args) and args[i][:1] in "+-" and len(args[i]) > 1:
        if args[i] == "--":
            sh.arguments = args[i + 1 :]
            return 0
        on = args[i][0] == "-"
        names = [OPTIONS.get(letter, letter) for letter in args[i][1:] if letter != "o"]
        if "o" in args[i][1:] and i + 1 < len(args):
            i += 1
            names.append(args[i])
        for name in names:
            (sh.options.add if on else sh.options.discard)(name)
        i += 1
    if i < len(args):
        sh.arguments = args[i:]
    return 0


@builtin("shift")
def shift(sh: Machine, args: list[str]) -> int:
    """Drop positional parameters."""
    count = int(args[0]) if args and args[0].isdigit() and len(args[0]) < 9 else 1
    if count > len(sh.arguments):
        return 1
    sh.arguments = sh.arguments[count:]
    return 0


@builtin("let")
def let(sh: Machine, args: list[str]) -> int:
    """Calculate expressions."""
    value = 0
    for text in args:
        value = calculate(text, sh.expand.read, sh.expand.write)
    return int(value == 0)
