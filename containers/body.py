"""Where a host loop runs: as a child of this process, or behind a socket that somebody else provides.

A *body* is what the trainer's handle on a warmed parent (``zygote.py``) needs to know of it: its control socket,
whether it is alive, and how it is ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, socket, socketpair
from typing import Any, Protocol

from .session import KEPT, Json

END = 5.0
"""Seconds that a host loop may take to end by itself."""
WORDS = 4000
"""Bytes of a host loop's output that are quoted."""
FIXED = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # measured: 15 % less CPU per reset with a CAD kernel loaded
    "HOME": "/tmp",  # noqa: S108 - each sandbox sets its own
    "LC_ALL": "C.UTF-8",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
}
"""The environment of every sandbox, besides where programs and libraries lie."""


class Body(Protocol):
    """A running host loop."""

    control: socket
    place: Json
    """What the order says about the loop's machine: ``path`` (import from there, ``None``: its own), ``extra`` and
    ``env``."""
    facts: Json
    """What a trace should tell of it, such as the image."""

    @property
    def alive(self) -> bool:
        """Whether it still runs, as far as this process can tell."""
        ...

    def words(self) -> str:
        """Return the last of what it printed."""
        ...

    def end(self) -> None:
        """See to its end, after the control socket was closed. May be called again."""
        ...

    def forget(self) -> None:
        """Let go of it in a fork of the process that owns it."""
        ...


class ChildBody:
    """A host loop as a child of this process."""

    def __init__(self) -> None:
        self.place: Json = {"path": _path(), "extra": [], "env": _environment()}
        self.facts: Json = {}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the body
        self.control, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        with theirs:
            self._process = self._start(theirs)

    @property
    def alive(self) -> bool:
        """Whether the child has not ended."""
        return self._process.poll() is None

    def words(self) -> str:
        """Return the last of what it printed."""
        with suppress(OSError, ValueError):
            self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - WORDS))
            return self._log.read().decode(errors="replace").strip()
        return ""

    def end(self) -> None:
        """Wait for the child, and kill it if it takes too long."""
        self._log.close()
        try:
            self._process.wait(END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Take care that nobody polls what is no child of this process."""
        self._log.close()
        self._process.returncode = 0

    def _start(self, control: socket) -> subprocess.Popen[bytes]:
        words = ["--fd", str(control.fileno()), "--trainer", str(os.getpid())]
        return subprocess.Popen(  # noqa: S603 - the arguments are ours
            [sys.executable, "-P", "-m", f"{__package__}.host", *words],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[control.fileno()],
            start_new_session=True,
            cwd="/",
            env=_environment() | {"PYTHONPATH": os.pathsep.join(_path())},
        )


def connected(path: Path) -> socket:
    """Return a control socket to the host loop that listens there.

    Raises:
        OSError: If nobody does.
    """
    control = socket(AF_UNIX, SOCK_SEQPACKET)
    try:
        control.connect(str(path))
    except OSError:
        control.close()
        raise
    return control


def last_words(path: Path) -> str:
    """Return the end of a log file; empty if there is none."""
    with suppress(OSError), path.open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - WORDS))
        return log.read().decode(errors="replace").strip()
    return ""


def _environment() -> dict[str, Any]:
    return {name: os.environ[name] for name in KEPT if name in os.environ} | FIXED


def _path() -> list[str]:
    """Return where this process imports from, so that the parent finds the same modules."""
    return [str(Path(path).absolute()) for path in sys.path]
