"""The machine that runs shell programs over files in memory.

One machine is one shell process. A subshell is a copy that shares the files and the meter; a pipeline's commands run one after another,
each in a subshell, each reading what the one before has written. Nothing waits, nothing is timed, nothing outside this process is touched.

It does not know jobs (`&` runs the command at once), signals, or terminals.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..files import File, Files, Folder, normal
from ..meter import MAX_CALLS, MAX_TURNS, Meter, Stopped
from ..patterns import PatternError, glob, posix
from ..streams import FileSink, Null, Sink, Source
from ..text import to_bytes, to_text
from . import syntax as s
from .arithmetic import ArithmeticFault, calculate
from .expansion import Expander, ExpansionFault
from .parser import parse
from .variables import ReadOnly, Variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Command = Callable[["Machine", list[str]], int]
PID = 4242


class Leave(Exception):
    """`exit`, and `set -e`: ends the shell with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Return(Exception):
    """`return`: ends a function or a sourced file."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Jump(Exception):
    """`break` or `continue` over `levels` loops."""

    def __init__(self, levels: int, again: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.again = again


class RedirectFault(Exception):
    """A file that cannot be opened."""


class Machine:
    """A shell; see the module."""

    def __init__(self, files: Files, meter: Meter, variables: Variables, cwd: str, builtins: Mapping[str, Command], programs: Mapping[str, Command]) -> None:
        self.files, self.meter, self.variables, self.cwd = files, meter, variables, cwd
        self.builtins, self.programs = builtins, programs
        self.functions: dict[str, s.Command] = {}
        self.arguments: list[str] = []
        self.name = "bash"
        self.status = 0
        self.statuses = [0]
        self.options: set[str] = set()
        self.stdin, self.stdout, self.stderr = Source(), Sink(meter), Sink(meter)
        self.extra: dict[int, Source | Sink] = {}
        self.loops = self.calls = self.conditions = 0
        self.random = random.Random(0)
        self.substituted = 0
        self.temporary = 0
        self.expand = Expander(self)

    # The host of the expander

    @property
    def no_glob(self) -> bool:
        """Whether `set -f` is on."""
        return "noglob" in self.options

    @property
    def no_unset(self) -> bool:
        """Whether `set -u` is on."""
        return "nounset" in self.options

    def special(self, name: str) -> str | None:
        """Return a special parameter."""
        if name in ("?", "#", "$", "-", "!", "0", "PPID", "UID", "EUID", "RANDOM", "SECONDS", "EPOCHSECONDS", "LINENO", "HOSTNAME", "PIPESTATUS", "BASHPID"):
            return {
                "?": lambda: str(self.status), "#": lambda: str(len(self.arguments)), "$": lambda: str(PID), "BASHPID": lambda: str(PID),
                "-": lambda: "hB", "!": lambda: "", "0": lambda: self.name, "PPID": lambda: "1", "UID": lambda: "1000", "EUID": lambda: "1000",
                "RANDOM": lambda: str(self.random.randrange(32768)), "SECONDS": lambda: "0", "EPOCHSECONDS": lambda: str(self.files.now()),
                "LINENO": lambda: "1", "HOSTNAME": lambda: "localhost", "PIPESTATUS": lambda: str(self.statuses[0]),
            }[name]()  # fmt: skip
        return None

    def substitute(self, body: s.Sequence) -> str:
        """Run a command substitution and return its output."""
        only = body.chains[0].links[0][1].commands[0] if len(body.chains) == 1 and len(body.chains[0].links) == 1 else None
        if isinstance(only, s.Simple) and not only.words and len(only.redirects) == 1 and only.redirects[0].operator == "<":
            return to_text(self.read_file(normal(self.expand.text(only.redirects[0].target), self.cwd)))
        shell = self.subshell()
        shell.stdout = Sink(self.meter)
        self.status = self.substituted = shell.run_to_end(body)
        return shell.stdout.text().replace("\0", "")

    def process(self, part: s.Process) -> str:
        """Run a process substitution and return the path of a file with its output."""
        self.temporary += 1
        path = f"/dev/fd/{62 + self.temporary}"
        shell = self.subshell()
        shell.stdout = Sink(self.meter)
        if not part.output:
            shell.run_to_end(part.body)
        self.files.mkdir("/dev/fd", parents=True)
        self.files.write(path, to_bytes(shell.stdout.text()))
        return path

    # Subshells and programs

    def subshell(self) -> Machine:
        """Return a copy of this shell that shares files and meter."""
        other = Machine(self.files, self.meter, self.variables.copy(), self.cwd, self.builtins, self.programs)
        other.functions = dict(self.functions)
        other.arguments, other.name, other.status = list(self.arguments), self.name, self.status
        other.options = set(self.options)
        other.stdin, other.stdout, other.stderr, other.extra = self.stdin, self.stdout, self.stderr, dict(self.extra)
        other.calls, other.conditions, other.temporary = self.calls + 1, self.conditions, self.temporary
        other.random = self.random
        if other.calls > MAX_CALLS:
            raise Stopped(f"more than {MAX_CALLS} shells within each other")
        return other

    def run_to_end(self, body: s.Sequence) -> int:
        """Run a program as a shell of its own; `exit` and faults end it. Returns its exit code."""
        try:
            self.sequence(body)
        except Leave as leave:
            self.status = leave.code
        except Return as back:
            self.status = back.code
        except Jump:
            self.status = 0
        except (ExpansionFault, ReadOnly) as fault:
            self.complain(str(fault))
            self.status = 1
        return self.status

    def run_source(self, text: str) -> int:
        """Run source text in this shell.

        Raises:
            Leave, Return, Jump: As the program demands.
        """
        try:
            program = parse(text, self.calls)
        except SyntaxError as error:
            self.complain(str(error.msg))
            self.status = 2
            return 2
        return self.sequence(program)

    def run_argv(self, argv: list[str], stdin: Source | None = None) -> int:
        """Run a command given as finished words, as `xargs` and `find -exec` do. Functions and most builtins are not found."""
        self.meter.command()
        before = self.stdin
        self.stdin = stdin or Source()
        try:
            return self.start(argv, functions=False)
        finally:
            self.stdin = before

    def complain(self, message: str) -> None:
        """Write a message of the shell itself."""
        self.stderr.write(f"bash: {message}\n")

    def read_file(self, path: str) -> bytes:
        """Return a file's bytes, after what is still on its way to it; counted by the meter."""
        self.flush()
        data = self.files.read(path)
        self.meter.charge(len(data))
        return data

    def flush(self) -> None:
        """Write open file outputs."""
        for sink in (self.stdout, self.stderr, *self.extra.values()):
            if isinstance(sink, Sink):
                sink.close()

    # Lists and pipelines

    def sequence(self, body: s.Sequence) -> int:
        """Run chains one after another."""
        for chain in body.chains:
            self.chain(chain)
        return self.status

    def chain(self, chain: s.Chain) -> int:
        """Run pipelines under `&&` and `||`."""
        last = len(chain.links) - 1
        for i, (operator, pipeline) in enumerate(chain.links):
            if (operator == "&&" and self.status != 0) or (operator == "||" and self.status == 0):
                continue
            guarded = i < last or pipeline.negated
            self.conditions += guarded
            try:
                self.pipeline(pipeline)
            finally:
                self.conditions -= guarded
            if self.status != 0 and not guarded and not self.conditions and "errexit" in self.options:
                raise Leave(self.status)
        if chain.background:
            self.status = 0
        return self.status

    def pipeline(self, pipeline: s.Pipeline) -> int:
        """Run commands that feed each other."""
        if len(pipeline.commands) == 1:
            self.command(pipeline.commands[0])
            self.statuses = [self.status]
        else:
            self.statuses = self.piped(pipeline)
            failed = [code for code in self.statuses if code]
            self.status = failed[-1] if failed and "pipefail" in self.options else self.statuses[-1]
        self.variables.values["PIPESTATUS"] = dict(enumerate(map(str, self.statuses)))
        if pipeline.negated:
            self.status = int(self.status == 0)
        return self.status

    def piped(self, pipeline: s.Pipeline) -> list[int]:
        """Run each command of a pipeline in a subshell; returns their codes."""
        codes: list[int] = []
        source = self.stdin
        for i, command in enumerate(pipeline.commands):
            shell = self.subshell()
            shell.stdin = source
            if i < len(pipeline.commands) - 1:
                shell.stdout = Sink(self.meter)
                if pipeline.merged[i]:
                    shell.stderr = shell.stdout
            codes.append(shell.run_to_end(s.Sequence((s.Chain((("", s.Pipeline((command,), (False,), False)),)),))))
            source = Source(shell.stdout.text()) if i < len(pipeline.commands) - 1 else source
        return codes

    # Commands

    def command(self, command: s.Command) -> int:
        """Run one command; its exit code becomes the status."""
        self.meter.command()
        runners: dict[type, Callable[..., int]] = {
            s.Simple: self.simple, s.If: self.if_, s.For: self.for_, s.Count: self.count, s.While: self.while_, s.Case: self.case,
            s.Group: lambda c: self.sequence(c.body), s.Subshell: lambda c: self.subshell().run_to_end(c.body), s.Function: self.define,
            s.Calculation: lambda c: int(self.expand.arithmetic(c.expression) == 0), s.Condition: lambda c: int(not self.test(c)),
            s.Redirected: self.redirected,
        }  # fmt: skip
        try:
            self.status = runners[type(command)](command)
        except ArithmeticFault as fault:
            self.complain(str(fault))
            self.status = 1
        except PatternError as fault:
            self.complain(str(fault))
            self.status = 2
        return self.status

    def redirected(self, command: s.Redirected) -> int:
        """Run a compound command with redirections."""
        with self.redirection(command.redirects) as opened:
            return self.command(command.command) if opened else 1

    def define(self, command: s.Function) -> int:
        """Define a function."""
        self.functions[command.name] = command.body
        return 0

    def if_(self, command: s.If) -> int:
        """Run `if`."""
        for condition, body in command.branches:
            if self.condition(condition) == 0:
                return self.sequence(body)
        if command.otherwise:
            return self.sequence(command.otherwise)
        return 0

    def condition(self, body: s.Sequence) -> int:
        """Run a program whose failure is an answer."""
        self.conditions += 1
        try:
            return self.sequence(body)
        finally:
            self.conditions -= 1

    def loop(self, body: s.Sequence, goes_on: Callable[[], bool]) -> int:
        """Run a body as long as `goes_on`."""
        code = turns = 0
        self.loops += 1
        try:
            while goes_on():
                turns += 1
                if turns > MAX_TURNS:
                    raise Stopped(f"more than {MAX_TURNS} turns of a loop")
                try:
                    code = self.sequence(body)
                except Jump as jump:
                    code = self.status = 0
                    if jump.levels > 1 and self.loops > 1:
                        raise Jump(jump.levels - 1, jump.again) from None
                    if not jump.again:
                        break
        finally:
            self.loops -= 1
        return code

    def for_(self, command: s.For) -> int:
        """Run `for name in words`."""
        values = iter(self.arguments.copy() if command.words is None else self.expand.fields(command.words))

        def next_value() -> bool:
            value = next(values, None)
            if value is not None:
                self.variables.set(command.name, value)
            return value is not None

        return self.loop(command.body, next_value)

    def count(self, command: s.Count) -> int:
        """Run `for ((start; test; step))`."""
        self.expand.arithmetic(command.start)
        first = [True]

        def goes_on() -> bool:
            if not first[0]:
                self.expand.arithmetic(command.step)
            first[0] = False
            return not command.test.parts or self.expand.arithmetic(command.test) != 0

        return self.loop(command.body, goes_on)

    def while_(self, command: s.While) -> int:
        """Run `while` and `until`."""
        return self.loop(command.body, lambda: (self.condition(command.condition) == 0) != command.until)

    def case(self, command: s.Case) -> int:
        """Run `case`."""
        word = self.expand.text(command.word)
        code, falls = 0, False
        for patterns, body, end in command.clauses:
            if falls or any(glob(self.expand.pattern(pattern)).fullmatch(word) for pattern in patterns):
                self.status = 0
                code = self.sequence(body)
                if end == ";;":
                    break
                falls = end == ";&"
        return code

    # Simple commands

    def simple(self, command: s.Simple) -> int:
        """Run assignments, words and redirections."""
        self.substituted = 0
        words = self.expand.fields(command.words)
        if not words:
            for assignment in command.assignments:
                self.assign(assignment)
            with self.redirection(command.redirects) as opened:
                return self.substituted if opened else 1
        if words[0] == "exec" and len(words) == 1:
            return self.keep_redirections(command.redirects)
        with self.redirection(command.redirects) as opened:
            if not opened:
                return 1
            if not command.assignments:
                return self.start(words)
            return self.with_assignments(command.assignments, words)

    def with_assignments(self, assignments: tuple[s.Assignment, ...], words: list[str]) -> int:
        """Run a command under assignments that hold only for it."""
        names = [a.name for a in assignments]
        before = {name: self.variables.values.get(name) for name in names}
        exported = {name for name in names if name in self.variables.exported}
        for assignment in assignments:
            self.assign(assignment)
        self.variables.exported.update(names)
        try:
            return self.start(words)
        finally:
            self.variables.exported -= set(names) - exported
            for name, value in before.items():
                if value is None:
                    self.variables.values.pop(name, None)
                else:
                    self.variables.values[name] = value

    def assign(self, assignment: s.Assignment) -> None:
        """Carry out one assignment."""
        name, value = assignment.name, assignment.value
        if isinstance(value, tuple):
            return self.assign_array(name, self.array_words(value), assignment.append)
        text = self.expand.text(value)
        key = self.expand.key(s.Parameter(name, assignment.index)) if assignment.index else None
        self.set(name, text, key, assignment.append)
        if "allexport" in self.options:
            self.variables.exported.add(name)
        return None

    def set(self, name: str, text: str, key: str | int | None = None, append: bool = False) -> None:
        """Set a variable, or add to it; integer variables calculate."""
        if name in self.variables.integers:
            value = calculate(text, self.expand.read, self.expand.write)
            old = calculate(self.variables.get(name, key) or "0", self.expand.read, self.expand.write) if append else 0
            text, append = str(old + value), False
        self.variables.set(name, (self.variables.get(name, key) or "") + text if append else text, key)
        if name == "RANDOM":
            self.random.seed(text)

    def array_words(self, words: tuple[s.Word, ...]) -> list[tuple[str | None, str]]:
        """Return the (key, value) pairs of `(a b [k]=v)`."""
        pairs: list[tuple[str | None, str]] = []
        for word in words:
            first = word.parts[0] if word.parts else None
            if isinstance(first, s.Literal) and not first.quoted and first.text.startswith("["):
                key, equals, value = self.expand.text(word)[1:].partition("]=")
                if equals:
                    pairs.append((key, value))
                    continue
            pairs += [(None, field) for field in self.expand.fields([word])]
        return pairs

    def assign_array(self, name: str, pairs: list[tuple[str | None, str]], append: bool = False) -> None:
        """Set a whole array from (key, value) pairs; without a key, the next number."""
        if name in self.variables.associative:
            old = dict(self.variables.elements(name)) if append else {}
            self.variables.set_array(name, {str(k): v for k, v in old.items()} | {key: value for key, value in pairs if key is not None})
            return
        values = {int(k): v for k, v in self.variables.elements(name)} if append else {}
        index = max(values, default=-1)
        for key, value in pairs:
            index = index + 1 if key is None else calculate(key, self.expand.read, self.expand.write)
            values[index] = value
        self.variables.set_array(name, values)

    def start(self, words: list[str], functions: bool = True) -> int:
        """Run a function, a builtin, a program or a script by its words."""
        name, arguments = words[0], words[1:]
        if functions and name in self.functions:
            return self.call(name, arguments)
        if name in self.builtins:
            return self.builtins[name](self, arguments)
        program = self.programs.get(name if "/" not in name else name.rpartition("/")[2] if name.startswith(("/bin/", "/usr/bin/")) else "")
        if program is not None:
            return program(self, arguments)
        return self.script(name, arguments)

    def call(self, name: str, arguments: list[str]) -> int:
        """Call a function."""
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise Stopped(f"more than {MAX_CALLS} functions within each other")
        before, loops = self.arguments, self.loops
        self.arguments, self.loops = arguments, 0
        self.variables.scopes.append({})
        try:
            return self.command(self.functions[name])
        except Return as back:
            return back.code
        finally:
            self.variables.leave()
            self.arguments, self.loops = before, loops
            self.calls -= 1

    def script(self, name: str, arguments: list[str]) -> int:
        """Run a file as a shell script, or say that there is no such command."""
        path = self.which(name)
        node = self.files.find(path) if path else None
        if not isinstance(node, File):
            self.complain(f"{name}: {'Is a directory' if isinstance(node, Folder) else 'No such file or directory' if '/' in name else 'command not found'}")
            return 126 if isinstance(node, Folder) else 127
        if not node.mode & 0o111:
            self.complain(f"{name}: Permission denied")
            return 126
        return self.run_script(to_text(self.read_file(path)), name, arguments)

    def run_script(self, text: str, name: str, arguments: list[str]) -> int:
        """Run source text as a new shell with exported variables only."""
        shell = self.subshell()
        shell.variables = Variables(self.variables.environment())
        shell.functions, shell.options, shell.name, shell.arguments = {}, set(), name, arguments
        try:
            program = parse(text, shell.calls)
        except SyntaxError as error:
            self.stderr.write(f"{name}: {error.msg}\n")
            return 2
        return shell.run_to_end(program)

    def which(self, name: str) -> str:
        """Return the path at which a script of that name would be found, or ""."""
        if "/" in name:
            return normal(name, self.cwd)
        for folder in (self.variables.get("PATH") or "").split(":"):
            path = normal(f"{folder or '.'}/{name}", self.cwd)
            if name and isinstance(self.files.find(path), File):
                return path
        return ""

    # Redirections

    @contextmanager
    def redirection(self, redirects: tuple[s.Redirect, ...]) -> Iterator[bool]:
        """Point the streams elsewhere for a while; yields whether every file could be opened."""
        if not redirects:
            yield True
            return
        before = self.stdin, self.stdout, self.stderr, dict(self.extra)
        opened: list[Sink] = []
        try:
            good = self._open_all(redirects, opened)
            yield good
        finally:
            self.stdin, self.stdout, self.stderr, self.extra = before
            for sink in opened:
                try:
                    sink.close()
                except OSError as error:
                    self.complain(f"write error: {error.strerror}")
                    self.status = 1

    def keep_redirections(self, redirects: tuple[s.Redirect, ...]) -> int:
        """Point the streams elsewhere for good (`exec > file`)."""
        return int(not self._open_all(redirects, []))

    def _open_all(self, redirects: tuple[s.Redirect, ...], opened: list[Sink]) -> bool:
        try:
            for redirect in redirects:
                self._open(redirect, opened)
        except RedirectFault as fault:
            self.complain(str(fault))
            return False
        return True

    def _open(self, redirect: s.Redirect, opened: list[Sink]) -> None:
        operator, fd = redirect.operator, redirect.fd
        if operator in ("<<", "<<<"):
            text = self.expand.text(redirect.target)
            self._point(fd, Source(text + ("\n" if operator == "<<<" else "")))
            return
        fields = self.expand.fields([redirect.target])
        if len(fields) != 1:
            raise RedirectFault(f"{self.expand.text(redirect.target)}: ambiguous redirect")
        text = fields[0]
        if operator in ("<&", ">&"):
            self._duplicate(fd, text)
        elif not text:
            raise RedirectFault(": No such file or directory")
        else:
            stream = self._file(text, operator)
            if isinstance(stream, Sink) and stream not in (self.stdout, self.stderr):
                opened.append(stream)
            self._point(fd, stream)

    def _file(self, text: str, operator: str) -> Source | Sink:
        if text in ("/dev/stdout", "/dev/stderr", "/dev/stdin"):
            return {"/dev/stdout": self.stdout, "/dev/stderr": self.stderr, "/dev/stdin": self.stdin}[text]
        path = normal(text, self.cwd) + ("/" if text.endswith("/") else "")
        try:
            if operator == "<":
                return Source(to_text(self.read_file(path)))
            self.flush()
            node = self.files.find(path)
            if operator == ">" and "noclobber" in self.options and isinstance(node, File) and not node.device:
                raise RedirectFault(f"{text}: cannot overwrite existing file")
            self.files.write(path, b"", append=operator in (">>", "<>"))
        except OSError as error:
            raise RedirectFault(f"{text}: {error.strerror}") from None
        return Null(self.meter) if isinstance(node, File) and node.device else FileSink(self.meter, self.files, path)

    def _duplicate(self, fd: int, text: str) -> None:
        if text == "-":
            self._point(fd, Source() if fd == 0 else Null(self.meter))
            return
        number = int(text.rstrip("-")) if text.rstrip("-").isdigit() and len(text) < 4 else -1
        stream = {0: self.stdin, 1: self.stdout, 2: self.stderr, **self.extra}.get(number)
        if stream is None:
            raise RedirectFault(f"{text}: {'Bad file descriptor' if number >= 0 else 'ambiguous redirect'}")
        self._point(fd, stream)

    def _point(self, fd: int, stream: Source | Sink) -> None:
        if fd == 0 and isinstance(stream, Source):
            self.stdin = stream
        elif fd == 1 and isinstance(stream, Sink):
            self.stdout = stream
        elif fd == 2 and isinstance(stream, Sink):
            self.stderr = stream
        elif fd > 2:
            self.extra[fd] = stream
        else:
            raise RedirectFault(f"{fd}: Bad file descriptor")

    # Tests

    def test(self, condition: s.Condition) -> bool:
        """Evaluate `[[ ... ]]`."""
        operator, operands = condition.operator, condition.operands
        if operator in ("&&", "||", "!"):
            first = isinstance(operands[0], s.Condition) and self.test(operands[0])
            if operator == "!":
                return not first
            if first == (operator == "||"):
                return first
            return isinstance(operands[1], s.Condition) and self.test(operands[1])
        words = [w for w in operands if isinstance(w, s.Word)]
        left = self.expand.text(words[0])
        if operator == "":
            return left != ""
        if len(words) == 1:
            return self.unary_test(operator, left)
        if operator in ("=", "==", "!="):
            return bool(glob(self.expand.pattern(words[1])).fullmatch(left)) == (operator != "!=")
        if operator == "=~":
            return self.match(left, self.expand.regex(words[1]))
        right = self.expand.text(words[1])
        if operator in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
            left, right = (str(calculate(t, self.expand.read, self.expand.write)) for t in (left, right))
        return self.binary_test(operator, left, right)

    def match(self, text: str, pattern: str) -> bool:
        """Match a regular expression; its groups become BASH_REMATCH."""
        found = posix(pattern, extended=True).search(text)
        groups = [found.whole(), *(g or "" for g in found.groups())] if found else []
        self.variables.set_array("BASH_REMATCH", dict(enumerate(groups)))
        return found is not None

    def unary_test(self, operator: str, operand: str) -> bool:
        """Evaluate `-f file` and its like."""
        if operator in ("-z", "-n"):
            return (operand == "") == (operator == "-z")
        if operator == "-v":
            name, _, key = operand.rstrip("]").partition("[")
            return self.variables.get(name, (int(key) if key.isdigit() else key) if key else None) is not None
        if operator == "-o":
            return operand in self.options
        if operator == "-t":
            return False
        self.flush()
        node = self.files.find(normal(operand, self.cwd), follow=operator not in ("-L", "-h")) if operand else None
        if node is None:
            return False
        if operator in ("-x", "-r", "-w"):
            return operator != "-x" or isinstance(node, Folder) or bool(node.mode & 0o111)
        return {
            "-e": True, "-a": True, "-f": isinstance(node, File) and not node.device, "-d": isinstance(node, Folder),
            "-s": not isinstance(node, File) or len(node.data) > 0, "-L": not isinstance(node, File | Folder), "-h": not isinstance(node, File | Folder),
            "-c": isinstance(node, File) and node.device, "-O": True, "-G": True, "-N": False,
        }.get(operator, False)  # fmt: skip

    def binary_test(self, operator: str, left: str, right: str) -> bool:
        """Evaluate `a -lt b` and its like.

        Raises:
            ArithmeticFault: If a number is none.
        """
        if operator in ("=", "==", "!=", "<", ">"):
            return {"=": left == right, "==": left == right, "!=": left != right, "<": left < right, ">": left > right}[operator]
        if operator in ("-nt", "-ot", "-ef"):
            one, two = (self.files.find(normal(t, self.cwd)) for t in (left, right))
            if operator == "-ef":
                return one is not None and one is two
            times = (one.mtime if one else -1, two.mtime if two else -1)
            return times[0] > times[1] if operator == "-nt" else times[0] < times[1]
        values: list[int] = []
        for text in (left, right):
            stripped = text.strip()
            if not stripped.lstrip("+-").isdigit() or len(stripped) > 40:
                raise ArithmeticFault(f"[: {text[:40]}: integer expression expected")
            values.append(int(stripped))
        a, b = values
        return {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}[operator]


__all__ = ["Jump", "Leave", "Machine", "Return", "Stopped"]
