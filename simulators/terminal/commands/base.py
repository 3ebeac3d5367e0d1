"""How programs are declared, and what each gets to work with.

A program is a function of a `Run`; it returns an exit code, or `None` for "1 if something was reported, else 0".
Options are read as GNU programs read them: anywhere, joined, abbreviated.
"""

from __future__ import annotations

import getopt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ..bash.machine import Command, Machine
from ..files import normal
from ..text import to_bytes, to_text

PROGRAMS: dict[str, Command] = {}


class Usage(Exception):
    """A misuse of a program; its message is reported and the program ends."""


@dataclass
class Run:
    """One run of a program."""

    sh: Machine
    name: str
    args: list[str]
    """Operands."""
    options: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Options in order, long names without dashes."""
    failed: int = 0

    def has(self, *names: str) -> bool:
        """Tell whether one of the options was given."""
        return any(name in names for name, _ in self.options)

    def get(self, *names: str) -> str | None:
        """Return the last value given to one of the options."""
        return next((value for name, value in reversed(self.options) if name in names), None)

    def all(self, *names: str) -> list[str]:
        """Return every value given to one of the options."""
        return [value for name, value in self.options if name in names]

    def number(self, *names: str, default: int = 0) -> int:
        """Return an option's value as a whole number.

        Raises:
            Usage: If it is none.
        """
        text = self.get(*names)
        return default if text is None else whole(text)

    def out(self, text: str) -> None:
        """Write to standard output."""
        self.sh.stdout.write(text)

    def error(self, message: str, code: int = 1) -> int:
        """Report a failure; returns its code."""
        self.sh.stderr.write(f"{self.name}: {message}\n")
        self.failed = max(self.failed, code)
        return code

    def path(self, text: str) -> str:
        """Return an operand as an absolute path."""
        return normal(text, self.sh.cwd) + ("/" if text.endswith("/") and len(text) > 1 else "")

    def read(self, text: str) -> str:
        """Return a file's text; "-" is standard input.

        Raises:
            OSError: If it cannot be read.
        """
        if text in ("-", "/dev/stdin"):
            return self.sh.stdin.rest()
        return to_text(self.sh.read_file(self.path(text)))

    def inputs(self, names: Iterable[str] | None = None, code: int = 1) -> Iterator[tuple[str, str]]:
        """Yield (name, text) of the operands or else of standard input; what cannot be read is reported."""
        for name in list(self.args if names is None else names) or ["-"]:
            try:
                yield name, self.read(name)
            except OSError as problem:
                self.error(f"{name}: {problem.strerror}", code)

    def write(self, text: str, content: str, append: bool = False) -> None:
        """Write a file.

        Raises:
            OSError: If it cannot be written.
        """
        self.sh.flush()
        data = to_bytes(content)
        self.sh.meter.charge(len(data))
        self.sh.files.write(self.path(text), data, append)


def whole(text: str) -> int:
    """Return text as a whole number.

    Raises:
        Usage: If it is none.
    """
    try:
        if len(text) > 18:
            raise ValueError(text)
        return int(text)
    except ValueError:
        raise Usage(f"invalid number: '{text[:40]}'") from None


def lines(text: str) -> list[str]:
    """Return the lines of a text without their ends."""
    found = text.split("\n")
    if found[-1] == "":
        found.pop()
    return found


Program = Callable[[Run], int | None]


def program(
    *names: str, short: str = "", long: tuple[str, ...] = (), misuse: int = 1, raw: bool = False, early: bool = False
) -> Callable[[Program], Program]:
    """Register a program.

    Args:
        names: What it is called.
        short: Its one-letter options as `getopt` writes them.
        long: Its long options, with `=` where they take a value.
        misuse: Its exit code for wrong options.
        raw: Whether it reads its arguments itself.
        early: Whether options end at the first operand.
    """

    def register(function: Program) -> Program:
        for name in names:
            PROGRAMS[name] = _command(function, name, short, long, misuse, raw, early)
        return function

    return register


def _command(
    function: Program, name: str, short: str, long: tuple[str, ...], misuse: int, raw: bool, early: bool
) -> Command:
    def command(sh: Machine, args: list[str]) -> int:
        run = Run(sh, name, args)
        try:
            if not raw:
                options, run.args = (getopt.getopt if early else getopt.gnu_getopt)(args, short, list(long))
                run.options = [(key.lstrip("-"), value) for key, value in options]
            code = function(run)
            return run.failed if code is None else code
        except getopt.GetoptError as problem:
            return run.error(misused(problem), misuse)
        except Usage as problem:
            return run.error(str(problem), misuse)
        except OSError as problem:
            return run.error(f"{problem.filename}: {problem.strerror}")

    return command


def misused(problem: getopt.GetoptError) -> str:
    """Return GNU's words for a wrong option."""
    option, text = problem.opt, problem.msg
    if "requires argument" in text:
        return (
            f"option requires an argument -- '{option}'"
            if len(option) == 1
            else f"option '--{option}' requires an argument"
        )
    return f"invalid option -- '{option}'" if len(option) == 1 else f"unrecognized option '--{option}'"
