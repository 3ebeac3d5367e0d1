"""The machine that runs shell programs over files in memory.

One machine is one shell process. A subshell is a copy that shares the files and the meter; a pipeline's commands run
one after another, each in a subshell, each reading what the one before has written. Nothing waits, nothing is timed,
nothing outside this process is touched.

It does not know jobs (`&` runs the command at once), signals, or terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..files import File, Files, Folder, normal
from ..meter import MAX_CALLS, MAX_TURNS, Meter, Stopped
from ..patterns import PatternError, glob
from ..streams import Sink, Source
from ..text import to_bytes, to_text
from . import syntax as s
from .arithmetic import ArithmeticFault
from .assignment import Assigning
from .expansion import ExpansionFault
from .jumps import Jump, Leave, Return
from .parser import parse
from .variables import ReadOnly, Variables

Command = Callable[["Machine", list[str]], int]


class Machine(Assigning):
    """A shell; see the module."""

    def __init__(
        self,
        files: Files,
        meter: Meter,
        variables: Variables,
        cwd: str,
        builtins: Mapping[str, Command],
        programs: Mapping[str, Command],
    ) -> None:
        super().__init__(files, meter, variables, cwd)
        self.builtins, self.programs = builtins, programs
        self.functions: dict[str, s.Command] = {}

    # Substitutions

    def substitute(self, body: s.Sequence) -> str:
        """Run a command substitution and return its output."""
        only = (
            body.chains[0].links[0][1].commands[0] if len(body.chains) == 1 and len(body.chains[0].links) == 1 else None
        )
        if (
            isinstance(only, s.Simple)
            and not only.words
            and len(only.redirects) == 1
            and only.redirects[0].operator == "<"
        ):
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
        """Run a command given as finished words, as `xargs` and `find -exec` do; functions are not found."""
        self.meter.command()
        before = self.stdin
        self.stdin = stdin or Source()
        try:
            return self.start(argv, functions=False)
        finally:
            self.stdin = before

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
        try:
            self.status = self.run_command(command)
        except ArithmeticFault as fault:
            self.complain(str(fault))
            self.status = 1
        except PatternError as fault:
            self.complain(str(fault))
            self.status = 2
        return self.status

    def run_command(self, command: s.Command) -> int:  # noqa: C901  (one case for each kind)
        """Run one command by its kind."""
        match command:
            case s.Simple():
                return self.simple(command)
            case s.Redirected():
                return self.redirected(command)
            case s.If():
                return self.if_(command)
            case s.For():
                return self.for_(command)
            case s.Count():
                return self.count(command)
            case s.While():
                return self.loop(command.body, lambda: (self.condition(command.condition) == 0) != command.until)
            case s.Case():
                return self.case(command)
            case s.Group():
                return self.sequence(command.body)
            case s.Subshell():
                return self.subshell().run_to_end(command.body)
            case s.Function():
                self.functions[command.name] = command.body
                return 0
            case s.Calculation():
                return int(self.expand.arithmetic(command.expression) == 0)
            case s.Condition():
                return int(not self.test(command))

    def redirected(self, command: s.Redirected) -> int:
        """Run a compound command with redirections."""
        with self.redirection(command.redirects) as opened:
            return self.command(command.command) if opened else 1

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

    def start(self, words: list[str], functions: bool = True) -> int:
        """Run a function, a builtin, a program or a script by its words."""
        name, arguments = words[0], words[1:]
        if functions and name in self.functions:
            return self.call(name, arguments)
        if name in self.builtins:
            return self.builtins[name](self, arguments)
        program = self.programs.get(
            name if "/" not in name else name.rpartition("/")[2] if name.startswith(("/bin/", "/usr/bin/")) else ""
        )
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
            missing = "No such file or directory" if "/" in name else "command not found"
            self.complain(f"{name}: {'Is a directory' if isinstance(node, Folder) else missing}")
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
