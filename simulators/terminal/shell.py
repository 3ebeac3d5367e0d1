"""A shell session over files in memory: one command line in, its streams and exit code out.

Between calls only the files, the folder, the exported variables and the clock live on; functions, plain variables and
options end with the call, as with `bash -c`. It never touches the machine it runs on: no process, no file, no network,
no clock, no entropy.

What it does not protect against is a regular expression that backtracks without end beyond the patterns that `patterns`
refuses; the deadline of the runtime around it ends that.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from .bash.jumps import Jump, Leave, Return
from .bash.library import BUILTINS
from .bash.machine import Machine
from .bash.parser import parse
from .bash.variables import Variables
from .commands import PROGRAMS
from .files import Files, Folder, normal
from .meter import Meter, Stopped

# Exit code of a call that was stopped, as of a process that was killed.
STOPPED = 137
# Python frames that the deepest allowed nesting needs.
RECURSION = 12_000


@dataclass(frozen=True, slots=True)
class Output:
    """What a command line gave back."""

    stdout: str
    stderr: str
    code: int


class Shell:
    """See the module."""

    def __init__(self, files: Files, cwd: str, env: dict[str, str]) -> None:
        self.files = files
        self.cwd = cwd
        self.env = env

    def run(self, line: str) -> Output:
        """Run one command line (or several lines). Never raises for what the line says."""
        machine = Machine(self.files, Meter(), Variables({**self.env, "PWD": self.cwd}), self.cwd, BUILTINS, PROGRAMS)
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, RECURSION))
        try:
            code = self._run(machine, line)
        finally:
            sys.setrecursionlimit(before)
        self.cwd = machine.cwd if isinstance(self.files.find(machine.cwd), Folder) else self._nearest(machine.cwd)
        self.env = {k: v for k, v in machine.variables.environment().items() if k not in ("PWD", "OLDPWD", "_")}
        if self.files.find("/dev/fd") is not None:
            self.files.remove("/dev/fd", recursive=True)
        return Output(machine.stdout.text(), machine.stderr.text(), code)

    @staticmethod
    def _run(machine: Machine, line: str) -> int:
        stdout, stderr = machine.stdout, machine.stderr
        try:
            program = parse(line)
            return machine.run_to_end(program)
        except SyntaxError as error:
            machine.complain(str(error.msg))
            return 2
        except (Stopped, RecursionError, MemoryError) as stop:
            reason = (
                str(stop)
                if isinstance(stop, Stopped)
                else "nested too deeply"
                if isinstance(stop, RecursionError)
                else "out of memory"
            )
            machine.stdout, machine.stderr = stdout, stderr
            stderr.parts.append(f"stopped: {reason}\n")
            return STOPPED
        except (Leave, Return, Jump) as end:
            return getattr(end, "code", 0)
        except OSError as error:
            machine.complain(f"{error.filename}: {error.strerror}")
            return 1
        finally:
            machine.stdout, machine.stderr = stdout, stderr

    def _nearest(self, path: str) -> str:
        """Return the nearest folder above a path that has gone."""
        while not isinstance(self.files.find(path), Folder):
            path = normal("..", path)
        return path
