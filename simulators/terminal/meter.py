"""What one call of the shell may spend.

Everything is counted and nothing is timed, so that a stopped command stops at the same place everywhere.
"""

from __future__ import annotations

# Statements that one call may execute, in all its loops, functions and subshells together.
MAX_COMMANDS = 10_000
# Bytes that commands may read from files, take in and give out in one call.
MAX_WORK = 32 << 20
# Turns of one loop.
MAX_TURNS = 10_000
# Largest output of one command and of the whole call, in characters.
MAX_OUTPUT = 1 << 20
# Longest value of a variable, in characters.
MAX_VALUE = 64 << 10
# Depth of functions and of nested brackets in the source.
MAX_CALLS = 40
MAX_NESTING = 40
# Longest command line, in characters.
MAX_SOURCE = 64 << 10


class Stopped(BaseException):
    """The call spent what it had. No command can catch it: it is no `Exception`."""


class Meter:
    """Counts one call's statements and bytes."""

    def __init__(self) -> None:
        self.commands = 0
        self.work = 0

    def command(self) -> None:
        """Count a statement.

        Raises:
            Stopped: If it is one too many.
        """
        self.commands += 1
        if self.commands > MAX_COMMANDS:
            raise Stopped(f"more than {MAX_COMMANDS} commands")

    def charge(self, size: int) -> None:
        """Count `size` bytes of work.

        Raises:
            Stopped: If that is too much.
        """
        self.work += size
        if self.work > MAX_WORK:
            raise Stopped(f"more than {MAX_WORK} bytes of data")

    def output(self, size: int) -> None:
        """Check the size of one output and count it as work.

        Raises:
            Stopped: If it is too large.
        """
        if size > MAX_OUTPUT:
            raise Stopped(f"an output of more than {MAX_OUTPUT} characters")
        self.charge(size)
