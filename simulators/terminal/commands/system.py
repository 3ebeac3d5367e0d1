"""Programs about the machine and about running others: env, bash, which, timeout, expr, whoami, uname, kill ..."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..bash.arithmetic import operate
from ..bash.variables import Variables
from ..patterns import PatternError, posix
from .base import PROGRAMS, Run, program


@program("env", "printenv", raw=True)
def env(run: Run) -> int:
    """Write the environment, or run a command in a changed one."""
    args, changes, empty = list(run.args), dict[str, str](), False
    if run.name == "printenv" and args:
        values = [run.sh.variables.environment().get(name) for name in args]
        run.out("".join(f"{v}\n" for v in values if v is not None))
        return int(None in values)
    removed: list[str] = []
    while args and (args[0].startswith("-") or "=" in args[0]):
        word = args.pop(0)
        if word in ("-i", "-", "--ignore-environment"):
            empty = True
        elif word == "-u" and args:
            removed.append(args.pop(0))
        elif "=" in word and not word.startswith("-"):
            name, _, changes[name] = word.partition("=")
        elif word != "--":
            return run.error(f"invalid option -- '{word[1:2]}'", 125)
    values = {k: v for k, v in ({} if empty else run.sh.variables.environment()).items() if k not in removed} | changes
    if not args:
        run.out("".join(f"{name}={value}\n" for name, value in values.items()))
        return 0
    shell = run.sh.subshell()
    shell.variables = Variables(values)
    return shell.run_argv(args, run.sh.stdin)


@program("bash", "sh", "dash", raw=True)
def bash(run: Run) -> int:
    """Run a program text, a script or standard input in a new shell."""
    args, options = list(run.args), ""
    while args and args[0].startswith("-") and len(args[0]) > 1:
        word = args.pop(0)
        if word == "--":
            break
        options += word[1:] if not word.startswith("--") else ""
        if word == "-o" and args:
            args.pop(0)
    if "c" in options:
        if not args:
            return run.error("-c: option requires an argument", 2)
        return _script(run, _switches(options) + args[0], args[1] if len(args) > 1 else run.name, args[2:])
    if args:
        try:
            return _script(run, _switches(options) + run.read(args[0]), args[0], args[1:])
        except OSError as problem:
            return run.error(f"{args[0]}: {problem.strerror}", 127)
    return _script(run, run.sh.stdin.rest(), run.name, [])


def _switches(options: str) -> str:
    letters = "".join(c for c in options if c in "eu")
    return f"set -{letters}\n" if letters else ""


def _script(run: Run, text: str, name: str, args: list[str]) -> int:
    return run.sh.run_script(text, name, args)


@program("which", short="a")
def which(run: Run) -> int:
    """Write where programs are."""
    code = 0
    for name in run.args:
        path = (
            f"/usr/bin/{name}"
            if name in PROGRAMS or name in ("echo", "printf", "test", "[", "true", "false", "pwd", "kill")
            else run.sh.which(name)
        )
        if path:
            run.out(path + "\n")
        else:
            code = 1
    return code


@program("timeout", short="k:s:v", long=("kill-after=", "signal=", "preserve-status", "foreground"), early=True)
def timeout(run: Run) -> int:
    """Run a command; simulated time does not pass, so that none runs out of it."""
    if len(run.args) < 2:
        return run.error("missing operand", 125)
    if not re.fullmatch(r"(\d{1,9}(\.\d*)?|\.\d+)[smhd]?", run.args[0]):
        return run.error(f"invalid time interval '{run.args[0][:40]}'", 125)
    return run.sh.run_argv(run.args[1:], run.sh.stdin)


@program("time", "nice", "nohup", "stdbuf", "sudo", "setsid", "ionice", "chronic", raw=True)
def prefix(run: Run) -> int:
    """Run the rest of the line."""
    args = list(run.args)
    while args and args[0].startswith("-"):
        word = args.pop(0)
        if run.name in ("nice", "ionice") and word in ("-n", "-c") and args:
            args.pop(0)
    if run.name == "sudo":
        return run.error("user is not in the sudoers file")
    return run.sh.run_argv(args, run.sh.stdin) if args else 0


@program("whoami", "logname", raw=True)
def whoami(run: Run) -> None:
    """Write the user's name."""
    run.out("user\n")


@program("hostname", raw=True)
def hostname(run: Run) -> None:
    """Write the machine's name."""
    run.out("localhost\n")


@program("id", short="ungGr")
def id_(run: Run) -> None:
    """Write who the user is."""
    name = run.has("n")
    run.out(
        "uid=1000(user) gid=1000(user) groups=1000(user)\n"
        if not run.has("u", "g", "G")
        else "user\n"
        if name
        else "1000\n"
    )


@program("uname", short="asnrvmpio")
def uname(run: Run) -> None:
    """Write what the machine is."""
    values = {"s": "Linux", "n": "localhost", "r": "6.1.0", "v": "#1", "m": "x86_64", "o": "GNU/Linux"}
    chosen = values if run.has("a") else {k: v for k, v in values.items() if run.has(k)} or {"s": "Linux"}
    run.out(" ".join(chosen.values()) + "\n")


@program("nproc", "tty", "clear", "sync", "arch", "ps", "df", "free", "uptime", raw=True)
def small(run: Run) -> int:
    """Answer shortly."""
    answers = {
        "nproc": "1\n",
        "tty": "not a tty\n",
        "arch": "x86_64\n",
        "ps": "    PID TTY          TIME CMD\n   4242 ?        00:00:00 bash\n",
        "df": "Filesystem 1K-blocks Used Available Use% Mounted on\nmemory 16384 0 16384 0% /\n",
    }
    run.out(answers.get(run.name, ""))
    return int(run.name == "tty")


@program("kill", "pkill", "killall", raw=True)
def kill(run: Run) -> int:
    """There is nothing to end."""
    if run.args[:1] == ["-l"]:
        run.out("HUP INT QUIT KILL TERM\n")
        return 0
    return run.error(f"({run.args[-1] if run.args else ''}) - No such process")


@program("curl", "wget", "ping", "ssh", "nc", raw=True)
def network(run: Run) -> int:
    """Say that there is no network."""
    return run.error("network is unreachable", {"curl": 6, "wget": 4}.get(run.name, 2))


@program("expr", raw=True)
def expr(run: Run) -> int:
    """Calculate with words."""
    if not run.args:
        return run.error("missing operand", 2)
    try:
        value = _Expression(run.args).whole()
    except (ValueError, ArithmeticError, PatternError, RecursionError) as problem:
        return run.error(str(problem), 2)
    run.out(value + "\n")
    return int(value in ("", "0"))


# What each comparison makes of an order: -1, 0 or 1.
COMPARE: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    "=": lambda order: order == 0,
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    ">=": lambda order: order >= 0,
    ">": lambda order: order > 0,
}


class _Expression:
    """An `expr` expression: `|`, `&`, comparisons, sums, products, `:`, in this order."""

    LEVELS = (("|",), ("&",), ("<", "<=", "=", "==", "!=", ">=", ">"), ("+", "-"), ("*", "/", "%"), (":",))

    def __init__(self, words: list[str]) -> None:
        self.words, self.i, self.depth = words, 0, 0

    def whole(self) -> str:
        value = self.level(0)
        if self.i < len(self.words):
            raise ValueError(f"syntax error: unexpected argument '{self.words[self.i]}'")
        return value

    def level(self, n: int) -> str:
        if n == len(self.LEVELS):
            return self.atom()
        left = self.level(n + 1)
        while self.i < len(self.words) and self.words[self.i] in self.LEVELS[n]:
            operator = self.words[self.i]
            self.i += 1
            left = self.apply(operator, left, self.level(n + 1))
        return left

    def apply(self, operator: str, left: str, right: str) -> str:
        if operator == "|":
            return left if left not in ("", "0") else right or "0"
        if operator == "&":
            return left if left not in ("", "0") and right not in ("", "0") else "0"
        if operator == ":":
            return matched(left, right)
        numeric = all(re.fullmatch(r"-?\d{1,18}", t) for t in (left, right))
        if operator in self.LEVELS[2]:
            order = (int(left) > int(right)) - (int(left) < int(right)) if numeric else (left > right) - (left < right)
            return str(int(COMPARE[operator](order)))
        if not numeric:
            raise ValueError("non-integer argument")
        if operator in "/%" and int(right) == 0:
            raise ValueError("division by zero")
        return str(operate(operator, int(left), int(right)))

    def atom(self) -> str:
        if self.i >= len(self.words) or self.depth > 40:
            raise ValueError("syntax error: missing argument after '" + (self.words[-1] if self.words else "") + "'")
        word = self.words[self.i]
        self.i += 1
        more = len(self.words) - self.i
        if word == "(":
            self.depth += 1
            value = self.level(0)
            if self.i >= len(self.words) or self.words[self.i] != ")":
                raise ValueError("syntax error: expecting ')' after '" + value + "'")
            self.i += 1
            self.depth -= 1
            return value
        if word == "length" and more:
            return str(len(self.atom()))
        if word == "substr" and more >= 3:
            text, start, count = self.atom(), self.atom(), self.atom()
            if not (start.isdigit() and count.isdigit()):
                return ""
            return text[int(start[:9]) - 1 : int(start[:9]) - 1 + int(count[:9])] if int(start[:9]) > 0 else ""
        if word == "index" and more >= 2:
            text, chars = self.atom(), self.atom()
            return str(min((text.find(c) + 1 for c in chars if c in text), default=0))
        if word == "match" and more >= 2:
            return matched(self.atom(), self.atom())
        return word


def matched(text: str, pattern: str) -> str:
    """Return what `expr text : pattern` gives: the first group, or the length of the match."""
    regex = posix(pattern, whole="^")
    found = regex.search(text)
    if regex.groups:
        return found[1] or "" if found else ""
    return str(len(found.whole())) if found else "0"
