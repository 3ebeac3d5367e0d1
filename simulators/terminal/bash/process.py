"""What every shell process has: files, a meter, variables, a folder, options, streams, and its special parameters."""

from __future__ import annotations

import random

from ..files import File, Files, normal
from ..meter import Meter
from ..streams import Sink, Source
from .expansion import Expander
from .syntax import Process as ProcessPart
from .syntax import Sequence
from .variables import Variables

# The number that `$$` shows.
PID = 4242


class Process:
    """A shell process without a language; the layers above it add redirections, tests, assignments and commands."""

    def __init__(self, files: Files, meter: Meter, variables: Variables, cwd: str) -> None:
        self.files, self.meter, self.variables, self.cwd = files, meter, variables, cwd
        self.arguments: list[str] = []
        self.name = "bash"
        self.status = 0
        self.statuses = [0]
        self.options: set[str] = set()
        self.stdin: Source = Source()
        self.stdout: Sink = Sink(meter)
        self.stderr: Sink = Sink(meter)
        self.extra: dict[int, Source | Sink] = {}
        self.loops: int = 0
        self.calls: int = 0
        self.conditions: int = 0
        self.random = random.Random(0)
        self.substituted = 0
        self.temporary = 0
        self.expand = Expander(self)

    @property
    def no_glob(self) -> bool:
        """Whether `set -f` is on."""
        return "noglob" in self.options

    @property
    def no_unset(self) -> bool:
        """Whether `set -u` is on."""
        return "nounset" in self.options

    def special(self, name: str) -> str | None:
        """Return a special parameter, or `None` if the name is none."""
        if name == "RANDOM":
            return str(self.random.randrange(32768))
        return {
            "?": str(self.status),
            "#": str(len(self.arguments)),
            "$": str(PID),
            "-": "hB",
            "!": "",
            "0": self.name,
            "BASHPID": str(PID),
            "PPID": "1",
            "UID": "1000",
            "EUID": "1000",
            "SECONDS": "0",
            "EPOCHSECONDS": str(self.files.now()),
            "LINENO": "1",
            "HOSTNAME": "localhost",
        }.get(name)

    def substitute(self, body: Sequence) -> str:
        """Run a command substitution; see the machine."""
        raise NotImplementedError

    def process(self, part: ProcessPart) -> str:
        """Run a process substitution; see the machine."""
        raise NotImplementedError

    def complain(self, message: str) -> None:
        """Write a message of the shell itself."""
        self.stderr.write(f"bash: {message}\n")

    def read_file(self, path: str) -> bytes:
        """Return a file's bytes, after what is still on its way to it; counted by the meter.

        Raises:
            OSError: If it cannot be read.
        """
        self.flush()
        data = self.files.read(path)
        self.meter.charge(len(data))
        return data

    def flush(self) -> None:
        """Write open file outputs."""
        for sink in (self.stdout, self.stderr, *self.extra.values()):
            if isinstance(sink, Sink):
                sink.close()

    def which(self, name: str) -> str:
        """Return the path at which a script of that name would be found, or ""."""
        if "/" in name:
            return normal(name, self.cwd)
        for folder in (self.variables.get("PATH") or "").split(":"):
            path = normal(f"{folder or '.'}/{name}", self.cwd)
            if name and isinstance(self.files.find(path), File):
                return path
        return ""
